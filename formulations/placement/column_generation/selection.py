"""The small program: which of the patterns that are left make a placement, with a lower bound on its path latency by rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from edrp.backends.base import SolverOptions
from edrp.backends.closing import verify_unproven
from edrp.backends.highs import solve_arrays
from edrp.core.arrays import Bools, Floats, Ints
from edrp.core.budget import now
from edrp.core.program import Linear, Program
from edrp.core.tolerances import COARSEST_SELECTION_GAP, FINEST_SELECTION_GAP
from edrp.formulations.placement.column_generation.model import ScoreModel
from edrp.formulations.placement.column_generation.windows import Window


def longest_path(program: Program, model: ScoreModel, pattern: Ints, use: Ints, least_delay: Floats) -> Linear:
    """Milliseconds that the slowest path through instances takes at least.

    With F and L the first and the last arrival at an instance of an operator, and a stream from a to b that takes at least d
    between different supervisors: all of b comes after all of a, F_b ≥ L_a, by d where no supervisor holds instances of both.
    Unless one supervisor holds all of both, some pair is apart, L_b ≥ F_a + d. All of a on one supervisor leave together,
    L_b ≥ L_a + d where not all of b is there too; all of b on one arrive together, F_b ≥ F_a + d.

    Parameters
    ----------
    program, model
        Gets columns "first arrival", "arrival" (operators,) and "longest".
    pattern, use
        Counts of each column's pattern, shape (columns, operators), and the columns that say whether it is used.
    least_delay
        Seconds d of each forward stream.
    """
    size, a, b = model.instances.size, model.source, model.target
    first, last = program.add_columns("first arrival", size), program.add_columns("arrival", size)
    longest = program.add_columns("longest", 1)
    all_on_node, present = pattern == model.instances, pattern > 0
    delay, rows = 1000 * least_delay, np.arange(a.size)

    def follow(name: str, later: Ints, earlier: Ints, apart: Bools, unless: bool) -> None:
        """later_b − earlier_a ≥ d where a pattern says so; with `unless`, where none does."""
        stream, column = np.nonzero(apart.T)
        factor = delay[stream] if unless else -delay[stream]
        ends = [(rows, later[b], 1.0), (rows, earlier[a], -1.0)]
        least_delay = delay if unless else np.zeros_like(delay)
        program.add_rows(f"arrivals {name}", rows.size, [*ends, (stream, use[column], factor)], lower=least_delay)

    whole_a, whole_b = all_on_node[:, a], all_on_node[:, b]
    follow("after all", first, last, np.zeros_like(whole_a), unless=False)
    follow("none shared", first, last, present[:, a] & present[:, b], unless=True)
    follow("apart", last, first, whole_a & whole_b, unless=True)
    follow("from one", last, last, whole_a & ~whole_b, unless=False)
    follow("to one", first, first, whole_b & ~whole_a, unless=False)
    each, single = np.arange(size), np.flatnonzero(model.instances == 1)
    program.add_rows("first and last", size, [(each, last, 1.0), (each, first, -1.0)], lower=0.0)
    one = np.arange(single.size)
    program.add_rows("one instance", one.size, [(one, first[single], 1.0), (one, last[single], -1.0)], lower=0.0)
    program.add_rows("longest", size, [(each, last, -1.0), (each, longest, 1.0)], lower=0.0)
    return Linear.of(longest)


@dataclass(frozen=True, slots=True)
class PatternPool:
    """Patterns to choose from.

    Attributes
    ----------
    owner : shape (patterns,), class.
    pattern : shape (patterns, operators), counts.
    cost : shape (patterns,), price of the supervisor less what the pattern is worth at the prices of a proof.
    excess : shape (patterns,), the same above the least of the class.
    fixed : float, worth of all instances at these prices, plus all streams apart: the score is this plus the costs.
    least, limit : float, scores that matter: no choice scores less than one, and those above the other are not wanted.
    """

    owner: Ints
    pattern: Ints
    cost: Floats
    excess: Floats
    fixed: float
    least: float
    limit: float


@dataclass(frozen=True, slots=True)
class Selected:
    """Result of the program that selects patterns.

    `chosen` are indices of candidates, one per supervisor in use, or None; `bound` is what no choice that is left scores
    less than, path latency bounded from below (infinite where none is left).
    """

    chosen: Ints | None
    bound: float
    interrupted: bool


@dataclass
class Selection:
    """Mixed-integer program over candidates: instances covered exactly, supervisors within the window.

    A choice that was looked at can be excluded. Patterns that fit more than once have a column per use. Path latency is
    bounded by the first and the last arrival at any instance of each operator: between different supervisors a stream takes
    at least its least delay. The objective is 1 at the least score that matters and 2 at the largest, since
    solvers are exact to absolute tolerances and path latency may weigh next to nothing.
    """

    model: ScoreModel
    candidates: PatternPool
    window: Window
    least_delay: Floats

    def __post_init__(self) -> None:
        model, pattern = self.model, self.candidates.pattern
        fits = np.where(pattern > 0, model.instances // np.maximum(pattern, 1), np.iinfo(np.int64).max).min(axis=1)
        uses = np.minimum(fits, np.array(self.window.class_max, np.int64)[self.candidates.owner])
        self.scale = max(self.candidates.limit - self.candidates.least, 1e-12)
        self.column = np.repeat(np.arange(len(pattern)), uses)  # candidate of each column
        self.first = np.cumsum([0, *uses])[:-1]
        self.program = self._program()

    def exclude(self, chosen: Ints) -> None:
        """Forbid one choice."""
        candidate, uses = np.unique(chosen, return_counts=True)
        columns = np.concatenate([self.first[p] + np.arange(n) for p, n in zip(candidate, uses, strict=True)])
        self.program.add_row(f"excluded {self.program.rows}", Linear.of(columns, 1.0), upper=columns.size - 1)

    def solve(self, seconds: float, gap: float) -> Selected:
        """The best choice that is left, to an absolute gap where the solver's tolerances allow it."""
        if not self.column.size:
            return Selected(None, np.inf, False)
        limit = None if np.isinf(seconds) else seconds
        within = float(np.clip(gap / self.scale, FINEST_SELECTION_GAP, COARSEST_SELECTION_GAP))
        arrays, settings, began = self.program.arrays(), SolverOptions(limit, within), now()
        result = solve_arrays(arrays, settings)
        result = verify_unproven(arrays, result, settings, 1.0, now() - began)
        interrupted = result.stopped_because == "interrupted"
        if result.status == "infeasible":
            return Selected(None, np.inf, False)
        bound = -np.inf if result.bound is None else self.candidates.least + (result.bound - 1.0) * self.scale
        if result.values is None:
            return Selected(None, bound, interrupted)
        used = np.flatnonzero(np.round(result.values[: self.column.size]) > 0)
        return Selected(self.column[used], bound, interrupted)

    def _program(self) -> Program:
        model, candidates, window = self.model, self.candidates, self.window
        program = Program()
        use = program.add_columns("use", self.column.size, upper=1.0, integer=True)
        operator, entry = np.nonzero(candidates.pattern[self.column].T)
        counts = candidates.pattern[self.column].T[operator, entry]
        instances = model.instances
        program.add_rows("cover", instances.size, [(operator, use[entry], counts)], lower=instances, upper=instances)
        owner = candidates.owner[self.column]
        classes = np.argsort(owner, kind="stable")
        program.add_rows(
            "supervisors of a class", len(model.classes), [(owner[classes], use[classes], 1.0)],
            lower=window.class_min, upper=window.class_max,
        )  # fmt: skip
        program.add_rows("supervisors", 1, [(0, use, 1.0)], lower=window.min_supervisors, upper=window.max_supervisors)
        again = np.flatnonzero(self.column[1:] == self.column[:-1])
        if again.size:
            rows = np.arange(again.size)
            program.add_rows("in order", again.size, [(rows, use[again], 1.0), (rows, use[again + 1], -1.0)], lower=0.0)
        objective = Linear.of(use, candidates.cost[self.column]) + (candidates.fixed - candidates.least)
        if model.second > 0 and model.source.size:
            longest = longest_path(program, model, candidates.pattern[self.column], use, self.least_delay)
            objective = objective + longest * (model.second / 1000)
        program.minimise(objective * (1 / self.scale) + 1.0)
        return program
