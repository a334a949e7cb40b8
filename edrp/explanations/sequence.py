"""Why deployments over periods are as good as they are: which period decides, what each change costs and saves, and rivals."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby

from edrp.core.arguments import check_arguments
from edrp.core.problem import Evaluation, Margin, ShownInNotebooks
from edrp.core.solution import resolution
from edrp.core.solve import solve
from edrp.explanations.course_pool import Course, CoursePool
from edrp.explanations.margins import load_margins
from edrp.placement.changes import Change
from edrp.placement.deployment import Action, Deployment, DeploymentLike
from edrp.placement.sequence import EdrpSequence, EdrpSequenceSolution, Period

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
    """A period with so many times the load."""
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
