"""`edrp explain`, `edrp explore` and `edrp front`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from edrp.carrying.front import RateFront, rate_front
from edrp.carrying.largest_rate import LargestRate
from edrp.cli import options
from edrp.cli.app import ExitCode, outcome_code
from edrp.cli.display.explanation import explanation_parts
from edrp.cli.display.solution import STYLES, verdict
from edrp.cli.terminal import output, progress, say, show, table
from edrp.core.errors import Fault, InvalidArgumentError, UnsupportedProblemError
from edrp.core.files import refuse_inputs, refuse_target, write_whole
from edrp.core.kinds import get_kind
from edrp.explorer.carrying import chart_page, front_chart
from edrp.explorer.page import explore
from edrp.placement.edrp import EdrpProblem, EdrpSolution
from edrp.placement.pareto import ParetoFront, pareto_front
from edrp.report.tables import Table


def explain_file(
    file: Annotated[Path, options.argument("Instance file.")],
    solution_file: options.SolutionFile = None,
    method: options.Method = "auto",
    time_limit: options.TimeLimit = None,
    work_limit: options.ExplainedWork = None,
    strict: options.Strict = False,
) -> None:
    """Explain a solution: what each term of the objective costs, which limits bind, what is second best, and what rules cost."""
    problem = options.read_problem(file, strict)
    explain = get_kind(problem.kind).explain or explanation_parts
    solution = options.read_or_solve(problem, file, solution_file, method, time_limit=time_limit, work_limit=work_limit)
    with progress(f"explaining {file}"):
        parts = list(explain(problem, solution, work_limit))
    say(output(), str(file), "bold")
    said = verdict(solution)
    say(output(), said if solution_file is None else f"{solution_file} says: {said}", STYLES[solution.status])
    show(output(), parts)
    raise typer.Exit(ExitCode.SOLVED if solution.decision is not None else outcome_code(solution))


def explore_file(
    file: Annotated[Path, options.argument("Instance file.")],
    solution_file: options.SolutionFile = None,
    out: Annotated[Path, options.out_option("Output file for the page.")] = Path("explore.html"),
    method: options.Method = "auto",
    time_limit: options.TimeLimit = None,
    work_limit: options.ExplainedWork = None,
    force: options.Force = False,
    strict: options.Strict = False,
) -> None:
    """Write a page for the browser that shows a problem and its solution; it needs no network."""
    refuse_target(out, replace=force)
    refuse_inputs(out, (file, solution_file))
    problem = options.read_problem(file, strict)
    solution = options.read_or_solve(problem, file, solution_file, method, time_limit=time_limit, work_limit=work_limit)
    with progress(f"drawing {file}"):
        explore(problem, solution, out, title=file.name, replace=force, work_limit=work_limit)
    say(output(), f"written to {out}")
    raise typer.Exit(outcome_code(solution))


def print_front(
    file: Annotated[Path, options.argument("Instance file of kind edrp.")],
    first: Annotated[str, options.argument('First metric, such as "cost", or "rate": the largest one, with "cost".')],
    second: Annotated[str, options.argument('Second metric, such as "peak_load".')],
    points: Annotated[int | None, options.option("Approximate number of points; default: all.", min=2)] = None,
    method: options.Method = "auto",
    time_limit: options.TimeLimit = None,
    page: Annotated[Path | None, options.option("Output file for a page with a diagram of the front.")] = None,
    force: options.Force = False,
    strict: options.Strict = False,
) -> None:
    """Print the Pareto front of two metrics: the deployments that no other one beats in both, each with a proof."""
    problem = options.read_problem(file, strict)
    if not isinstance(problem, EdrpProblem):
        raise UnsupportedProblemError(f"fronts are made of deployments of kind 'edrp', {file} is of kind {problem.kind!r}")
    rated = "rate" in (first, second)
    if rated and {first, second} != {"rate", "cost"}:
        raise InvalidArgumentError([Fault("metrics", f"{first} {second}", "cannot be traded: the rate goes with the cost alone")])
    if page is not None:
        refuse_target(page, replace=force)
        refuse_inputs(page, (file,))
    limits: dict[str, Any] = {"points": points, "method": method, "time_limit": time_limit}
    front: ParetoFront | RateFront
    with progress(f"solving {file} point by point"):
        front = rate_front(problem, **limits) if rated else pareto_front(problem, first, second, **limits)
    say(output(), str(file), "bold")
    if not front.points:
        say(output(), "Nothing meets all limits." if front.infeasible else "No deployment was found in time.")
        raise typer.Exit(ExitCode.INFEASIBLE if front.infeasible else ExitCode.NOTHING_FOUND)
    shown = _front_table(problem, front)
    show(output(), [shown])
    left = "no other deployment is as good in one metric and better in the other"
    said = f"Complete: {left}." if front.complete else "There may be further points between these."
    say(output(), said)
    if page is not None:
        chart = front_chart(front.values, shown)
        write_whole(page, chart_page(file.name, said, chart, shown, proven=front.complete), replace=force)
        say(output(), f"written to {page}")
    raise typer.Exit(ExitCode.SOLVED)


def _front_table(problem: EdrpProblem, front: ParetoFront | RateFront) -> Table:
    """A row per point: both metrics, whether they are proven, and the number of replicas of each operator."""
    columns = [f"{name} ({'times' if name == 'rate' else problem.metrics[name].unit})" for name in front.metrics]
    points: tuple[EdrpSolution | LargestRate, ...] = front.points
    rows = []
    for point, values in zip(points, front.values, strict=True):
        assert point.deployment is not None
        replicas = ", ".join(f"{name} ×{point.deployment.degree(name)}" for name in problem.application.by_name)
        proven = "proven" if isinstance(point, LargestRate) else point.proof or "optimal"
        proof = proven if point.status == "optimal" else "not proven"
        rows.append((*(f"{value:.6g}" for value in values), proof, replicas))
    return table((*columns, "proof", "replicas"), rows, right=columns)
