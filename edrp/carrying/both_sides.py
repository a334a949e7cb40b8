"""Certificates of both sides of a largest rate: that a deployment carries a rate, and that none carries one above the bound."""

from __future__ import annotations

import math
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from edrp.core.errors import ProblemWarning
from edrp.core.files import write_whole
from edrp.core.folders import filling
from edrp.core.instances import save
from edrp.core.solve import solve
from edrp.core.tolerances import RATE_STEP
from edrp.placement.edrp import EdrpProblem

if TYPE_CHECKING:
    from edrp.carrying.largest_rate import LargestRate

CARRIED, BEYOND = "carried", "beyond"
"""Names of both sides in a folder."""


def write_both_sides(largest: LargestRate, folder: str | Path, *, force: bool = False) -> tuple[str, ...]:
    """Write instance, solution and certificate of both sides; return in words which side has none, and why.

    The instance just below the largest rate asks for nothing but a deployment: the objective is 0 for all. That above the bound
    is infeasible. `edrp check NAME.json NAME.solution.json NAME.cert` checks each, in exact arithmetic.

    Parameters
    ----------
    folder
        Created where it is missing.
    force
        Whether to replace files that others wrote.

    Raises
    ------
    UnwritableError
        When files cannot be written there.
    """
    sides = {}
    if largest.deployment is not None and largest.multiple is not None and math.isfinite(largest.multiple):
        sides[CARRIED] = without_objective(largest.problem_at(largest.multiple * (1 - largest.margin)))
    if largest.bound is not None or largest.status == "infeasible":
        sides[BEYOND] = largest.problem_at((largest.bound or 0.0) * (1 + RATE_STEP))
    notes = []
    with filling(folder, force=force) as stage, warnings.catch_warnings():
        warnings.simplefilter("ignore", ProblemWarning)
        for name, problem in sides.items():
            solution = solve(problem, largest.method, start=largest.deployment if name == CARRIED else None, certify=True)
            save(problem, stage / f"{name}.json")
            save(solution, stage / f"{name}.solution.json")
            if solution.certificate is None:
                notes.append(f"{name}: {'; '.join(solution.notes) or solution.status}")
            else:
                write_whole(stage / f"{name}.cert", solution.certificate)
    return tuple(notes)


def without_objective(problem: EdrpProblem) -> EdrpProblem:
    """The problem with an objective that is 0 for every feasible deployment, if its limits allow that.

    That is the downtime of an initial placement; where the downtime has a limit, the current deployment stays, and so does it.
    """
    if problem.limits.of("downtime") is not None and problem.current is not None:
        return problem
    limits = problem.limits.replace(downtime=1.0)
    return problem.replace(weights={"downtime": 1.0}, limits=limits, current=None, priorities=())
