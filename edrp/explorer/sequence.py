"""The view of deployments over periods: deployments next to the load, and costs next to those of rivals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate

from edrp.core.errors import ProblemTooLargeError
from edrp.explanations.sequence import COMPARISON_WORK, Rival, SequenceExplanation, explain_sequence
from edrp.explanations.sequence_text import better_sentence, change_table, deciding_sentences, rival_table, worth
from edrp.explorer.placement import unplaced_view
from edrp.explorer.quantities import figure, quantity
from edrp.explorer.scene import Scene, Stay
from edrp.explorer.summary import metric_table
from edrp.explorer.timelines import step_points
from edrp.explorer.view import Bar, Detail, Line, Panel, Row, Rows, Series, Timeline, View
from edrp.placement.deployment import counted
from edrp.placement.over_time import LoadedProblem
from edrp.placement.sequence import EdrpSequence, EdrpSequenceSolution, PeriodOutcome
from edrp.report.formatting import clock_text
from edrp.report.tables import Table

MAX_STATES = 32
"""Periods up to which each is drawn on the network; of more, only those that begin with a change."""

MAX_BARS = 400
"""Periods that have a bar of their own."""

MAX_LINES = 12
"""Operators that have a line each; of more, all together have one."""

RUNNING, CHANGING, STATIC, FREE = 0, 3, 7, 2
"""Colours of costs."""


def sequence_view(problem: EdrpSequence, solution: EdrpSequenceSolution, *, work_limit: float = COMPARISON_WORK) -> View:
    """The view of kind `edrp-sequence`."""
    day = _Day(problem, solution)
    if solution.periods is None:
        view = unplaced_view(problem.base)
        return replace(view, panels=[*view.panels, day.load()], timeline=day.timeline)
    explanation, lines = None, []
    try:
        explanation = explain_sequence(problem, solution, work_limit=work_limit)
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
        panels += _tables(explanation)
        lines = list(_sentences(explanation))
    changes = {} if explanation is None else {change.period: worth(change) for change in explanation.changes}
    return View(panels, {**scene.details, **day.details(changes)}, day.timeline, lines, [metric_table(solution)])


def _tables(explanation: SequenceExplanation) -> Iterator[Table]:
    yield replace(rival_table(explanation), caption="Other ways to decide")
    if explanation.changes:
        yield change_table(explanation)


def _sentences(explanation: SequenceExplanation) -> Iterator[str]:
    if better := better_sentence(explanation):
        yield better
    yield from deciding_sentences(explanation)


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
        loads = [self._loaded(number).problem.application for number in self._distinct_loads()]
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
                    Stay(self.begins[number], self.outcomes[number].deployment, self._loaded(number).problem.application)
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
            for operator in self._loaded(number).problem.application.operators:
                rates.setdefault(operator.name, []).append(operator.external_rate)
        fed = {name: values for name, values in rates.items() if any(values)}
        number_of = {name: index for index, name in enumerate(self.names)}
        lines = [Line(name, step_points(self.begins, values), number_of[name]) for name, values in list(fed.items())[:MAX_LINES]]
        return Series("Load", lines, self.end, "tuples/s", "s")

    def costs(self, rivals: Sequence[Rival]) -> Series:
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

    def _distinct_loads(self) -> list[int]:
        """The first period of each load."""
        known: dict[str, int] = {}
        for number, period in enumerate(self.problem.periods):
            known.setdefault(str(sorted(period.external_rates.items())), number)
        return list(known.values())

    def _loaded(self, number: int) -> LoadedProblem:
        return self.problem.period(number)
