"""`edrp explore`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from edrp.cli.app import outcome_code
from edrp.cli.options import ExplainedWork, Force, Method, SolutionFile, Strict, TimeLimit, read_problem, read_solution
from edrp.cli.terminal import output, progress, say
from edrp.core.files import refuse_inputs, refuse_target
from edrp.core.solve import solve
from edrp.explorer.page import explore


def explore_file(
    file: Annotated[Path, typer.Argument(help="Instance file.")],
    solution_file: SolutionFile = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="Output file for the page.")] = Path("explore.html"),
    method: Method = "auto",
    time_limit: TimeLimit = None,
    work_limit: ExplainedWork = None,
    force: Force = False,
    strict: Strict = False,
) -> None:
    """Write a page for the browser that shows a problem and its solution; it needs no network."""
    refuse_target(out, replace=force)
    refuse_inputs(out, (file, solution_file))
    problem = read_problem(file, strict)
    if solution_file is not None:
        solution = read_solution(problem, solution_file)
    else:
        with progress(f"solving {file}") as update:
            solution = solve(problem, method, time_limit=time_limit, work_limit=work_limit, progress=update)
    with progress(f"drawing {file}"):
        explore(problem, solution, out, title=file.name, replace=force, work_limit=work_limit)
    say(output(), f"written to {out}")
    raise typer.Exit(outcome_code(solution))
