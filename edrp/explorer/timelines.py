"""The views of what happens over time: leases, runs, and deployments over periods, as bars and lines above tables."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate, pairwise

from edrp.core.errors import ProblemTooLargeError, numbered
from edrp.core.problem import Problem
from edrp.core.solution import Solution
from edrp.enactment.leasing import LeasingProblem, LeasingSolution, paid_spans
from edrp.enactment.scenario import EnactmentScenario, EnactmentScenarioSolution, end_time
from edrp.explanations import sequence
from edrp.explorer.page import metric_table, table_view
from edrp.explorer.placement import unplaced_view
from edrp.explorer.scene import Scene, Stay
from edrp.explorer.view import Bar, Detail, Line, Panel, Row, Rows, Series, Timeline, View
from edrp.mapping.bimodal_scenario import BimodalScenario, BimodalScenarioSolution, TaskRecord
from edrp.mapping.path_tasks import BimodalTask
from edrp.placement.deployment import counted
from edrp.placement.sequence import EdrpSequence, EdrpSequenceSolution, PeriodOutcome
from edrp.report.formatting import clock_text, figure, quantity

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
    """The points at which a step function changes; of very many, every n-th."""
    points = [(times[0], float(values[0]))] if times else []
    points += [(at, float(now)) for at, (before, now) in zip(times[1:], pairwise(values), strict=True) if now != before]
    return points[:: math.ceil(len(points) / MAX_POINTS) or 1]


MAX_STATES = 32
"""Periods up to which each is drawn on the network; of more, only those that begin with a change."""

MAX_BARS = 400
"""Periods that have a bar of their own."""

MAX_LINES = 12
"""Operators that have a line each; of more, all together have one."""

RUNNING, CHANGING, STATIC, FREE = 0, 3, 7, 2
"""Colours of costs."""


def sequence_view(problem: EdrpSequence, solution: EdrpSequenceSolution, *, work_limit: float = sequence.COMPARISON_WORK) -> View:
    """The view of kind `edrp-sequence`."""
    day = _Day(problem, solution)
    if solution.periods is None:
        view = unplaced_view(problem.base)
        return replace(view, panels=[*view.panels, day.load()], timeline=day.timeline)
    explanation, lines = None, []
    try:
        explanation = sequence.explain_sequence(problem, solution, work_limit=work_limit)
    except ProblemTooLargeError as error:
        lines = [f"{error}."]
    scene = day.scene()
    panels: list[Panel] = [
        *day.network(scene),
        day.course(),
        day.replicas(),
        day.load(),
        day.costs(() if explanation is None else explanation.rivals),
    ]
    if explanation is not None:
        panels.append(replace(sequence.rival_table(explanation), caption="Other ways to decide"))
        panels += [sequence.change_table(explanation)] if explanation.changes else []
        lines = [*filter(None, [sequence.better_sentence(explanation)]), *sequence.deciding_sentences(explanation)]
    changes = {} if explanation is None else {change.period: sequence.worth(change) for change in explanation.changes}
    return View(panels, {**scene.details, **day.details(changes)}, day.timeline, lines, [metric_table(solution)])


class _Day:
    """Contents of the page of a sequence, and of a solution of it."""

    def __init__(self, problem: EdrpSequence, solution: EdrpSequenceSolution) -> None:
        self.problem = problem
        self.outcomes: Sequence[PeriodOutcome] = solution.periods or ()
        ends = list(accumulate(period.duration for period in problem.periods))
        self.begins, self.ends, self.end = [0.0, *ends[:-1]], ends, ends[-1]
        self.names = [operator.name for operator in problem.application.operators]
        self.timeline = Timeline("Day", self.end, "s", seconds=14.0)

    def scene(self) -> Scene:
        """Nodes with their replicas; operators are described for all periods, streams are not."""
        scene = Scene(self.problem.base, [outcome.deployment for outcome in self.outcomes])
        numbers = {str(sorted(period.external_rates.items())): number for number, period in enumerate(self.problem.periods)}
        loads = [self.problem.period(number).problem.application for number in numbers.values()]  # each load once
        for index, name in enumerate(self.names):
            low, high = min(load.load(name) for load in loads), max(load.load(name) for load in loads)
            text = quantity(high, "tuples/s") if low == high else f"{figure(low, 4)} to {quantity(high, 'tuples/s')}"
            described = scene.details[f"o{index}"]
            rows = [("load", text) if row[0] == "load" else row for row in described.rows]
            scene.details[f"o{index}"] = replace(described, rows=rows)
        for index, stream in enumerate(self.problem.application.streams):
            rates = [load.rate(stream.source, stream.target) for load in loads]
            text = f"{figure(min(rates), 4)} to {quantity(max(rates), 'tuples/s')}"
            scene.details[f"s{index}"] = Detail(f"{stream.source} → {stream.target}", [("rate", text)])
        return scene

    def network(self, scene: Scene) -> Iterator[Panel]:
        """The deployment of each period on the network; of too many periods, that of each change; of too many changes, none."""
        shown = list(range(len(self.outcomes)))
        if len(shown) > MAX_STATES:
            shown = [number for number in shown if number == 0 or self.outcomes[number].actions]
        if len(shown) <= MAX_STATES:
            yield scene.course(
                [
                    Stay(self.begins[number], self.outcomes[number].deployment, self.problem.period(number).problem.application)
                    for number in shown
                ]
            )

    def course(self) -> Rows:
        """Periods, and for each operator the times in which it stays as it is, as high as its number of replicas."""
        shown = range(min(len(self.outcomes), MAX_BARS))
        rows = [Row("periods", [self._bar(number, number + 1, str(number), 7, 1.0, f"t{number}") for number in shown])]
        for index, name in enumerate(self.names):
            nodes = [outcome.deployment[name] for outcome in self.outcomes]
            starts = [t for t in range(len(nodes)) if t == 0 or nodes[t] != nodes[t - 1]][:MAX_BARS]
            most = max(map(len, nodes))
            ends = [*starts[1:], len(nodes)]
            bars = [
                replace(
                    self._bar(start, end, counted(nodes[start]), index, len(nodes[start]) / most, f"t{start}"),
                    marked=start > 0 or name in {action.operator for action in self.outcomes[0].actions},
                )
                for start, end in zip(starts, ends, strict=True)
            ]
            rows.append(Row(name, bars))
        note = "A click on a period shows its deployment. Bars are as high as the number of replicas."
        note += f" The first {MAX_BARS} of {len(self.outcomes):,} periods have a bar." if len(self.outcomes) > MAX_BARS else ""
        return Rows("Course of the deployment", rows, self.end, "s", True, note, [("marked", "begins with a change")])

    def _bar(self, first: int, end: int, label: str, colour: int, height: float, detail: str) -> Bar:
        known = detail if first < MAX_BARS else ""
        return Bar(self.begins[first], self.ends[end - 1], label, colour, height, detail=known)

    def replicas(self) -> Series:
        """Number of replicas of each operator, of very many operators in all."""
        counts = {name: [len(outcome.deployment[name]) for outcome in self.outcomes] for name in self.names}
        if len(counts) > MAX_LINES:
            counts = {"all operators": [sum(numbers) for numbers in zip(*counts.values(), strict=True)]}
        lines = [Line(name, step_points(self.begins, numbers), index) for index, (name, numbers) in enumerate(counts.items())]
        return Series("Replicas", lines, self.end, "replicas", "s")

    def load(self) -> Series:
        """Load that no stream brings, by operator."""
        rates: dict[str, list[float]] = {}
        for number in range(len(self.problem.periods)):
            for operator in self.problem.period(number).problem.application.operators:
                rates.setdefault(operator.name, []).append(operator.external_rate)
        fed = {name: values for name, values in rates.items() if any(values)}
        number_of = {name: index for index, name in enumerate(self.names)}
        lines = [Line(name, step_points(self.begins, values), number_of[name]) for name, values in list(fed.items())[:MAX_LINES]]
        return Series("Load", lines, self.end, "tuples/s", "s")

    def costs(self, rivals: Sequence[sequence.Rival]) -> Series:
        """Cost per hour of periods and, on top of it, of changes; of the rivals without their changes."""
        hours = [period.duration / 3600 for period in self.problem.periods]
        running = [outcome.cost / hour for outcome, hour in zip(self.outcomes, hours, strict=True)]
        both = [(outcome.cost + outcome.change_cost) / hour for outcome, hour in zip(self.outcomes, hours, strict=True)]
        lines = [
            Line("with changes", step_points(self.begins, both), CHANGING, filled=True),
            Line("running", step_points(self.begins, running), RUNNING, filled=True),
        ]
        styles: Mapping[str, tuple[str, int]] = {
            "static-deployment": ("one deployment for all periods", STATIC),
            "myopic": ("each period's own best, changes free", FREE),
        }
        for rival in rivals:
            if rival.course is not None:
                outcomes = self.problem.outcomes(rival.course)
                values = [outcome.cost / hour for outcome, hour in zip(outcomes, hours, strict=True)]
                name, colour = styles[rival.method]
                lines.append(Line(name, step_points(self.begins, values), colour, dashed=True))
        return Series("Cost per hour", lines, self.end, "s per hour", "s")

    def details(self, worths: Mapping[int, str]) -> dict[str, Detail]:
        """Each period in words: its deployment, its cost, the changes at its beginning, and what they are worth."""
        shown = enumerate(self.outcomes[:MAX_BARS])
        return {f"t{number}": self._detail(number, outcome, worths.get(number, "")) for number, outcome in shown}

    def _detail(self, number: int, outcome: PeriodOutcome, worth_of_change: str) -> Detail:
        times = f"{clock_text(self.begins[number])}–{clock_text(self.ends[number])}"
        rates = self.problem.periods[number].external_rates
        rows = [(f"load of {name}", quantity(rate, "tuples/s")) for name, rate in rates.items()]
        rows += [
            ("replicas", str(sum(len(nodes) for nodes in outcome.deployment.values()))),
            ("cost", quantity(outcome.cost, "s")),
            ("response time", quantity(outcome.response_time, "s")),
            ("money", quantity(outcome.money, "money/h")),
        ]
        lines = [f"{name}: {counted(nodes)}" for name, nodes in outcome.deployment.items()]
        if outcome.actions:
            rows.append(("cost of the change", quantity(outcome.change_cost, "s")))
            rows += [("state that moves", quantity(outcome.moved_state, "bytes"))] if outcome.moved_state else []
            rows += [("downtime", quantity(outcome.downtime, "s"))] if outcome.downtime else []
            changed = "; ".join(map(str, outcome.actions))
            lines.append(f"Change: {changed}" + (f". It {worth_of_change}." if worth_of_change else ""))
        return Detail(f"Period {number}, {times}", rows, lines)
