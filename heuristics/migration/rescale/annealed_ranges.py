"""Simulated annealing over replicas, ranges and nodes of all operators."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count

import numpy as np

from edrp.core.arrays import UInts
from edrp.core.budget import look, spend
from edrp.core.kernel_helpers import below, uniform
from edrp.core.kernels import inlined, inner_loop
from edrp.core.methods import Options
from edrp.core.solution import StoppedBecause
from edrp.core.tolerances import EQUAL_VIOLATIONS
from edrp.heuristics.migration.rescale.range_arrays import (
    OBJECTIVE_VALUE,
    VIOLATION_VALUE,
    RangeArrays,
    RangeState,
    Replicas,
    add_up,
    copy_operator,
    copy_replicas,
    refresh_all,
    refresh_operator,
    refresh_streams,
)
from edrp.heuristics.placement.rule_rows import RULE_UNITS

NO_OPERATOR = -1
"""Value that stands for an operator where none was changed."""


@inlined
def first_task(s: RangeState, i: int, k: int) -> int:
    """First task of the range of replica k."""
    return s.end[i, k - 1] if k > 0 else 0


@inlined
def split_point(t: RangeArrays, i: int, first: int, end: int) -> int:
    """Boundary inside [first, end) that best halves its work from below, with at least one task on either side."""
    at = t.offset[i]
    half = (t.work[at + first] + t.work[at + end]) / 2
    low, high = first + 1, end - 1
    while low < high:
        middle = (low + high + 1) // 2
        if t.work[at + middle] <= half:
            low = middle
        else:
            high = middle - 1
    return low


@inlined
def make_even(t: RangeArrays, s: RangeState, i: int) -> None:
    """Set the boundaries of operator i to ⌈k·m/r⌉: equal numbers of tasks."""
    for k in range(s.number[i]):
        s.end[i, k] = -((-(k + 1) * t.tasks[i]) // s.number[i])


@inlined
def make_balanced(t: RangeArrays, s: RangeState, i: int) -> None:
    """Set the boundaries of operator i so that all replicas have about equal work."""
    m, at, n, before = t.tasks[i], t.offset[i], s.number[i], 0
    for k in range(n):
        target = t.work[at + m] * (k + 1) / n
        low, high = before + 1, m - (n - 1 - k)
        while low < high:
            middle = (low + high) // 2
            if t.work[at + middle] < target:
                low = middle + 1
            else:
                high = middle
        if low > before + 1 and t.work[at + low] - target > target - t.work[at + low - 1]:
            low -= 1
        s.end[i, k] = before = low if k < n - 1 else m


@inlined
def random_node(t: RangeArrays, s: RangeState, random: np.ndarray, i: int, k: int) -> int:
    """Draw a node for a replica: a neighbour operator's, one that holds a task of its range now, or any."""
    draw = uniform(random)
    if draw < 0.35 and t.adjacent_start[i + 1] > t.adjacent_start[i]:
        e = t.adjacent[t.adjacent_start[i] + below(random, t.adjacent_start[i + 1] - t.adjacent_start[i])]
        j = t.source[e] + t.target[e] - i
        u = s.node[j, below(random, s.number[j])]
        if t.candidate[i, u]:
            return u
    if draw < 0.6 and t.current_number[i] > 0:
        q = below(random, t.current_number[i])
        if t.tasks[i] > 0:
            task = first_task(s, i, k) + below(random, s.end[i, k] - first_task(s, i, k))
            q = 0
            while t.current_end[i, q] <= task:
                q += 1
        if t.candidate[i, t.current_node[i, q]]:
            return t.current_node[i, q]
    first = t.candidate_start[i]
    return t.candidate_list[first + below(random, t.candidate_start[i + 1] - first)]


@inlined
def move_boundary(t: RangeArrays, s: RangeState, random: np.ndarray, i: int) -> bool:
    """Shift a boundary, set it to a current one, or balance the two replicas on either side of it."""
    if t.tasks[i] == 0 or t.even_ranges or s.number[i] < 2:
        return False
    k = below(random, s.number[i] - 1)
    first, end, boundary = first_task(s, i, k), s.end[i, k + 1], s.end[i, k]
    draw = uniform(random)
    if draw < 0.6 or (draw < 0.8 and t.current_number[i] < 2):
        step = 1 + int((end - first) * 0.5 * uniform(random) ** 4)
        boundary += step if uniform(random) < 0.5 else -step
    elif draw < 0.8:
        boundary = t.current_end[i, below(random, t.current_number[i] - 1)]
    else:
        boundary = split_point(t, i, first, end) if end - first > 1 else boundary
    if boundary <= first or boundary >= end or boundary == s.end[i, k]:
        return False
    s.end[i, k] = boundary
    return True


@inlined
def split(t: RangeArrays, s: RangeState, random: np.ndarray, i: int) -> bool:
    """Split a replica: a new one takes half of its range, on the same or another node."""
    n, k = s.number[i], below(random, s.number[i])
    if n >= t.max_replicas[i] or n >= s.node.shape[1]:
        return False
    m, cut = t.tasks[i], 0
    if m > 0 and not t.even_ranges:
        first, end = first_task(s, i, k), s.end[i, k]
        if end - first < 2:
            return False
        cut = split_point(t, i, first, end) if uniform(random) < 0.7 else first + 1 + below(random, end - first - 1)
    u = random_node(t, s, random, i, k)
    for p in range(n, k, -1):
        s.node[i, p], s.end[i, p] = s.node[i, p - 1], s.end[i, p - 1]
    s.number[i] = n + 1
    s.end[i, k] = cut
    s.node[i, k + below(random, 2)] = u
    if m > 0 and t.even_ranges:
        make_even(t, s, i)
    elif m > 0 and uniform(random) < 0.25:
        make_balanced(t, s, i)
    return True


@inlined
def merge(t: RangeArrays, s: RangeState, random: np.ndarray, i: int) -> bool:
    """Merge a replica into the one before it, which may take over its node."""
    n = s.number[i]
    if n <= t.min_replicas[i] or n < 2:
        return False
    k = below(random, n - 1)
    if uniform(random) < 0.5:
        s.node[i, k] = s.node[i, k + 1]
    for p in range(k, n - 1):
        s.end[i, p] = s.end[i, p + 1]
        if p > k:
            s.node[i, p] = s.node[i, p + 1]
    s.number[i] = n - 1
    if t.tasks[i] > 0 and t.even_ranges:
        make_even(t, s, i)
    elif t.tasks[i] > 0 and uniform(random) < 0.25:
        make_balanced(t, s, i)
    return True


@inlined
def rotate(t: RangeArrays, s: RangeState, random: np.ndarray, i: int) -> bool:
    """Rotate the nodes of some neighbouring replicas by one position."""
    n = s.number[i]
    if n < 2:
        return False
    k = below(random, n - 1)
    last = k + 1 + below(random, n - 1 - k)
    u = s.node[i, last]
    for p in range(last, k, -1):
        s.node[i, p] = s.node[i, p - 1]
    s.node[i, k] = u
    return True


@inlined
def restore_current(t: RangeArrays, s: RangeState, i: int) -> bool:
    """Restore the current replicas of an operator, as far as they are allowed."""
    n = t.current_number[i]
    if n < max(1, t.min_replicas[i]) or n > t.max_replicas[i]:
        return False
    for k in range(n):
        if not t.candidate[i, t.current_node[i, k]]:
            return False
    s.number[i] = n
    for k in range(n):
        s.node[i, k], s.end[i, k] = t.current_node[i, k], t.current_end[i, k]
    if t.tasks[i] > 0 and t.even_ranges:
        make_even(t, s, i)
    return True


@inlined
def swap(t: RangeArrays, s: RangeState, random: np.ndarray, i: int, j: int) -> bool:
    """Exchange the nodes of two replicas, of two operators or of one."""
    k, p = below(random, s.number[i]), below(random, s.number[j])
    u, v = s.node[i, k], s.node[j, p]
    if u == v or not t.candidate[i, v] or not t.candidate[j, u]:
        return False
    s.node[i, k], s.node[j, p] = v, u
    return True


@inlined
def propose(t: RangeArrays, s: RangeState, random: np.ndarray) -> tuple[int, int]:
    """Change replicas in place; return the one or two changed operators, `NO_OPERATOR` where nothing changed."""
    i = below(random, t.load.size)
    draw = uniform(random)
    if draw < 0.4 and move_boundary(t, s, random, i):
        return i, NO_OPERATOR
    if draw < 0.65:
        k = below(random, s.number[i])
        u = random_node(t, s, random, i, k)
        if u == s.node[i, k]:
            return NO_OPERATOR, NO_OPERATOR
        s.node[i, k] = u
        return i, NO_OPERATOR
    if draw < 0.75:
        j = below(random, t.load.size)
        return (i, j if j != i else NO_OPERATOR) if swap(t, s, random, i, j) else (NO_OPERATOR, NO_OPERATOR)
    if draw < 0.84:
        return (i, NO_OPERATOR) if split(t, s, random, i) else (NO_OPERATOR, NO_OPERATOR)
    if draw < 0.92:
        return (i, NO_OPERATOR) if merge(t, s, random, i) else (NO_OPERATOR, NO_OPERATOR)
    if draw < 0.96:
        return (i, NO_OPERATOR) if rotate(t, s, random, i) else (NO_OPERATOR, NO_OPERATOR)
    if draw < 0.98:
        return (i, NO_OPERATOR) if restore_current(t, s, i) else (NO_OPERATOR, NO_OPERATOR)
    if t.tasks[i] == 0 or t.even_ranges:
        return NO_OPERATOR, NO_OPERATOR
    make_balanced(t, s, i)
    return i, NO_OPERATOR


MOVES_PER_CHECK = 5_000
"""Moves between two checks of the clock."""

FIRST_RUN_SHARES = (0.1, 0.3)
"""Lengths of the first two runs, relative to those of the others."""

RUNS = 10
"""Number of runs where nobody asks for another one."""

MOVE_UNITS = 4e-8
"""Units of work per move, for each operator and stream."""

PLANNED_SHARE = 0.95
"""Share of the remaining limit for which a run is planned."""

VIOLATION_PENALTY = 3.0
"""Objective per unit of violation, on the scale on which temperatures are given."""


@inlined
def _energy(s: RangeState, scale: float) -> float:
    return s.values[OBJECTIVE_VALUE] * scale + VIOLATION_PENALTY * s.values[VIOLATION_VALUE]


@inlined
def _keep_best(t: RangeArrays, s: RangeState, best: RangeState) -> None:
    """Copy the state to `best` if it is better: less violation, then a lower objective."""
    less = s.values[VIOLATION_VALUE] < best.values[VIOLATION_VALUE] - EQUAL_VIOLATIONS
    same = s.values[VIOLATION_VALUE] <= best.values[VIOLATION_VALUE] + EQUAL_VIOLATIONS
    if less or (same and s.values[OBJECTIVE_VALUE] < best.values[OBJECTIVE_VALUE]):
        for i in range(t.load.size):
            copy_replicas(s, best, i)
        best.values[OBJECTIVE_VALUE], best.values[VIOLATION_VALUE] = s.values[OBJECTIVE_VALUE], s.values[VIOLATION_VALUE]


@inner_loop
def anneal_ranges(
    t: RangeArrays,
    state: RangeState,
    accepted: RangeState,
    best: RangeState,
    random: np.ndarray,
    schedule: tuple[int, float, float, float],
) -> None:
    """Anneal from `state`; the best state visited is copied to `best`.

    `schedule` holds the number of moves, the temperature, its factor per move, and the scale of objectives.
    """
    steps, temperature, cooling, scale = schedule
    refresh_all(t, state)
    for i in range(t.load.size):
        copy_operator(t, state, accepted, i)
    _keep_best(t, state, best)
    energy = _energy(state, scale)
    for _ in range(steps):
        temperature *= cooling
        i, j = propose(t, state, random)
        if i == NO_OPERATOR:
            continue
        refresh_operator(t, state, i)
        if j != NO_OPERATOR:
            refresh_operator(t, state, j)
            refresh_streams(t, state, j)
        refresh_streams(t, state, i)
        add_up(t, state)
        changed = _energy(state, scale)
        if changed <= energy or uniform(random) < np.exp((energy - changed) / temperature):
            energy = changed
            _keep_best(t, state, best)
            copy_operator(t, state, accepted, i)
            if j != NO_OPERATOR:
                copy_operator(t, state, accepted, j)
        else:
            copy_operator(t, accepted, state, i)
            if j != NO_OPERATOR:
                copy_operator(t, accepted, state, j)


class RangeSearch:
    """A search that keeps the best replicas visited so far and anneals from them."""

    def __init__(self, arrays: RangeArrays, starts: Sequence[Replicas]) -> None:
        self.arrays = arrays
        self.now, self.old, self.best = (RangeState.empty(arrays) for _ in range(3))
        self.best.values[OBJECTIVE_VALUE] = self.best.values[VIOLATION_VALUE] = np.inf
        self.starts = list(starts)
        for start in self.starts:
            look("the starts of the search")
            self._run(start, np.zeros(1, np.uint64), (0, 1.0, 1.0, 1.0))

    @property
    def feasible(self) -> bool:
        """Whether the best replicas visited break no limit."""
        return bool(self.best.values[VIOLATION_VALUE] == 0)

    @property
    def objective(self) -> float:
        """Objective of the best replicas visited."""
        return float(self.best.values[OBJECTIVE_VALUE])

    def replicas(self) -> Replicas:
        """Return the best replicas visited."""
        return self.best.replicas()

    def anneal(self, options: Options, runs: int | None, steps: int, temperatures: tuple[float, float]) -> StoppedBecause:
        """Run annealing several times: odd runs start from the best replicas known, even ones from another start.

        Under a limit a run is as long as the rest of it allows, so that it ends cold; without a number there are ten of them, and
        under a limit as many as it allows.
        """
        hot, cold = temperatures
        rules = self.arrays.rules
        move = MOVE_UNITS * (self.arrays.load.size + self.arrays.source.size)
        move += RULE_UNITS * (rules.operators.size + rules.coefficient.size)
        for run in count():
            optimal = self.feasible and self.objective <= 0
            if run >= (runs or RUNS) and (runs is not None or optimal or not options.goes_on):
                break
            length = max(1, int(steps * FIRST_RUN_SHARES[run])) if run < len(FIRST_RUN_SHARES) else steps
            if options.limit < np.inf:
                length = max(1, min(length, int(PLANNED_SHARE * options.remaining / move)))
                if run >= RUNS and length < MOVES_PER_CHECK:
                    return "time_limit"
            cooling = (cold / hot) ** (1.0 / length)
            random = np.random.SeedSequence([options.seed, run]).generate_state(1, np.uint64).astype(np.uint64)
            start = self.replicas() if run % 2 == 0 else self.starts[(run // 2) % len(self.starts)]
            scale = 1.0 / max(abs(self.objective), 1e-12) if np.isfinite(self.objective) else 1.0
            try:
                for steps_done in range(0, length, MOVES_PER_CHECK):
                    if options.remaining <= 0:
                        return "time_limit"
                    spend(move * min(MOVES_PER_CHECK, length - steps_done))
                    schedule = (min(MOVES_PER_CHECK, length - steps_done), hot * cooling**steps_done, cooling, scale)
                    self._run(start if steps_done == 0 else None, random, schedule)
            except KeyboardInterrupt:
                return "interrupted"
            if options.progress is not None and self.feasible:
                options.progress(options.seconds, self.objective, None)
        return "finished"

    def _run(self, start: Replicas | None, random: UInts, schedule: tuple[int, float, float, float]) -> None:
        if start is not None:
            self.now.set(start)
        anneal_ranges(self.arrays, self.now, self.old, self.best, random, schedule)
