"""Explanations of deployments on a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.text import Text

from edrp.cli.display.placement import placement_table
from edrp.cli.display.solution import clash_parts
from edrp.cli.terminal import table
from edrp.core.problem import Evaluation, Margin, Problem
from edrp.core.solution import Solution
from edrp.core.wording import enumerated
from edrp.explanations.explain import explain
from edrp.explanations.objective import ObjectiveExplanation
from edrp.explanations.placement import CostPart, Explanation, Share
from edrp.explanations.rules import rule_table
from edrp.formulations.second_best import SECOND_BEST_WORK, SecondBest
from edrp.placement.edrp import EdrpSolution
from edrp.placement.latency_aware import LatencyAwareSolution
from edrp.placement.metrics.base import PathPart
from edrp.placement.problem import PlacementProblem
from edrp.placement.throughput import Throughput
from edrp.report.tables import Table

Part = Table | Text | str

MAX_NODE_LOADS, MAX_MARGINS = 10, 20
"""Loads of nodes, and limits of other kinds, that are shown."""


def explanation_parts(
    problem: PlacementProblem, solution: EdrpSolution | LatencyAwareSolution, work_limit: float | None
) -> Iterator[Part]:
    """One table per question: where replicas run, the objective, the critical path, cost, traffic, actions, limits, rivals."""
    explanation = explain(problem, solution, work_limit=SECOND_BEST_WORK if work_limit is None else work_limit)
    if explanation.deployment is not None:
        yield placement_table(problem, explanation.deployment)
    yield from explained_parts(explanation, running=problem.current is not None)


def explained_parts(explanation: Explanation, *, running: bool) -> Iterator[Part]:
    """The parts of an explanation besides where replicas run; actions only where something runs already."""
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
        yield _crossings(explanation)
    if explanation.throughput is not None:
        yield from _throughput(explanation.throughput)
    if running:
        yield from _actions(explanation)
    if explanation.margins:
        yield margin_table(explanation.margins)
    if explanation.rules:
        rules = rule_table(explanation.rules)
        yield table(rules.columns, rules.rows, rules.caption)
    if explanation.second_best is not None:
        yield from second_best_parts(explanation.second_best, explanation.evaluation)


def objective_explanation_parts(explanation: ObjectiveExplanation) -> Iterator[Part]:
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


def generic_parts(problem: Problem, solution: Solution, work_limit: float | None) -> Iterator[Part]:
    """The explanation of a solution of a kind that has none of its own."""
    return objective_explanation_parts(explain(problem, solution, work_limit=work_limit))


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
    total = sum(part.seconds for part in path)
    rows = [
        (part.name, "stream" if part.is_stream else "operator", f"{part.seconds:.6g}", percent(part.seconds, total))
        for part in path
    ]
    title = f"Critical path, {total:.6g} s"
    return table(("part", "what", "seconds", "share"), rows, title, right=("seconds", "share"))


def cost_table(parts: Sequence[CostPart]) -> Table:
    """Money by operator and stream."""
    total = sum(part.money for part in parts)
    rows = [
        (part.name, "stream" if part.is_stream else "operator", f"{part.money:.6g}", percent(part.money, total))
        for part in parts
        if part.money
    ]
    title = f"Cost, {total:.6g} money/h"
    return table(("part", "what", "money/h", "share"), rows, title, right=("money/h", "share"))


def _crossings(explanation: Explanation) -> Table:
    rows = [(stream.name, f"{stream.tuples:.6g}", f"{100 * stream.share:.1f} %") for stream in explanation.crossings]
    return table(("stream", "tuples/s", "of the stream"), rows, "Between nodes", right=("tuples/s", "of the stream"))


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
