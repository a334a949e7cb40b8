"""Certificates of both sides of a largest rate: that a deployment carries a rate, and that none carries one above the bound."""

from __future__ import annotations

import warnings
from pathlib import Path

from edrp.core.errors import ProblemWarning
from edrp.core.files import write_whole
from edrp.core.folders import filling
from edrp.core.instances import save
from edrp.core.solve import solve
from edrp.placement.deployment import Deployment
from edrp.placement.edrp import EdrpProblem

CARRIED, BEYOND = "carried", "beyond"
"""Names of both sides in a folder."""


def write_both_sides(
    carried: EdrpProblem | None,
    deployment: Deployment | None,
    beyond: EdrpProblem | None,
    method: str,
    folder: str | Path,
    *,
    force: bool = False,
) -> tuple[str, ...]:
    """Write instance, solution and certificate of both sides; return in words which side has none, and why.

    The instance just below the largest rate asks for nothing but a deployment: the objective is 0 for all. That above the bound
    is infeasible. `edrp check NAME.json NAME.solution.json NAME.cert` checks each, in exact arithmetic.

    Parameters
    ----------
    carried, beyond
        The problem just below the largest rate, and that just above the bound; None for a side that there is not.
    deployment
        What carries the first.
    method
        Method that solves both.
    folder
        Created where it is missing.
    force
        Whether to replace files that others wrote.

    Raises
    ------
    UnwritableError
        When files cannot be written there.
    """
    sides = {CARRIED: None if carried is None else without_objective(carried), BEYOND: beyond}
    notes = []
    with filling(folder, force=force) as stage, warnings.catch_warnings():
        warnings.simplefilter("ignore", ProblemWarning)
        for name, problem in sides.items():
            if problem is None:
                continue
            solution = solve(problem, method, start=deployment if name == CARRIED else None, certify=True)
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
