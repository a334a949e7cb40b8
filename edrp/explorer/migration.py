"""The views of migrations and rescales: tasks of every node or replica before and after, and the transfers over time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from edrp.core.budget import TooMuchWorkError, at_most
from edrp.explorer.layout import Content, Item, Room, chips_of, fitted, in_columns, line_width
from edrp.explorer.page import metric_table
from edrp.explorer.placement import NO_CHANGE, limit_prices, limits_panel, second_best_lines, unplaced_view
from edrp.explorer.routes import routed
from edrp.explorer.scene import Scene, application_graph
from edrp.explorer.view import (
    BEFORE_AND_AFTER,
    Bar,
    Box,
    Change,
    Detail,
    Edge,
    Graph,
    Panel,
    Row,
    Rows,
    State,
    Timeline,
    Token,
    View,
)
from edrp.formulations.second_best import SECOND_BEST_WORK, second_best
from edrp.mdp.transfer.migration_plan import MigrationPlan, PlanStep, plan_migration
from edrp.mdp.transfer.schedules import Transfer, schedule_transfers, traffic_of
from edrp.migration.intervals import Interval, Move, load_limit, task_numbers
from edrp.migration.policy import MigrationPolicyProblem, MigrationPolicySolution
from edrp.migration.rescale.documents import KeyedDeployment, replica_loads
from edrp.migration.rescale.problem import RescaleProblem, RescaleSolution
from edrp.migration.sequence import MigrationSequence, MigrationSequenceSolution
from edrp.migration.single_step import MigrationProblem, MigrationSolution
from edrp.placement.metrics.base import PathMetric
from edrp.report.formatting import byte_figure, figure, percent, quantity
from edrp.report.tables import Table, cut_table

Node = TypeVar("Node", int, str)


def task_bars(
    owners: Sequence[Node],
    before: Sequence[Node],
    work: Sequence[float],
    *,
    colours: Mapping[Node, int],
    labelled: bool,
    prefix: str = "k",
) -> list[Bar]:
    """A bar for each task, framed where another node held it before; its detail is the prefix and its number."""
    heaviest = max(work) or 1.0
    return [
        Bar(
            float(task),
            task + 1.0,
            str(node) if labelled else "",
            colours[node],
            0.25 + 0.75 * work[task] / heaviest,
            bool(before) and before[task] != node,
            f"{prefix}{task}",
        )
        for task, node in enumerate(owners)
    ]


def task_details(work: Sequence[float], state: Sequence[float], *, prefix: str = "k", of: str = "") -> dict[str, Detail]:
    """Work and state of each task by the key of its detail."""
    return {
        f"{prefix}{task}": Detail(f"Task {task}{of}", [("work", figure(work[task], 4)), ("state", byte_figure(state[task], 4))])
        for task in range(len(work))
    }


MAX_PLAN_UNITS = 0.01
"""Units of work to find the shortest schedule of transfers at most."""

UPLINK = 1.25e8
"""Bytes per second between nodes for the times of transfers: 1 Gbit/s, as `edrp plan` takes it."""

MAX_TASKS, MAX_NODES, MAX_MOVES, MAX_PHASES = 2000, 200, 300, 400

STEP_COLUMNS = ("step", "nodes", "moved", "moves")

ONE_CHIP = Room(1)

Held = Sequence[Interval | None]


class Load(NamedTuple):
    """The work of tasks on nodes, and the limit of a node's work."""

    work: Sequence[float]
    limit: float
    nodes: int

    def of(self, held: Held) -> tuple[list[float | None], list[str]]:
        """For every node the share of the limit that it uses, None without a limit, and its work in words."""
        shares: list[float | None] = []
        notes = []
        for node in range(min(self.nodes, MAX_NODES)):
            interval = held[node] if node < len(held) else None
            load = 0.0 if interval is None else float(sum(self.work[interval[0] : interval[1]]))
            shares.append(load / self.limit if self.limit else None)
            notes.append("not in use" if interval is None else f"work {figure(load)}")
        return shares, notes


def migration_view(
    problem: MigrationProblem | MigrationPolicyProblem, solution: MigrationSolution | MigrationPolicySolution
) -> View:
    """The view of kinds `migration` and `migration-policy`."""
    after = solution.intervals
    if after is None:
        return View([_strips("Tasks", [("now", None, problem.intervals)], problem.work, problem.state_size, {})])
    details: dict[str, Detail] = {}
    limit = load_limit(sum(problem.work), problem.nodes, problem.tolerance)
    plan = _plan(problem, after, solution.moves)
    seconds = plan.total_seconds
    end, unit, stops = (seconds, "s", ()) if seconds else (1.0, "", BEFORE_AND_AFTER)
    boxes = _boxes(len(after), [problem.intervals, after], problem.work, limit, details)
    load = Load(problem.work, limit, len(after))
    states = [_state(0.0, problem.intervals, load, (), details), _state(end, after, load, solution.moves, details)]
    held: list[tuple[str, float | None, Held]] = [("now", 0.0, problem.intervals), ("afterwards", end, after)]
    line: Timeline | None = Timeline("Migration", end, unit, end, stops, seconds=6.0)
    lines = [f"A node may hold work {figure(limit, 4)}; times are for {quantity(UPLINK, 'bytes/s')} up and down."]
    if not solution.moves:
        states, held, line = states[1:], [("now and afterwards", None, after)], None
        lines = ["Nothing moves: every node keeps its tasks.", f"A node may hold work {figure(limit, 4)}."]
    tokens = [
        Token(f"n{transfer.source}", f"n{transfer.target}", begin, finish, byte_figure(transfer.size), transfer.source)
        for begin, finish, transfer in _transfers(plan)
        if max(transfer.source, transfer.target) < MAX_NODES
    ]
    panels: list[Panel] = [
        _graph(boxes, states, tokens),
        _strips("Tasks", held, problem.work, problem.state_size, details),
        *([_phases(plan, end)] if seconds else []),
        *([_moves(solution.moves)] if solution.moves else []),
    ]
    return View(panels, details, line, lines, [metric_table(solution)])


def sequence_view(problem: MigrationSequence, solution: MigrationSequenceSolution) -> View:
    """The view of kind `migration-sequence`: a stop of the slider for every step."""
    details: dict[str, Detail] = {}
    steps = solution.steps or ()
    held: list[tuple[str, float | None, Held]] = [("now", 0.0, problem.intervals)]
    held += [(f"step {index}", float(index), step.intervals) for index, step in enumerate(steps, 1)]
    work, state = problem.work_at(0), problem.state_size_at(0)
    if not steps:
        return View([_strips("Tasks", held, work, state, details)], details)
    limits = [load_limit(sum(problem.work_at(t)), step.nodes, problem.tolerance[t]) for t, step in enumerate(steps)]
    largest = max(limits)
    width = max(len(intervals) for _, _, intervals in held)
    boxes = _boxes(width, [intervals for _, _, intervals in held], work, largest, details)
    states = [_state(0.0, problem.intervals, Load(work, largest, width), (), details)]
    for index, step in enumerate(steps, 1):
        own = Load(problem.work_at(index - 1), limits[index - 1], width)
        states.append(_state(float(index), step.intervals, own, step.moves, details, f"t{index}"))
    rows = [
        (f"{index}", f"{step.nodes}", byte_figure(step.moved_state, 4), f"{len(step.moves)}")
        for index, step in enumerate(steps, 1)
    ]
    panels: list[Panel] = [
        _graph(boxes, states, ()),
        _strips("Tasks after each step", held, work, state, details),
        Table("Steps", STEP_COLUMNS, tuple(rows), STEP_COLUMNS),
    ]
    stops = [(0.0, "now"), *((float(index), f"step {index} of {len(steps)}") for index in range(1, len(steps) + 1))]
    line = Timeline("Steps", float(len(steps)), "", 0.0, stops, max(2.0, 1.2 * len(steps)))
    return View(panels, details, line, side=[metric_table(solution)])


def _plan(problem: MigrationProblem | MigrationPolicyProblem, after: Held, moves: Sequence[Move]) -> MigrationPlan:
    """The shortest schedule; where it would take long to find, one in which all transfers run together."""
    try:
        with at_most(MAX_PLAN_UNITS):
            return plan_migration(problem.intervals, after, problem.work, problem.state_size, uplink=UPLINK)
    except TooMuchWorkError:
        traffic = traffic_of(moves, max(len(after), len(problem.intervals)))
        return MigrationPlan((), (PlanStep(tuple(moves), schedule_transfers(traffic, UPLINK, exclusive=False), 0.0),))


def _boxes(count: int, held: Sequence[Held], work: Sequence[float], limit: float, details: dict[str, Detail]) -> list[Box]:
    """A box for every node; states say how much of the limit of work it uses."""
    boxes = []
    for node in range(min(count, MAX_NODES)):
        final = held[-1][node] if node < len(held[-1]) else None
        load = 0.0 if final is None else float(sum(work[final[0] : final[1]]))
        rows = [
            ("work at the end", figure(load, 4)),
            ("limit of work", figure(limit, 4)),
            ("tasks at the end", "none" if final is None else task_numbers(*final)),
        ]
        details[f"n{node}"] = Detail(f"Node {node}", rows)
        share = 0.0 if limit else None
        boxes.append(Box(f"n{node}", f"node {node}", 130.0, 44.0, share=share, muted=True, detail=f"n{node}"))
    return [fitted(box, ONE_CHIP) for box in boxes]


def _state(time: float, held: Held, load: Load, moves: Sequence[Move], details: dict[str, Detail], prefix: str = "m") -> State:
    """The state from a time on: the tasks that every node holds, and the moves that led there."""
    shares, notes = load.of(held)
    content: Content = {
        f"n{node}": [Item(f"h{node}", f"tasks {task_numbers(*interval)}", node, detail=f"n{node}")]
        for node, interval in enumerate(held[:MAX_NODES])
        if interval is not None
    }
    largest = max((move.size for move in moves), default=1.0)
    edges = []
    for index, move in enumerate(moves[:MAX_MOVES]):
        if move.source >= MAX_NODES or move.target >= MAX_NODES:
            continue
        details[f"{prefix}{index}"] = Detail(
            str(move), [("state", byte_figure(move.size, 4)), ("tasks", str(move.end - move.first))]
        )
        label = byte_figure(move.size) if len(moves) <= 16 else ""
        width = line_width(move.size, largest)
        edges.append(
            Edge(f"n{move.source}", f"n{move.target}", width, colour=move.source, label=label, detail=f"{prefix}{index}")
        )
    return State(time, chips_of(content, dict.fromkeys(content, ONE_CHIP)), edges, shares=shares, notes=notes)


def _graph(boxes: Sequence[Box], states: Sequence[State], tokens: Sequence[Token]) -> Graph:
    count = len(boxes)
    columns = count if count <= 6 else round((1.7 * count) ** 0.5)
    place = in_columns("nodes", [(box.width, box.height) for box in boxes], [float(n % columns) for n in range(count)], columns)
    moving = any(state.edges for state in states)
    legend = [("chip", "tasks that a node holds"), *([("line", "state that moves")] if moving else [])]
    return routed(Graph("Nodes and what moves between them", boxes, [place], states, tokens=tokens, legend=legend))


def _transfers(plan: MigrationPlan) -> Iterator[tuple[float, float, Transfer]]:
    """Every transfer of the schedule with its begin and end."""
    start = 0.0
    for step in plan.steps:
        for phase in step.schedule.phases[:MAX_PHASES]:
            begin = start + phase.start
            yield from ((begin, begin + phase.duration, transfer) for transfer in phase.transfers)
        start += step.schedule.total_seconds


def _phases(plan: MigrationPlan, end: float) -> Rows:
    """The schedule by node that sends."""
    rows: dict[int, list[Bar]] = {}
    for begin, ends, transfer in _transfers(plan):
        rows.setdefault(transfer.source, []).append(Bar(begin, ends, f"to node {transfer.target}", transfer.target))
    shown = [Row(f"node {node} sends", bars) for node, bars in sorted(rows.items())[:MAX_NODES]]
    return Rows("Transfer schedule", shown, end, "s", True)


def _strips(
    title: str,
    held: Sequence[tuple[str, float | None, Held]],
    work: Sequence[float],
    state: Sequence[float],
    details: dict[str, Detail],
) -> Rows:
    """Tasks from left to right, as high as their work, in the colour of the node that holds them; those that move are framed."""
    count, rows = len(work), []
    before: list[int] = []
    single = count <= MAX_TASKS / len(held)
    if single:
        details.update(task_details(work, state))
    for label, at, intervals in held:
        owners = owners_of(intervals, count)
        if single:
            bars = task_bars(owners, before, work, colours={node: node for node in range(len(intervals))}, labelled=count <= 60)
        else:
            bars = [Bar(i[0], i[1], f"node {n}", n) for n, i in enumerate(intervals) if i is not None and i[1] > i[0]]
        rows.append(Row(label, bars, at))
        before = owners
    legend = [("marked", "moves to another node in this step")] if len(held) > 1 else []
    return Rows(
        title,
        rows,
        float(count),
        "tasks",
        note="As high as their work, in the colour and with the number of their node.",
        legend=legend,
    )


def owners_of(intervals: Held, tasks: int) -> list[int]:
    """Node of each task.

    >>> owners_of([(0, 2), None, (2, 3)], 3)
    [0, 0, 2]
    """
    owners = [0] * tasks
    for node, interval in enumerate(intervals):
        if interval is not None:
            owners[interval[0] : interval[1]] = [node] * (interval[1] - interval[0])
    return owners


def _moves(moves: Sequence[Any]) -> Table:
    """Every move with its state: of tasks from node to node, or of an operator's tasks."""
    if isinstance(moves[0], Move):
        rows = [(task_numbers(m.first, m.end), f"{m.source}", f"{m.target}", byte_figure(m.size, 4)) for m in moves]
        columns = ("tasks", "from node", "to node", "state")
        return cut_table("Moves", columns, rows, columns[1:], MAX_MOVES)
    named = [(m.operator, f"{m.first}–{m.end - 1}", f"{m.source} → {m.target}", byte_figure(m.size, 4)) for m in moves]
    return cut_table("Moves", ("operator", "tasks", "way", "state"), named, ("tasks", "state"), MAX_MOVES)


MAX_OPERATOR_TASKS, MAX_REPLICAS = 600, 200


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
        *([_moves(solution.moves)] if solution.moves else []),
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
            if tasks.count <= MAX_OPERATOR_TASKS:
                labelled = tasks.count <= 24
                bars = task_bars(owners, earlier, tasks.work, colours=node_colour, labelled=labelled, prefix=f"k{index}.")
            else:
                bars = [
                    Bar(float(r.tasks[0]), float(r.tasks[1]), r.node, node_colour[r.node], detail=f"o{index}")
                    for r in held.ranges(operator.name)
                ]
            rows.append(Row(label, bars))
            earlier = owners
        if tasks.count <= MAX_OPERATOR_TASKS:
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
    columns = ("operator", "node", "tasks", "share", "tuples/s")
    return cut_table("Replicas", columns, rows, columns[2:], MAX_REPLICAS)
