"""Prices of reconfigurations, plans that reach most of a plan's gain with cheaper moves, and repairs with few moves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from edrp.core.arrays import Floats, Ints
from edrp.core.late_imports import optimize
from edrp.core.tolerances import LIMIT_SLACK
from edrp.placement.application import Topology
from edrp.placement.compilation import compile_problem
from edrp.placement.compiled import Compiled
from edrp.placement.deployment import Deployment
from edrp.placement.latency_aware import LatencyAwareProblem
from edrp.placement.metrics.downtime import Downtime
from edrp.placement.network import Network, Node
from edrp.placement.problem import PlacementProblem, StreamPlacement

MAX_PARTIAL_PLANS = 16
"""Partial plans per plan; with more operators that change, they are put back several at a time."""

DOWNTIME = Downtime()


@dataclass(frozen=True, slots=True)
class Reconfiguration:
    """A running deployment about to change, as the downtime metric of EDRP sees it.

    Attributes
    ----------
    application : operators that run now and will.
    network : nodes now, and those that have vanished since: their state is restored as if from their side of the store.
    current : nodes now, of these operators.
    synchronisation_time : seconds, t_syn.
    reconfiguration : "pause-and-resume" or "storm".
    """

    application: Topology
    network: Network
    current: Deployment
    synchronisation_time: float
    reconfiguration: str

    def downtime(self, target: Deployment) -> float:
        """Seconds without processing (EDRP, eq. 10)."""
        return DOWNTIME.evaluate(self, Deployment({name: target[name] for name in self.current}))


def reconfiguration(
    problem: LatencyAwareProblem, running: Deployment | None, known: Mapping[str, Node], *, synchronisation_time: float, how: str
) -> Reconfiguration | None:
    """The reconfiguration of what runs; None where nothing that is to run does yet.

    Parameters
    ----------
    problem
        As it is now; operators that run no longer count for nothing.
    running
        May name nodes that have vanished.
    known
        All nodes that there ever were, by name; those that are not known count as bare names.
    synchronisation_time, how
        As in `Reconfiguration`.
    """
    common = [] if running is None else [operator for operator in problem.application.operators if operator.name in running]
    if running is None or not common:
        return None
    current = Deployment({operator.name: running[operator.name] for operator in common})
    present = problem.network.by_name
    gone = dict.fromkeys(node for name in current for node in current[name] if node not in present)
    lost = [known.get(name, Node(name=name)) for name in gone]
    network = problem.network.replace(nodes=(*problem.network.nodes, *lost)) if lost else problem.network
    return Reconfiguration(Topology(operators=tuple(common)), network, current, synchronisation_time, how)


def plans_near(plan: Deployment, problem: LatencyAwareProblem, change: Reconfiguration | None) -> list[Deployment]:
    """The plan, the plan with equal nodes exchanged so that more stays in place, and parts of both; each once."""
    if change is None:
        return [plan]
    wholes = [plan, relabelled(plan, problem, change.current)]
    return list(dict.fromkeys([*wholes, *(part for full_plan in wholes for part in _partial(full_plan, problem, change))]))


def relabelled(plan: Deployment, problem: PlacementProblem, running: Deployment) -> Deployment:
    """The plan with equal nodes exchanged such that as many instances as possible, of most state, stay where they are.

    Nodes are equal that offer the same and may run the same operators: a method cannot know which of
    them is better but by latency, and may return any.
    """
    names = exchanged_nodes(plan, problem, running)
    return Deployment({name: [names[node] for node in plan[name]] for name in plan})


def exchanged_nodes(plan: Deployment, problem: StreamPlacement, running: Deployment) -> dict[str, str]:
    """Return for every node of the plan the node that takes its place in `relabelled`."""
    operators = list(plan)
    before, after = _counts(running, operators), _counts(plan, operators)
    # Share of all state that an instance of each operator of the plan holds.
    sizes = [problem.application.by_name[name].state_size / max(1, len(plan[name])) for name in plan]
    total = sum(size * len(plan[name]) for size, name in zip(sizes, plan, strict=True))
    state = np.array(sizes) / total if total > 0 else np.zeros(len(sizes))
    none = np.zeros(len(operators), np.int64)
    renamed: dict[str, str] = {}
    for group in _equal_nodes(problem):
        used = [name for name in group if name in after]
        places = [name for name in group if name in after or name in before]
        if not used:
            continue
        # Fewer instances never stay for the sake of state or of the plan: what these add is less than 1 in all.
        stays = np.array([[np.minimum(after[u], before.get(v, none)) @ (1 + state / 2) for v in places] for u in used])
        stays += np.array([[u == v for v in places] for u in used]) / (1000 * len(used))  # among equals, as planned
        rows, columns = optimize.linear_sum_assignment(stays, maximize=True)
        renamed.update({used[row]: places[column] for row, column in zip(rows, columns, strict=True)})
    return renamed


def _counts(deployment: Deployment, operators: list[str]) -> dict[str, np.ndarray]:
    """Instances of each operator by node."""
    counts: dict[str, np.ndarray] = {}
    for index, name in enumerate(operators):
        for node in deployment.get(name, ()):
            counts.setdefault(node, np.zeros(len(operators), np.int64))[index] += 1
    return counts


def _equal_nodes(problem: StreamPlacement) -> Iterator[list[str]]:
    restricted = [set(operator.candidates) for operator in problem.application.operators if operator.candidates is not None]
    groups: dict[object, list[str]] = {}
    for node in problem.network.nodes:
        offered = frozenset(node.resources.items()) if isinstance(node.resources, dict) else node.resources
        allowed = tuple(node.name in candidates for candidates in restricted)
        told_apart = (node.zone, tuple(node.labels.items())) if problem.rules else ()
        groups.setdefault((offered, allowed, told_apart), []).append(node.name)
    yield from groups.values()


def _partial(plan: Deployment, problem: LatencyAwareProblem, change: Reconfiguration) -> Iterator[Deployment]:
    """The plan without the operators whose moves take longest, of which the slowest alone decides the downtime."""
    changed = [name for name, nodes in change.current.items() if nodes != plan[name] and _can_stay(name, problem, change.current)]
    slowest = sorted(changed, key=lambda name: -DOWNTIME.operator_downtime(change, plan, name))
    for cut in np.unique(np.linspace(1, len(slowest), min(MAX_PARTIAL_PLANS, len(slowest)), dtype=np.int64)):
        kept_plan = {name: change.current[name] for name in slowest[:cut]}
        yield Deployment({name: kept_plan.get(name, plan[name]) for name in plan})


def _can_stay(name: str, problem: LatencyAwareProblem, running: Deployment) -> bool:
    operator, nodes = problem.application.by_name[name], problem.network.by_name
    return len(running[name]) == operator.instances and all(
        node in nodes and (operator.candidates is None or node in operator.candidates) for node in running[name]
    )


def patched(problem: LatencyAwareProblem, running: Deployment) -> Deployment | None:
    """Move only what has to: instances that lost their node or may not be there, and as many as overload a node.

    From an overloaded node those leave first whose state is least. Each goes to the node with room that runs most of its
    neighbours; where none has room, simple rules do not help, which is None.

    Parameters
    ----------
    problem
        As it is now.
    running
        May name nodes and operators that are no more, and lack some.

    Examples
    --------
    >>> operators = [{"name": "read", "resources": {"cpu": 0.6}}, {"name": "write", "resources": {"cpu": 0.2}}]
    >>> nodes = [{"name": "a", "resources": {"cpu": 1.0}}, {"name": "b", "resources": {"cpu": 1.0}}]
    >>> problem = LatencyAwareProblem(application={"operators": operators}, network={"nodes": nodes})
    >>> patched(problem, Deployment({"read": ["b"], "write": ["vanished"]}))["write"]
    ('b',)
    """
    compiled = compile_problem(problem)
    # Instances where they run and still may, shape (operators, nodes).
    index = {name: u for u, name in enumerate(compiled.nodes)}
    counts = np.zeros(compiled.candidate.shape, np.int64)
    for i, name in enumerate(compiled.operators):
        for node in running.get(name, ()):
            u = index.get(node)
            if u is not None and compiled.candidate[i, u] and counts[i].sum() < compiled.max_replicas[i]:
                counts[i, u] += 1
    room = compiled.capacity * (1 + LIMIT_SLACK) - counts.T @ compiled.demand
    _unload(compiled, counts, room)
    return compiled.deployment(counts) if _fill(compiled, counts, room) else None


def _unload(compiled: Compiled, counts: Ints, room: Floats) -> None:
    """Take instances off overloaded nodes until the rest fits."""
    state = compiled.state_size / compiled.max_replicas
    for u in np.flatnonzero((room < 0).any(axis=1)):
        while (short := room[u] < 0).any():
            helps = (counts[:, u] > 0) & (compiled.demand[:, short] > 0).any(axis=1)
            i = int(np.argmin(np.where(helps, state, np.inf)))
            counts[i, u] -= 1
            room[u] += compiled.demand[i]


def _fill(compiled: Compiled, counts: Ints, room: Floats) -> bool:
    """Start what is missing, the neediest operators first; False where one finds no room."""
    neighbours: list[list[int]] = [[] for _ in compiled.operators]
    for i, j in zip(compiled.stream_source, compiled.stream_target, strict=True):
        neighbours[i].append(int(j))
        neighbours[j].append(int(i))
    largest_capacity = np.maximum(np.where(np.isfinite(compiled.capacity), compiled.capacity, 0.0).max(axis=0), 1e-300)
    for i in np.argsort(-(compiled.demand / largest_capacity).max(axis=1, initial=0.0), kind="stable"):
        for _ in range(int(compiled.max_replicas[i] - counts[i].sum())):
            fits = compiled.candidate[i] & (room >= compiled.demand[i]).all(axis=1)
            if not fits.any():
                return False
            worth = counts[neighbours[i]].sum(axis=0) + 0.5 * counts.any(axis=0)
            u = int(np.argmax(np.where(fits, worth, -1.0)))
            counts[i, u] += 1
            room[u] -= compiled.demand[i]
    return True
