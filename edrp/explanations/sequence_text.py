"""Explanations of deployments over periods as tables and sentences."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from edrp.core.errors import numbered
from edrp.explanations.sequence import ChangeExplanation, PeriodExplanation, SequenceExplanation, difference
from edrp.report.formatting import clock_text
from edrp.report.tables import Table

MAX_ROWS = 40
"""Periods and changes of a table."""

THESE = "these"
"""Name of the deployments that are explained."""


def rival_table(explanation: SequenceExplanation) -> Table:
    """The objective next to that of one deployment for all periods, of the best one of each period, and to bounds."""
    evaluation = explanation.evaluation
    assert evaluation is not None
    own = evaluation.objective

    def row(name: str, what: str, objective: float | None, changing: float | None) -> tuple[str, ...]:
        against = f"{100 * (objective - own) / own:+.2f} %" if own and objective is not None and name != THESE else ""
        return (name, what, *("" if value is None else f"{value:.6g}" for value in (objective, changing)), against)

    rows = [row(THESE, "", own, evaluation.metrics["changing"])]
    rows += [row(rival.method, rival.what, rival.objective, rival.changing) for rival in explanation.rivals]
    if explanation.free_bound is not None:
        rows.append(row("bound", "proven, even if changes were free", explanation.free_bound, None))
    if explanation.bound is not None and explanation.bound != explanation.free_bound:
        rows.append(row("bound", "proven", explanation.bound, None))
    columns = ("deployments", "what", "objective (s)", "changes (s)", "against these")
    return Table(f"Objective {own:.9g} s", columns, tuple(rows), columns[2:])


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


def period_table(periods: Sequence[PeriodExplanation]) -> Table:
    """Every period with its replicas, its cost, the limit that is used most, and the weight of its load."""
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
        for period in periods[:MAX_ROWS]
    ]
    columns = ("period", "begins", "replicas", "cost (s)", "tightest", "used", "1 % more load (s)")
    caption = _cut("Periods", len(rows), len(periods))
    return Table(caption, columns, tuple(rows), (*columns[1:4], *columns[5:]))


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
            "" if change.saved is None else f"{change.saved:+.6g}" if math.isfinite(change.saved) else "infeasible",
        )
        for change in explanation.changes[:MAX_ROWS]
    ]
    columns = ("period", "begins", "change", *(names[name] for name in paid), "costs (s)", "without it (s)")
    caption = _cut("Changes", len(rows), len(explanation.changes))
    return Table(caption, columns, tuple(rows), (columns[1], *columns[3:]))


def _cut(caption: str, shown: int, count: int) -> str:
    return caption if shown == count else f"{caption}, the first {shown} of {count}"


def worth(change: ChangeExplanation) -> str:
    """Cost and saving of a change, in a sentence."""
    first, end = change.span
    periods = f"period {first}" if end == first + 1 else f"periods {first}–{end - 1}"
    if change.saved is None:
        return f"costs {change.cost:.6g} s"
    if change.instead is None:
        return f"costs {change.cost:.6g} s; needed: {change.needed or f'no deployment looked at is feasible in all of {periods}'}"
    if change.saved < 0:
        return (
            f"does not pay: it costs {change.cost:.6g} s, and a single deployment in {periods} is {-change.saved:.6g} s cheaper"
        )
    return f"costs {change.cost:.6g} s; the best single deployment in {periods} would cost {change.saved:.6g} s more"


def better_sentence(explanation: SequenceExplanation) -> str:
    """Where a course of the deployments looked at is better, how it differs; otherwise empty."""
    if explanation.better is None or explanation.course is None or explanation.evaluation is None:
        return ""
    course, objective = explanation.better
    lower = f"{objective - explanation.evaluation.objective:+.6g} s"
    which = "Not optimal: another course" if explanation.evaluation.feasible else "A course within all limits"
    return f"{which} has objective {objective:.9g} s, {lower}: {difference(explanation.course, course)}"
