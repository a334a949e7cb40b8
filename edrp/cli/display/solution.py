"""A solution as tables."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console
from rich.table import Table

from edrp.cli.terminal import say, show, table
from edrp.core.kinds import find_kind
from edrp.core.problem import Problem
from edrp.core.solution import Solution

VERDICTS = {
    "optimal": "optimal: proven that nothing is better",
    "feasible": "feasible: nothing better was found",
    "infeasible": "infeasible: proven that nothing meets all limits",
    "unbounded": "unbounded",
    "none": "nothing found",
}
STOPS = {
    "finished": "",
    "time_limit": ", stopped by the time limit",
    "iteration_limit": ", stopped by the iteration limit",
    "interrupted": ", interrupted",
    "error": ", stopped by an error",
}
STYLES = {"optimal": "green", "feasible": "yellow", "infeasible": "red", "none": "red", "unbounded": "red"}


def print_solution(console: Console, name: str, problem: Problem, solution: Solution) -> None:
    """Print an answer: verdict, decision, metrics, what changes, notes."""
    say(console, name, "bold")
    say(console, VERDICTS[solution.status] + STOPS[solution.stopped_because], STYLES[solution.status])
    say(console, _figures(solution))
    kind = find_kind(problem.kind)
    display = metric_parts if kind is None or kind.display is None else kind.display
    show(console, display(problem, solution))
    if solution.clashes:
        say(console, "These cannot hold together:")
    for clash in solution.clashes:
        say(console, f"• {clash}")
    for note in solution.notes:
        say(console, note)


def _figures(solution: Solution) -> str:
    parts = []
    if solution.objective is not None:
        parts.append(f"objective {solution.objective:.9g}")
    if solution.gap is not None and solution.bound is not None and solution.status != "optimal":
        parts.append(f"bound {solution.bound:.9g} (gap {100 * solution.gap:.3g} %)")
    parts.append(f"method {solution.method}")
    parts.append(f"{solution.seconds['build']:.2f} s to build, {solution.seconds['solve']:.2f} s to solve")
    size = ", ".join(f"{value:,} {name}" for name, value in solution.size.items())
    return "; ".join([*parts, size] if size else parts)


def metric_parts(problem: Problem, solution: Solution) -> Iterator[Table | str]:
    """The metrics; the decision itself is in the document."""
    rows = [(name, f"{value:.6g}") for name, value in solution.metrics.items()]
    if rows:
        yield table(("metric", "value"), rows, right=("value",))
