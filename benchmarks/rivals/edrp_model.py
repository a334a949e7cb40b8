"""Our own side: from the documents to arrays; its clock includes the tables that the others are given."""

from __future__ import annotations

from typing import Any

from rivals.common import Canonical

import edrp
from edrp.backends.base import SolverOptions
from edrp.backends.highs import HighsBackend
from edrp.core.program import Arrays
from edrp.placement.edrp import EdrpProblem


def build(problem: EdrpProblem) -> Any:
    """The literal program."""
    return edrp.formulate(problem, "literal").program


def to_arrays(program: Any) -> Arrays:
    """The arrays that backends get."""
    return program.arrays()


def canonical(program: Any, arrays: Arrays) -> Canonical:
    """The arrays as they are."""
    assert program.rows == arrays.row_lower.size
    return Canonical(
        arrays.objective, arrays.lower, arrays.upper, arrays.integer, arrays.matrix, arrays.row_lower, arrays.row_upper
    )


def solve(program: Any, settings: dict[str, Any]) -> float:
    """Optimum on HiGHS."""
    result = HighsBackend().solve(program.arrays(), SolverOptions(gap=settings["mip_rel_gap"]))
    assert result.objective is not None
    return result.objective
