"""Starts that break rules, repaired one replica at a time."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from edrp.core.arrays import Ints
from edrp.core.budget import spend, units_left
from edrp.core.tolerances import EQUAL_VIOLATIONS, LIMIT_SLACK
from edrp.heuristics.migration.rescale.range_starts import Replicas, boundaries
from edrp.migration.rescale.arrays import KeyedArrays
from edrp.migration.rescale.splits import possible_replicas

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
