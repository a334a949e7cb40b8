"""The largest multiple of a load as a program: the reciprocal of the multiple is a column, t.

With loads a + b·m an operator with r replicas of service rate μ on nodes of speed-up s ≤ 1 carries m where t ≥ b / (r·μ·s − a): a
number for every number of replicas, so that the row is linear however μ depends on r. A node with capacity C of a shared resource
carries m where C·t ≥ F·t + V, F being what is asked for whatever the multiple and V per unit of it. For m at most M, t ≥ 1/M and
C·t ≥ F/M + V: linear, exact where F is 0, and else exact at m = M, to which M comes down from solve to solve.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from edrp.core.arrays import Floats, Ints
from edrp.core.limits import with_rounding
from edrp.core.program import Linear
from edrp.core.tolerances import RATE_STEP, SAME_VALUE
from edrp.formulations.placement.carrying.counts import build_counts, only_counts
from edrp.formulations.placement.compact import CompactExpressions, build_compact
from edrp.formulations.placement.formulation import PlacementFormulation
from edrp.placement.compilation import compile_problem
from edrp.placement.compiled import Compiled
from edrp.placement.contention_arrays import ContentionArrays, contention_arrays
from edrp.placement.throughput import GrowingLoad, service_rate

AT_LOWEST = "{} at the lowest multiple"
"""Name of a resource as it is used at the lowest multiple."""


GRID = 60
"""Parts of the roomiest node that are told apart: a multiple of the numbers of replicas that commonly fill a node."""


def carrying_program(load: GrowingLoad, lowest: float, highest: float, *, graded: bool) -> tuple[PlacementFormulation, float]:
    """Formulate the search for a deployment that carries most; return the program, and the multiple for an objective of 1.

    The objective is that multiple over the one that is carried. `lowest` and `highest` are multiples between which the answer
    lies: no deployment that carries `lowest` is lost, and none that does is said to carry less than it does up to `highest`.
    Limits on metrics that grow with the rate are rows, as at `lowest`, where `graded`; without them the program is a relaxation.
    """
    problem = load.at(lowest)
    compiled = compile_problem(problem)
    unit = highest if math.isfinite(highest) else max(lowest, 1.0)
    use = shared_use(load, compiled)
    points, asked = {"{}": (unit, 1.0 if math.isfinite(highest) else 0.0)}, use[0].replica_use.any() or use[0].stream_use.any()
    if asked:
        points[AT_LOWEST] = lowest, 1.0
    loose = {name for name in compiled.limit if name.startswith("peak_load")} | (set() if graded else set(load.graded))
    compiled = replace(
        compiled,
        contention=_use_at(use, points),
        weight=dict.fromkeys(compiled.weight, 0.0),
        limit={name: math.inf if name in loose else limit for name, limit in compiled.limit.items()},
    )
    expressions = build_counts(compiled) if only_counts(compiled) else build_compact(compiled)
    program = expressions.program
    most = unit / lowest if lowest else math.inf
    top = Linear.of(program.add_columns("unit over multiple", upper=most))
    for name in use[0].resources:
        program.add_row(f"most of {name}", top - expressions.peak_load(name), lower=0.0)
        if asked:
            program.add_row(f"at least: {name}", expressions.peak_load(AT_LOWEST.format(name)), upper=1.0)
    for i in range(len(compiled.operators)):
        _add_service_rows(expressions, load, i, top, unit, most)
    program.minimise(top)
    return PlacementFormulation(problem, "carrying", program, top, 0.0, expressions), unit


def highest_multiple(load: GrowingLoad) -> float:
    """A multiple that nothing exceeds, of the operators one by one and of each resource, shared or not, of all nodes."""
    compiled = compile_problem(load.start)
    served = np.array([_served(load, i, compiled) for i in range(len(compiled.operators))])
    fastest = np.minimum(1.0, np.where(compiled.candidate, compiled.speedup, 0.0).max(axis=1))
    per_tuple = compiled.demand / (served[:, 1:] / np.arange(1, served.shape[1])).max(axis=1)[:, None]
    growing = np.array([load.growth.load(name) for name in compiled.operators])
    start, growth = shared_use(load, compiled)
    least = start.replica_use[np.arange(len(served)), compiled.min_replicas] * compiled.min_replicas[:, None]
    offered = np.concatenate([served.max(axis=1) * fastest, compiled.capacity.sum(axis=0), start.capacity.sum(axis=0)])
    fixed = np.concatenate([compiled.load, compiled.load @ per_tuple, least.sum(axis=0)])
    grown = np.concatenate([growing, growing @ per_tuple, growth.replica_use[:, 1].sum(axis=0)])
    return float(((offered - fixed)[grown > 0] / grown[grown > 0]).min(initial=math.inf))


def highest_in_time(load: GrowingLoad, highest: float) -> float:
    """A multiple of at most `highest` that nothing within the limit on the response time exceeds; latencies must not fall."""
    limit, start = load.problem.limits.response_time or math.inf, compile_problem(load.start)
    low, high = load.extremes[0], min(highest, load.extremes[1])

    def too_slow(multiple: float) -> bool:
        at = replace(start, latency=compile_problem(load.at(multiple)).latency)
        return least_response_time(at) > with_rounding(limit)

    if math.isinf(limit) or high <= low or too_slow(low) or not too_slow(high):
        return highest
    while high > low * (1 + RATE_STEP):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if too_slow(middle) else (middle, high)
    return high


def least_response_time(compiled: Compiled) -> float:
    """Seconds that no deployment falls below, of the path on which the fastest numbers of replicas take longest.

    Tuples go from an operator to the next without delay only where all replicas of both are on one node (EDRP, eq. 6): a dynamic
    program over how much of the roomiest node is taken, by the resource of which the path needs most.
    """
    fastest = np.where(compiled.candidate, compiled.speedup, 0.0).max(axis=1)
    latency = np.minimum.accumulate(compiled.latency, axis=1) / fastest[:, None]  # with so many replicas or fewer
    hop, finish, before = compiled.links.shortest_delay, latency[:, -1].copy(), np.full(len(latency), -1)
    for i in range(len(latency)):
        if (sources := compiled.stream_source[compiled.stream_target == i]).size:
            before[i] = sources[finish[sources].argmax()]
            finish[i] += finish[before[i]] + hop
    path = [int(finish.argmax())]
    while before[path[-1]] >= 0:
        path.append(int(before[path[-1]]))
    room = compiled.capacity.max(axis=0)
    share = np.divide(compiled.demand, room, out=np.zeros(compiled.demand.shape), where=room > 0)
    need = share[:, share[path].sum(axis=0).argmax()] if share.size else np.zeros(len(latency))
    parts = np.arange(GRID + 1)
    sums = np.add.outer(parts, parts)
    together, soonest = np.full(GRID + 1, math.inf), -hop  # by how much of one node is taken, and wherever the replicas are
    for i in reversed(path):
        taken = np.floor(GRID * need[i] * np.arange(latency.shape[1]))
        alone = np.array([latency[i, taken <= part].min(initial=math.inf) for part in parts])
        on_one_node = soonest + hop + alone
        np.minimum.at(on_one_node, sums[sums <= GRID], np.add.outer(alone, together)[sums <= GRID])
        together, soonest = on_one_node, min(float(on_one_node.min()), soonest + hop + float(latency[i, -1]))
    return soonest


def shared_use(load: GrowingLoad, compiled: Compiled) -> tuple[ContentionArrays, ContentionArrays]:
    """Use of shared resources whatever the multiple, and per unit of it; capacities are what nodes may be asked for."""
    nodes = [load.problem.network.by_name[name] for name in compiled.nodes]
    made = []
    for application in (load.start.application, load.growth):
        loads = np.array([application.load(name) for name in compiled.operators])
        arrays = contention_arrays(application, [application.by_name[name] for name in compiled.operators], nodes, loads)
        capacity = [[load.capacity(node, k) if k in node.capacity else math.inf for k in arrays.resources] for node in nodes]
        made.append(replace(arrays, capacity=np.array(capacity).reshape(arrays.capacity.shape)))
    return made[0], made[1]


def _use_at(use: tuple[ContentionArrays, ContentionArrays], points: dict[str, tuple[float, float]]) -> ContentionArrays:
    """Use of every resource at each point: what grows, times a multiple, and what does not, times a factor; points name it."""
    start, growth = use
    return replace(
        growth,
        resources=tuple(name.format(resource) for name in points for resource in growth.resources),
        capacity=np.hstack([growth.capacity for _ in points]),
        replica_use=np.concatenate([k * start.replica_use + m * growth.replica_use for m, k in points.values()], axis=2),
        stream_use=np.concatenate([k * start.stream_use + m * growth.stream_use for m, k in points.values()], axis=1),
    )


def _served(load: GrowingLoad, operator: int, compiled: Compiled) -> Floats:
    """Tuples/s that 0, 1, … replicas on reference nodes serve together, −∞ for numbers of replicas that are not allowed."""
    document = load.problem.application.by_name[compiled.operators[operator]]
    served = np.full(compiled.latency.shape[1], -math.inf)
    for replicas in range(document.min_replicas, document.max_replicas + 1):
        served[replicas] = replicas * service_rate(document, replicas)
    return served


def _add_service_rows(
    expressions: CompactExpressions, load: GrowingLoad, operator: int, top: Linear, unit: float, most: float
) -> None:
    """Rows t ≥ unit·b / (r·μ(r)·s − a) of an operator: one, and one for every node with a speed-up s below 1.

    On such a node at most one pattern is chosen, which knows the number of replicas: the row of the node has the same terms, and
    the difference that the node makes. Patterns that do not carry `unit / most` are left out.
    """
    compiled, columns, program = expressions.compiled, expressions.operators[operator], expressions.program
    name = compiled.operators[operator]
    served, growth, fixed = _served(load, operator, compiled), load.growth.load(name), load.start.application.load(name)
    if growth <= 0 or math.isinf(served.max()):
        return

    def reciprocals(speed: float, replicas: Ints) -> Floats:
        spare = np.asarray(served[replicas] * speed - fixed)
        return np.divide(unit * growth, spare, out=np.full(spare.shape, math.inf), where=spare > 0)

    reference = reciprocals(1.0, columns.totals)
    closed = ~(reference <= most * (1 + SAME_VALUE))
    program.fix(columns.pattern if columns.single and closed.all() else columns.split[closed] if not columns.single else [], 0.0)
    reference = np.where(np.isfinite(reference), reference, 0.0)
    of_splits = Linear.zero() + float(reference[0]) if columns.single else Linear.of(columns.split, reference)
    program.add_row(f"served {name}", top - of_splits, lower=0.0)
    speeds = np.minimum(1.0, compiled.speedup[columns.nodes])
    for u in np.flatnonzero(speeds < 1):
        there = reciprocals(float(speeds[u]), columns.degrees)
        program.fix(columns.pattern[u, ~(there <= most * (1 + SAME_VALUE))], 0.0)
        slower = Linear.of(columns.pattern[u], np.where(np.isfinite(there), there, 0.0) - reference[columns.splits])
        program.add_row(f"served {name} on {compiled.nodes[columns.nodes[u]]}", top - of_splits - slower, lower=0.0)
