"""The views of leases and of runs: leases and tasks as bars and numbers as lines over time, above the tables of a terminal."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise

from edrp.core.errors import numbered
from edrp.core.problem import Problem
from edrp.core.solution import Solution
from edrp.enactment.leasing import LeasingProblem, LeasingSolution, paid_spans
from edrp.enactment.scenario import EnactmentScenario, EnactmentScenarioSolution, end_time
from edrp.explorer.summary import table_view
from edrp.explorer.view import Bar, Line, Row, Rows, Series, Timeline, View
from edrp.mapping.bimodal_scenario import BimodalScenario, BimodalScenarioSolution, TaskRecord
from edrp.mapping.path_tasks import BimodalTask

MAX_ROWS, MAX_POINTS = 120, 1500

ON_LINKS, PUBLIC, REFUSED = 0, 1, 3
"""Colours of tasks."""

Points = list[tuple[float, float]]
Span = tuple[float, float | None]
"""Begin and end in seconds; None for no end."""


def leasing_view(problem: LeasingProblem, solution: LeasingSolution) -> View:
    """The view of kind `leasing`."""
    if solution.hosts is None:
        return table_view(problem, solution)
    hosts, periods = solution.hosts, range(len(problem.forecast))
    end = len(periods) * problem.period
    running = [sum(sum(host.instances[p].values()) for host in hosts if p < len(host.instances)) for p in periods]
    needed = [sum(fewest.values()) for fewest in problem.minimum_instances]
    times = [period * problem.period for period in periods]
    instances = [
        Line("instances that run", step_points(times, running)),
        Line("needed", step_points(times, needed), 1, dashed=True),
    ]
    colour = {name: index for index, name in enumerate(problem.types)}
    rows = [Row(host.name, [Bar(*span, host.type, colour[host.type]) for span in paid_spans(problem, host)]) for host in hosts]
    charts: list[Rows | Series] = [
        Series("Instances", instances, end, "instances", "s"),
        _bars("Leases", rows, end, _colours(problem.types)),
    ]
    return _charted(problem, solution, charts, Timeline("Forecast", end, "s"))


def run_view(problem: EnactmentScenario, solution: EnactmentScenarioSolution) -> View:
    """The view of kind `enactment-scenario`."""
    run, end = solution.run, problem.duration
    if run is None:
        return table_view(problem, solution)
    hosts = Line("hosts", _counts([(lease.start, lease.end) for lease in run.leases]), 2)
    instances = Line("instances", _counts([(instance.placed, instance.ended) for instance in run.instances]))
    load = Line("load", step_points([step * problem.load_step for step in range(len(problem.load))], problem.load))
    colour = {name: index for index, name in enumerate(problem.types)}
    rows = [
        Row(
            lease.host,
            [
                Bar(lease.start, lease.ready, "starts", 7),
                Bar(lease.ready, end_time(lease.end, end), f"{numbered(lease.units, 'unit')} paid", colour[lease.type]),
            ],
        )
        for lease in run.leases
    ]
    charts: list[Rows | Series] = [
        Series("Hosts and instances", [hosts, instances], end, "number", "s"),
        Series("Load", [load], end, "multiple of the external rates", "s"),
        _bars("Leases", rows, end, _colours(problem.types)),
    ]
    return _charted(problem, solution, charts, Timeline("Run", end, "s", seconds=14.0))


def bimodal_view(problem: BimodalScenario, solution: BimodalScenarioSolution) -> View:
    """The view of kind `bimodal-scenario`."""
    if solution.run is None:
        return table_view(problem, solution)
    tasks = list(zip(problem.tasks, solution.run.tasks, strict=True))
    end = max([problem.tasks[-1].arrival, *(record.finish or 0.0 for _, record in tasks)]) or 1.0
    lines = [
        Line("arrived", _counts([(task.arrival, None) for task, _ in tasks]), 7),
        Line("refused", _counts([(task.arrival, None) for task, record in tasks if not record.accepted]), REFUSED),
        Line("at work", _counts([(record.start or 0.0, record.finish) for _, record in tasks if record.accepted]), 2),
    ]
    rows = [Row(f"{index}", [_task_bar(*task, end)]) for index, task in enumerate(tasks)]
    legend = [
        (f"c{ON_LINKS}", "on dedicated links"),
        (f"c{PUBLIC}", "partly over the public network"),
        (f"c{REFUSED}", "refused"),
    ]
    charts: list[Rows | Series] = [Series("Tasks", lines, end, "tasks", "s"), _bars("Every task", rows, end, legend)]
    return _charted(problem, solution, charts, Timeline("Run", end, "s", seconds=14.0))


def _charted(problem: Problem, solution: Solution, charts: Sequence[Rows | Series], timeline: Timeline) -> View:
    """The view with those charts that show something; each of the others is a sentence."""
    idle = [chart for chart in charts if not _shows_something(chart)]
    view = table_view(problem, solution, [chart for chart in charts if chart not in idle], timeline)
    return replace(view, lines=[*view.lines, *(f"{chart.title}: none at any time." for chart in idle)])


def _shows_something(chart: Rows | Series) -> bool:
    if isinstance(chart, Rows):
        return any(bar.end > bar.begin for row in chart.rows for bar in row.bars)
    return any(value for line in chart.lines for _, value in line.points)


def _task_bar(task: BimodalTask, record: TaskRecord, end: float) -> Bar:
    """From the begin of the stream of a task until its end; of a refused one for as long as it would have taken."""
    if not record.accepted:
        return Bar(task.arrival, min(end, task.arrival + task.nominal), f"refused: {record.short}", REFUSED, 0.4)
    begin = task.arrival if record.start is None else record.start
    until = end if record.finish is None else record.finish
    public = any(record.public)
    return Bar(begin, until, "over the public network" if public else "on links", PUBLIC if public else ON_LINKS)


def _bars(title: str, rows: Sequence[Row], end: float, legend: Sequence[tuple[str, str]]) -> Rows:
    note = f"The first {MAX_ROWS} of {len(rows):,}." if len(rows) > MAX_ROWS else ""
    return Rows(title, rows[:MAX_ROWS], end, "s", True, note, legend)


def _colours(types: Iterable[str]) -> list[tuple[str, str]]:
    return [(f"c{index}", name) for index, name in enumerate(types)][:10]


def _counts(spans: Iterable[Span]) -> Points:
    """How many spans hold each time at which the number changes.

    >>> _counts([(1.0, 3.0), (2.0, None)])
    [(0.0, 0.0), (1.0, 1.0), (2.0, 2.0), (3.0, 1.0)]
    """
    steps = sorted((at, change) for start, end in spans for at, change in ((start, 1), (end, -1)) if at is not None)
    times, counts = [0.0], [0]
    for at, change in steps:
        if at > times[-1]:
            times.append(at)
            counts.append(counts[-1])
        counts[-1] += change
    return step_points(times, counts)


def step_points(times: Sequence[float], values: Sequence[float]) -> Points:
    """The points at which a step function changes; of very many, every so many-th."""
    points = [(times[0], float(values[0]))] if times else []
    points += [(at, float(now)) for at, (before, now) in zip(times[1:], pairwise(values), strict=True) if now != before]
    return points[:: math.ceil(len(points) / MAX_POINTS) or 1]
