"""`edrp explain`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from edrp.cli.app import ExitCode, outcome_code
from edrp.cli.display.explanation import generic_parts
from edrp.cli.display.solution import STYLES, verdict
from edrp.cli.options import ExplainedWork, Method, SolutionFile, Strict, TimeLimit, read_problem, read_solution
from edrp.cli.terminal import output, progress, say, show
from edrp.core.kinds import get_kind
from edrp.core.solve import solve


def explain_file(
    file: Annotated[Path, typer.Argument(help="Instance file.")],
    solution_file: SolutionFile = None,
    method: Method = "auto",
    time_limit: TimeLimit = None,
    work_limit: ExplainedWork = None,
    strict: Strict = False,
) -> None:
    """Explain a solution: what each term of the objective costs, which limits bind, what is second best, and what rules cost."""
    problem = read_problem(file, strict)
    explain = get_kind(problem.kind).explain or generic_parts
    if solution_file is not None:
        solution = read_solution(problem, solution_file)
    else:
        with progress(f"solving {file}") as update:
            solution = solve(problem, method, time_limit=time_limit, work_limit=work_limit, progress=update)
    with progress(f"explaining {file}"):
        parts = list(explain(problem, solution, work_limit))
    say(output(), str(file), "bold")
    said = verdict(solution)
    say(output(), said if solution_file is None else f"{solution_file} says: {said}", STYLES[solution.status])
    show(output(), parts)
    raise typer.Exit(ExitCode.SOLVED if solution.decision is not None else outcome_code(solution))
