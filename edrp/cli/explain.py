"""`edrp explain`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from edrp.cli.display.explanation import print_explanation
from edrp.cli.exit import ExitCode, code_of
from edrp.cli.solution_file import SolutionFile, solution_of
from edrp.cli.solve import Method, TimeLimit
from edrp.cli.terminal import output, progress
from edrp.core.errors import UnsupportedProblemError
from edrp.core.instances import load
from edrp.core.solve import solve
from edrp.explain import explain
from edrp.placement.problem import PlacementProblem


def explain_file(
    file: Annotated[Path, typer.Argument(help="Instance file.", show_default=False)],
    solution_file: SolutionFile = None,
    method: Method = "auto",
    time_limit: TimeLimit = 60.0,
) -> None:
    """Explain a deployment: critical path, cost, reconfiguration, limits, and how far the second best is."""
    problem = load(file)
    if not isinstance(problem, PlacementProblem):
        why = f"only deployments (kinds 'edrp' and 'latency-aware') are explained; `edrp solve {file}` shows all of this one"
        raise UnsupportedProblemError(why)
    if solution_file is not None:
        solution = solution_of(problem, solution_file)
    else:
        with progress(f"solving {file}") as update:
            solution = solve(problem, method, time_limit=time_limit, progress=update)
    with progress("looking for the second-best placement"):
        explanation = explain(problem, solution, time_limit=time_limit)
    print_explanation(output(), str(file), problem, explanation)
    raise typer.Exit(ExitCode.SOLVED if explanation.deployment is not None else code_of(solution))
