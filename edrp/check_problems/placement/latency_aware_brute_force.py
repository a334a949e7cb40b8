"""Brute force for latency-aware placement: every placement of a small problem, scored from the documents alone.

It shares no table and no algorithm with the methods that it checks (`edrp.placement.compiled` is not used).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import combinations_with_replacement
from typing import Any

from edrp.core.document import named_resources
from edrp.core.tolerances import EQUAL_OBJECTIVES, LIMIT_SLACK
from edrp.placement.deployment import Deployment
from edrp.placement.latency_aware import LatencyAwareProblem

Choice = tuple[str, ...]


def brute_force_latency_aware(problem: LatencyAwareProblem) -> tuple[float | None, tuple[Deployment, ...]]:
    """The minimum objective over all feasible placements, and every placement that reaches it.

    Operators are placed one after the other, each on all multisets of nodes; partial placements that break a capacity
    or already score more than the best found are dropped, because every term only grows as operators are added.

    Returns
    -------
    tuple
        (None, ()) when the problem is infeasible.
    """
    search = _LatencyAwareSearch(problem)
    search.place(0, 0.0)
    optima = tuple(Deployment(dict(chosen)) for score, chosen in search.candidates if score <= search.best + EQUAL_OBJECTIVES)
    return (search.best, optima) if optima else (None, ())


@dataclass
class _LatencyAwareSearch:
    """Depth-first over the operators in the order in which paths run."""

    problem: LatencyAwareProblem
    best: float = math.inf
    candidates: list[tuple[float, dict[str, Choice]]] = field(default_factory=list)
    chosen: dict[str, Choice] = field(default_factory=dict)
    arrival: dict[str, dict[str, float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        application = self.problem.application
        self.order = application.topological_order
        self.operators = {operator.name: operator for operator in application.operators}
        instances = {name: operator.instances for name, operator in self.operators.items()}
        pairs = {(s.source, s.target): instances[s.source] * instances[s.target] for s in application.streams}
        rates = {pair: application.rate(*pair) for pair in pairs}
        weights, all_pairs, all_rates = self.problem.weights, sum(pairs.values()), sum(rates.values())
        # The increase of the objective when all pairs of a stream are apart (eq. 1, s_co and s_event).
        self.price = {pair: weights.colocation * count / all_pairs for pair, count in pairs.items()}
        if all_rates > 0:
            for pair, rate in rates.items():
                self.price[pair] += weights.events * rate / all_rates
        self.room = {node.name: _room(self.problem, node) for node in self.problem.network.nodes}
        self.whole = {name: dict(room) for name, room in self.room.items()}

    def place(self, depth: int, streams: float) -> None:
        """Try all multisets of nodes for the next operator; `streams` is the score of the streams decided so far."""
        if depth == len(self.order):
            score = self._score(streams)
            self.best = min(self.best, score)
            self.candidates.append((score, dict(self.chosen)))
            return
        name = self.order[depth]
        for choice in self._choices(name):
            if self._occupy(name, choice):
                self.chosen[name] = choice
                grown = streams + self._decided(name)
                self.arrival[name] = self._arrives(name)
                if self._score(grown) <= self.best + EQUAL_OBJECTIVES:
                    self.place(depth + 1, grown)
                del self.chosen[name], self.arrival[name]
            self._release(name, choice)

    def _choices(self, name: str) -> Iterator[Choice]:
        operator = self.operators[name]
        return combinations_with_replacement(operator.candidates or tuple(self.room), operator.instances)

    def _occupy(self, name: str, choice: Choice) -> bool:
        """Take the resources, and say whether there was room."""
        fits = True
        for node in choice:
            for resource, amount in named_resources(self.operators[name].resources).items():
                if amount > 0 and resource in self.room[node]:
                    self.room[node][resource] -= amount
                    fits &= self.room[node][resource] >= -LIMIT_SLACK * self.whole[node][resource]
                elif amount > 0:
                    fits &= self.problem.network.by_name[node].resources is None
        return fits

    def _release(self, name: str, choice: Choice) -> None:
        for node in choice:
            for resource, amount in named_resources(self.operators[name].resources).items():
                if resource in self.room[node]:
                    self.room[node][resource] += amount

    def _decided(self, name: str) -> float:
        """Score of the streams whose second end is this operator."""
        total = 0.0
        for (source, target), price in self.price.items():
            if name in (source, target) and source in self.chosen and target in self.chosen:
                pairs = [(u, v) for u in self.chosen[source] for v in self.chosen[target]]
                total += price * sum(u != v for u, v in pairs) / len(pairs)
        return total

    def _arrives(self, name: str) -> dict[str, float]:
        """Longest delay in seconds of a path to an instance of this operator on each node (s_lat)."""
        before = [
            source
            for source, target in self.price
            if target == name and source in self.arrival and (source, target) not in self.problem.application.feedback
        ]
        delay = self.problem.network.delay
        return {
            v: max((seconds + delay(u, v) for source in before for u, seconds in self.arrival[source].items()), default=0.0)
            for v in set(self.chosen[name])
        }

    def _score(self, streams: float) -> float:
        weights = self.problem.weights
        used = len({node for choice in self.chosen.values() for node in choice})
        latency = 1000.0 * max((max(by_node.values()) for by_node in self.arrival.values()), default=0.0)
        return weights.latency * latency + weights.supervisors * used / len(self.room) + streams


def _room(problem: LatencyAwareProblem, node: Any) -> dict[str, float]:
    """Usable amounts by resource; none are named where a node has no limits."""
    if node.resources is None:
        return {}
    return {name: amount * problem.utilisation.get(name, 1.0) for name, amount in named_resources(node.resources).items()}
