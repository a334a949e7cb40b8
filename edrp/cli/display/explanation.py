"""Explanations on a terminal: of placements, rescales, deployments over periods, and of any decision."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from rich.text import Text

from edrp.cli.display.migration import replica_tables
from edrp.cli.display.placement import SHOWN_COURSES, course_table, placement_table
from edrp.cli.display.solution import clash_parts
from edrp.cli.terminal import table
from edrp.core.problem import Evaluation, Margin, Problem
from edrp.core.wording import enumerated
from edrp.explanations import sequence
from edrp.explanations.explain import explain
from edrp.explanations.objective import ObjectiveExplanation, rule_table
from edrp.explanations.placement import CostPart, Explanation, Share
from edrp.explanations.rescale import Remedy, RescaleExplanation, replica_text
from edrp.explanations.stages import stage_cost_table
from edrp.formulations.second_best import SecondBest
from edrp.migration.rescale.problem import RescaleProblem
from edrp.placement.metrics.base import PathPart
from edrp.placement.problem import PlacementProblem
from edrp.placement.sequence import EdrpSequence
from edrp.placement.throughput import Throughput
from edrp.report.tables import Table

Part = Table | Text | str

Explained = Explanation | ObjectiveExplanation | RescaleExplanation | sequence.SequenceExplanation

MAX_NODE_LOADS, MAX_MARGINS = 10, 20
"""Loads of nodes, and limits of other kinds, that are shown."""


def explanation_parts(problem: Problem, solution: Any, work_limit: float | None) -> Iterator[Part]:
    """The decision and its explanation, one table per question, for any kind of problem."""
    explanation = explain(problem, solution, work_limit=work_limit)
    if isinstance(explanation, Explanation) and explanation.deployment is not None and isinstance(problem, PlacementProblem):
        yield placement_table(problem, explanation.deployment, problem.current)
    elif isinstance(explanation, RescaleExplanation) and isinstance(problem, RescaleProblem):
        yield from replica_tables(problem, explanation.deployment)
    elif isinstance(problem, EdrpSequence) and solution.periods is not None:
        yield from course_table(problem, solution.periods)
    yield from explained_parts(explanation, running=getattr(problem, "current", None) is not None)


def explained_parts(explanation: Explained, *, running: bool) -> Iterator[Part]:
    """The parts of an explanation besides the decision; actions of a placement only where something runs already."""
    if isinstance(explanation, sequence.SequenceExplanation):
        return _sequence_parts(explanation)
    if isinstance(explanation, RescaleExplanation):
        return _rescale_parts(explanation)
    return (
        _objective_parts(explanation) if isinstance(explanation, ObjectiveExplanation) else _placement_parts(explanation, running)
    )


def _placement_parts(explanation: Explanation, running: bool) -> Iterator[Part]:
    if explanation.deployment is None or explanation.evaluation is None:
        yield from clash_parts(explanation, "No deployment to explain.")
        return
    yield from (f"Nodes {_listed(group)} are alike: exchanging them changes nothing." for group in explanation.alike)
    for scaling in explanation.scalings:
        served = f"{scaling.rate:.6g} tuples/s, {100 * scaling.share:.1f} % of what a single replica serves"
        yield f"{scaling.operator}: each of {scaling.replicas} serves {served}."
    yield from objective_parts(explanation.shares, explanation.evaluation)
    yield path_table(explanation.critical_path)
    if explanation.cost_parts:
        yield cost_table(explanation.cost_parts)
    if explanation.crossings:
        rows = [(stream.name, f"{stream.tuples:.6g}", f"{100 * stream.share:.1f} %") for stream in explanation.crossings]
        yield table(("stream", "tuples/s", "of the stream"), rows, "Between nodes", right=("tuples/s", "of the stream"))
    if explanation.throughput is not None:
        yield from _throughput(explanation.throughput)
    if running:
        yield from _actions(explanation)
    if explanation.margins:
        yield margin_table(explanation.margins)
    if explanation.rules:
        yield _shown(rule_table(explanation.rules))
    if explanation.stages:
        stages = stage_cost_table(explanation.stages)
        yield table(stages.columns, stages.rows, stages.caption, right=("reached",))
    if explanation.second_best is not None:
        yield from second_best_parts(explanation.second_best, explanation.evaluation)


def _objective_parts(explanation: ObjectiveExplanation) -> Iterator[Part]:
    """What each term costs, what binds, and what rules cost, for any kind of problem."""
    evaluation = explanation.evaluation
    if evaluation is None:
        yield from clash_parts(explanation, "No decision to explain.")
        return
    rows = [(name, f"{amount:.6g}", percent(amount, evaluation.objective)) for name, amount in explanation.parts.items()]
    yield table(("part", "amount", "share"), rows, f"Objective {evaluation.objective:.9g}", right=("amount", "share"))
    yield from (Text(f"Broken: {broken}", "red") for broken in evaluation.broken)
    if explanation.bound is not None:
        distance = max(0.0, evaluation.objective - explanation.bound)
        yield f"Proven: nothing is better by more than {distance:.3g}." if distance else "Proven: nothing is better."
    if explanation.margins:
        yield margin_table(explanation.margins[:MAX_MARGINS])
        names = enumerated([margin.name for margin in explanation.binding])
        yield f"Used up: {names}." if names else f"No limit is used up; most used is {explanation.margins[0].name}."
    yield from (f"• {state.rule.demand}: {state.worth}" for state in explanation.rules if state.worth)


def _listed(nodes: tuple[str, ...]) -> str:
    """Names of nodes; of more than three that are numbered in turn, the first and the last."""
    stem = nodes[0].rstrip("0123456789")
    first = nodes[0].removeprefix(stem)
    if len(nodes) > 3 and first and nodes == tuple(f"{stem}{int(first) + n}" for n in range(len(nodes))):
        return f"{nodes[0]}…{nodes[-1]}"
    return ", ".join(nodes)


def objective_parts(shares: Sequence[Share], evaluation: Evaluation) -> Iterator[Part]:
    """The objective by metrics, and what is broken."""
    rows = [
        (share.metric, f"{share.weight:g}", f"{share.amount:.6g}", percent(share.amount, evaluation.objective))
        for share in shares
    ]
    title = f"Objective {evaluation.objective:.9g}"
    yield table(("metric", "weight", "part", "share"), rows, title, right=("weight", "part", "share"))
    yield from (Text(f"Broken: {broken}", "red") for broken in evaluation.broken)


def path_table(path: Sequence[PathPart]) -> Table:
    """The critical path leg by leg."""
    return _part_table([(part, part.seconds) for part in path], "Critical path, {:.6g} s", "seconds")


def cost_table(parts: Sequence[CostPart]) -> Table:
    """Money by operator and stream."""
    return _part_table([(part, part.money) for part in parts if part.money], "Cost, {:.6g} money/h", "money/h")


def _part_table(parts: Sequence[tuple[PathPart | CostPart, float]], title: str, column: str) -> Table:
    total = sum(amount for _, amount in parts)
    rows = [
        (part.name, "stream" if part.is_stream else "operator", f"{amount:.6g}", percent(amount, total)) for part, amount in parts
    ]
    return table(("part", "what", column, "share"), rows, title.format(total), right=(column, "share"))


def _throughput(throughput: Throughput) -> Iterator[Part]:
    rows = [
        (load.node, load.resource, f"{load.demand:.6g}", f"{load.capacity:.6g}", f"{100 * load.share:.1f} %")
        for load in throughput.node_loads[:MAX_NODE_LOADS]
    ]
    title = "Shared resources, fullest nodes first"
    yield table(
        ("node", "resource", "demand/s", "capacity/s", "asked for"), rows, title, right=("demand/s", "capacity/s", "asked for")
    )
    yield from (f"{sentence}." for sentence in throughput.unequal)
    said = f"Throughput: {100 * throughput.share:.1f} % of the load"
    yield Text(f"{said}, held back by {throughput.bottleneck}", "red") if throughput.bottleneck else Text(said)


def _actions(explanation: Explanation) -> Iterator[Part]:
    if not explanation.standstills:
        yield "Reconfiguration: none, everything stays as it is"
        return
    seconds = {str(standstill): standstill.downtime for standstill in explanation.standstills if standstill.downtime is not None}
    if not seconds:
        yield from (f"• {standstill}" for standstill in explanation.standstills)
        return
    longest = max(seconds.values())
    rows = [(what, f"{took:.6g}", "decides the downtime" if took == longest else "") for what, took in seconds.items()]
    yield table(("action", "seconds", ""), rows, "Reconfiguration, operators in parallel", right=("seconds",))


def margin_table(margins: Sequence[Margin]) -> Table:
    """The distance of every limit."""
    rows = [
        (
            margin.name,
            f"{margin.value:.6g}",
            f"{margin.limit:.6g}",
            margin.unit,
            f"{100 * margin.used:.1f} %",
            f"{100 * (1 - margin.used):.1f} %",
        )
        for margin in margins
    ]
    columns = ("what", "value", "limit", "unit", "used", "left")
    return table(columns, rows, "Distance of every limit", right=("value", "limit", "used", "left"))


def second_best_parts(second: SecondBest, evaluation: Evaluation) -> Iterator[Part]:
    """Best other deployment known, and its differences."""
    yield Text(second.sentence(evaluation.feasible), "bold red" if second.better and evaluation.feasible else "bold")
    yield from (f"• {difference}" for difference in second.differences)


def percent(part: float, whole: float) -> str:
    """A share in percent; nothing of nothing."""
    return f"{100 * part / whole:.1f} %" if whole else ""


def _rescale_parts(explanation: RescaleExplanation) -> Iterator[Part]:
    """The objective, the critical path, cost, what decides, limits, and what would help."""
    yield from objective_parts(explanation.shares, explanation.evaluation)
    yield path_table(explanation.critical_path)
    yield cost_table(explanation.cost_parts)
    yield from _decisive_parts(explanation)
    yield margin_table(explanation.margins)
    better, second = explanation.better, explanation.second_best
    if better is not None and (second.objective is None or better.objective < second.objective):
        difference = better.objective - explanation.evaluation.objective
        yield Text(f"Not optimal: another deployment has objective {better.objective:.9g}, {difference:+.3g}", "bold red")
    else:
        yield from second_best_parts(second, explanation.evaluation)
    if explanation.remedies:
        yield remedy_table(explanation)


def _decisive_parts(explanation: RescaleExplanation) -> Iterator[str]:
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


def _sequence_parts(explanation: sequence.SequenceExplanation) -> Iterator[Part]:
    """The objective next to its rivals, what decides, every change with its cost and worth, and a better course if there is."""
    evaluation = explanation.evaluation
    if evaluation is None:
        yield from clash_parts(explanation, "No deployments to explain.")
        return
    yield from (Text(f"Broken: {broken}", "red") for broken in evaluation.broken[:SHOWN_COURSES])
    yield _shown(sequence.rival_table(explanation))
    yield from (f"{rival.method}: {rival.note}" for rival in explanation.rivals if rival.note)
    if explanation.closed is not None and explanation.closed > 0:
        rivals = " and ".join(rival.method for rival in explanation.rivals)
        yield f"Of the room between the better one of {rivals} and the bound, {100 * explanation.closed:.3g} % is closed."
    yield from sequence.deciding_sentences(explanation)
    yield _shown(sequence.period_table(explanation.periods))
    if explanation.changes:
        yield _shown(sequence.change_table(explanation))
        yield from (f"• period {change.period}: {sequence.worth(change)}" for change in explanation.changes[:SHOWN_COURSES])
    else:
        yield "Nothing changes in any period."
    if better := sequence.better_sentence(explanation):
        yield Text(better, "bold red")


def _shown(part: Table) -> Table:
    """A table whose hidden characters are escapes."""
    return table(part.columns, part.rows, part.caption, part.right)
