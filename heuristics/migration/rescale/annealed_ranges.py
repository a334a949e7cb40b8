"""Simulated annealing over replicas, ranges and nodes of all operators."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count

import numpy as np

from edrp import _native
from edrp.core.arrays import UInts
from edrp.core.budget import look, spend
from edrp.core.methods import Options
from edrp.core.solution import StoppedBecause
from edrp.heuristics.migration.rescale.range_arrays import OBJECTIVE_VALUE, VIOLATION_VALUE, RangeArrays, RangeState, Replicas
from edrp.heuristics.placement.rule_rows import RULE_UNITS

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
        _native.anneal_ranges(self.arrays, self.now, self.old, self.best, random, *schedule)
