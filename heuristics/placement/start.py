"""Placements to start from: first fit, random, and a given deployment."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np

from edrp.core.arrays import Bools, Floats, Ints
from edrp.core.errors import OutOfTimeError
from edrp.core.solution import Answer, StoppedBecause
from edrp.core.tolerances import WHOLE_NUMBER_SLACK
from edrp.heuristics.notes import listed
from edrp.placement.compiled import Compiled
from edrp.placement.deployment import Deployment


@dataclass(frozen=True, slots=True)
class Placement:
    """Node of each replica, shape (operators, maximum replicas), and number of replicas, shape (operators,)."""

    place: Ints
    degree: Ints

    @classmethod
    def of_counts(cls, compiled: Compiled, counts: Ints) -> Self:
        """The placement with these replicas per operator and node."""
        place = np.zeros((len(compiled.operators), compiled.latency.shape[1] - 1), np.int64)
        for i, row in enumerate(counts):
            nodes = np.repeat(np.arange(row.size), row)
            place[i, : nodes.size] = nodes
        return cls(place, counts.sum(axis=1))

    def counts(self, compiled: Compiled) -> Ints:
        """Replicas per operator and node."""
        counts = np.zeros(compiled.candidate.shape, np.int64)
        for i, degree in enumerate(self.degree):
            np.add.at(counts[i], self.place[i, :degree], 1)
        return counts

    def answer(self, compiled: Compiled, stopped: StoppedBecause) -> Answer:
        """The answer of a heuristic: feasible if the evaluator says so, else none."""
        deployment = compiled.deployment(self.counts(compiled))
        evaluation = compiled.problem.evaluate(deployment)
        if evaluation.feasible:
            return Answer("feasible", stopped, deployment, evaluation.objective)
        return Answer("none", stopped, notes=(f"the best deployment met breaks {listed(evaluation.broken)}",))


def best_start(compiled: Compiled, starts: list[Placement], error: OutOfTimeError) -> Answer:
    """The answer of a search whose time was over before it began: first fit, or a better one of its starts.

    Raises
    ------
    OutOfTimeError
        The one given, where none of them is feasible.
    """
    answers = [start.answer(compiled, "time_limit") for start in (first_fit(compiled), *starts)]
    best = min(answers, key=lambda answer: np.inf if answer.objective is None else answer.objective)
    if best.decision is None:
        raise error
    return best


def stable_degrees(compiled: Compiled) -> Bools:
    """Which numbers of replicas keep each operator stable, shape (operators, 1 + maximum replicas)."""
    return np.isfinite(compiled.latency)


def overloaded(compiled: Compiled) -> Answer | None:
    """A heuristic's answer when some operator is unstable with all its replicas; None when all can be stable."""
    unstable = np.flatnonzero(~stable_degrees(compiled).any(axis=1))
    if not unstable.size:
        return None
    names = ", ".join(compiled.operators[i] for i in unstable)
    return Answer("none", "finished", notes=(f"overloaded with all replicas: {names}",))


def to_placement(compiled: Compiled, deployment: Deployment) -> Placement | None:
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

    def order(i: int, chosen: list[list[int]]) -> Ints:
        sources = compiled.stream_source[(compiled.stream_target == i) & compiled.forward]
        nodes = compiled.candidates(i)
        if not sources.size:
            return nodes
        delay = compiled.links.delay_from(np.unique([u for s in sources for u in chosen[s]]))[:, nodes].max(axis=0)
        return nodes[np.argsort(delay, kind="stable")]

    return _fill(compiled, order)


def random_fit(compiled: Compiled, generator: np.random.Generator) -> Placement:
    """First fit with nodes in random order."""
    return _fill(compiled, lambda i, chosen: generator.permutation(compiled.candidates(i)))


def zone_fits(compiled: Compiled) -> Iterator[Placement]:
    """First fit for each zone once: its nodes first, then zone by zone where most fits, largest nodes first."""
    zones = [compiled.problem.network.by_name[name].zone or "" for name in compiled.nodes]
    _, zone = np.unique(zones, return_inverse=True)
    total = compiled.demand.T @ stable_degrees(compiled).argmax(axis=1)
    needed = total > 0
    share = (compiled.capacity[:, needed] / total[needed]).min(axis=1, initial=1.0)
    by_zone = np.bincount(zone, share)
    for first in np.argsort(-by_zone, kind="stable"):
        rank = np.where(zone == first, -np.inf, -by_zone[zone])
        order = np.lexsort((np.arange(share.size), -share, zone, rank))
        yield _fill(compiled, lambda i, chosen, order=order: order[compiled.candidate[i, order]])  # type: ignore[misc]


def _fill(compiled: Compiled, order: Callable[[int, list[list[int]]], Ints]) -> Placement:
    free = compiled.capacity.copy()
    chosen: list[list[int]] = []
    for i, replicas in enumerate(stable_degrees(compiled).argmax(axis=1)):
        nodes, demand = order(i, chosen), compiled.demand[i]
        room = _room(free[nodes], demand, int(replicas))
        # One replica after the other on the first node with room, all in one step.
        taken = np.clip(replicas - (np.cumsum(room) - room), 0, room)
        free[nodes] -= taken[:, None] * demand
        homes = np.repeat(nodes, taken).tolist()
        while len(homes) < replicas:
            pick = int(nodes[np.argmax((free[nodes] - demand).min(axis=1, initial=np.inf))])
            homes.append(pick)
            free[pick] -= demand
        chosen.append(homes)
    counts = np.zeros(compiled.candidate.shape, np.int64)
    for i, homes in enumerate(chosen):
        np.add.at(counts[i], homes, 1)
    return Placement.of_counts(compiled, counts)


def _room(free: Floats, demand: Floats, limit: int) -> Ints:
    """How many replicas fit on each node, at most `limit`; rounding may not cost one."""
    needed = demand > 0
    if not needed.any():
        return np.full(len(free), limit, np.int64)
    return np.clip(np.floor((free[:, needed] / demand[needed]).min(axis=1) + WHOLE_NUMBER_SLACK), 0, limit).astype(np.int64)
