"""Brute force: every deployment of a small problem, evaluated from the documents alone.

It shares no table and no algorithm with the methods that it checks (`edrp.placement.compiled` is not used).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from edrp.check_problems.placement.enumeration import operator_choices
from edrp.core.arrays import Bools, Floats, Ints, flattened
from edrp.core.document import named_resources
from edrp.core.tolerances import BRUTE_FORCE_TIE, LIMIT_SLACK
from edrp.placement.deployment import Deployment
from edrp.placement.edrp import EdrpProblem
from edrp.placement.metrics import EDRP_METRICS, ResponseTime

PARTIALS_AT_ONCE = 200_000
"""Partial deployments that are extended at once."""


def brute_force(problem: EdrpProblem) -> tuple[float | None, tuple[Deployment, ...]]:
    """The minimum objective over all feasible deployments, and every deployment that reaches it.

    Operators are added in topological order; partial deployments that break a limit or a capacity, or cost
    more than the best found, are dropped, because every metric only grows as operators are added.

    Returns
    -------
    tuple
        (None, ()) when the problem is infeasible.
    """
    steps = [_step(problem, depth) for depth in range(len(problem.application.operators))]
    search = _DeploymentSearch(problem, steps)
    search.extend(search.root())
    optima = [row for objective, row in search.candidates if objective <= search.best + BRUTE_FORCE_TIE]
    if not optima:
        return None, ()
    deployments = tuple(search.deployment(row) for row in optima)
    return min(problem.evaluate(deployment).objective for deployment in deployments), deployments


@dataclass(frozen=True, slots=True)
class _Step:
    """Everything about one operator: its configurations and what each costs, alone and with the operators before it."""

    choices: list[tuple[str, ...]]
    latency: Floats
    cost: Floats
    downtime: Floats
    demand: Floats
    nodes_used: Ints
    streams: dict[int, tuple[Floats, Floats, Floats, Ints]]


@dataclass(frozen=True, slots=True)
class _PartialDeployment:
    """Rows of choices for the first operators, with what they use so far."""

    choice: Ints
    finish: Floats
    cost: Floats
    downtime: Floats
    usage: Floats
    used: Ints
    room: Floats

    def take(self, rows: Bools | Ints) -> _PartialDeployment:
        return _PartialDeployment(*(getattr(self, name)[rows] for name in self.__slots__))


def _parts(problem: EdrpProblem) -> dict[tuple[str, ...], tuple[int, float]]:
    """One bit and −ln(availability) for each node and each directed link that may fail."""
    network = problem.network
    shares: dict[tuple[str, ...], float] = {(node.name,): node.availability for node in network.nodes}
    for u in network.by_name:
        for v in network.by_name:
            link = network.link(u, v)
            if link is not None:
                shares[u, v] = link.availability
    fallible = [part for part in sorted(shares) if shares[part] < 1]
    return {part: (1 << bit, -math.log(shares[part])) for bit, part in enumerate(fallible)}


def _capacity(problem: EdrpProblem) -> tuple[list[str], Floats]:
    """Names of the resources, and room on each node, shape (nodes, resources)."""
    resources = sorted({n for o in problem.application.operators for n in named_resources(o.resources)})
    rows = []
    for node in problem.network.nodes:
        free = node.resources
        rows.append([math.inf if free is None else named_resources(free).get(m, 0.0) for m in resources])
    return resources, np.array(rows, float).reshape(len(problem.network.nodes), len(resources))


def _step(problem: EdrpProblem, depth: int) -> _Step:
    order = problem.application.topological_order
    name = order[depth]
    operator = problem.application.by_name[name]
    choices = operator_choices(problem, name)
    resources, _ = _capacity(problem)
    need = np.array([named_resources(operator.resources).get(m, 0.0) for m in resources])
    counts = np.array([[choice.count(node) for node in problem.network.by_name] for choice in choices])
    parts = _parts(problem)
    downtime = np.zeros(len(choices))
    if problem.current is not None:
        # The application's downtime is the longest of those with one operator changed (EDRP, eqs. 10, 33).
        changed = [Deployment({**problem.current, name: choice}) for choice in choices]
        downtime = np.array([EDRP_METRICS["downtime"].evaluate(problem, deployment) for deployment in changed])
    timer = ResponseTime()
    return _Step(
        choices,
        np.array([timer.operator_latency(problem, Deployment({name: choice}), name) for choice in choices]),
        np.array([len(choice) * operator.replica_cost for choice in choices]),
        downtime,
        flattened(counts[:, :, None] * need),
        np.array([sum(parts[u,][0] for u in set(choice) if (u,) in parts) for choice in choices], np.int64),
        {
            before: _stream_tables(problem, operator_choices(problem, order[before]), choices, (order[before], name))
            for before in range(depth)
            if any((s.source, s.target) == (order[before], name) for s in problem.application.streams)
        },
    )


def _stream_tables(
    problem: EdrpProblem, sources: list[tuple[str, ...]], targets: list[tuple[str, ...]], stream: tuple[str, str]
) -> tuple[Floats, Floats, Floats, Ints]:
    """Longest delay, cost, tuples in flight and links used, by configurations of both ends."""
    network, rate, parts = problem.network, problem.application.rate(*stream), _parts(problem)
    names = list(network.by_name)
    link = {(u, v): (network.delay(u, v), network.link_cost(u, v), parts.get((u, v), (0, 0.0))[0]) for u in names for v in names}
    shape = (len(sources), len(targets))
    delay, cost, flight, used = np.zeros(shape), np.zeros(shape), np.zeros(shape), np.zeros(shape, np.int64)
    for a, source in enumerate(sources):
        for b, target in enumerate(targets):
            links = [link[u, v] for u in source for v in target]
            share = rate / len(links)
            delay[a, b] = max(d for d, _, _ in links)
            cost[a, b] = share * sum(c for _, c, _ in links)
            flight[a, b] = share * sum(d for d, _, _ in links)
            for _, _, bit in links:
                used[a, b] |= bit
    return delay, cost, flight, used


class _DeploymentSearch:
    """Depth-first over chunks of partial deployments."""

    def __init__(self, problem: EdrpProblem, steps: list[_Step]) -> None:
        self.order = problem.application.topological_order
        self.steps = steps
        self.capacity = _capacity(problem)[1].ravel()
        self.terms = {term.metric: term for term in problem.terms}
        self.losses = list(_parts(problem).values())
        self.best = math.inf
        self.candidates: list[tuple[float, Ints]] = []

    def root(self) -> _PartialDeployment:
        zero = np.zeros(1)
        nothing = np.zeros(1, np.int64)
        return _PartialDeployment(np.zeros((1, 0), np.int64), np.zeros((1, 0)), zero, zero, zero, nothing, self.capacity[None])

    def deployment(self, row: Ints) -> Deployment:
        return Deployment({name: self.steps[i].choices[row[i]] for i, name in enumerate(self.order)})

    def extend(self, partial: _PartialDeployment) -> None:
        """Add the next operator to every row, chunk by chunk; note complete deployments."""
        depth = partial.choice.shape[1]
        count = len(self.steps[depth].choices)
        chunk = max(1, PARTIALS_AT_ONCE // count)
        for start in range(0, len(partial.cost), chunk):
            rows = np.arange(start, min(start + chunk, len(partial.cost)))
            grown = self._grow(partial, np.repeat(rows, count), np.tile(np.arange(count), rows.size), depth)
            objective = self._objective(grown)
            # Best first, so that good deployments are known early; what breaks a limit is infinite.
            order = np.argsort(objective, kind="stable")
            order = order[objective[order] <= min(self.best + BRUTE_FORCE_TIE, 1e300)]
            if depth + 1 == len(self.steps):
                self.best = min(self.best, float(objective[order].min(initial=math.inf)))
                order = order[objective[order] <= self.best + BRUTE_FORCE_TIE]
                self.candidates += list(zip(objective[order].tolist(), grown.choice[order], strict=True))
            elif order.size:
                self.extend(grown.take(order))

    def _grow(self, partial: _PartialDeployment, rows: Ints, new: Ints, depth: int) -> _PartialDeployment:
        step = self.steps[depth]
        room = partial.room[rows] - step.demand[new]
        slack = LIMIT_SLACK * np.where(np.isfinite(self.capacity), self.capacity, 0.0)
        keep = (room >= -slack).all(axis=1) & np.isfinite(step.latency[new])
        base, new = partial.take(rows[keep]), new[keep]
        ready, cost, usage = np.zeros(new.size), base.cost + step.cost[new], base.usage
        used = base.used | step.nodes_used[new]
        for before, tables in step.streams.items():
            picked: Any = [table[base.choice[:, before], new] for table in tables]
            delay, traffic, flight, links = picked
            ready = np.maximum(ready, base.finish[:, before] + delay)
            cost, usage, used = cost + traffic, usage + flight, used | links
        return _PartialDeployment(
            np.column_stack([base.choice, new]),
            np.column_stack([base.finish, ready + step.latency[new]]),
            cost,
            np.maximum(base.downtime, step.downtime[new]),
            usage,
            used,
            room[keep],
        )

    def _objective(self, partial: _PartialDeployment) -> Floats:
        """EDRP, eq. 12, of what is placed so far; infinite where a limit is broken (eqs. 15–17)."""
        loss = np.zeros(len(partial.cost))
        for bit, amount in self.losses:
            loss += np.where(partial.used & bit, amount, 0.0)
        scaled = {
            "response_time": partial.finish.max(axis=1, initial=0.0),
            "cost": partial.cost,
            "downtime": partial.downtime,
            "network_usage": partial.usage,
            "availability": loss,
        }
        total = np.zeros(len(partial.cost))
        for name, values in scaled.items():
            term = self.terms[name]
            total += term.coefficient * values
            total[values > term.scaled_limit * (1 + LIMIT_SLACK)] = math.inf
        return total
