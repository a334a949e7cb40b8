"""All choices among few patterns: multisets that cover every instance, listed by a depth-first search."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from edrp import _native
from edrp.core.arrays import Floats, Ints, entries
from edrp.core.budget import spend
from edrp.formulations.placement.column_generation.model import ScoreModel
from edrp.formulations.placement.column_generation.selection import PatternPool
from edrp.formulations.placement.column_generation.windows import Window

MAX_LISTED = 20_000
"""Choices that are listed at most."""

STEP_WORK = 2.5e-7
"""Units of work for a pattern that is tried."""

MAX_TRIED_PATTERNS = 4_000_000
"""Patterns tried by one search; about a second."""


class _Patterns(NamedTuple):
    """Patterns by ascending excess: what each costs above the minimum of its class.

    Arrays of `search_choices` (edrp/native/formulations/placement/choices.cpp).

    `holder` and `start` list, in CSR form and ascending order, the patterns that hold each operator.
    """

    pattern: np.ndarray
    owner: np.ndarray
    excess: np.ndarray
    holder: np.ndarray
    start: np.ndarray


class _Cover(NamedTuple):
    """A choice that is wanted: operators in the order in which they are covered, their instances, supervisors in use.

    `room` is the upper limit on the sum of excesses and of the lower bound on path latency, in terms of the score.
    """

    order: np.ndarray
    instances: np.ndarray
    class_min: np.ndarray
    class_max: np.ndarray
    min_supervisors: int
    max_supervisors: int
    room: float
    max_steps: int


class _Streams(NamedTuple):
    """Forward streams, the minimum of seconds between different supervisors of two classes, and score per second."""

    source: np.ndarray
    target: np.ndarray
    between: np.ndarray
    second: float


def list_choices(model: ScoreModel, candidates: PatternPool, window: Window, between: Floats) -> Ints | None:
    """Every choice below the candidates' limit, best first by score without latency; None where they are too many.

    `between` is the least seconds between different supervisors of two classes, shape (classes, classes).

    Returns
    -------
    array of shape (choices, most supervisors)
        Candidates, -1 beyond the last one.
    """
    rank = np.argsort(candidates.excess, kind="stable")
    pattern, excess = candidates.pattern[rank], candidates.excess[rank]
    operator, holder = entries(pattern.T)
    start = np.searchsorted(operator, np.arange(model.instances.size + 1))
    order = np.argsort(np.diff(start), kind="stable")  # operators with the fewest patterns first
    deepest = min(window.max_supervisors, int(model.instances.sum()))
    listed = np.full((MAX_LISTED, deepest), -1, np.int64)
    patterns = _Patterns(pattern, candidates.owner[rank], excess, holder, start)
    lowest, highest = np.array(window.class_min, np.int64), np.array(window.class_max, np.int64)
    room = candidates.limit - candidates.least + 1e-9
    cover = _Cover(order, model.instances, lowest, highest, window.min_supervisors, deepest, room, MAX_TRIED_PATTERNS)
    streams = _Streams(model.source, model.target, between, model.second)
    met, steps = _native.search_choices(patterns, cover, streams, listed)
    spend(STEP_WORK * steps)
    if met > MAX_LISTED or steps > MAX_TRIED_PATTERNS:
        return None
    listed = listed[:met]
    score = np.where(listed >= 0, candidates.cost[rank][listed], 0.0).sum(axis=1)
    listed = np.where(listed >= 0, rank[listed], -1)
    chosen: Ints = listed[np.argsort(score, kind="stable")]
    return chosen
