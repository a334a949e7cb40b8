"""Every deployment of a small problem that places operators, judged by the plain evaluation of the problem.

It shares no table and no algorithm with the methods that it checks (`edrp.placement.compiled` is not used).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, combinations_with_replacement, product
from typing import Any

import numpy as np

from edrp.core.arrays import Bools, Floats, Ints, flattened
from edrp.core.document import named_resources
from edrp.core.problem import Evaluation
from edrp.core.tolerances import BRUTE_FORCE_TIE, LIMIT_SLACK
from edrp.migration.rescale.documents import NOW, KeyRange, ReplicaLoad, even_boundaries, replica_loads
from edrp.migration.rescale.problem import RescaleProblem
from edrp.placement.metrics import NetworkUsage
from edrp.placement.metrics.path_latency import MILLISECONDS
from edrp.placement.metrics.peak_load import PEAK_LOAD, PEAK_LOADS, shared_resources
from edrp.placement.metrics.separation import Separation
from edrp.placement.problem import StreamPlacement

PARTIALS_AT_ONCE = 200_000
"""Partial deployments that are extended at once."""

Replicas = tuple[Any, ...]
"""What a deployment says of one operator: nodes, or ranges of tasks with their nodes."""

BY_CHANGE = ("downtime", "moved_state")
"""Metrics that compare with the current deployment; what single operators change bounds what all change."""

SUMS = ("cost", NetworkUsage.name, "moved_state", "colocation", "events")
"""Metrics that are sums over operators and streams."""

BOUNDED = {*SUMS, "response_time", "path_latency", "downtime", "availability", "supervisors"}
"""Metrics of which deployments of some operators tell a lower bound, next to peak loads."""


@dataclass(frozen=True, slots=True)
class Enumerated:
    """A feasible deployment and its evaluation."""

    deployment: Any
    evaluation: Evaluation


def feasible_deployments(problem: StreamPlacement) -> list[Enumerated]:
    """List every feasible deployment of a problem with its metrics."""
    judged = (Enumerated(deployment, problem.evaluate(deployment)) for deployment in deployments(problem))
    return [entry for entry in judged if entry.evaluation.feasible]


def deployments(problem: StreamPlacement) -> Iterator[Any]:
    """Yield every deployment that keeps to the candidates and the numbers of replicas."""
    names = list(problem.application.by_name)
    for chosen in product(*(operator_choices(problem, name) for name in names)):
        yield problem.decision_type(dict(zip(names, chosen, strict=True)))


def operator_choices(problem: StreamPlacement, name: str) -> list[Replicas]:
    """Every multiset of nodes on which the replicas of an operator may run; of tasks every split with every choice of nodes."""
    operator: Any = problem.application.by_name[name]
    nodes = operator.candidates or tuple(problem.network.by_name)
    if getattr(operator, "tasks", None) is not None:
        return [*_splits(operator, nodes, even=problem.ranges == "even")]  # type: ignore[attr-defined]
    degrees = range(operator.min_replicas, operator.max_replicas + 1)
    return [chosen for degree in degrees for chosen in combinations_with_replacement(nodes, degree)]


def _splits(operator: Any, nodes: tuple[str, ...], *, even: bool) -> Iterator[Replicas]:
    count = operator.tasks.count
    for degree in range(operator.min_replicas, operator.most_replicas + 1):
        for cuts in [even_boundaries(count, degree)[1:-1]] if even else combinations(range(1, count), degree - 1):
            ends = [0, *cuts, count]
            for chosen in product(nodes, repeat=degree):
                yield tuple(KeyRange(node=node, tasks=(a, b)) for node, a, b in zip(chosen, ends, ends[1:], strict=False))


def lexicographic_optimum(problem: Any) -> float | None:
    """Least objective of the deployments that are best by the priorities of a problem, one after the other; None without any."""
    left = feasible_deployments(problem)
    for priority in problem.priorities:
        metric = problem.metrics[priority.metric]
        values = [metric.scaled(entry.evaluation.metrics[priority.metric]) for entry in left]
        most = min(values, default=0.0) * (1 + priority.slack) * (1 + LIMIT_SLACK)
        left = [entry for entry, value in zip(left, values, strict=True) if value <= most]
    return min((entry.evaluation.objective for entry in left), default=None)


def brute_force(problem: StreamPlacement) -> tuple[float | None, tuple[Any, ...]]:
    """The minimum objective over all feasible deployments, and every deployment that reaches it.

    Operators are added in topological order. A deployment of the first of them is dropped where it breaks a limit or a
    capacity, or costs more than the best found: no metric of the package falls as operators are added. Complete deployments
    are evaluated by the problem itself, so that rules and metrics of other packages count, too.

    Returns
    -------
    tuple
        (None, ()) when the problem is infeasible.
    """
    search = _DeploymentSearch(problem)
    if all(step.choices for step in search.steps):
        search.extend(search.root())
    optima = tuple(deployment for objective, deployment in search.found if objective <= search.best + BRUTE_FORCE_TIE)
    return (search.best, optima) if optima else (None, ())


@dataclass(frozen=True, slots=True)
class _Step:
    """The stable configurations of an operator; arrays have one row for each.

    Attributes
    ----------
    share, present : shape (configurations, nodes), of the load, and whether a replica is there.
    need : shape (configurations, nodes × resources)
    demand : shape (configurations, nodes, shared resources), share of the capacity that replicas ask for.
    latency : shape (configurations, scenarios)
    sums : shape (configurations, len(SUMS))
    downtime : shape (configurations,)
    """

    choices: list[Replicas]
    share: Floats
    present: Bools
    need: Floats
    demand: Floats
    latency: Floats
    sums: Floats
    downtime: Floats


@dataclass(frozen=True, slots=True)
class _Stream:
    """A stream for each pair of configurations, of the operator that is placed `first` and of the one that is placed later.

    Attributes
    ----------
    delay : shape (first, later); of a stream that closes a cycle None.
    sums : shape (first, later, len(SUMS))
    used : shape (first, later, parts), which links it uses.
    """

    first: int
    delay: Floats | None
    sums: Floats
    used: Bools


@dataclass(frozen=True, slots=True)
class _PartialDeployments:
    """Rows of configurations for the first operators, with what they amount to so far."""

    choice: Ints
    finish: Floats
    sums: Floats
    downtime: Floats
    used: Bools
    room: Floats
    demand: Floats

    def take(self, rows: Bools | Ints) -> _PartialDeployments:
        return _PartialDeployments(*(getattr(self, name)[rows] for name in self.__slots__))


class _DeploymentSearch:
    """Depth-first over chunks of partial deployments, the best first."""

    def __init__(self, problem: Any) -> None:
        self.problem = problem
        self.order = problem.application.topological_order
        self.nodes = list(problem.network.by_name)
        self.resources = sorted({n for o in problem.application.operators for n in named_resources(o.resources)})
        self.chances = np.array([scenario.probability for scenario in getattr(problem, "load_scenarios", NOW)])
        self.shared = shared_resources(problem.application)
        self.parts = _parts(problem)
        # What a metric of another package is at least is not known.
        others = {name for name in problem.metrics if name not in BOUNDED and not name.startswith(PEAK_LOAD)}
        self.is_bound = not any(term.weight and term.metric in others for term in problem.terms)
        self.steps = [self._step(name) for name in self.order]
        self.streams: list[list[_Stream]] = [[] for _ in self.order]
        for stream in problem.application.streams:
            later = max(self.order.index(stream.source), self.order.index(stream.target))
            self.streams[later].append(self._stream(stream.source, stream.target))
        self.best = math.inf
        self.found: list[tuple[float, Any]] = []

    def root(self) -> _PartialDeployments:
        problem = self.problem
        free = [None if node.resources is None else named_resources(node.resources) for node in problem.network.nodes]
        usable = {name: problem.usable_share(name) for name in self.resources}
        room = [math.inf if has is None else has.get(name, 0.0) * usable[name] for has in free for name in self.resources]
        return _PartialDeployments(
            np.zeros((1, 0), np.int64), np.zeros((1, 0, len(self.chances))), np.zeros((1, len(SUMS))), np.zeros(1),
            np.zeros((1, len(self.parts)), bool), np.array(room, float)[None] * (1 + LIMIT_SLACK),
            np.zeros((1, len(self.nodes), len(self.shared))),
        )  # fmt: skip

    def extend(self, partial: _PartialDeployments) -> None:
        """Add the next operator to every row, chunk by chunk; evaluate complete deployments."""
        depth = partial.choice.shape[1]
        count = len(self.steps[depth].choices)
        chunk = max(1, PARTIALS_AT_ONCE // count)
        for start in range(0, len(partial.choice), chunk):
            rows = np.arange(start, min(start + chunk, len(partial.choice)))
            grown = self._grow(partial, np.repeat(rows, count), np.tile(np.arange(count), rows.size), depth)
            bound = self._bound(grown)
            order = np.argsort(bound, kind="stable")
            order = order[bound[order] <= min(self.best + BRUTE_FORCE_TIE, 1e300)]
            if depth + 1 == len(self.steps):
                self._evaluate(bound[order], grown.choice[order])
            elif order.size:
                self.extend(grown.take(order))

    def _evaluate(self, bounds: Floats, choice: Ints) -> None:
        for bound, row in zip(bounds.tolist(), choice, strict=True):
            if bound > self.best + BRUTE_FORCE_TIE:
                return
            chosen = {name: self.steps[i].choices[k] for i, (name, k) in enumerate(zip(self.order, row, strict=True))}
            deployment = self.problem.decision_type(chosen)
            if any(any(rule.broken(rule.evaluate(self.problem, deployment))) for rule in self.problem.rules):
                continue
            evaluation = self.problem.evaluate(deployment)
            if evaluation.feasible:
                self.best = min(self.best, evaluation.objective)
                self.found.append((evaluation.objective, deployment))

    def _grow(self, partial: _PartialDeployments, rows: Ints, new: Ints, depth: int) -> _PartialDeployments:
        step = self.steps[depth]
        room = partial.room[rows] - step.need[new]
        keep = (room >= 0).all(axis=1)
        base, new = partial.take(rows[keep]), new[keep]
        ready, sums = np.zeros((new.size, len(self.chances))), base.sums + step.sums[new]
        used = np.zeros((len(step.choices), len(self.parts)), bool)
        for column, part in enumerate(self.parts):
            if len(part) == 1:
                used[:, column] = step.present[:, self.nodes.index(part[0])]
        used = base.used | used[new]
        for stream in self.streams[depth]:
            chosen = new if stream.first == depth else base.choice[:, stream.first]
            if stream.delay is not None:
                ready = np.maximum(ready, base.finish[:, stream.first] + stream.delay[chosen, new][:, None])
            sums, used = sums + stream.sums[chosen, new], used | stream.used[chosen, new]
        return _PartialDeployments(
            np.column_stack([base.choice, new]),
            np.concatenate([base.finish, (ready + step.latency[new])[:, None]], axis=1),
            sums,
            np.maximum(base.downtime, step.downtime[new]),
            used,
            room[keep],
            base.demand + step.demand[new],
        )

    def _bound(self, partial: _PartialDeployments) -> Floats:
        """Lower bound of the objective by what is placed so far; infinite where a limit is broken (EDRP, eqs. 12, 15–17)."""
        latest = partial.finish.max(axis=1) @ self.chances
        loss = partial.used @ np.array(list(self.parts.values()), float)
        scaled = dict(zip(SUMS, partial.sums.T, strict=True))
        scaled |= {"response_time": latest, "path_latency": MILLISECONDS * latest, "downtime": partial.downtime}
        scaled |= {"availability": loss, "supervisors": loss, PEAK_LOAD: partial.demand.max(axis=(1, 2), initial=0.0)}
        scaled |= {f"{PEAK_LOADS}.{name}": peak for name, peak in zip(self.shared, partial.demand.max(axis=1).T, strict=True)}
        total = np.full(len(latest), 0.0 if self.is_bound else -np.inf)
        for term in self.problem.terms:
            if term.metric in scaled:
                total += term.coefficient * scaled[term.metric] if self.is_bound and term.coefficient else 0.0
                total[scaled[term.metric] > term.scaled_limit * (1 + 2 * LIMIT_SLACK)] = math.inf
        return total

    def _step(self, name: str) -> _Step:
        problem, operator = self.problem, self.problem.application.by_name[name]
        timer = problem.metrics.get("response_time")  # path latency has no latencies of operators
        choices, latency, loads = [], [], []
        for choice in operator_choices(problem, name):
            alone = problem.decision_type({name: choice})
            scenarios = getattr(problem, "scenario_problems", (problem,))
            at_loads = [timer.operator_latency(at, alone, name) if timer else 0.0 for at in scenarios]
            on_replicas = _loads(problem, name, alone)
            if np.isfinite(at_loads).all() and _is_allowed(problem, operator, on_replicas):
                choices.append(choice)
                latency.append(at_loads)
                loads.append(on_replicas)
        by_node = [[[load for load in rows if load.node == node] for node in self.nodes] for rows in loads]
        shape = (len(choices), len(self.nodes))
        counts = np.array([[len(rows) for rows in each] for each in by_node], float).reshape(shape)
        need = np.array([named_resources(operator.resources).get(resource, 0.0) for resource in self.resources])
        changed = self._changed(name, choices)
        sums = np.zeros((len(choices), len(SUMS)))
        sums[:, SUMS.index("cost")] = counts.sum(axis=1) * getattr(operator, "replica_cost", 0.0)
        sums[:, SUMS.index("moved_state")] = changed["moved_state"]
        return _Step(
            choices,
            np.array([[sum(load.share for load in rows) for rows in each] for each in by_node], float).reshape(shape),
            counts > 0,
            flattened(counts[:, :, None] * need),
            self._demand(operator, by_node).reshape(*shape, len(self.shared)),
            np.array(latency, float).reshape(len(choices), len(self.chances)),
            sums,
            changed["downtime"],
        )

    def _demand(self, operator: Any, by_node: list[list[list[ReplicaLoad]]]) -> Floats:
        """Share of the capacity of nodes that replicas of an operator ask for; without what their tuples to other nodes do."""
        usage, demand = getattr(operator, "usage", {}), []
        for each in by_node:
            for node, rows in zip(self.problem.network.nodes, each, strict=True):
                asked = [sum(usage[name].at(load.rate) for load in rows) if name in usage else 0.0 for name in self.shared]
                demand += [amount and amount / node.capacity[name] for name, amount in zip(self.shared, asked, strict=True)]
        return np.array(demand, float)

    def _changed(self, name: str, choices: list[Replicas]) -> dict[str, Floats]:
        """What metrics are that compare with the current deployment if one operator alone changes."""
        problem, values = self.problem, dict.fromkeys(BY_CHANGE, np.zeros(len(choices)))
        if problem.current is not None:
            now = {other: tuple(problem.current[other]) for other in self.order}
            after = [problem.decision_type({**now, name: choice}) for choice in choices]
            for metric in {*BY_CHANGE} & {*problem.metrics}:
                values[metric] = np.array([problem.metrics[metric].evaluate(problem, one) for one in after])
        return values

    def _stream(self, source: str, target: str) -> _Stream:
        problem, network, application = self.problem, self.problem.network, self.problem.application
        one, other = (self.steps[self.order.index(name)] for name in (source, target))
        seconds = np.array([[network.delay(u, v) for v in self.nodes] for u in self.nodes])
        per_pair = {
            "cost": application.rate(source, target)
            * np.array([[network.link_cost(u, v) for v in self.nodes] for u in self.nodes]),
            NetworkUsage.name: application.rate(source, target) * np.where(np.isfinite(seconds), seconds, 0.0),
        }
        for name, metric in problem.metrics.items():
            if isinstance(metric, Separation):
                carried = metric.carried(application, {o.name: o.max_replicas for o in application.operators})
                apart = carried[source, target] / (sum(carried.values()) or 1.0)
                per_pair[name] = apart * (1.0 - np.eye(len(self.nodes)))
        nothing = np.zeros((len(self.nodes), len(self.nodes)))
        sums = np.stack([one.share @ per_pair.get(name, nothing) @ other.share.T for name in SUMS], axis=2)
        used = np.zeros((*sums.shape[:2], len(self.parts)), bool)
        for column, part in enumerate(self.parts):
            if len(part) == 2:
                u, v = map(self.nodes.index, part)
                used[:, :, column] = one.present[:, u, None] & other.present[None, :, v]
        first, later = self.order.index(source), self.order.index(target)
        delay = None if (source, target) in application.feedback or first == later else self._delay(seconds, one, other)
        if first <= later:
            return _Stream(first, delay, sums, used)
        return _Stream(later, None, sums.swapaxes(0, 1), used.swapaxes(0, 1))

    def _delay(self, seconds: Floats, one: _Step, other: _Step) -> Floats:
        """Longest delay between replicas of both ends (EDRP, eq. 3); of paths through instances the least longest one."""
        longest = np.where(other.present[None], seconds[:, None], -np.inf).max(axis=2)
        if "path_latency" in self.problem.metrics:
            return np.asarray(np.where(one.present[:, :, None], longest[None], np.inf).min(axis=1))
        return np.asarray(np.where(one.present[:, :, None], longest[None], -np.inf).max(axis=1))


def _loads(problem: Any, name: str, alone: Any) -> list[ReplicaLoad]:
    """The load of each replica of an operator."""
    if isinstance(problem, RescaleProblem):
        return replica_loads(problem.application, alone, name)
    degree = len(alone[name])
    return [ReplicaLoad(node, 1 / degree, problem.application.load(name) / degree, None) for node in alone[name]]


def _is_allowed(problem: Any, operator: Any, loads: list[ReplicaLoad]) -> bool:
    """Whether the replicas of one operator are stable and keep to the tolerance, where a problem has more to say of that."""
    if not isinstance(problem, RescaleProblem):
        return True
    bounded = problem.tolerance is not None and operator.tasks is not None
    max_share = (1 + (problem.tolerance or 0.0)) / len(loads) * (1 + LIMIT_SLACK) if bounded else math.inf
    return all(problem.is_stable(operator, load.rate, len(loads)) and load.share <= max_share for load in loads)


def _parts(problem: Any) -> dict[tuple[str, ...], float]:
    """Loss of each node and each directed link that may fail, −ln(availability); of nodes as supervisors their share of all."""
    network = problem.network
    if "supervisors" in problem.metrics:
        return {(node.name,): 1 / len(network.nodes) for node in network.nodes}
    shares: dict[tuple[str, ...], float] = {(node.name,): node.availability for node in network.nodes}
    links = {(u, v): network.link(u, v) for u, v in product(network.by_name, repeat=2) if u != v}
    shares.update({ends: link.availability for ends, link in links.items() if link is not None})
    losses = {part: -math.log(share) for part, share in shares.items() if share < 1}
    return losses if "availability" in problem.metrics else {}
