"""Hill climbing for latency-aware placement in plain Python: every placement is evaluated from scratch.

It shares no code with the compiled search, which must take the very same steps.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from edrp.core.document import named_resources
from edrp.placement.deployment import Deployment
from edrp.placement.latency_aware import LatencyAwareProblem
from edrp.placement.metrics.base import LIMIT_SLACK

Places = list[int]
"""Node of each instance, operator by operator."""

Rank = tuple[float, float, float]
"""Violations, relative overload, score."""

NOISE = 1e-11


@dataclass(frozen=True)
class PlainStream:
    """One stream between operators."""

    source: int
    target: int
    rate: float
    on_paths: bool


class PlainClimbing:
    """A latency-aware problem as lists, operators in topological order.

    Examples
    --------
    >>> from edrp.datasets.placement.latency_aware_test_bed import paper_problem
    >>> plain = PlainClimbing(paper_problem("T-M3", 0.7))
    >>> steps = list(plain.climb([0, 0, 0]))
    >>> plain.rank(steps[-1]) < plain.rank([0, 0, 0])
    True
    """

    def __init__(self, problem: LatencyAwareProblem, *, printed: bool = False) -> None:
        application, network = problem.application, problem.network
        order = application.topological_order
        self.problem = problem
        self.printed = printed
        self.nodes = [node.name for node in network.nodes]
        self.names = [name for name in order for _ in range(application.by_name[name].instances)]
        counts = [application.by_name[name].instances for name in order]
        ends = [sum(counts[:i]) for i in range(len(counts) + 1)]
        self.instances = [range(start, end) for start, end in pairwise(ends)]
        self.owner = [i for i, count in enumerate(counts) for _ in range(count)]
        self.needs = [named_resources(application.by_name[name].resources) for name in order]
        candidates = [application.by_name[name].candidates or self.nodes for name in order]
        self.allowed = [[node in allowed for node in self.nodes] for allowed in candidates]
        self.streams = [
            PlainStream(
                order.index(s.source),
                order.index(s.target),
                application.rate(s.source, s.target),
                (s.source, s.target) not in application.feedback,
            )
            for s in application.streams
        ]
        self.streams.sort(key=lambda stream: stream.source)
        self.free = [
            None
            if node.resources is None
            else {r: amount * problem.usable_share(r) for r, amount in named_resources(node.resources).items()}
            for node in network.nodes
        ]
        self.delays = [[0.0 if u == v else network.delay(u, v) for v in self.nodes] for u in self.nodes]

    def rank(self, places: Places) -> Rank:
        """Violations and overload before the objective (latency-aware placement, eq. 1)."""
        weights = self.problem.weights
        violations, overload = self._strain(places)
        apart, edges, moved, tuples = 0.0, 0, 0.0, 0.0
        arrival = [0.0] * len(places)
        for stream in self.streams:
            sources, targets = self.instances[stream.source], self.instances[stream.target]
            share = stream.rate / (len(sources) * len(targets))
            for p in sources:
                for q in targets:
                    edges += 1
                    tuples += share
                    if places[p] != places[q]:
                        apart += 1
                        moved += share
                    if stream.on_paths:
                        arrival[q] = max(arrival[q], arrival[p] + self.delays[places[p]][places[q]])
        score = weights.latency * 1000 * max(arrival) + weights.supervisors * len(set(places)) / len(self.nodes)
        score += weights.colocation * (apart / edges if edges else 0.0) + weights.events * (moved / tuples if tuples else 0.0)
        return violations, 0.0 if self.printed else overload, score

    def _strain(self, places: Places) -> tuple[float, float]:
        violations, overload = 0, 0.0
        max_need = {r: max(need.get(r, 0.0) for need in self.needs) for need in self.needs for r in need}
        for u in set(places):
            free = self.free[u]
            used: dict[str, float] = {}
            for p, node in enumerate(places):
                if node == u:
                    for resource, amount in self.needs[self.owner[p]].items():
                        used[resource] = used.get(resource, 0.0) + amount
            for resource, amount in used.items() if free is not None else ():
                usable = (free or {}).get(resource, 0.0)
                if amount > usable * (1 + LIMIT_SLACK) + 1e-11:
                    violations += 1
                    overload += (amount - usable * (1 + LIMIT_SLACK)) / (usable or 1e-3 * max_need[resource])
        return violations, overload

    def climb(self, places: Places) -> Iterator[Places]:
        """Apply the best change (move, swap, move all of a node) while it is an improvement, and yield every placement."""
        while True:
            best, chosen = self.rank(places), None
            for candidate in self._neighbours(places):
                rank = self.rank(candidate)
                if _better(rank, best):
                    best, chosen = rank, candidate
            if chosen is None:
                return
            places = chosen
            yield places

    def _neighbours(self, places: Places) -> Iterator[Places]:
        leaders = [p for p, u in enumerate(places) if u not in [places[q] for q in self.instances[self.owner[p]] if q < p]]
        for i, p in enumerate(leaders):
            for v in range(len(self.nodes)):
                if v != places[p] and self._may(p, v):
                    yield [v if k == p else u for k, u in enumerate(places)]
            for q in leaders[i + 1 :]:
                u, v = places[p], places[q]
                if self.owner[p] != self.owner[q] and u != v and self._may(p, v) and self._may(q, u):
                    yield [v if k == p else u if k == q else w for k, w in enumerate(places)]
        for u in range(len(self.nodes)):
            here = [p for p, node in enumerate(places) if node == u]
            for v in range(len(self.nodes)):
                if here and u != v and all(self._may(p, v) for p in here):
                    yield [v if node == u else node for node in places]

    def _may(self, instance: int, node: int) -> bool:
        return self.allowed[self.owner[instance]][node]

    def deployment(self, places: Places) -> Deployment:
        """The placement by names."""
        named: dict[str, list[str]] = {name: [] for name in self.problem.application.by_name}
        for name, node in zip(self.names, places, strict=True):
            named[name].append(self.nodes[node])
        return Deployment(named)


def _better(rank: Rank, than: Rank) -> bool:
    for ours, theirs in zip(rank, than, strict=True):
        if abs(ours - theirs) > NOISE:
            return ours < theirs
    return False
