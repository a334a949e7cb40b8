"""Replicas to start searches from: current ones, few to many stable ones, and fewest bytes on given nodes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from edrp.core.arrays import Floats, Ints
from edrp.core.budget import look, spend, units_left
from edrp.core.solution import Answer, StoppedBecause
from edrp.core.tolerances import EQUAL_VIOLATIONS, LIMIT_SLACK
from edrp.heuristics.migration.rescale.fewest_bytes import ranges_on
from edrp.heuristics.note_wording import judged_answer
from edrp.migration.rescale.arrays import KeyedArrays
from edrp.migration.rescale.deployment import KeyedDeployment, even_boundaries, packed, possible_replicas
from edrp.placement.deployment import Deployment

Replicas = list[list[tuple[int, int, int]]]
"""Node, first task and end of each replica of each operator."""

PLACED_REPLICA_UNITS = 3e-5
"""Units of work per replica that is placed."""

TOLERANCES = (0.05, 0.1, 0.2, 0.4, 0.8, 1e9)
"""Tolerances of the load over the average that are tried with the fewest bytes; the last one sets no limit."""


def evaluated_answer(arrays: KeyedArrays, replicas: Replicas, stopped: StoppedBecause, name: str) -> Answer:
    """Build an answer from replicas: feasible if the evaluator confirms it, else none."""
    return judged_answer(arrays.problem, arrays.deployment(replicas), name, stopped)


def present_start(arrays: KeyedArrays, deployment: KeyedDeployment | None) -> Replicas | None:
    """Convert a given deployment into replicas; even ranges go to the nodes that hold most of them."""
    replicas = None if deployment is None else arrays.replicas(deployment)
    if replicas is None:
        return None
    compiled = arrays.compiled
    for index, ranges in enumerate(replicas):
        max_replicas, allowed = int(compiled.max_replicas[index]), compiled.candidate[index]
        if not compiled.min_replicas[index] <= len(ranges) <= max_replicas or not all(allowed[u] for u, _, _ in ranges):
            return None
        if arrays.problem.ranges == "even" and arrays.tasks[index].count:
            ends = even_boundaries(arrays.tasks[index].count, len(ranges))
            replicas[index] = [(u, a, b) for (u, _, _), a, b in zip(ranges, ends, ends[1:], strict=False)]
    return replicas


def packed_start(arrays: KeyedArrays, share: float) -> Replicas | None:
    """Make a start between the fewest and the most stable replicas, on nodes with room; None where none is stable.

    Parameters
    ----------
    share
        0 for the fewest, 1 for the most.
    """
    free, replicas = arrays.compiled.capacity.copy(), Replicas()
    for index in range(len(arrays.tasks)):
        look("the starts of the search")
        possible = possible_replicas(arrays.problem, arrays.operator(index))
        if not possible:
            return None
        number = possible[round(share * (len(possible) - 1))]
        nodes = _nodes_with_room(arrays, index, number, free, replicas)
        ends = boundaries(arrays, index, number)
        replicas.append([(u, a, b) for u, a, b in zip(nodes, ends, ends[1:], strict=False)])
    return replicas


def boundaries(arrays: KeyedArrays, index: int, replicas: int) -> list[int]:
    """Boundaries of stable ranges, as long as possible from the left, the heaviest halved; even ones if demanded."""
    tasks, operator = arrays.tasks[index], arrays.operator(index)
    if not tasks.count:
        return [0] * (replicas + 1)
    if arrays.problem.ranges == "even":
        return even_boundaries(tasks.count, replicas)
    ends = packed(arrays.problem, operator, replicas)
    while len(ends) - 1 < replicas:  # the range with the most work that can be halved is
        work = tasks.work_before
        widest = max(
            (k for k in range(len(ends) - 1) if ends[k + 1] - ends[k] > 1), key=lambda k: work[ends[k + 1]] - work[ends[k]]
        )
        first, end = ends[widest], ends[widest + 1]
        middle = int(np.searchsorted(work, (work[first] + work[end]) / 2))
        ends.insert(widest + 1, min(max(middle, first + 1), end - 1))
    return ends


def _nodes_with_room(arrays: KeyedArrays, index: int, replicas: int, free: Floats, placed: Replicas) -> list[int]:
    """Place replicas one by one on the candidate with room nearest to the predecessors, then the emptiest."""
    compiled = arrays.compiled
    candidates, demand = compiled.candidates(index), compiled.demand[index]
    before = [int(i) for i in compiled.stream_source[compiled.stream_target == index]]
    near: Ints = np.unique([u for i in before for u, _, _ in placed[i]]).astype(np.int64)
    delay = compiled.delay[near][:, candidates].max(axis=0) if near.size else np.zeros(candidates.size)
    nodes = []
    spend(PLACED_REPLICA_UNITS * replicas)
    for _ in range(replicas):
        free_after = (free[candidates] - demand).min(axis=1, initial=np.inf)
        order = np.lexsort((-free_after, delay, free_after < -1e-9))
        node = int(candidates[order[0]])
        free[node] -= demand
        nodes.append(node)
    return nodes


def sequential_starts(arrays: KeyedArrays, deployment: Deployment) -> list[Replicas]:
    """Choose the ranges that move the fewest bytes on given nodes, one start for each tolerance that allows one."""
    index = {name: u for u, name in enumerate(arrays.compiled.nodes)}
    nodes = [[index[node] for node in deployment[name]] for name in arrays.compiled.operators]
    starts: list[Replicas] = []
    for tolerance in TOLERANCES:
        if starts and units_left() <= 0:
            break
        look("the ranges on given nodes")
        replicas = [ranges_on(arrays, i, nodes[i], tolerance) for i in range(len(nodes))]
        complete = [ranges for ranges in replicas if ranges is not None]
        if len(complete) == len(nodes) and complete not in starts:
            starts.append(complete)
    return starts


def best_answer(arrays: KeyedArrays, candidates: list[Replicas], name: str) -> Answer | None:
    """The feasible answer with the lowest objective, else the first; None without candidates."""
    answers = [evaluated_answer(arrays, replicas, "finished", name) for replicas in candidates]
    return min(answers, key=lambda answer: np.inf if answer.objective is None else answer.objective, default=None)


TRY_UNITS = 5e-5
"""Units of work per change that is tried."""

MAX_TRIES = 5_000
"""Changes that are tried per start."""


def meet_rules(arrays: KeyedArrays, replicas: Replicas) -> Replicas:
    """Change the nodes and numbers of replicas as long as that brings them nearer to the rules that must be met.

    Each change moves one replica, or adds or takes one and splits the operator's tasks among all of them again. Rules may stay
    broken where no single change helps.
    """
    rules, compiled = arrays.compiled.rules, arrays.compiled
    if not len(rules):
        return replicas
    counts, tries = _counts(arrays, replicas), 0
    while rules.breach(counts) > 0:
        excess = _excess(arrays, counts)
        for i, ranges in _changes(arrays, replicas):
            tries += 1
            spend(TRY_UNITS)
            changed = counts.copy()
            changed[i] = np.bincount([u for u, _, _ in ranges], minlength=len(compiled.nodes))
            if _excess(arrays, changed) < excess - EQUAL_VIOLATIONS:
                replicas, counts = [*replicas[:i], ranges, *replicas[i + 1 :]], changed
                break
            if tries >= MAX_TRIES or units_left() <= 0:
                return replicas
        else:
            return replicas
    return replicas


def _counts(arrays: KeyedArrays, replicas: Replicas) -> Ints:
    nodes = len(arrays.compiled.nodes)
    return np.array([np.bincount([u for u, _, _ in ranges], minlength=nodes) for ranges in replicas], np.int64)


def _excess(arrays: KeyedArrays, counts: Ints) -> float:
    """By how much rules that must be met and resources of nodes are exceeded."""
    capacity = arrays.compiled.capacity
    overload = np.maximum(counts.T @ arrays.compiled.demand - capacity * (1 + LIMIT_SLACK), 0.0)
    return arrays.compiled.rules.breach(counts) + float((overload / np.maximum(capacity, 1e-12)).sum())


def _changes(arrays: KeyedArrays, replicas: Replicas) -> Iterator[tuple[int, list[tuple[int, int, int]]]]:
    """Yield operators with other replicas: one on another node, then one more or one fewer."""
    candidates = [arrays.compiled.candidates(i).tolist() for i in range(len(replicas))]
    for i, ranges in enumerate(replicas):
        for k, (u, a, b) in enumerate(ranges):
            yield from ((i, [*ranges[:k], (v, a, b), *ranges[k + 1 :]]) for v in candidates[i] if v != u)
    for i, ranges in enumerate(replicas):
        possible, nodes = possible_replicas(arrays.problem, arrays.operator(i)), [u for u, _, _ in ranges]
        more = [[*nodes, v] for v in candidates[i]] if len(nodes) + 1 in possible else []
        fewer = [nodes[:k] + nodes[k + 1 :] for k in range(len(nodes))] if len(nodes) - 1 in possible else []
        for chosen in (*more, *fewer):
            ends = boundaries(arrays, i, len(chosen))
            yield i, [(u, a, b) for u, (a, b) in zip(chosen, pairwise(ends), strict=True)]
