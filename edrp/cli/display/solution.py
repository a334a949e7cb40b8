"""A solution as tables, its metrics each with their unit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Console

from edrp.cli.terminal import say, show, table
from edrp.core.kinds import find_kind
from edrp.core.problem import Problem
from edrp.core.solution import Proof, Solution
from edrp.core.tolerances import OPTIMALITY_GAP
from edrp.report.formatting import unit_text
from edrp.report.tables import Table

DIMENSIONLESS = "1"


def metric_table(metrics: Mapping[str, float], units: Mapping[str, str], *, titles: bool = False) -> Table:
    """Every metric with its value and unit.

    Parameters
    ----------
    units
        Units of those metrics that are neither counts nor shares.
    """
    rows = [
        (name.replace("_", " ") if titles else name, f"{value:.6g}", units.get(name, DIMENSIONLESS))
        for name, value in metrics.items()
    ]
    return table(("metric", "value", "unit"), rows, right=("value",))


VERDICTS = {
    "optimal": "optimal: nothing better exists",
    "feasible": "feasible: within all limits; better ones may exist",
    "infeasible": "infeasible: nothing meets all limits",
    "unbounded": "unbounded: there is no least objective",
    "none": "nothing found; there may be something all the same",
}
EVIDENCE: dict[Proof | None, str] = {
    "checked certificate": "proven by a certificate that was checked",
    "solver's word": "the solver's word; a certificate makes it a proof",
    "own algorithm, not certified": "by an exact algorithm of edrp, not certified",
}
"""Foundation of an optimum or of infeasibility, in words."""
STOPS = {
    "time_limit": "the time limit",
    "work_limit": "the work limit",
    "iteration_limit": "the limit on iterations",
    "interrupted": "an interrupt",
    "error": "an error of the solver",
}
STOPPED = {
    "feasible": "stopped by {}: the best found until then, better ones may exist",
    "none": "stopped by {} before anything was found; there may be something all the same",
}
"""Verdicts on what was stopped; what is proven stays so."""
STYLES = {"optimal": "green", "feasible": "yellow", "infeasible": "red", "none": "red", "unbounded": "red"}


def print_solution(console: Console, name: str, problem: Problem, solution: Solution) -> None:
    """Print an answer: verdict, decision, metrics, what changes, notes."""
    say(console, name, "bold")
    say(console, verdict(solution), STYLES[solution.status])
    say(console, _figures(solution))
    show(console, answer_parts(problem, solution))


def answer_parts(problem: Problem | None, solution: Solution) -> Iterator[Table | str]:
    """The decision as its kind shows it, or the metrics alone, then what clashes, and notes."""
    kind = None if problem is None else find_kind(problem.kind)
    if kind is not None and kind.display is not None:
        yield from kind.display(problem, solution)
    elif solution.metrics:
        yield metric_table(solution.metrics, solution.metric_units)
    yield from clash_parts(solution)
    yield from solution.notes


def clash_parts(why: Any, otherwise: str = "") -> Iterator[str]:
    """What a solution or an explanation says of why nothing is feasible, or another sentence where nothing clashes."""
    if heading := "These cannot hold together:" if why.clashes else otherwise:
        yield heading
    yield from (f"• {sentence}" for sentence in (*why.clashes, *why.remedies))


def verdict(solution: Solution) -> str:
    """The answer in a sentence; one that was stopped says so first, so that it does not read like success."""
    if solution.stopped_because == "finished" or solution.status not in STOPPED:
        evidence = EVIDENCE.get(solution.proof) if solution.status in ("optimal", "infeasible") else None
        return _within_gap(solution) + (f" ({evidence})" if evidence else "")
    return STOPPED[solution.status].format(STOPS[solution.stopped_because])


def _within_gap(solution: Solution) -> str:
    """The status in words; an optimum up to a gap that was asked for says how wide it is."""
    if solution.status == "optimal" and solution.gap is not None and solution.gap > OPTIMALITY_GAP:
        return f"optimal within the gap asked for: nothing is better by more than {100 * solution.gap:.2g} %"
    return VERDICTS[solution.status]


def _figures(solution: Solution) -> str:
    parts, name = [], unit_text(type(solution).model_fields["objective"])
    unit = f" {name}" if name else ""
    if solution.objective is not None:
        parts.append(f"objective {solution.objective:.9g}{unit}")
    if solution.status in ("feasible", "none"):
        parts.append(_bound(solution, unit))
    parts.append(f"method {solution.method}")
    if solution.proof == "checked certificate" and solution.status in ("feasible", "none"):
        parts.append("the bound is proven by a certificate that was checked")
    parts.append(f"{solution.seconds['build']:.2f} s to build, {solution.seconds['solve']:.2f} s to solve")
    if explaining := solution.seconds.get("explain", 0.0):
        parts.append(f"{explaining:.2f} s to find out why nothing is feasible")
    size = ", ".join(f"{value:,} {name}" for name, value in solution.size.items())
    return "; ".join([*parts, size] if size else parts)


def _bound(solution: Solution, unit: str) -> str:
    """How far the objective is from the optimum, as far as that is known."""
    if solution.bound is None:
        return "no bound is known"
    gap = "" if solution.gap is None else f" (gap {100 * solution.gap:.3g} %)"
    return f"bound {solution.bound:.9g}{unit}{gap}"
