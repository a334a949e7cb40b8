"""The view of placements: replicas on nodes, streams between them, the critical path, limits, and what changes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from edrp.core.problem import Evaluation, Margin
from edrp.explanations.explain import explain
from edrp.explanations.placement import Explanation
from edrp.explanations.rules import rule_table
from edrp.explorer.application import application_graph
from edrp.explorer.prices import PRICE_NOTE, limit_prices
from edrp.explorer.quantities import figure, percent, quantity
from edrp.explorer.reconfiguration import reconfiguration
from edrp.explorer.scene import Scene
from edrp.explorer.summary import metric_table
from edrp.explorer.view import Limit, Limits, Panel, View
from edrp.formulations.second_best import SECOND_BEST_WORK, SecondBest
from edrp.placement.deployment import Deployment
from edrp.placement.edrp import EdrpSolution
from edrp.placement.latency_aware import LatencyAwareSolution
from edrp.placement.problem import PlacementProblem, StreamPlacement
from edrp.report.tables import Table

MAX_PRICE_PAIRS = 20_000
"""Pairs of nodes over all streams up to which limits have prices."""

NO_CHANGE = "Nothing changes: the deployment is the one that runs."

MAX_LIMITS, MAX_DIFFERENCES = 60, 10

MAX_ALIKE = 300
"""Nodes up to which those that are alike are looked for."""


def placement_view(
    problem: PlacementProblem, solution: EdrpSolution | LatencyAwareSolution, *, work_limit: float = SECOND_BEST_WORK
) -> View:
    """The view of kinds `edrp` and `latency-aware`."""
    if solution.deployment is None:
        return unplaced_view(problem)
    pairs = len(problem.application.streams) * len(problem.network.nodes) ** 2
    small = pairs <= MAX_PRICE_PAIRS
    alike = len(problem.network.nodes) <= MAX_ALIKE
    explanation = explain(problem, solution, alike=alike, work_limit=work_limit)
    second = explanation.second_best
    rival = second.deployment if second is not None and isinstance(second.deployment, Deployment) else None
    scene = Scene(problem, [d for d in (problem.current, solution.deployment, rival) if d is not None])
    streams, replicas = scene.critical(solution.deployment, [part.name for part in explanation.critical_path])
    change = reconfiguration(scene, problem, solution.deployment) if problem.current not in (None, solution.deployment) else None
    graph = scene.graph(solution.deployment, hot=(streams, replicas), before=problem.current, other=rival, change=change)
    hot = {name for name, _ in replicas}
    panels: list[Panel] = [
        graph,
        application_graph(
            problem.application, scene.operator_notes(solution.deployment), scene.details, hot=hot, hot_streams=streams
        ),
        *([change.rows] if change is not None and change.rows.rows else []),
        *([limits_panel(explanation.margins, limit_prices(problem) if small else {})] if explanation.margins else []),
        *_tables(explanation),
    ]
    timeline, lines = None if change is None else change.timeline, list(_sentences(explanation))
    if problem.current is not None:
        lines += [NO_CHANGE] if change is None else [change.sentence] if change.sentence else []
    return View(panels, scene.details, timeline, lines, [metric_table(solution)])


def unplaced_view(problem: StreamPlacement) -> View:
    """The view where nothing was placed: the network and the application."""
    scene = Scene(problem, [])
    graph = scene.graph(None)
    return View([graph, application_graph(problem.application, scene.operator_notes(None), scene.details)], scene.details)


def limits_panel(margins: Sequence[Margin], prices: Mapping[str, float]) -> Limits:
    """Every limit with what is used and left of it and, of those that have one, its price."""
    fullest = sorted(margins, key=lambda margin: (not margin.name.startswith("limits."), -margin.used))
    rows = []
    for margin in fullest[:MAX_LIMITS]:
        left = margin.limit - margin.value
        price = prices.get(margin.name)
        rows.append(
            Limit(
                margin.name.removeprefix("limits.").replace("_", " "),
                quantity(margin.value, margin.unit),
                quantity(margin.limit, margin.unit),
                margin.used,
                f"{quantity(left, margin.unit)} left" if margin.used <= 1 else f"{quantity(-left, margin.unit)} over",
                "" if price is None else f"{price:.3g}",
            )
        )
    more = f" The fullest {MAX_LIMITS} of {len(fullest)} limits." if len(fullest) > MAX_LIMITS else ""
    return Limits("Limits", rows, (PRICE_NOTE if prices else "") + more)


def _tables(explanation: Explanation) -> Iterator[Panel]:
    total = sum(share.amount for share in explanation.shares)
    rows = [
        (s.metric.replace("_", " "), figure(s.weight, 4), figure(s.amount, 4), _percent(s.amount, total))
        for s in explanation.shares
    ]
    yield Table("Objective", ("metric", "weight", "part", "share"), tuple(rows), ("weight", "part", "share"))
    total = sum(part.seconds for part in explanation.critical_path)
    rows = [
        (part.name, "stream" if part.is_stream else "operator", quantity(part.seconds, "s"), _percent(part.seconds, total))
        for part in explanation.critical_path
    ]
    yield Table("Critical path", ("part", "what", "time", "share"), tuple(rows), ("time", "share"))
    paid = [part for part in explanation.cost_parts if part.money]
    if paid:
        total = sum(part.money for part in paid)
        rows = [(p.name, "stream" if p.is_stream else "operator", figure(p.money, 4), _percent(p.money, total)) for p in paid]
        yield Table("Cost", ("part", "what", "money/h", "share"), tuple(rows), ("money/h", "share"))
    if explanation.rules:
        yield rule_table(explanation.rules)
    if explanation.crossings:
        crossings = [(c.name, figure(c.tuples, 4), percent(c.share)) for c in explanation.crossings]
        yield Table("Between nodes", ("stream", "tuples/s", "of the stream"), tuple(crossings), ("tuples/s", "of the stream"))
    if explanation.throughput is not None:
        loads = explanation.throughput.node_loads[:20]
        asked = [(n.node, n.resource, figure(n.demand, 4), figure(n.capacity, 4), percent(n.share)) for n in loads]
        columns = ("node", "resource", "demand/s", "capacity/s", "asked for")
        yield Table("Shared resources", columns, tuple(asked), columns[2:])


def second_best_lines(second: SecondBest, evaluation: Evaluation) -> Iterator[str]:
    """Best other deployment known, as `edrp explain` says it, and how it differs."""
    yield second.sentence(evaluation.feasible) + (":" if second.differences else ".")
    yield from (f"• {difference}" for difference in second.differences[:MAX_DIFFERENCES])
    if len(second.differences) > MAX_DIFFERENCES:
        yield f"… and {len(second.differences) - MAX_DIFFERENCES} more differences"


def _sentences(explanation: Explanation) -> Iterator[str]:
    if explanation.second_best is not None and explanation.evaluation is not None:
        yield from second_best_lines(explanation.second_best, explanation.evaluation)
    throughput = explanation.throughput
    if throughput is not None:
        held = f", held back by {throughput.bottleneck}" if throughput.bottleneck else ""
        yield f"It carries {percent(throughput.share)} of the load{held}."
    if len(explanation.alike) > 3:
        yield f"There are {len(explanation.alike)} groups of nodes that may be exchanged for one another."
    for group in explanation.alike if len(explanation.alike) <= 3 else ():
        shown = ", ".join(group[:4]) + (f" and {len(group) - 4} more" if len(group) > 4 else "")
        yield f"Nodes {shown} are alike: exchanging them changes nothing."


def _percent(part: float, whole: Any) -> str:
    return percent(part / whole) if whole else ""
