"""Solution documents on the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from edrp.core.errors import Fault, InvalidInstanceError
from edrp.core.instances import load_solution
from edrp.core.problem import Problem

SolutionFile = Annotated[
    Path | None,
    typer.Argument(
        metavar="[SOLUTION]", help="Solution document of the instance; default: the instance is solved.", show_default=False
    ),
]


def read_solution(problem: Problem, path: Path) -> Any:
    """Read a solution and refuse one of another kind of problem.

    Raises
    ------
    InvalidInstanceError
        Naming the kind that would be right.
    """
    solution = load_solution(path)
    wanted = f"{problem.kind}-solution"
    if solution.kind != wanted:
        raise InvalidInstanceError([Fault("kind", solution.kind, f"must be {wanted}")], str(path))
    return solution
