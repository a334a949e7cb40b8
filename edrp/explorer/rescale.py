"""The view of rescales: replicas on nodes as of any placement, and the key ranges of every operator with tasks."""

from __future__ import annotations

from typing import Any

from edrp.explorer.application import application_graph
from edrp.explorer.placement import unplaced_view
from edrp.explorer.prices import PRICE_NOTE, limit_prices
from edrp.explorer.quantities import byte_figure, figure, percent, quantity
from edrp.explorer.reconfiguration import Change
from edrp.explorer.scene import Scene
from edrp.explorer.summary import metric_table
from edrp.explorer.view import Bar, Detail, Limit, Limits, Panel, Row, Rows, Timeline, Token, View
from edrp.migration.rescale.deployment import KeyedDeployment
from edrp.migration.rescale.problem import RescaleProblem, RescaleSolution
from edrp.migration.rescale.shares import replica_loads
from edrp.placement.metrics.paths import PathMetric
from edrp.report.tables import Table

MAX_TASKS, MAX_MOVES = 600, 300


def rescale_view(problem: RescaleProblem, solution: RescaleSolution) -> View:
    """The view of kind `rescale`."""
    deployment = solution.deployment
    if deployment is None:
        return unplaced_view(problem)
    places = deployment.places
    before = None if problem.current is None else problem.current.places
    scene = Scene(problem, [d for d in (before, places) if d is not None])
    change = None if before is None else _change(scene, solution)
    slowest = problem.metrics["response_time"]
    path = slowest.critical_path(problem, deployment) if isinstance(slowest, PathMetric) else ()  # type: ignore[arg-type]
    hot = scene.critical(places, [part.name for part in path])
    graph = scene.graph(places, hot=hot, before=before, change=change)
    panels: list[Panel] = [
        graph,
        application_graph(
            problem.application, scene.operator_notes(places), scene.details, hot={name for name, _ in hot[1]}, hot_streams=hot[0]
        ),
        *_ranges(scene, problem, deployment),
        *([_limits(problem, solution)] if any(term.limit is not None for term in problem.terms) else []),
        _loads(problem, deployment),
        *([_moves(solution)] if solution.moves else []),
    ]
    return View(panels, scene.details, None if change is None else change.timeline, side=[metric_table(solution)])


def _change(scene: Scene, solution: RescaleSolution) -> Change:
    """The state that moves, all of it during the downtime."""
    seconds = solution.metrics.get("downtime", 0.0) or 1.0
    tokens = [
        Token(scene.box[move.source], scene.box[move.target], 0.0, seconds, byte_figure(move.size), scene.number[move.operator])
        for move in solution.moves[:60]
    ]
    return Change(Rows("", (), seconds, "s"), tokens, Timeline("Rescale", seconds, "s", seconds, seconds=5.0))


def _ranges(scene: Scene, problem: RescaleProblem, deployment: KeyedDeployment) -> list[Rows]:
    """One drawing for each operator with tasks: its tasks now and afterwards, in the colour of their node."""
    panels = []
    node_colour = {node.name: index for index, node in enumerate(problem.network.nodes)}
    for index, operator in enumerate(problem.application.operators):
        tasks = operator.tasks
        if tasks is None:
            continue
        heaviest = max(tasks.work) or 1.0
        rows, earlier = [], None
        for label, held in (("now", problem.current), ("afterwards", deployment)):
            if held is None:
                continue
            owners = held.owners(operator.name, tasks.count)
            if tasks.count <= MAX_TASKS:
                bars = [
                    Bar(
                        float(task),
                        task + 1.0,
                        owner if tasks.count <= 24 else "",
                        node_colour[owner],
                        0.25 + 0.75 * tasks.work[task] / heaviest,
                        earlier is not None and earlier[task] != owner,
                        f"k{index}.{task}",
                    )
                    for task, owner in enumerate(owners)
                ]
            else:
                bars = [
                    Bar(float(r.tasks[0]), float(r.tasks[1]), r.node, node_colour[r.node], detail=f"o{index}")
                    for r in held.ranges(operator.name)
                ]
            rows.append(Row(label, bars))
            earlier = owners
        for task in range(tasks.count) if tasks.count <= MAX_TASKS else ():
            described = [("work", figure(tasks.work[task], 4)), ("state", byte_figure(tasks.state_size[task], 4))]
            scene.details[f"k{index}.{task}"] = Detail(f"Task {task} of {operator.name}", described)
        legend = [("marked", "moves to another node")] if problem.current is not None else []
        note = "As high as their work, in the colour of their node."
        panels.append(Rows(f"Key ranges of {operator.name}", rows, float(tasks.count), "tasks", note=note, legend=legend))
    return panels


def _limits(problem: RescaleProblem, solution: RescaleSolution) -> Limits:
    rows, prices = [], limit_prices(problem)
    for term in problem.terms:
        if term.limit is None:
            continue
        metric, value = problem.metrics[term.metric], solution.metrics[term.metric]
        used, left = metric.scaled(value) / term.scaled_limit, term.limit - value
        slack = f"{quantity(left, metric.unit)} left" if used <= 1 else f"{quantity(-left, metric.unit)} over"
        price = prices.get(f"limits.{term.metric}")
        shown = "" if price is None else f"{price:.3g}"
        rows.append(
            Limit(
                term.metric.replace("_", " "), quantity(value, metric.unit), quantity(term.limit, metric.unit), used, slack, shown
            )
        )
    return Limits("Limits", rows, PRICE_NOTE if prices else "")


def _loads(problem: RescaleProblem, deployment: KeyedDeployment) -> Table:
    rows: list[tuple[str, ...]] = []
    for operator in problem.application.operators:
        for load in replica_loads(problem.application, deployment, operator.name):
            tasks = "" if load.tasks is None else f"{load.tasks[0]}–{load.tasks[1] - 1}"
            rows.append((operator.name, load.node, tasks, percent(load.share), figure(load.rate, 4)))
    note = f"The first 200 of {len(rows):,}." if len(rows) > 200 else ""
    columns = ("operator", "node", "tasks", "share", "tuples/s")
    return Table("Replicas", columns, tuple(rows[:200]), columns[2:], note=note)


def _moves(solution: Any) -> Table:
    moves = solution.moves
    rows = [(m.operator, f"{m.first}–{m.end - 1}", f"{m.source} → {m.target}", byte_figure(m.size, 4)) for m in moves[:MAX_MOVES]]
    note = f"The first {MAX_MOVES} of {len(moves):,}." if len(moves) > MAX_MOVES else ""
    return Table("Moves", ("operator", "tasks", "way", "state"), tuple(rows), ("tasks", "state"), note=note)
