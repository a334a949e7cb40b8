"""Brute force for problems of kind `rescale`: every split of every operator on every choice of nodes.

It shares nothing with programs and searches. Configurations of an operator are put into tables by plain code close to the
definitions; operators are added one after the other, and what cannot be better than the best known is left out, since no metric
falls when an operator is added.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations, combinations_with_replacement, product
from typing import Any

import numpy as np

from edrp.core.arrays import Bools, Floats, Ints, flattened
from edrp.core.document import named_resources
from edrp.core.tolerances import LIMIT_SLACK
from edrp.migration.rescale.documents import (
    KeyedDeployment,
    KeyedOperator,
    KeyRange,
    even_boundaries,
    is_unchanged,
    moved_bytes,
    node_shares,
    replica_loads,
)
from edrp.migration.rescale.metrics import KeyedDowntime, KeyedResponseTime
from edrp.migration.rescale.problem import RescaleProblem
from edrp.placement.metrics.downtime import transfer_time
from edrp.placement.metrics.peak_load import shared_resources

PARTIALS_AT_ONCE = 400_000
"""Partial deployments that are extended at a time."""


@dataclass(frozen=True, slots=True)
class RescaleConfigurations:
    """All configurations of one operator; arrays have one row for each.

    Attributes
    ----------
    replicas : what a deployment says of the operator.
    share, leaving, arriving : shape (configurations, nodes)
    used : shape (configurations, nodes × resources), what replicas need of the nodes.
    demand : shape (configurations, nodes × shared resources), units/s.
    latency : shape (configurations, scenarios)
    cost, store, code, spawn, changed : shape (configurations,)
    """

    replicas: list[tuple[Any, ...]]
    share: Floats
    leaving: Floats
    arriving: Floats
    used: Floats
    demand: Floats
    latency: Floats
    cost: Floats
    store: Floats
    code: Floats
    spawn: Floats
    changed: Bools


def brute_force_rescale(problem: RescaleProblem) -> tuple[float | None, KeyedDeployment | None]:
    """Least objective over all feasible deployments, and one that has it; None where none is feasible."""
    try:
        search = _RescaleSearch(problem)
    except _NothingStableError:
        return None, None
    search.extend(search.root())
    if search.best_row is None:
        return None, None
    names = search.order
    best = KeyedDeployment({name: search.tables[i].replicas[search.best_row[i]] for i, name in enumerate(names)})
    evaluation = problem.evaluate(best)
    assert evaluation.feasible, evaluation.broken
    return evaluation.objective, best


def configurations(problem: RescaleProblem, operator: KeyedOperator) -> Iterator[tuple[Any, ...]]:
    """Replicas of an operator in every way that its document allows; stability is not looked at."""
    nodes = operator.candidates or tuple(problem.network.by_name)
    for degree in range(operator.min_replicas, operator.most_replicas + 1):
        if operator.tasks is None:
            yield from combinations_with_replacement(nodes, degree)
            continue
        count = operator.tasks.count
        even = problem.ranges == "even"
        inner = [even_boundaries(count, degree)[1:-1]] if even else combinations(range(1, count), degree - 1)
        for cuts in inner:
            ends = [0, *cuts, count]
            for chosen in product(nodes, repeat=degree):
                yield tuple(KeyRange(node=node, tasks=(a, b)) for node, a, b in zip(chosen, ends, ends[1:], strict=False))


def keyed_deployments(problem: RescaleProblem) -> Iterator[KeyedDeployment]:
    """Every deployment of a tiny problem that its operators' documents allow."""
    names = [operator.name for operator in problem.application.operators]
    for chosen in product(*(list(configurations(problem, operator)) for operator in problem.application.operators)):
        yield KeyedDeployment(dict(zip(names, chosen, strict=True)))


class _NothingStableError(Exception):
    """Raised when no configuration of some operator is stable."""


@dataclass(frozen=True, slots=True)
class _PartialRescaling:
    """Deployments of the first operators, one per row."""

    choice: Ints
    finish: Floats
    cost: Floats
    store: Floats
    code: Floats
    spawn: Floats
    moved: Floats
    changed: Bools
    leaving: Floats
    arriving: Floats
    used: Floats
    demand: Floats

    def take(self, rows: Ints) -> _PartialRescaling:
        return _PartialRescaling(*(getattr(self, name)[rows] for name in self.__slots__))


class _RescaleSearch:
    def __init__(self, problem: RescaleProblem) -> None:
        self.problem = problem
        self.order = problem.application.topological_order
        self.nodes = tuple(problem.network.by_name)
        self.tables = [_table(problem, problem.application.by_name[name], self.nodes) for name in self.order]
        self.chances = np.array([scenario.probability for scenario in problem.load_scenarios])
        self.terms = {term.metric: term for term in problem.terms}
        self.best, self.best_row = math.inf, None
        described = problem.network.nodes
        self.rate_up = np.array([node.up_rate or math.inf for node in described])
        self.rate_down = np.array([node.down_rate or math.inf for node in described])
        needs = sorted({name for operator in problem.application.operators for name in named_resources(operator.resources)})
        room = [
            [math.inf if node.resources is None else named_resources(node.resources).get(name, 0.0) for name in needs]
            for node in described
        ]
        self.room = np.array(room, float).reshape(-1)
        shared = shared_resources(problem.application)
        capacity = [[node.capacity.get(name, math.inf) for name in shared] for node in described]
        self.capacity, self.shared = np.array(capacity, float).reshape(-1), shared
        self.delay = np.array([[problem.network.delay(u, v) for v in self.nodes] for u in self.nodes])
        self.price = np.array([[problem.network.link_cost(u, v) for v in self.nodes] for u in self.nodes])
        self.pairs = {}
        for j, name in enumerate(self.order):
            for stream in problem.application.streams:
                if stream.target == name:
                    self.pairs[self.order.index(stream.source), j] = self._pair(stream, j)

    def _pair(self, stream: Any, j: int) -> tuple[Floats, Floats, Any]:
        """Delay and price of a stream for each pair of configurations."""
        source, target = self.tables[self.order.index(stream.source)], self.tables[j]
        rate = self.problem.application.rate(stream.source, stream.target)
        on, to = source.share >= 0, target.share >= 0  # absent nodes are marked by -1
        delay = np.zeros((len(on), len(to)))
        for u in range(len(self.nodes)):
            for v in range(len(self.nodes)):
                if self.delay[u, v] > 0:
                    delay = np.maximum(delay, np.where(on[:, u, None] & to[None, :, v], self.delay[u, v], 0.0))
        cost = rate * np.maximum(source.share, 0.0) @ self.price @ np.maximum(target.share, 0.0).T
        return delay, cost, stream

    def root(self) -> _PartialRescaling:
        zero, none = np.zeros(1), np.zeros((1, len(self.nodes)))
        return _PartialRescaling(
            np.zeros((1, 0), np.int64), np.zeros((1, 0, self.chances.size)), zero, zero, zero, zero, zero, np.zeros(1, bool),
            none, none, np.zeros((1, self.room.size)), np.zeros((1, self.capacity.size)),
        )  # fmt: skip

    def extend(self, partial: _PartialRescaling) -> None:
        """Add the next operator to every row, chunk by chunk; keep the best complete deployment."""
        depth = partial.choice.shape[1]
        count = len(self.tables[depth].replicas)
        chunk = max(1, PARTIALS_AT_ONCE // max(1, count))
        for start in range(0, len(partial.cost) if count else 0, chunk):
            rows = np.arange(start, min(start + chunk, len(partial.cost)))
            grown = self._grow(partial, np.repeat(rows, count), np.tile(np.arange(count), rows.size), depth)
            objective = self._objective(grown)
            keep = np.flatnonzero(objective < self.best)
            if not keep.size:
                continue
            if depth + 1 < len(self.tables):
                self.extend(grown.take(keep[np.argsort(objective[keep], kind="stable")]))
            else:
                self._complete(grown.choice[keep], objective[keep])

    def _complete(self, choice: Ints, objective: Floats) -> None:
        """Keep the best of some complete deployments, cheapest first, that meets the rules, their penalties added."""
        for row in np.argsort(objective, kind="stable").tolist():
            if objective[row] >= self.best:
                return
            chosen = {name: self.tables[i].replicas[k] for i, (name, k) in enumerate(zip(self.order, choice[row], strict=True))}
            placed = KeyedDeployment(chosen)
            violated = [(rule, rule.evaluate(self.problem, placed)) for rule in self.problem.rules]
            price = sum((rule.penalty or 0.0) * violation for rule, violation in violated)
            if objective[row] + price < self.best and not any([*rule.broken(violation)] for rule, violation in violated):
                self.best, self.best_row = float(objective[row]) + price, choice[row]

    def _grow(self, partial: _PartialRescaling, rows: Ints, new: Ints, depth: int) -> _PartialRescaling:
        table, base = self.tables[depth], partial.take(rows)
        ready = np.zeros((new.size, self.chances.size))
        cost, demand = base.cost + table.cost[new], base.demand + table.demand[new]
        for (before, after), (delay, price, stream) in self.pairs.items():
            if after == depth:
                chosen = base.choice[:, before]
                ready = np.maximum(ready, base.finish[:, before] + delay[chosen, new][:, None])
                cost = cost + price[chosen, new]
                demand = demand + self._sent(stream, before, chosen, depth, new)
        moved = base.moved + table.arriving[new].sum(axis=1)
        return replace(
            base,
            choice=np.column_stack([base.choice, new]),
            finish=np.concatenate([base.finish, (ready + table.latency[new])[:, None]], axis=1),
            cost=cost,
            store=np.maximum(base.store, table.store[new]),
            code=np.maximum(base.code, table.code[new]),
            spawn=np.maximum(base.spawn, table.spawn[new]),
            moved=moved,
            changed=base.changed | table.changed[new],
            leaving=base.leaving + table.leaving[new],
            arriving=base.arriving + table.arriving[new],
            used=base.used + table.used[new],
            demand=demand,
        )

    def _sent(self, stream: Any, before: int, chosen: Ints, depth: int, new: Ints) -> Floats:
        """Units/s that a stream's tuples to other nodes use of the sender's node."""
        rate = self.problem.application.rate(stream.source, stream.target)
        share = np.maximum(self.tables[before].share[chosen], 0.0)
        away = share * (1 - np.maximum(self.tables[depth].share[new], 0.0))
        per_tuple = np.array([stream.usage.get(name, 0.0) for name in self.shared])
        return flattened(rate * away[:, :, None] * per_tuple)

    def _objective(self, partial: _PartialRescaling) -> Floats:
        """The objective of what is placed so far; infinite where a limit is broken."""
        problem = self.problem
        if problem.transfer == "store":
            downtime = partial.store
        else:
            transfer = np.maximum(partial.leaving / self.rate_up, partial.arriving / self.rate_down).max(axis=1)
            busy = problem.synchronisation_time + np.maximum(transfer, partial.code) + partial.spawn
            downtime = np.where(partial.changed, busy, 0.0)
        values = {
            "response_time": partial.finish.max(axis=1) @ self.chances,
            "cost": partial.cost,
            "downtime": downtime if problem.current is not None else np.zeros(len(partial.cost)),
            "moved_state": partial.moved,
            "peak_load": (partial.demand / self.capacity).max(axis=1, initial=0.0),
        }
        total = np.zeros(len(partial.cost))
        for name, term in self.terms.items():
            total += term.coefficient * values[name]
            total[values[name] > term.scaled_limit * (1 + LIMIT_SLACK)] = math.inf
        total[(partial.used > self.room * (1 + LIMIT_SLACK)).any(axis=1)] = math.inf
        return total


def _table(problem: RescaleProblem, operator: KeyedOperator, nodes: tuple[str, ...]) -> RescaleConfigurations:
    rows = [row for replicas in configurations(problem, operator) if (row := _row(problem, operator, replicas, nodes))]
    if not rows:
        raise _NothingStableError
    columns: Any = list(zip(*rows, strict=True))
    tables = [np.array(column, float).reshape(len(rows), len(column[0])) for column in columns[1:7]]
    cost, store, code, spawn = (np.array(column, float) for column in columns[7:11])
    changed = np.array(columns[11], bool)
    share, leaving, arriving, used, demand, latency = tables
    return RescaleConfigurations(
        list(columns[0]), share, leaving, arriving, used, demand, latency, cost, store, code, spawn, changed
    )


def _row(problem: RescaleProblem, operator: KeyedOperator, replicas: tuple[Any, ...], nodes: tuple[str, ...]) -> Any:
    """Quantities of one configuration of an operator; None where it is unstable or beyond the tolerance."""
    application, name = problem.application, operator.name
    alone = KeyedDeployment({name: replicas})
    loads = replica_loads(application, alone, name)
    if any(not problem.is_stable(operator, load.rate, len(loads)) for load in loads):
        return None
    max_share = math.inf if problem.tolerance is None or operator.tasks is None else (1 + problem.tolerance) / len(loads)
    if any(load.share > max_share * (1 + LIMIT_SLACK) for load in loads):
        return None
    latency = [KeyedResponseTime().operator_latency(at, alone, name) for at in problem.scenario_problems]
    counts, shares = alone.replicas(name), node_shares(application, alone, name)
    share = [shares.get(node, -1.0) for node in nodes]
    need = named_resources(operator.resources)
    kinds = sorted({key for other in application.operators for key in named_resources(other.resources)})
    used = [counts[node] * need.get(key, 0.0) for node in nodes for key in kinds]
    demand = [
        sum(operator.usage[key].at(load.rate) for load in loads if load.node == node) if key in operator.usage else 0.0
        for node in nodes
        for key in shared_resources(application)
    ]
    moves = _moves(problem, operator, alone, nodes)
    return (tuple(alone[name]), share, moves[0], moves[1], used, demand, latency, len(loads) * operator.replica_cost, *moves[2:])


def _moves(problem: Any, operator: KeyedOperator, alone: KeyedDeployment, nodes: tuple[str, ...]) -> tuple[Any, ...]:
    """Bytes that leave and reach nodes, downtime by way of the store, download of code, start of replicas, any change."""
    if problem.current is None or is_unchanged(problem.current, alone, operator.name):
        return [0.0] * len(nodes), [0.0] * len(nodes), 0.0, 0.0, 0.0, False
    moved = moved_bytes(problem.application, problem.current, alone, operator.name)
    store = KeyedDowntime().operator_downtime(problem, alone, operator.name)
    before, after = problem.current.replicas(operator.name), alone.replicas(operator.name)
    code = max((transfer_time(problem, v, operator.code_size) for v in after if not before[v]), default=0.0)
    spawn = max((problem.network.by_name[v].spawn_time for v in after if after[v] > before[v]), default=0.0)
    leaving, arriving = ([part.get(node, 0.0) for node in nodes] for part in (moved.leaving, moved.arriving))
    return leaving, arriving, store, code, spawn, True
