"""Why deployments over periods are as good as they are: which period decides, what each change costs and saves, and rivals."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby

import numpy as np

from edrp.core.arguments import check_arguments
from edrp.core.arrays import Floats
from edrp.core.errors import ProblemTooLargeError, numbered
from edrp.core.problem import Evaluation, Margin, ShownInNotebooks
from edrp.core.solution import resolution
from edrp.core.solve import solve
from edrp.core.tolerances import LIMIT_SLACK
from edrp.explanations.placement import load_margins
from edrp.placement.changes import Change
from edrp.placement.deployment import Action, Deployment, DeploymentLike
from edrp.placement.over_time import Load
from edrp.placement.sequence import EdrpSequence, EdrpSequenceSolution, Period
from edrp.report.formatting import clock_text
from edrp.report.tables import Table

MAX_EVALUATIONS = 200_000
"""Deployments in periods, and changes between deployments, that are evaluated; about half a minute."""

Course = tuple[Deployment, ...]
"""The deployment of each period."""


class CoursePool:
    """All courses that use only some deployments, and the least cost of some of them.

    Parameters
    ----------
    deployments
        Which may be used; of courses that cost the same, those of the first deployments are taken. The initial deployment of
        the problem is one of them in any case.

    Raises
    ------
    ProblemTooLargeError
        When there are too many deployments and periods.

    Examples
    --------
    >>> queue = {"model": "mm1", "service_rate": 10.0}
    >>> problem = EdrpSequence(
    ...     application={"operators": [{"name": "work", "latency": queue, "external_rate": 5.0, "cost": 1.0, "max_replicas": 2}]},
    ...     network={"nodes": [{"name": "a"}]},
    ...     weights={"cost": 1.0},
    ...     limits={"cost": 4.0, "response_time": 0.5},
    ...     periods=[{"duration": 3600, "external_rates": {"work": rate}} for rate in (5.0, 15.0, 5.0)],
    ...     changes={"started_replicas": 100.0},
    ... )
    >>> one, two = Deployment({"work": ["a"]}), Deployment({"work": ["a", "a"]})
    >>> pool = CoursePool(problem, [one, two])
    >>> pool.best(), pool.joined((one, two, one), 1)
    (3700.0, (Deployment({'work': ('a', 'a')}), 800.0, (0, 2)))
    """

    def __init__(self, problem: EdrpSequence, deployments: Iterable[Deployment]) -> None:
        known = dict.fromkeys(deployments)
        if problem.initial is not None:
            known[problem.initial] = None
        self.problem, self.deployments = problem, tuple(known)
        count, periods = len(self.deployments), len(problem.periods)
        if count * (periods + count) > MAX_EVALUATIONS:
            why = f"{count:,} deployments over {periods:,} periods are too many to be compared"
            raise ProblemTooLargeError(f"{why}; explain a shorter sequence")
        self._start = None if problem.initial is None else self.deployments.index(problem.initial)
        self._rates: dict[str, Floats] = {}
        self._limited: dict[float, Floats] = {}
        self._prices, self._downtimes = self._changes()
        self.costs: Floats = np.array([self.cost(number, period) for number, period in enumerate(problem.periods)])
        # Least cost of all that comes before a period's own cost, and of all that comes after it.
        arrive, leave = np.zeros_like(self.costs), np.zeros_like(self.costs)
        if self._start is not None:
            arrive[0] = self._steps(0)[self._start]
        for t in range(1, len(arrive)):
            arrive[t] = ((arrive[t - 1] + self.costs[t - 1])[:, None] + self._steps(t)).min(axis=0)
        for t in range(len(leave) - 2, -1, -1):
            leave[t] = (self._steps(t + 1) + self.costs[t + 1] + leave[t + 1]).min(axis=1)
        self._arrive, self._leave = arrive, leave

    def cost(self, number: int, load: Load) -> Floats:
        """Cost of each deployment in a period under a load in seconds, shape (deployments,); infinite where it breaks limits."""
        key = load.model_dump_json(exclude={"duration"})
        if key not in self._rates:
            loaded = self.problem.under(load, None)
            found = [loaded.problem.evaluate(deployment) for deployment in self.deployments]
            self._rates[key] = np.array([loaded.factor * e.objective if e.feasible else np.inf for e in found])
        return self.problem.periods[number].duration * self._rates[key]

    def best(self) -> float:
        """Least objective of all courses; infinite where none is feasible."""
        return float(np.min(self._arrive[-1] + self.costs[-1]))

    def best_course(self) -> Course | None:
        """The course with that objective, or None."""
        values = self._arrive[-1] + self.costs[-1]
        chosen = [int(np.argmin(values))]
        if not np.isfinite(values[chosen[0]]):
            return None
        for t in range(len(self.costs) - 1, 0, -1):
            chosen.append(int(np.argmin(self._arrive[t - 1] + self.costs[t - 1] + self._steps(t)[:, chosen[-1]])))
        return tuple(self.deployments[index] for index in reversed(chosen))

    def with_cost(self, number: int, costs: Floats) -> float:
        """Least objective of all courses if the deployments cost this in one period."""
        return float(np.min(self._arrive[number] + costs + self._leave[number]))

    def joined(self, course: Course, number: int) -> tuple[Deployment | None, float, tuple[int, int]]:
        """The best single deployment from the change before that of a period until the one after it; the rest stays as it is.

        Before the change of the first period it is the initial deployment.

        Returns
        -------
        tuple
            The deployment, or None where none is feasible; by how many seconds the course is better, infinite where none is
            feasible and not a number where the course itself is not; the periods, the last one excluded.
        """
        index = {deployment: position for position, deployment in enumerate(self.deployments)}
        chosen = [index[deployment] for deployment in course]
        first, end = number, number
        while first > 0 and chosen[first - 1] == chosen[number - 1]:
            first -= 1
        while end < len(chosen) and chosen[end] == chosen[number]:
            end += 1
        values = self.costs[first:end].sum(axis=0)
        own = sum(self.costs[t, chosen[t]] for t in range(first, end))
        before = chosen[first - 1] if first else self._start
        for t in range(first, min(end + 1, len(chosen))):
            source = chosen[t - 1] if t else self._start
            own += 0.0 if source is None else self._steps(t)[source, chosen[t]]
        if before is not None:
            values = values + self._steps(first)[before]
        if end < len(chosen):
            values = values + self._steps(end)[:, chosen[end]]
        if number == 0:
            values = np.where(np.arange(len(values)) == self._start, values, np.inf)
        best = int(np.argmin(values))
        if not np.isfinite(own):
            return None, np.nan, (first, end)
        joined = self.deployments[best] if np.isfinite(values[best]) else None
        return joined, float(values[best] - own), (first, end)

    def _steps(self, number: int) -> Floats:
        """Prices of the changes at the beginning of a period; infinite where downtime exceeds its limit."""
        limits = self.problem.periods[number].limits or self.problem.limits
        limit = np.inf if limits.downtime is None else limits.downtime
        if limit not in self._limited:
            self._limited[limit] = np.where(self._downtimes > limit * (1 + LIMIT_SLACK), np.inf, self._prices)
        return self._limited[limit]

    def _changes(self) -> tuple[Floats, Floats]:
        """Prices and downtimes of changes from each deployment to each other one."""
        count = len(self.deployments)
        prices, downtimes = np.zeros((count, count)), np.zeros((count, count))
        for source, before in enumerate(self.deployments):
            loaded = self.problem.period(0, before)
            for target, after in enumerate(self.deployments):
                change = self.problem.change(loaded, after)
                if change is not None:
                    prices[source, target], downtimes[source, target] = self.problem.changes.of(change), change.downtime
        return prices, downtimes


COMPARISON_WORK = 10.0
"""Units of work for each rival of a course, where nothing else is asked for."""

MORE_LOAD = 1.01
"""Load relative to that of a period by which the period's weight is found."""

RIVALS = {"static-deployment": "one deployment for all periods", "myopic": "the best deployment of each period"}
"""Methods that a course is compared with, and what they do in words."""


@dataclass(frozen=True, slots=True)
class PeriodExplanation:
    """A period of the course.

    Attributes
    ----------
    begin, duration : in seconds.
    replicas : of all operators.
    cost, change_cost : of the period, and of the change at its beginning, in seconds.
    tightest : the limit or the capacity of an operator of which most is used; None where nothing is limited.
    more_load : seconds that the best course of the deployments looked at costs more if the period had 1 % more load; infinite
        where none of them would be feasible.
    """

    number: int
    begin: float
    duration: float
    replicas: int
    cost: float
    change_cost: float
    tightest: Margin | None
    more_load: float


@dataclass(frozen=True, slots=True)
class ChangeExplanation:
    """A change of the course.

    Attributes
    ----------
    period : that begins with it.
    begin : seconds from the beginning of the first period.
    actions, change : what it does.
    prices : what it costs in seconds, by the field of `ChangePrices`.
    span : periods from the change before to the one after, the last one excluded.
    instead : the best single deployment for all of them, of the deployments looked at; None where none is feasible.
    saved : seconds by which the course is better than with that one, the prices of its changes included; infinite where none is
        feasible, None where the course itself is not.
    needed : what would break without the change; empty where something else is feasible.
    """

    period: int
    begin: float
    actions: tuple[Action, ...]
    change: Change
    prices: Mapping[str, float]
    span: tuple[int, int]
    instead: Deployment | None
    saved: float | None
    needed: str

    @property
    def cost(self) -> float:
        """All its prices in seconds."""
        return math.fsum(self.prices.values())


@dataclass(frozen=True, slots=True)
class Rival:
    """Another way to decide, and what it costs.

    Attributes
    ----------
    method, what : its name, and what it does in words.
    objective, changing : of the whole, and of its changes, in seconds; None where it found nothing.
    course : its deployments, or None.
    bound : proven for any course, changes being free; None where it proved nothing.
    note : what it says itself.
    """

    method: str
    what: str
    objective: float | None
    changing: float | None
    course: Course | None
    bound: float | None
    note: str


@dataclass(frozen=True, slots=True)
class SequenceExplanation(ShownInNotebooks):
    """The explanation of deployments over periods.

    Attributes
    ----------
    course, evaluation : what is explained; None where there is none.
    periods, changes : each period, and each change.
    rivals : one deployment for all periods, and the best deployment of each period.
    free_bound : proven: nothing costs less even if changes are free; None where a period has no bound.
    bound : proven: nothing costs less; the better of that and the one of the solution.
    better : the best course of all deployments looked at, where it is better than the explained one, and its objective.
    clashes, remedies : why nothing is feasible, and what changes that, in words.
    """

    course: Course | None
    evaluation: Evaluation | None
    periods: tuple[PeriodExplanation, ...]
    changes: tuple[ChangeExplanation, ...]
    rivals: tuple[Rival, ...]
    free_bound: float | None
    bound: float | None
    better: tuple[Course, float] | None
    clashes: tuple[str, ...]
    remedies: tuple[str, ...] = ()

    @property
    def busiest(self) -> PeriodExplanation:
        """The one of the periods with most replicas that uses most of a limit."""
        return max(self.periods, key=lambda period: (period.replicas, period.tightest.used if period.tightest else 0.0))

    @property
    def weightiest(self) -> PeriodExplanation:
        """The period in which 1 % more load costs most."""
        return max(self.periods, key=lambda period: period.more_load)

    @property
    def closed(self) -> float | None:
        """Share of the room from the better rival down to the bound that the course closes; None without a rival or bound."""
        known = [rival.objective for rival in self.rivals if rival.objective is not None]
        if self.evaluation is None or self.bound is None or not known or min(known) <= self.bound:
            return None
        return (min(known) - self.evaluation.objective) / (min(known) - self.bound)


def explain_sequence(
    problem: EdrpSequence,
    answer: EdrpSequenceSolution | Sequence[DeploymentLike],
    *,
    work_limit: float = COMPARISON_WORK,
) -> SequenceExplanation:
    """Take the deployments of all periods apart.

    Parameters
    ----------
    answer
        A solution, or the deployment of each period.
    work_limit
        Units of work for each of two rivals, whose deployments are looked at, too; the rest is evaluation.

    Raises
    ------
    InvalidInstanceError
        When the deployments do not fit the problem.
    ProblemTooLargeError
        When there are too many deployments and periods to be compared.

    Examples
    --------
    >>> import edrp
    >>> problem = edrp.load("examples/day.json")
    >>> night = {"source": ["edge"], "count": ["cloud"] * 2, "join": ["cloud"]}
    >>> day = {"source": ["edge"], "count": ["cloud"] * 3, "join": ["cloud"] * 2}
    >>> explanation = explain_sequence(problem, [night, day, day, day, day, night])
    >>> [(change.period, change.cost) for change in explanation.changes]
    [(1, 1200.0), (5, 600.0)]
    >>> explanation.busiest.number, explanation.changes[0].needed
    (4, '')
    """
    check_arguments("edrp.explain", problem=problem, work_limit=work_limit)
    solution = answer if isinstance(answer, EdrpSequenceSolution) else None
    decision = solution.decision if solution is not None else answer
    if decision is None:
        why = () if solution is None else (solution.clashes, solution.remedies)
        return SequenceExplanation(None, None, (), (), (), None, None, None, *(why or ((), ())))
    course: Course = problem.read_decision(decision, "deployments")
    evaluation = problem.evaluate(course)
    rivals = tuple(_rival(problem, method, work_limit) for method in RIVALS)
    pool = CoursePool(problem, [*course, *(deployment for rival in rivals for deployment in rival.course or ())])
    free = max((rival.bound for rival in rivals if rival.bound is not None), default=None)
    proven = [bound for bound in (free, solution.bound if solution is not None else None) if bound is not None]
    begins = (0.0, *accumulate(period.duration for period in problem.periods))
    return SequenceExplanation(
        course=course,
        evaluation=evaluation,
        periods=tuple(_periods(problem, course, pool, begins)),
        changes=tuple(_changes(problem, course, pool, begins)),
        rivals=rivals,
        free_bound=free,
        bound=max(proven, default=None),
        better=_better(evaluation, pool),
        clashes=(),
    )


def _rival(problem: EdrpSequence, method: str, units: float) -> Rival:
    found: EdrpSequenceSolution = solve(problem, method, work_limit=units)
    note = "" if found.objective is not None else "; ".join(found.notes)
    return Rival(method, RIVALS[method], found.objective, found.metrics.get("changing"), found.decision, found.bound, note)


def _better(evaluation: Evaluation, pool: CoursePool) -> tuple[Course, float] | None:
    course, objective = pool.best_course(), pool.best()
    worse = not evaluation.feasible or objective < evaluation.objective - resolution(evaluation.objective)
    return (course, objective) if course is not None and worse else None


def _periods(problem: EdrpSequence, course: Course, pool: CoursePool, begins: Sequence[float]) -> Iterator[PeriodExplanation]:
    best = pool.best()
    for number, (period, outcome) in enumerate(zip(problem.periods, problem.outcomes(course), strict=True)):
        after = course[number]
        loaded = problem.period(number).problem
        margins = (*loaded.limit_margins(loaded.evaluate(after).metrics), *load_margins(loaded, after))
        raised = pool.with_cost(number, pool.cost(number, more_load(problem, number, MORE_LOAD)))
        yield PeriodExplanation(
            number,
            begins[number],
            period.duration,
            sum(after.degree(name) for name in after),
            outcome.cost,
            outcome.change_cost,
            max(margins, key=lambda margin: margin.used, default=None),
            raised - best if math.isfinite(raised) else math.inf,
        )


def more_load(problem: EdrpSequence, number: int, factor: float) -> Period:
    """A period with `factor` times the load."""
    operators = problem.period(number).problem.application.operators
    rates = {operator.name: factor * operator.external_rate for operator in operators if operator.external_rate}
    return problem.periods[number].model_copy(update={"external_rates": rates})


def _changes(problem: EdrpSequence, course: Course, pool: CoursePool, begins: Sequence[float]) -> Iterator[ChangeExplanation]:
    for number, (before, after) in enumerate(zip((problem.initial, *course), course, strict=False)):
        change = None if before in (None, after) else problem.change(problem.period(number, before), after)
        if before is None or change is None:
            continue
        instead, saved, span = pool.joined(course, number)
        yield ChangeExplanation(
            period=number,
            begin=begins[number],
            actions=before.actions_to(after),
            change=change,
            prices=problem.changes.parts(change),
            span=span,
            instead=instead,
            saved=None if math.isnan(saved) else saved,
            needed=_why_needed(problem, course, number, span) if saved == math.inf else "",
        )


def _why_needed(problem: EdrpSequence, course: Course, number: int, span: tuple[int, int]) -> str:
    """The limits that break if the deployment before stays until the next change, or the next one runs from the last change."""
    first, end = span
    before = course[number - 1] if number else problem.initial
    assert before is not None
    tried = [("to keep what ran before", (*course[:number], *(before,) * (end - number), *course[end:]))]
    if first < number:
        tried.append(("to change earlier", (*course[:first], *(course[number],) * (end - first), *course[end:])))
    known = ((what, problem.evaluate(other).broken) for what, other in tried)
    return "; ".join(f"{what} would break {broken[0]}" for what, broken in known if broken)


def difference(course: Course, other: Course) -> str:
    """How another course differs, in words.

    >>> one, two = Deployment({"work": ["a"]}), Deployment({"work": ["a", "a"]})
    >>> difference((one, two, two, one), (one, one, one, one)), difference((one, one), (one, two))
    ('periods 1–2 as in period 0', 'period 1 with work: +1 on a')
    """
    parts = []
    for (differs, deployment), run in groupby(range(len(course)), key=lambda t: (course[t] != other[t], other[t])):
        numbers = list(run)
        if not differs:
            continue
        first, last = numbers[0], numbers[-1]
        span = f"period {first}" if first == last else f"periods {first}–{last}"
        alike = [t for t, known in enumerate(course) if known == deployment]
        if alike:
            parts.append(f"{span} as in period {min(alike, key=lambda t: (min(abs(t - first), abs(t - last)), t))}")
        else:
            parts.append(f"{span} with {', '.join(map(str, course[first].actions_to(deployment)))}")
    return "; ".join(parts)


MAX_ROWS = 40
"""Periods and changes of a table."""

THESE = "these"
"""Name of the deployments that are explained."""


def rival_table(explanation: SequenceExplanation) -> Table:
    """The objective next to that of one deployment for all periods, of the best one of each period, and to bounds."""
    evaluation = explanation.evaluation
    assert evaluation is not None
    own = evaluation.objective

    def row(name: str, what: str, objective: float | None, changing: float | None) -> tuple[str, ...]:
        against = f"{100 * (objective - own) / own:+.2f} %" if own and objective is not None and name != THESE else ""
        return (name, what, *("" if value is None else f"{value:.6g}" for value in (objective, changing)), against)

    rows = [row(THESE, "", own, evaluation.metrics["changing"])]
    rows += [row(rival.method, rival.what, rival.objective, rival.changing) for rival in explanation.rivals]
    if explanation.free_bound is not None:
        rows.append(row("bound", "proven, even if changes were free", explanation.free_bound, None))
    if explanation.bound is not None and explanation.bound != explanation.free_bound:
        rows.append(row("bound", "proven", explanation.bound, None))
    columns = ("deployments", "what", "objective (s)", "changes (s)", "against these")
    return Table(f"Objective {own:.9g} s", columns, tuple(rows), columns[2:])


def deciding_sentences(explanation: SequenceExplanation) -> Iterator[str]:
    """The period with most replicas, and the one in which more load costs most."""
    busiest, weightiest = explanation.busiest, explanation.weightiest
    tightest = busiest.tightest
    limit = "" if tightest is None else f"; {tightest.name} is {100 * tightest.used:.3g} % used there"
    yield f"Most replicas: {numbered(busiest.replicas, 'replica')} in {_named(busiest)}{limit}."
    if math.isfinite(weightiest.more_load):
        yield f"Period that weighs most: 1 % more load in {_named(weightiest)} costs {weightiest.more_load:.6g} s more."
    else:
        broken = [period for period in explanation.periods if math.isinf(period.more_load)]
        others = "" if len(broken) == 1 else f", and so in {numbered(len(broken) - 1, 'other')}"
        yield f"Period that decides: with 1 % more load in {_named(broken[0])} none of these deployments is feasible{others}."


def _named(period: PeriodExplanation) -> str:
    return f"period {period.number} ({clock_text(period.begin)}–{clock_text(period.begin + period.duration)})"


def period_table(periods: Sequence[PeriodExplanation]) -> Table:
    """Every period with its replicas, its cost, the limit that is used most, and the weight of its load."""
    rows = [
        (
            str(period.number),
            clock_text(period.begin),
            str(period.replicas),
            f"{period.cost:.6g}",
            "" if period.tightest is None else period.tightest.name,
            "" if period.tightest is None else f"{100 * period.tightest.used:.1f} %",
            f"{period.more_load:+.6g}" if math.isfinite(period.more_load) else "infeasible",
        )
        for period in periods[:MAX_ROWS]
    ]
    columns = ("period", "begins", "replicas", "cost (s)", "tightest", "used", "1 % more load (s)")
    caption = _cut("Periods", len(rows), len(periods))
    return Table(caption, columns, tuple(rows), (*columns[1:4], *columns[5:]))


def change_table(explanation: SequenceExplanation) -> Table:
    """Every change with its prices, and the objective without it."""
    names = {"change": "any change", "downtime": "downtime", "moved_state": "moved state", "started_replicas": "started"}
    paid = [name for name in names if any(change.prices[name] for change in explanation.changes)]
    rows = [
        (
            str(change.period),
            clock_text(change.begin),
            "; ".join(map(str, change.actions)),
            *(f"{change.prices[name]:.6g}" for name in paid),
            f"{change.cost:.6g}",
            "" if change.saved is None else f"{change.saved:+.6g}" if math.isfinite(change.saved) else "infeasible",
        )
        for change in explanation.changes[:MAX_ROWS]
    ]
    columns = ("period", "begins", "change", *(names[name] for name in paid), "costs (s)", "without it (s)")
    caption = _cut("Changes", len(rows), len(explanation.changes))
    return Table(caption, columns, tuple(rows), (columns[1], *columns[3:]))


def _cut(caption: str, shown: int, count: int) -> str:
    return caption if shown == count else f"{caption}, the first {shown} of {count}"


def worth(change: ChangeExplanation) -> str:
    """Cost and saving of a change, in a sentence."""
    first, end = change.span
    periods = f"period {first}" if end == first + 1 else f"periods {first}–{end - 1}"
    if change.saved is None:
        return f"costs {change.cost:.6g} s"
    if change.instead is None:
        return f"costs {change.cost:.6g} s; needed: {change.needed or f'no deployment looked at is feasible in all of {periods}'}"
    if change.saved < 0:
        return (
            f"does not pay: it costs {change.cost:.6g} s, and a single deployment in {periods} is {-change.saved:.6g} s cheaper"
        )
    return f"costs {change.cost:.6g} s; the best single deployment in {periods} would cost {change.saved:.6g} s more"


def better_sentence(explanation: SequenceExplanation) -> str:
    """Where a course of the deployments looked at is better, how it differs; otherwise empty."""
    if explanation.better is None or explanation.course is None or explanation.evaluation is None:
        return ""
    course, objective = explanation.better
    lower = f"{objective - explanation.evaluation.objective:+.6g} s"
    which = "Not optimal: another course" if explanation.evaluation.feasible else "A course within all limits"
    return f"{which} has objective {objective:.9g} s, {lower}: {difference(explanation.course, course)}"
