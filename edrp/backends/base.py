"""What a solver backend is: a program in, a result out, capabilities declared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from edrp.methods import Progress
from edrp.program import Program
from edrp.solution import Status, StoppedBecause

Values = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class SolverOptions:
    """How to run a backend: seconds (None for no limit), relative gap, threads, seed, and a starting point.

    `start` has shape (columns,); NaN where a column is left to the solver.
    """

    time_limit: float | None = None
    gap: float = 1e-9
    threads: int = 1
    seed: int = 0
    start: Values | None = None
    progress: Progress | None = None


@dataclass(frozen=True, slots=True)
class ProgramResult:
    """What a backend holds and why it stopped; `values` has shape (columns,) or is None."""

    status: Status
    stopped_because: StoppedBecause
    values: Values | None
    objective: float | None
    bound: float | None
    seconds: float


class Backend(Protocol):
    """One solver. `features` are of "time_limit", "gap", "threads", "start", "interrupt", "seed"."""

    name: str
    features: frozenset[str]
    package: str
    extra: str

    def solve(self, program: Program, options: SolverOptions) -> ProgramResult:
        """Solve a program."""
        ...
