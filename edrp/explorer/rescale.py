"""The view of rescales: replicas on nodes as of any placement, and the key ranges of every operator with tasks."""

from __future__ import annotations

from typing import Any

from edrp.explorer.application import application_graph
from edrp.explorer.placement import NO_CHANGE, limits_panel, second_best_lines, unplaced_view
from edrp.explorer.prices import limit_prices
from edrp.explorer.quantities import byte_figure, figure, percent
from edrp.explorer.reconfiguration import BEFORE_AND_AFTER, Change
from edrp.explorer.scene import Scene
from edrp.explorer.summary import metric_table
from edrp.explorer.task_bars import task_bars, task_details
from edrp.explorer.view import Bar, Panel, Row, Rows, Timeline, Token, View
from edrp.formulations.second_best import SECOND_BEST_WORK, second_best
from edrp.migration.rescale.documents import KeyedDeployment, replica_loads
from edrp.migration.rescale.problem import RescaleProblem, RescaleSolution
from edrp.placement.metrics.base import PathMetric
from edrp.report.tables import Table

MAX_TASKS, MAX_MOVES = 600, 300


def rescale_view(problem: RescaleProblem, solution: RescaleSolution, *, work_limit: float = SECOND_BEST_WORK) -> View:
    """The view of kind `rescale`."""
    deployment = solution.deployment
    if deployment is None:
        return unplaced_view(problem)
    places = deployment.places
    before = None if problem.current is None else problem.current.places
    scene = Scene(problem, [d for d in (before, places) if d is not None])
    change = None if before is None or problem.current == deployment else _change(scene, solution)
    slowest = problem.metrics["response_time"]
    path = slowest.critical_path(problem, deployment) if isinstance(slowest, PathMetric) else ()  # type: ignore[arg-type]
    hot = scene.critical(places, [part.name for part in path])
    graph = scene.graph(places, hot=hot, before=before, change=change)
    margins = problem.limit_margins(solution.metrics)
    panels: list[Panel] = [
        graph,
        application_graph(
            problem.application, scene.operator_notes(places), scene.details, hot={name for name, _ in hot[1]}, hot_streams=hot[0]
        ),
        *_ranges(scene, problem, deployment),
        *([limits_panel(margins, limit_prices(problem))] if margins else []),
        _loads(problem, deployment),
        *([_moves(solution)] if solution.moves else []),
    ]
    second = second_best(problem, deployment, work_limit=work_limit)
    unchanged = [NO_CHANGE] if change is None and before is not None else []
    lines = [*unchanged, *second_best_lines(second, problem.evaluate(deployment))]
    return View(panels, scene.details, None if change is None else change.timeline, lines, [metric_table(solution)])


def _change(scene: Scene, solution: RescaleSolution) -> Change:
    """The state that moves, all of it during the downtime."""
    downtime = solution.metrics.get("downtime", 0.0)
    seconds, unit, stops = (downtime, "s", ()) if downtime else (1.0, "", BEFORE_AND_AFTER)
    tokens = [
        Token(scene.box[move.source], scene.box[move.target], 0.0, seconds, byte_figure(move.size), scene.number[move.operator])
        for move in solution.moves[:60]
    ]
    return Change(Rows("", (), seconds, unit), tokens, Timeline("Rescale", seconds, unit, seconds, stops, seconds=5.0))


def _ranges(scene: Scene, problem: RescaleProblem, deployment: KeyedDeployment) -> list[Rows]:
    """One drawing for each operator with tasks: its tasks now and afterwards, in the colour of their node."""
    panels = []
    node_colour = {node.name: index for index, node in enumerate(problem.network.nodes)}
    for index, operator in enumerate(problem.application.operators):
        tasks = operator.tasks
        if tasks is None:
            continue
        rows: list[Row] = []
        earlier: list[str] = []
        for label, held in (("now", problem.current), ("afterwards", deployment)):
            if held is None:
                continue
            owners = held.owners(operator.name, tasks.count)
            if tasks.count <= MAX_TASKS:
                labelled = tasks.count <= 24
                bars = task_bars(owners, earlier, tasks.work, colours=node_colour, labelled=labelled, prefix=f"k{index}.")
            else:
                bars = [
                    Bar(float(r.tasks[0]), float(r.tasks[1]), r.node, node_colour[r.node], detail=f"o{index}")
                    for r in held.ranges(operator.name)
                ]
            rows.append(Row(label, bars))
            earlier = owners
        if tasks.count <= MAX_TASKS:
            scene.details |= task_details(tasks.work, tasks.state_size, prefix=f"k{index}.", of=f" of {operator.name}")
        legend = [("marked", "moves to another node")] if problem.current is not None else []
        note = "As high as their work, in the colour of their node."
        panels.append(Rows(f"Key ranges of {operator.name}", rows, float(tasks.count), "tasks", note=note, legend=legend))
    return panels


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
