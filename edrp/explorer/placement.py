"""The view of placements: replicas on nodes, streams between them, the critical path, limits with prices, and what changes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from edrp.core.arrays import Floats
from edrp.core.errors import EdrpError, ProblemTooLargeError
from edrp.core.problem import Evaluation, Margin
from edrp.core.program import Program
from edrp.explanations.explain import explain
from edrp.explanations.objective import rule_table
from edrp.explanations.placement import Explanation
from edrp.explanations.stages import stage_cost_table
from edrp.explorer.page import metric_table
from edrp.explorer.scene import Scene, application_graph
from edrp.explorer.view import BEFORE_AND_AFTER, Bar, Change, Limit, LimitsPanel, Panel, Row, Rows, Timeline, Token, View
from edrp.formulations.second_best import SECOND_BEST_WORK, SecondBest
from edrp.migration.rescale.problem import RescaleProblem
from edrp.placement.deployment import Deployment
from edrp.placement.edrp import EdrpSolution
from edrp.placement.latency_aware import LatencyAwareSolution
from edrp.placement.metrics.downtime import Downtime, PairPhases, pair_phases
from edrp.placement.problem import PlacementProblem, StreamPlacement
from edrp.report.formatting import figure, percent, quantity
from edrp.report.tables import Table

SYNCHRONISATION = ("synchronisation", 7)
PHASES = (
    ("store", "state into the store, or code out of it", 0),
    ("fetch", "state out of the store", 2),
    ("spawn", "replicas start", 1),
)


def reconfiguration(scene: Any, problem: Any, deployment: Any) -> Change:
    """The reconfiguration from the current deployment to another one (EDRP, eqs. 24–32; Storm's as a whole)."""
    rows, tokens, end = [], [], 0.0
    timed = getattr(problem, "reconfiguration", None) is not None
    for index, name in enumerate(scene.names):
        before, after = problem.current.replicas(name), deployment.replicas(name)
        if before == after:
            continue
        seconds = Downtime().operator_downtime(problem, deployment, name) if timed else 1.0
        bars = [Bar(0.0, seconds, name, index, detail=f"o{index}")]
        leaving, arriving = before - after, after - before
        if timed and problem.reconfiguration == "pause-and-resume":
            bars = _phase_bars(problem, deployment, name, f"o{index}")
        rows.append(Row(f"{name}: {quantity(seconds, 's')}" if timed else name, bars))
        sources, targets = list(leaving or before), list(arriving)
        tokens += [Token(scene.box[u], scene.box[v], 0.0, seconds, name, index) for u in sources for v in targets if u != v][:24]
        end = max(end, seconds)
    instant = timed and not end
    timed, end = timed and not instant, end or 1.0
    phased = timed and problem.reconfiguration == "pause-and-resume"
    drawn = {bar.colour for row in rows for bar in row.bars}
    legend = [(f"c{n}", words) for words, n in (SYNCHRONISATION, *(p[1:] for p in PHASES)) if phased and n in drawn]
    title = "Reconfiguration" if timed else "Change from the current deployment"
    note = "Operators change in parallel; the slowest decides the downtime." if timed else ""
    unit = "s" if timed else ""
    stops = () if timed else BEFORE_AND_AFTER
    shown = Rows(title, rows if timed else [], end, unit, True, note, legend)
    sentence = "The reconfiguration takes 0 s." if instant else ""
    return Change(shown, tokens, Timeline(title, end, unit, end, stops, 5.0), sentence)


def _phase_bars(problem: Any, deployment: Any, name: str, detail: str) -> list[Bar]:
    """The phases of the slowest pair of nodes, which decides the downtime of an operator."""
    before, after = problem.current.replicas(name), deployment.replicas(name)
    state = problem.application.by_name[name].state_size
    pairs = [(u, v) for u in before for v in after if u != v]
    phases = [pair_phases(problem, name, state, u, v, before, after) for u, v in pairs]
    slowest = max(phases, key=lambda phase: phase.seconds, default=PairPhases(0.0, 0.0, 0.0))
    start = problem.synchronisation_time
    bars = [Bar(0.0, start, *SYNCHRONISATION, detail=detail)] if start else []
    for field, words, colour in PHASES:
        length = getattr(slowest, field)
        if length:
            bars.append(Bar(start, start + length, words, colour, detail=detail))
        start += length
    return bars


MAX_WORK = 0.5
"""Units of work for the relaxation."""

PER_CENT = 0.01

PRICE_NOTE = "Price: by how much the objective of the linear relaxation falls for each per cent that the limit is raised."


MAX_COLUMNS = 20_000
"""Columns of the program of a rescaling up to which it is built for its prices."""


def limit_prices(problem: PlacementProblem | RescaleProblem) -> dict[str, float]:
    """By how much the relaxation's objective falls for each per cent that a limit is raised, by name of the limit.

    Rows of limits are divided by the limit, so that their right-hand side is 1. Empty where the problem has priorities, or
    the relaxation is too large or takes more than half a unit of work.

    >>> from edrp.placement.edrp import EdrpProblem
    >>> work = {"name": "work", "latency": {"model": "mm1", "service_rate": 10.0}, "external_rate": 8.0, "max_replicas": 2}
    >>> problem = EdrpProblem(
    ...     application={"operators": [{**work, "cost": 1.0}]},
    ...     network={"nodes": [{"name": "a"}]},
    ...     weights={"cost": 1.0},
    ...     limits={"cost": 4.0, "response_time": 0.3},
    ... )
    >>> {name: round(price, 6) for name, price in limit_prices(problem).items()}
    {'limits.response_time': 0.00225, 'limits.cost': 0.0}
    """
    limited = [f"limits.{term.metric}" for term in problem.terms if term.limit is not None]
    if not limited or problem.stage_count:
        return {}
    try:
        program = _program(problem)
    except EdrpError:
        return {}
    duals = _relaxed_duals(program)
    rows = {name: program.row_blocks[name].start for name in limited if name in program.row_blocks}
    return {} if duals is None else {name: max(0.0, -float(duals[row])) * PER_CENT for name, row in rows.items()}


def _relaxed_duals(program: Program) -> Floats | None:
    """The multipliers of all rows in the linear relaxation; None where that takes too much work."""
    import highspy

    from edrp.backends.base import MAX_LIMIT
    from edrp.backends.highs import ITERATION_WORK, PASSED_WORK, hand_over, new_solver

    arrays = program.arrays()
    iterations = (MAX_WORK / max(1, arrays.size) - PASSED_WORK) / ITERATION_WORK
    if iterations < program.rows:  # the simplex method takes about one for each row
        return None
    solver = new_solver(simplex_iteration_limit=int(min(MAX_LIMIT, iterations)))
    if not hand_over(solver, replace(arrays, integer=np.zeros_like(arrays.integer))):
        return None
    solver.run()
    solved = solver.getModelStatus() == highspy.HighsModelStatus.kOptimal
    return np.asarray(solver.getSolution().row_dual, dtype=np.float64) if solved else None


def _program(problem: PlacementProblem | RescaleProblem) -> Program:
    """The program whose relaxation has the prices.

    Raises
    ------
    ProblemTooLargeError
        Where building it would take too long for a page.
    """
    if isinstance(problem, RescaleProblem):
        from edrp.formulations.migration.rescale.columns import estimated_ranges
        from edrp.formulations.migration.rescale.formulation import formulate_rescale

        if estimated_ranges(problem) > MAX_COLUMNS:
            raise ProblemTooLargeError("the program has too many columns for the prices of a page")
        return formulate_rescale(problem, "ranges").program
    from edrp.formulations.placement.formulation import formulate_placement

    return formulate_placement(problem, "compact").program


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


def limits_panel(margins: Sequence[Margin], prices: Mapping[str, float]) -> LimitsPanel:
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
    return LimitsPanel("Limits", rows, (PRICE_NOTE if prices else "") + more)


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
    if explanation.stages:
        yield stage_cost_table(explanation.stages)
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
