"""Placements to start from: first fit, random, and a given deployment."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from edrp.compiled import Compiled
from edrp.documents import Deployment
from edrp.solution import Answer, StoppedBecause

Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Placement:
    """Node of each replica, shape (operators, most replicas), and number of replicas, shape (operators,)."""

    place: Integers
    degree: Integers

    @classmethod
    def of_counts(cls, compiled: Compiled, counts: NDArray[np.int64]) -> Self:
        """From replicas per operator and node."""
        place = np.zeros((len(compiled.operators), compiled.latency.shape[1] - 1), np.int64)
        for i, row in enumerate(counts):
            nodes = np.repeat(np.arange(row.size), row)
            place[i, : nodes.size] = nodes
        return cls(place, counts.sum(axis=1))

    def counts(self, compiled: Compiled) -> NDArray[np.int64]:
        """Replicas per operator and node."""
        counts = np.zeros(compiled.candidate.shape, np.int64)
        for i, degree in enumerate(self.degree):
            np.add.at(counts[i], self.place[i, :degree], 1)
        return counts

    def answer(self, compiled: Compiled, stopped: StoppedBecause) -> Answer:
        """As a heuristic's answer: feasible if the evaluator says so, nothing otherwise."""
        deployment = compiled.deployment(self.counts(compiled))
        evaluation = compiled.problem.evaluate(deployment)
        if evaluation.feasible:
            return Answer("feasible", stopped, deployment, evaluation.objective)
        return Answer("none", stopped, notes=(f"the best deployment met breaks {'; '.join(evaluation.broken)}",))


def stable_degrees(compiled: Compiled) -> NDArray[np.bool_]:
    """Which numbers of replicas keep each operator stable, shape (operators, 1 + most replicas)."""
    return np.isfinite(compiled.latency)


def overloaded(compiled: Compiled) -> Answer | None:
    """A heuristic's answer when some operator is unstable with all its replicas; None when all can be stable."""
    unstable = np.flatnonzero(~stable_degrees(compiled).any(axis=1))
    if not unstable.size:
        return None
    names = ", ".join(compiled.operators[i] for i in unstable)
    return Answer("none", "finished", notes=(f"overloaded with all replicas: {names}",))


def placement_of(compiled: Compiled, deployment: Deployment) -> Placement | None:
    """A given deployment, if it keeps to candidates, replica limits and stable degrees; capacity may be broken."""
    try:
        counts = compiled.counts(deployment)
    except KeyError:
        return None
    degree = counts.sum(axis=1)
    if (degree > compiled.max_replicas).any() or (counts[~compiled.candidate] > 0).any():
        return None
    if not stable_degrees(compiled)[np.arange(degree.size), degree].all():
        return None
    return Placement.of_counts(compiled, counts)


def first_fit(compiled: Compiled) -> Placement:
    """Operators in topological order with their least stable degree, each replica on the first node that fits.

    Nodes are tried by delay from the operator before; where none fits, the one with the least relative
    overload is taken, and it is left to the search to repair that.
    """

    def order(i: int, chosen: list[list[int]]) -> NDArray[np.int64]:
        sources = compiled.stream_source[compiled.stream_target == i]
        nodes = compiled.candidates(i)
        if not sources.size:
            return nodes
        delay = compiled.delay[np.ix_([u for s in sources for u in chosen[s]], nodes)].max(axis=0)
        return nodes[np.argsort(delay, kind="stable")]

    return _fill(compiled, order)


def random_fit(compiled: Compiled, generator: np.random.Generator) -> Placement:
    """As `first_fit`, with nodes in random order."""
    return _fill(compiled, lambda i, chosen: generator.permutation(compiled.candidates(i)))


def _fill(compiled: Compiled, order: Callable[[int, list[list[int]]], NDArray[np.int64]]) -> Placement:
    free = compiled.capacity.copy()
    chosen: list[list[int]] = []
    degree = stable_degrees(compiled).argmax(axis=1)
    for i, replicas in enumerate(degree):
        nodes = order(i, chosen)
        chosen.append([])
        for _ in range(replicas):
            slack = free[nodes] - compiled.demand[i]
            fitting = np.flatnonzero((slack >= -1e-9 * compiled.demand[i]).all(axis=1))
            pick = nodes[fitting[0]] if fitting.size else nodes[np.argmax(slack.min(axis=1, initial=np.inf))]
            chosen[-1].append(int(pick))
            free[pick] -= compiled.demand[i]
    counts = np.zeros(compiled.candidate.shape, np.int64)
    for i, nodes_of in enumerate(chosen):
        np.add.at(counts[i], nodes_of, 1)
    return Placement.of_counts(compiled, counts)
