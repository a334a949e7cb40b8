"""The score of latency-aware placement in terms of patterns on classes of supervisors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from edrp.core.arrays import Bools, Floats, Ints
from edrp.core.tolerances import LIMIT_SLACK
from edrp.placement.compiled import Compiled


@dataclass(frozen=True, slots=True)
class SupervisorClass:
    """Supervisors that differ in nothing but where they are.

    Attributes
    ----------
    members : shape (supervisors of the class,), node indices.
    capacity : shape (resources,), with rounding slack; at most what all instances need together.
    max_instances : shape (operators,), upper limit on the instances of each operator that one of them may hold, other operators
        aside.
    """

    members: Ints
    capacity: Floats
    max_instances: Ints


@dataclass(frozen=True, slots=True)
class ScoreModel:
    """Score without latency: `apart + Σ over supervisors in use of (price − Σ_{a≤b} together[a, b]·n_a·n_b)`.

    A *pattern* n says how many instances of each operator are on one supervisor. The saving of pairs of instances that are
    together, and the price of a supervisor, are all that a pattern changes, so that supervisors of a class, and
    instances of an operator, are exchangeable (latency-aware placement, eq. 1).

    Attributes
    ----------
    instances : shape (operators,)
    together : shape (operators, operators), saved per pair of instances on the same supervisor; symmetric, the diagonal holds
        streams from an operator to itself.
    demand : shape (operators, resources), demand of one instance; resources that can be short on some class.
    price, apart : float, price of a supervisor in use; score of all streams when no two instances are together.
    second : float, score per second of path latency.
    source, target : shape (forward streams,), operators joined by streams that count for path latency, sorted by source;
        operators are in topological order.
    """

    compiled: Compiled
    instances: Ints
    together: Floats
    demand: Floats
    classes: tuple[SupervisorClass, ...]
    price: float
    apart: float
    second: float
    source: Ints
    target: Ints

    @property
    def largest_score(self) -> float:
        """Upper bound on the score of any feasible placement."""
        delay = self.compiled.delay[np.isfinite(self.compiled.delay)]
        latency = self.second * float(delay.max(initial=0.0)) * self.instances.size
        return self.apart + self.price * sum(supervisors.members.size for supervisors in self.classes) + latency

    def saved(self, patterns: Ints) -> Floats:
        """Score that each pattern saves, shape (patterns,), from patterns of shape (patterns, operators)."""
        pairs = np.triu(self.together)
        return np.einsum("pa,ab,pb->p", patterns, pairs, patterns, optimize=True)


def build_model(compiled: Compiled) -> ScoreModel:
    """Classes, savings and prices of a compiled latency-aware problem."""
    instances = compiled.max_replicas
    together = np.zeros((instances.size, instances.size))
    rate = compiled.stream_rate / (instances[compiled.stream_source] * instances[compiled.stream_target])
    np.add.at(together, (compiled.stream_source, compiled.stream_target), rate)
    diagonal = np.diag(np.diag(together))
    together = together + together.T - diagonal
    total = instances @ compiled.demand
    capacity = np.minimum(compiled.capacity, total) * (1 + LIMIT_SLACK / 2)
    scarce = (capacity < total).any(axis=0)
    forward = np.flatnonzero(compiled.forward)
    forward = forward[np.argsort(compiled.stream_source[forward], kind="stable")]
    return ScoreModel(
        compiled=compiled,
        instances=instances,
        together=together,
        demand=compiled.demand[:, scarce],
        classes=_classes(compiled.candidate, capacity[:, scarce], compiled.demand[:, scarce], instances),
        price=float(compiled.node_loss.max(initial=0.0)) * compiled.weight["availability"],
        apart=float(compiled.stream_rate.sum()),
        second=compiled.weight["response_time"],
        source=compiled.stream_source[forward],
        target=compiled.stream_target[forward],
    )


def _classes(candidate: Bools, capacity: Floats, demand: Floats, instances: Ints) -> tuple[SupervisorClass, ...]:
    """Supervisors of equal capacity that the same operators may use; those that nothing fits on are left out."""
    alike: dict[bytes, list[int]] = {}
    for u in range(capacity.shape[0]):
        alike.setdefault(capacity[u].tobytes() + candidate[:, u].tobytes(), []).append(u)
    classes = []
    for members in alike.values():
        room = capacity[members[0]]
        fits = np.where(demand > 0, room / np.where(demand > 0, demand, 1.0), np.inf).min(axis=1, initial=np.inf)
        max_instances = np.where(candidate[:, members[0]], np.minimum(instances, np.floor(fits)), 0).astype(np.int64)
        if max_instances.any():
            classes.append(SupervisorClass(np.array(members, np.int64), room, max_instances))
    return tuple(classes)
