"""Explanations of rescalings on a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.text import Text

from edrp.cli.display.explanation import (
    Part,
    cost_table,
    margin_table,
    objective_explanation_parts,
    objective_parts,
    path_table,
    percent,
    second_best_parts,
)
from edrp.cli.display.rescale import operator_table, replica_tables
from edrp.cli.terminal import table
from edrp.explanations.explain import explain
from edrp.explanations.objective import ObjectiveExplanation
from edrp.explanations.rescale import Remedy, RescaleExplanation, replica_text
from edrp.migration.rescale.problem import RescaleProblem, RescaleSolution
from edrp.report.tables import Table


def rescale_explanation_parts(problem: RescaleProblem, solution: RescaleSolution, work_limit: float | None) -> Iterator[Part]:
    """Where replicas run, the objective, the critical path, cost, what decides, limits, and what would help."""
    explanation = explain(problem, solution, work_limit=work_limit)
    if isinstance(explanation, ObjectiveExplanation):  # there is no deployment
        yield from objective_explanation_parts(explanation)
        return
    yield operator_table(problem, explanation.deployment)
    yield from replica_tables(problem, explanation.deployment)
    yield from explained_rescale_parts(explanation)


def explained_rescale_parts(explanation: RescaleExplanation) -> Iterator[Part]:
    """The objective, the critical path, cost, what decides, limits, and what would help."""
    yield from objective_parts(explanation.shares, explanation.evaluation)
    yield path_table(explanation.critical_path)
    yield cost_table(explanation.cost_parts)
    yield from deciding_sentences(explanation)
    yield margin_table(explanation.margins)
    better, second = explanation.better, explanation.second_best
    if better is not None and (second.objective is None or better.objective < second.objective):
        difference = better.objective - explanation.evaluation.objective
        yield Text(f"Not optimal: another deployment has objective {better.objective:.9g}, {difference:+.3g}", "bold red")
    else:
        yield from second_best_parts(second, explanation.evaluation)
    if explanation.remedies:
        yield remedy_table(explanation)


def deciding_sentences(explanation: RescaleExplanation) -> Iterator[str]:
    """The heaviest replica, the fullest node, and the longest transfer."""
    heaviest, fullest, longest = explanation.heaviest, explanation.fullest, explanation.longest
    if heaviest is not None:
        asked = f"{heaviest.rate:.6g} of {heaviest.served:.6g} tuples/s ({heaviest.used:.1%})"
        against = f"{heaviest.rate / heaviest.average:.3g} times the average of its operator" if heaviest.average else "no load"
        hot = ", ".join(f"{task} with {share:.1%}" for task, share in heaviest.hottest)
        yield f"Heaviest replica: {replica_text(heaviest)}, {asked}, {against}" + (
            f"; hottest tasks {hot} of its load" if hot else ""
        )
    if fullest is not None:
        yield f"Fullest node: {fullest.name}, {fullest.value:.6g} of {fullest.limit:.6g} ({fullest.used:.1%})"
    if longest is None:
        yield "Longest transfer: no state moves, or nothing limits how fast"
    elif longest.direction is None:
        yield f"Longest transfer: {longest.name} by way of the store, {longest.size:.6g} bytes in {longest.seconds:.6g} s"
    else:
        yield f"Longest transfer: {longest.name} {longest.direction} {longest.size:.6g} bytes in {longest.seconds:.6g} s"


def remedy_table(explanation: RescaleExplanation) -> Table:
    """Each change with the objective and the metrics of the best answer found for it."""
    base = explanation.better or explanation.evaluation
    names = [name for name in ("response_time", "cost", "downtime") if name in base.metrics]
    broken = "" if base.feasible else "infeasible"
    rows = [("as it is", f"{base.objective:.6g}", "", *(f"{base.metrics[name]:.6g}" for name in names), broken)]
    rows += [_remedy_row(remedy, base.objective, names) for remedy in explanation.remedies]
    columns = ("change", "objective", "gain", *names, "")
    return table(columns, rows, "What would help, each solved again", right=columns[1:-1])


def _remedy_row(remedy: Remedy, objective: float, names: Sequence[str]) -> tuple[str, ...]:
    if remedy.evaluation is None:
        why = "infeasible" if remedy.proven else "nothing found within the work limit"
        return (remedy.what, "", "", *("" for _ in names), why)
    metrics = (f"{remedy.evaluation.metrics[name]:.6g}" for name in names)
    gain = "" if remedy.gain is None else percent(remedy.gain, objective) or f"{remedy.gain:.3g}"
    return (remedy.what, f"{remedy.evaluation.objective:.6g}", gain, *metrics, "proven" if remedy.proven else "best found")
