"""Explanations of deployments over periods on a terminal."""

from __future__ import annotations

import math
from collections.abc import Iterator

from rich.text import Text

from edrp.cli.display.explanation import Part
from edrp.cli.display.sequence import SHOWN_COURSES, course_table
from edrp.cli.terminal import table
from edrp.core.errors import numbered
from edrp.explanations.sequence import (
    COMPARISON_WORK,
    ChangeExplanation,
    PeriodExplanation,
    SequenceExplanation,
    difference,
    explain_sequence,
)
from edrp.placement.sequence import EdrpSequence, EdrpSequenceSolution
from edrp.report.formatting import clock_text
from edrp.report.tables import Table


def sequence_explanation_parts(problem: EdrpSequence, solution: EdrpSequenceSolution, work_limit: float | None) -> Iterator[Part]:
    """What runs when, then what is explained."""
    if solution.periods is not None:
        yield from course_table(problem, solution.periods)
    yield from explained_sequence_parts(
        explain_sequence(problem, solution, work_limit=COMPARISON_WORK if work_limit is None else work_limit)
    )


def explained_sequence_parts(explanation: SequenceExplanation) -> Iterator[Part]:
    """The objective next to its rivals, what decides, every change with its cost and worth, and a better course if there is."""
    evaluation = explanation.evaluation
    if evaluation is None:
        yield Text("These cannot hold together:" if explanation.clashes else "No deployments to explain.", "red")
        yield from (f"• {clash}" for clash in explanation.clashes)
        return
    yield from (Text(f"Broken: {broken}", "red") for broken in evaluation.broken[:SHOWN_COURSES])
    yield rival_table(explanation)
    yield from (f"{rival.method}: {rival.note}" for rival in explanation.rivals if rival.note)
    if explanation.closed is not None and explanation.closed > 0:
        yield f"It closes {100 * explanation.closed:.3g} % of the room from the better of these down to the bound."
    yield from deciding_sentences(explanation)
    yield _period_table(explanation.periods)
    if explanation.changes:
        yield change_table(explanation)
        yield from (f"• period {change.period}: {worth(change)}" for change in explanation.changes[:SHOWN_COURSES])
    else:
        yield "Nothing changes in any period."
    yield from _better(explanation)


def rival_table(explanation: SequenceExplanation) -> Table:
    """The objective next to that of one deployment for all periods, of the best one of each period, and to bounds."""
    evaluation = explanation.evaluation
    assert evaluation is not None
    own = evaluation.objective

    def row(what: str, objective: float | None, changing: float | None) -> tuple[str, ...]:
        against = (
            "" if objective is None or what.startswith("these") else f"{100 * (objective - own) / own:+.2f} %" if own else ""
        )
        return (what, *("" if value is None else f"{value:.6g}" for value in (objective, changing)), against)

    rows = [row("these deployments", own, evaluation.metrics["changing"])]
    rows += [row(f"{rival.method}: {rival.what}", rival.objective, rival.changing) for rival in explanation.rivals]
    if explanation.free_bound is not None:
        rows.append(row("bound, if changes were free", explanation.free_bound, None))
    if explanation.bound is not None and explanation.bound != explanation.free_bound:
        rows.append(row("bound", explanation.bound, None))
    columns = ("", "objective (s)", "changes (s)", "against these")
    return table(columns, rows, f"Objective {own:.9g} s", right=columns[1:])


def deciding_sentences(explanation: SequenceExplanation) -> Iterator[str]:
    """The period with most replicas, and the one in which more load costs most."""
    busiest, weightiest = explanation.busiest, explanation.weightiest
    tightest = busiest.tightest
    limit = "" if tightest is None else f"; {tightest.name} is {100 * tightest.used:.3g} % used there"
    yield f"Most replicas: {numbered(busiest.replicas, 'replica')} in {_named(busiest)}{limit}."
    if math.isfinite(weightiest.more_load):
        yield f"Period that weighs most: 1 % more load in {_named(weightiest)} costs {weightiest.more_load:.6g} s more."
    else:
        broken = [period for period in explanation.periods if math.isinf(period.more_load)]
        others = "" if len(broken) == 1 else f", and so in {numbered(len(broken) - 1, 'other')}"
        yield f"Period that decides: with 1 % more load in {_named(broken[0])} none of these deployments is feasible{others}."


def _named(period: PeriodExplanation) -> str:
    return f"period {period.number} ({clock_text(period.begin)}–{clock_text(period.begin + period.duration)})"


def _period_table(periods: tuple[PeriodExplanation, ...]) -> Table:
    rows = [
        (
            str(period.number),
            clock_text(period.begin),
            str(period.replicas),
            f"{period.cost:.6g}",
            "" if period.tightest is None else period.tightest.name,
            "" if period.tightest is None else f"{100 * period.tightest.used:.1f} %",
            f"{period.more_load:+.6g}" if math.isfinite(period.more_load) else "infeasible",
        )
        for period in periods[:SHOWN_COURSES]
    ]
    columns = ("period", "begins", "replicas", "cost (s)", "tightest", "used", "1 % more load (s)")
    more = len(periods) - len(rows)
    return table(
        columns,
        rows,
        "Periods" + (f", the first {len(rows)} of {len(periods)}" if more else ""),
        right=columns[1:4] + columns[5:],
    )


def change_table(explanation: SequenceExplanation) -> Table:
    """Every change with its prices, and the objective without it."""
    names = {"change": "any change", "downtime": "downtime", "moved_state": "moved state", "started_replicas": "started"}
    paid = [name for name in names if any(change.prices[name] for change in explanation.changes)]
    rows = [
        (
            str(change.period),
            clock_text(change.begin),
            "; ".join(map(str, change.actions)),
            *(f"{change.prices[name]:.6g}" for name in paid),
            f"{change.cost:.6g}",
            "infeasible" if change.without is None else f"{change.saved:+.6g}",
        )
        for change in explanation.changes[:SHOWN_COURSES]
    ]
    columns = ("period", "begins", "change", *(names[name] for name in paid), "costs (s)", "without it (s)")
    more = len(explanation.changes) - len(rows)
    title = "Changes" + (f", the first {len(rows)} of {len(explanation.changes)}" if more else "")
    return table(columns, rows, title, right=("begins", *columns[3:]))


def worth(change: ChangeExplanation) -> str:
    """What a change costs and saves, in a sentence.

    A saving is that of the periods, out of which the price of the change is paid.
    """
    if change.without is None:
        return f"needed: {change.needed}" if change.needed else "needed: no course of these deployments does without it"
    if change.saved < 0:
        return f"does not pay: without it the objective is {-change.saved:.6g} s lower ({change.instead})"
    how = f"the best course without it ({change.instead}) costs {change.saved:.6g} s more"
    return f"costs {change.cost:.6g} s; {how}"


def _better(explanation: SequenceExplanation) -> Iterator[Part]:
    if explanation.better is None or explanation.course is None or explanation.evaluation is None:
        return
    course, objective = explanation.better
    lower = f"{objective - explanation.evaluation.objective:+.6g} s"
    feasible = "Not optimal: another course" if explanation.evaluation.feasible else "A course within all limits"
    yield Text(f"{feasible} has objective {objective:.9g} s, {lower}: {difference(explanation.course, course)}", "bold red")
