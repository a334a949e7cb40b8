"""Compiled kernels by themselves, without documents or evaluation."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from registry import BenchSpec, register

from edrp.mdp.best_response import best_responses, colexicographic
from edrp.mdp.partitions import Tasks, enumerate_partitions
from edrp.mdp.single_step.ties import settle
from edrp.mdp.trie import Trie, prepare_values
from edrp.migration.intervals import load_limit

TOLERANCE = 0.2


def tasks(count: int) -> Tasks:
    """Random work and state sizes."""
    generator = np.random.default_rng(0)
    return Tasks.of(generator.uniform(0.5, 1.5, count), generator.exponential(1.0, count))


def single_step(size: tuple[int, int]) -> Callable[[], object]:
    """SSM from an even assignment to one node more: layers, way back, matching."""
    count, nodes = size
    drawn, old = tasks(count), np.arange(nodes + 1) * count // nodes
    boundaries, matched = np.empty(nodes + 2, np.int64), np.empty(nodes + 1, np.int64)
    limit = load_limit(drawn.work_before[-1], nodes + 1, TOLERANCE)
    call = partial(settle, drawn.work_before, drawn.state_before, old, limit, True, boundaries, matched, False)
    call()
    return call


def responses(size: tuple[int, int, int]) -> Callable[[], object]:
    """Best responses of all partitions into some nodes to all partitions into others, all values 0."""
    count, before, after = size
    drawn = tasks(count)
    limits = [load_limit(float(drawn.work_before[-1]), nodes, TOLERANCE) for nodes in (before, after)]
    partitions = enumerate_partitions(drawn.work_before, before, limits[0], False)
    trie = Trie.of(drawn.work_before, after, limits[1], False)
    values = np.zeros(len(enumerate_partitions(drawn.work_before, after, limits[1], False)))
    prepared, order = prepare_values(trie, values), colexicographic(partitions)
    known, found = np.full(len(partitions), -1), np.empty(len(partitions))
    call = partial(best_responses, trie, prepared, drawn.state_before, partitions, order, known, found, known.copy())
    call()
    return call


def itself(call: Callable[[], object]) -> Callable[[], object]:
    """The call that is timed, where preparing an instance has made it already."""
    return call


register(BenchSpec("single-step kernel", single_step, {"64 tasks": (64, 8), "1,024 tasks": (1024, 60)}, {"solve": itself}))
register(BenchSpec("best replies", responses, {"24 tasks": (24, 4, 5), "64 tasks": (64, 9, 10)}, {"solve": itself}))
