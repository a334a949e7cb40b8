"""The method `replica-vectors`: sequences of deployments of which only the numbers of replicas count."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from edrp.core.arrays import Floats, Ints
from edrp.core.budget import memory_limit
from edrp.core.methods import Method, Options
from edrp.core.solution import Answer, Status, StoppedBecause
from edrp.core.tolerances import LIMIT_SLACK
from edrp.mdp.placement.vector_costs import VectorCosts, node_slots, vector_costs
from edrp.mdp.placement.vector_course import VectorProgram
from edrp.mdp.placement.vector_search import BoundedCourse, bounded_course
from edrp.placement.compilation import compile_problem
from edrp.placement.compiled import Compiled
from edrp.placement.deployment import Deployment
from edrp.placement.metrics.base import PACKAGE_METRICS
from edrp.placement.node_classes import few_classes
from edrp.placement.sequence import EdrpSequence

MAX_LISTED_UNITS, LISTED_SHARE = 60.0, 0.5
"""Maximum units of work, and share of what remains, of a dynamic program over all vectors; beyond, prices prove what they can."""

DIRECT_UNITS = 6.0
"""Units of work up to which all vectors are listed without looking for prices that prove as much in less."""

MAX_COUNTED = 10**18
"""Largest number of vectors that is reported."""


class ReplicaVectors(Method):
    """Dynamic program over vectors of replicas, for one node, or equal nodes with links that take no time and cost nothing."""

    name = "replica-vectors"
    kinds = ("edrp-sequence",)
    takes = PACKAGE_METRICS
    exact = True
    summary = "dynamic program over vectors of replicas, where only their numbers count; proves a million over a day"

    def obstacle(self, problem: EdrpSequence) -> str | None:
        """Name what makes more count than numbers of replicas."""
        why = next(obstacles(problem), None)
        return why and f"replica-vectors decides numbers of replicas alone, and {why}"

    def run(self, problem: EdrpSequence, options: Options) -> Answer:
        """Prove the optimum."""
        compiled, costs = compile_problem(problem.base), vector_costs(problem)
        program = vector_program(problem, compiled, costs)
        size = {"vectors": min(program.vectors, MAX_COUNTED), "periods": len(problem.periods)}
        listed = min(MAX_LISTED_UNITS, LISTED_SHARE * options.remaining)
        if not program.vectors or (2 * program.units <= min(DIRECT_UNITS, listed) and program.memory <= memory_limit()):
            best = program.best_course()
            found, note = BoundedCourse(best.value, best.value, best.vectors, 0), "dynamic program over all vectors"
        else:
            max_vectors = program.vectors * min(1.0, listed / (2 * program.units), memory_limit() / program.memory)
            found = bounded_course(costs, program, options.gap, lambda: options.remaining <= 0, max_vectors, options.tell)
            note = "prices of the changes of single operators"
        ended: StoppedBecause = "time_limit" if options.remaining <= 0 else "finished"
        if found.bound == np.inf:
            return Answer("infeasible", "finished", size=size, notes=(note,))
        if not len(found.vectors):
            return Answer("none", ended, bound=found.bound, size=size, notes=(note,))
        vectors = np.empty_like(found.vectors)
        vectors[:, costs.order] = found.vectors
        proven = found.value - found.bound <= options.gap * abs(found.value)
        decision = deployments(compiled, vectors)
        status: Status = "optimal" if proven else "feasible"
        return Answer(status, "finished" if proven else ended, decision, found.value, found.bound, size, notes=(note,))


def obstacles(problem: EdrpSequence) -> Iterator[str]:
    """Reasons why more counts than numbers of replicas, in words."""
    compiled = compile_problem(problem.base)
    if problem.rules:
        yield "rules say where replicas run"
    peaks = [metric for metric in compiled.contention.metrics if compiled.counts_metric(metric)]
    own_peaks = [p for p in problem.periods if p.limits is not None and (p.limits.peak_load or p.limits.peak_loads)]
    if peaks or own_peaks:
        yield "peak loads have a weight or a limit"
    timed = bool(problem.changes.downtime) or np.isfinite(_downtime_limits(problem)).any()
    if len(compiled.nodes) == 1:
        if timed and compiled.storm and compiled.spawn_time[0]:
            yield "the downtime of Storm depends on the replicas before, which start again one after the other (spawn_time)"
        return
    yield from _differences(problem, compiled)
    if problem.changes.moved_state and compiled.state_size.any():
        yield "changes.moved_state prices state by the nodes that hold it"
    store = compiled.state_size.any() or compiled.code_size.any() or compiled.store_delay.any() or compiled.spawn_time.any()
    if timed and store:
        yield "the downtime of a change depends on the nodes that replicas leave and reach"


def _differences(problem: EdrpSequence, compiled: Compiled) -> Iterator[str]:
    """Reasons that distinguish several nodes, or join them in a way that counts."""
    if not compiled.candidate.all():
        name = compiled.operators[int(np.flatnonzero(~compiled.candidate.all(axis=1))[0])]
        yield f"{name} may not run on all nodes"
    if (compiled.demand != compiled.demand[0]).any() and np.isfinite(compiled.capacity).any():
        yield "replicas of different sizes must be packed onto nodes"
    links = compiled.links
    if problem.application.streams and (links.longest_delay or not problem.network.complete):
        yield "links between nodes take time"
    elif problem.application.streams and (links.priced or links.lossy):
        yield "links between nodes have a price or may fail"
    elif few_classes(compiled, 1) is None:
        yield "nodes are not equal"
    counted = compiled.counts_metric("availability") or any(
        p.limits is not None and p.limits.availability for p in problem.periods
    )
    if counted and compiled.node_loss.any():
        yield "availability depends on the number of nodes in use"
    if (
        problem.initial is not None
        and compiled.current is not None
        and (compiled.current.sum(axis=0) > node_slots(compiled)).any()
    ):
        yield "the initial deployment overfills a node, so that replicas must move"


def _downtime_limits(problem: EdrpSequence) -> Floats:
    """Seconds that the change into each period may take at most, shape (periods,)."""
    limits = (problem.limits if period.limits is None else period.limits for period in problem.periods)
    return np.array([np.inf if limit.downtime is None else limit.downtime for limit in limits])


def vector_program(problem: EdrpSequence, compiled: Compiled, costs: VectorCosts) -> VectorProgram:
    """The dynamic program of a sequence without obstacles; a downtime is the same whatever changes."""
    downtime = compiled.synchronisation_time
    if compiled.storm:
        downtime += float((2 * compiled.state_size / compiled.local_bandwidth).max())
    change = np.full(len(problem.periods), problem.changes.change + problem.changes.downtime * downtime)
    change[downtime > _downtime_limits(problem) * (1 + LIMIT_SLACK)] = np.inf
    operators = len(compiled.operators)
    initial = None if compiled.current is None else compiled.current.sum(axis=1)[costs.order]
    started = np.full(operators, problem.changes.started_replicas)
    return VectorProgram(costs.replicas, costs.stages, change, started, np.zeros(operators), initial)


def deployments(compiled: Compiled, vectors: Ints) -> tuple[Deployment, ...]:
    """Deployments with these numbers of replicas, shape (periods, operators), in which replicas stay where they are.

    Stopped are those on the last nodes; others start on the first nodes with room.
    """
    slots, counts = node_slots(compiled) if len(compiled.nodes) > 1 else np.inf, compiled.current
    if counts is None:
        counts = np.zeros((len(compiled.operators), len(compiled.nodes)), np.int64)
    known: dict[bytes, Deployment] = {}
    course = []
    for vector in vectors:
        if (vector != counts.sum(axis=1)).any():
            counts = _changed(counts, vector, slots)
        key = counts.tobytes()
        if key not in known:
            known[key] = compiled.deployment(counts)
        course.append(known[key])
    return tuple(course)


def _changed(counts: Ints, vector: Ints, slots: float) -> Ints:
    """The replicas on each node after some have stopped, and then others started."""
    after = counts.copy()
    for i in np.flatnonzero(counts.sum(axis=1) > vector):
        kept = np.minimum(np.cumsum(counts[i]), vector[i])
        after[i] = np.diff(kept, prepend=0)
    for i in np.flatnonzero(counts.sum(axis=1) < vector):
        missing, room = vector[i] - counts[i].sum(), np.maximum(slots - after.sum(axis=0), 0)
        placed = np.minimum(np.cumsum(room), missing)
        after[i] += np.diff(placed, prepend=0).astype(np.int64)
    return after


METHODS = (ReplicaVectors(),)
"""Methods for problems of kind `edrp-sequence`."""
