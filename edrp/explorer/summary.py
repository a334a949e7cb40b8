"""The beginning of the page of every kind: the verdict, what it rests on, figures, and notes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from edrp.core.kinds import find_kind
from edrp.core.problem import Problem
from edrp.core.solution import Solution
from edrp.core.tolerances import OPTIMALITY_GAP
from edrp.explorer.quantities import quantity
from edrp.explorer.view import Panel, Timeline, Tone, View
from edrp.report.setting import unit_text
from edrp.report.tables import Table

VERDICTS: dict[str, tuple[str, Tone]] = {
    "optimal": ("Optimal", "good"),
    "feasible": ("Feasible", "fair"),
    "infeasible": ("Infeasible", "bad"),
    "unbounded": ("Unbounded", "bad"),
    "none": ("Nothing found", "bad"),
}

MEANINGS = {
    "optimal": "nothing better exists",
    "feasible": "within all limits; better ones may exist",
    "infeasible": "nothing meets all limits",
    "unbounded": "there is no least objective",
    "none": "the method ended without a decision",
}

STOPS = {
    "time_limit": "stopped by the time limit",
    "work_limit": "stopped by the work limit",
    "iteration_limit": "stopped by the limit on iterations",
    "interrupted": "interrupted",
    "error": "stopped by an error of the solver",
}

PROOFS: dict[str | None, tuple[str, Tone, str]] = {
    "checked certificate": ("certified", "good", "A certificate was checked in exact arithmetic; `edrp check` does it again."),
    "solver's word": ("not certified", "plain", "The claim rests on the solver's word; solve with `--certificate` for a proof."),
    "own algorithm, not certified": (
        "not certified",
        "plain",
        "The claim rests on an exact algorithm of edrp; solve with `--certificate` for a proof.",
    ),
    None: ("nothing claimed", "plain", "Neither an optimum nor a bound is claimed, so that there is nothing to certify."),
}


def summary(problem: Problem, solution: Solution) -> dict[str, Any]:
    """The head of the page as JSON knows it."""
    verdict, tone = VERDICTS[solution.status]
    meaning = STOPS.get(solution.stopped_because, MEANINGS[solution.status])
    if solution.status == "optimal" and solution.gap is not None and solution.gap > OPTIMALITY_GAP:
        meaning = f"nothing is better by more than {100 * solution.gap:.2g} %"
    badge, badge_tone, hint = PROOFS[solution.proof]
    return {
        "kind": problem.kind,
        "verdict": {"text": verdict, "tone": tone, "meaning": meaning},
        "certificate": {"text": badge, "tone": badge_tone, "hint": hint},
        "facts": _facts(solution),
        "notes": [*(f"Broken: {why}" for why in solution.broken), *solution.notes],
        "clashes": [*solution.clashes, *solution.remedies],
    }


def _facts(solution: Solution) -> list[tuple[str, str]]:
    unit = unit_text(type(solution).model_fields["objective"])
    facts = []
    if solution.objective is not None:
        facts.append(("Objective", quantity(solution.objective, unit, 6)))
    if solution.bound is not None:
        facts.append(("Bound", quantity(solution.bound, unit, 6)))
    if solution.gap is not None:
        facts.append(("Gap", f"{100 * solution.gap:.3g} %" if solution.gap > 1e-11 else "0 %"))
    facts.append(("Method", solution.method))
    seconds = sum(solution.seconds.values())
    facts.append(("Solved in", f"{seconds:.2f} s" if seconds >= 0.01 else f"{1000 * seconds:.1f} ms"))
    return facts


def metric_table(solution: Solution) -> Table:
    """Every metric with its unit."""
    units = solution.metric_units
    rows = [(name.replace("_", " "), quantity(value, units.get(name, "1"))) for name, value in solution.metrics.items()]
    return Table("Metrics", ("metric", "value"), tuple(rows), ("value",))


def table_view(problem: Problem, solution: Solution, charts: Sequence[Panel] = (), timeline: Timeline | None = None) -> View:
    """The view of a kind that has none of its own: charts, then the tables and sentences that a terminal shows, and metrics."""
    kind = find_kind(problem.kind)
    parts = [] if kind is None or kind.display is None else list(kind.display(problem, solution))
    tables = [part for part in parts if isinstance(part, Table) and part.columns[0] != "metric"]
    lines = [part for part in parts if isinstance(part, str)]
    return View([*charts, *tables], {}, timeline, lines, [metric_table(solution)] if solution.metrics else [])
