"""The configurations that survive in a box, with everything the label search adds up."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from edrp.core.arrays import Bools, Floats, Ints, Ints32
from edrp.core.tolerances import LIMIT_SLACK, TIE_MOVE
from edrp.formulations.placement.elimination.box import Box, BoxRelaxation
from edrp.formulations.placement.elimination.frontier import MemoryPlan
from edrp.formulations.placement.elimination.model import EliminationModel
from edrp.formulations.placement.elimination.paths import operator_flow
from edrp.placement.compiled import NO_NODE, count_configurations, multisets
from edrp.placement.reconfiguration import downtime_floor, operator_downtimes


class Configurations(NamedTuple):
    """Configurations of all operators one after another; those of operator i are `start[i]:start[i + 1]`.

    `members` (configurations, replicas) padded with -1; `degree`; `latency` seconds; `fixed` objective of the
    replicas (cost, prices, ties, penalties); `cost` money/h; `rent` price of the resources; `downtime` seconds; `tail`
    (configurations, arrivals) minimum of seconds behind the operator, one for all replicas or, where paths run through
    instances, for each member; `places` (configurations, replicas) the candidate of the plan that each member, as
    representative, stands for (-1 if none is left), `anchor` that of the most telling one, which is member `anchor_member`.
    """

    start: Ints
    members: Ints32
    degree: Ints
    latency: Floats
    fixed: Floats
    cost: Floats
    rent: Floats
    downtime: Floats
    tail: Floats
    places: Ints32
    anchor: Ints
    anchor_member: Ints


def too_many(model: EliminationModel, box: Box, limit: int) -> bool:
    """Whether some operator has more than `limit` configurations left."""
    return any(count_configurations(int(box.alive[i].sum()), int(model.degrees[i])) > limit for i in range(model.operators))


def surviving_choices(
    model: EliminationModel,
    box: Box,
    plan: MemoryPlan,
    relaxation: BoxRelaxation,
    marginals: Floats,
    tail: Floats,
    incumbent: float,
) -> Configurations | None:
    """Enumerate multisets over the surviving nodes and keep those that can still beat the incumbent.

    A configuration's bound is the min-marginal of any of its members' seats, with the operator's own term made exact.
    Returns None when some operator has none left.
    """
    flow = operator_flow(model, relaxation.prices.flow)
    parts = []
    for i in range(model.operators):
        bounds = _OperatorBounds(float(flow[i]), marginals[i], tail[i], incumbent)
        part = _operator_choices(model, box, plan, relaxation, i, bounds)
        if not len(part.degree):
            return None
        parts.append(part)
    start = np.cumsum([0] + [len(part.degree) for part in parts])
    width = max(part.members.shape[1] for part in parts)
    stacked = {}
    for name in Configurations._fields[1:]:
        values = [getattr(part, name) for part in parts]
        if name in ("members", "places") or (name == "tail" and model.instance_paths):
            padding = 0 if name == "tail" else NO_NODE
            values = [np.pad(value, ((0, 0), (0, width - value.shape[1])), constant_values=padding) for value in values]
        stacked[name] = np.concatenate(values)
    return Configurations(start=start.astype(np.int64), **stacked)


class _OperatorBounds(NamedTuple):
    """Bounds that the configurations of one operator must meet.

    `flow` through the operator, min-marginals of its seats (nodes, seats), minimum of seconds behind it on each node, and the
    objective of the incumbent.
    """

    flow: float
    marginal: Floats
    tail: Floats
    incumbent: float


def _operator_choices(
    model: EliminationModel, box: Box, plan: MemoryPlan, relaxation: BoxRelaxation, i: int, bounds: _OperatorBounds
) -> Configurations:
    """Surviving configurations of one operator."""
    flow, marginal, tail, incumbent = bounds
    members, penalty = model.rules.allowed(i, multisets(np.flatnonzero(box.alive[i]), int(model.degrees[i])))
    penalty = penalty + model.priced(i, members)
    used = members != NO_NODE
    degree = used.sum(axis=1)
    reference = model.latency[i, degree]
    slowest = np.where(used, model.speedup[members], np.inf).min(axis=1)
    latency = np.where(np.isfinite(reference), reference, 0.0) / slowest
    downtime, moved = _reconfiguration(model, i, members)
    cost = model.replica_cost[i] * degree
    rent = np.where(used, relaxation.rent[members, i], 0.0).sum(axis=1)
    together = ((members == members[:, :1]) | ~used).all(axis=1)
    seat = np.where(together, degree - 1, model.latency.shape[1] - 1)
    # Members without a seat left are no representatives; any other is, and the one that says most is taken.
    others = np.full(marginal.shape, -np.inf)
    np.subtract(marginal, relaxation.unary[i], out=others, where=box.anchor[i])
    best_other = np.where(used, others[members, seat[:, None]], -np.inf)
    number = np.full((model.nodes, int(plan.groups[i].max()) + 1), NO_NODE, np.int32)
    candidates = plan.candidates[i]
    number[candidates.node, candidates.group] = np.arange(candidates.node.size)
    places = np.where(np.isfinite(best_other), number[members, plan.groups[i][seat][:, None]], NO_NODE)
    telling, behind = best_other.argmax(axis=1), np.where(used, tail[members], 0.0)
    part = Configurations(
        start=np.zeros(1, np.int64),
        members=members,
        degree=degree,
        latency=latency,
        fixed=model.cost * cost + TIE_MOVE * moved + np.where(used, model.tie_order(i)[members], 0.0).sum(axis=1) + penalty,
        cost=cost,
        rent=rent,
        downtime=downtime,
        tail=behind if model.instance_paths else behind.max(axis=1, keepdims=True),
        places=places,
        anchor=places[np.arange(len(members)), telling].astype(np.int64),
        anchor_member=telling if model.instance_paths else np.zeros_like(telling),
    )
    own_cost = relaxation.alpha * flow * latency + relaxation.money * cost + rent + penalty
    own_cost += model.downtime * np.maximum(downtime - box.least, 0.0)
    hopeless = best_other.max(axis=1) + own_cost > incumbent
    fitting = _fits(model, i, members)
    survives = np.isfinite(reference) & ~hopeless & fitting & (downtime <= box.most) & np.isfinite(best_other.max(axis=1))
    return Configurations(part.start, *(values[survives] for values in part[1:]))


def _reconfiguration(model: EliminationModel, i: int, members: Ints32) -> tuple[Floats, Floats]:
    """Downtime and moved replicas of each configuration."""
    compiled = model.compiled
    if compiled.current is None:
        return np.zeros(len(members)), np.zeros(len(members))
    operator = int(model.order[i])
    downtime = operator_downtimes(compiled, operator, members)
    before = compiled.current[operator]
    used = members != NO_NODE
    multiplicity = (members[:, :, None] == members[:, None, :]) & used[:, :, None] & used[:, None, :]
    rank = np.tril(multiplicity, -1).sum(axis=2)  # how many equal members come earlier
    staying = (used & (before[members] > rank)).sum(axis=1)
    moved = np.maximum(used.sum(axis=1), before.sum()) - staying
    floor = downtime_floor(compiled)
    return np.where(moved > 0, np.maximum(downtime, floor), 0.0), moved.astype(float)


def _fits(model: EliminationModel, i: int, members: Ints32) -> Bools:
    """Whether a configuration alone stays within every node's capacity."""
    fitting = np.ones(len(members), bool)
    for replica in range(members.shape[1]):
        node = members[:, replica]
        count = (members == node[:, None]).sum(axis=1)
        need = count[:, None] * model.demand[i][None]
        fitting &= (node == NO_NODE) | (need <= model.capacity[node] * (1 + LIMIT_SLACK)).all(axis=1)
    return fitting
