"""Several methods on one problem, one after the other: each goes on from the best decision and the best bound before it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from math import inf
from operator import attrgetter
from typing import Any, NamedTuple

from edrp.core.combining import PROVEN, combined, value
from edrp.core.errors import EdrpError, ProblemTooLargeError
from edrp.core.methods import FirstOf, Method, Options, find_method, get_method, run_within
from edrp.core.problem import EVERYTHING
from edrp.core.solution import Answer


class PortfolioStage(NamedTuple):
    """One stage of a portfolio: a method with its share of the time.

    Attributes
    ----------
    method : takes the problem.
    share : of the work left that it gets, where there is a limit; 0 if it has a turn then only when all others have ended.
    units : of work that it gets where there is none; infinite for as long as it takes, 0 if it has no turn then.
    max_units : of work that it gets at most under a limit.
    """

    method: Method
    share: float
    units: float = inf
    max_units: float = inf


Stages = tuple[PortfolioStage, ...]

SPARE_SHARE = 0.1
"""Share of a limit that methods must leave for those without a share to begin."""


class Portfolio(Method):
    """Runs methods in turn until one of them proves its answer or the limit has passed.

    Parameters
    ----------
    stages
        In their order. The last one of all has all the work that is left.
    rules
        Methods that take milliseconds, by preference. Under a limit the first one is asked before all others, and its answer is
        kept for when they have none, or a worse one. The others are asked at the end, where nothing is held.
    further
        Makes the stages that follow, which takes as long as some problems do: only when the first ones have not ended the run.
    rule_first
        Whether the first rule is asked before all others; not where these have an answer as soon.
    """

    name = "portfolio"
    takes = EVERYTHING
    summary = "several methods in turn"

    def __init__(
        self,
        stages: Sequence[PortfolioStage],
        rules: Sequence[Method] = (),
        further: Callable[[], Stages] | None = None,
        *,
        rule_first: bool = True,
    ) -> None:
        self.first, self.rules, self.further, self.rule_first = tuple(stages), tuple(rules), further, rule_first
        self.exact = any(stage.method.exact for stage in stages)

    @cached_property
    def stages(self) -> Stages:
        """All stages in their order."""
        return self.first if self.further is None else (*self.first, *self.further())

    @property
    def kinds(self) -> tuple[str, ...]:
        """Kinds of problems that the methods of the portfolio take."""
        return self.first[0].method.kinds

    def run(self, problem: Any, options: Options) -> Answer:
        """The best of all answers, with the best of all bounds.

        Raises
        ------
        ProblemTooLargeError
            The first one of a method, where no other method has anything to say.
        """
        refused: list[ProblemTooLargeError] = []
        known_answer = self._first_rule(problem, options)
        answer = self._in_turn(problem, options, refused)
        worse = known_answer is not None and (answer.decision is None or value(known_answer) < value(answer))
        if known_answer is not None and worse and answer.status not in PROVEN:
            answer = combined(known_answer, answer, options.gap)
        for rule in self.rules:
            if answer.status in PROVEN or answer.decision is not None or answer.stopped_because == "interrupted":
                break
            if (ruled := _answer_of_rule(rule, problem, options)) is not None:
                answer = combined(ruled, answer, options.gap)
        if refused and answer.status == "none" and answer.bound is None:
            raise refused[0]
        return answer

    def _in_turn(self, problem: Any, options: Options, refused: list[ProblemTooLargeError]) -> Answer:
        best: Answer | None = None
        for stage, last in self._turns(options):
            units = options.remaining
            if not last:
                units = stage.units if options.limit == inf else min(stage.share * units, stage.max_units)
            try:
                turn = replace(_continued(options, units, best), whole_limit=last and options.whole_limit)
                answer = _turn_taken(stage.method, problem, turn)
            except ProblemTooLargeError as error:
                refused.append(error)
                answer = Answer("none", "error", method=stage.method.name, notes=(f"{stage.method.name}: {error}",))
            best = answer if best is None else combined(best, answer, options.gap)
            if best.status in PROVEN or best.stopped_because == "interrupted" or options.remaining <= 0:
                break
        assert best is not None
        return best

    def _turns(self, options: Options) -> Iterator[tuple[PortfolioStage, bool]]:
        """Stages in turn, and whether they have all that is left.

        Those without a share under a limit come last, for methods that end early, as where memory cannot hold what they make.
        """
        limited = options.limit < inf
        has_turn = attrgetter("share" if limited else "units")
        if self.further is not None:
            yield from ((stage, False) for stage in filter(has_turn, self.first))
        begun = 0 if self.further is None else len(self.first)
        turns = list(filter(has_turn, self.stages[begun:]))
        yield from ((stage, stage is turns[-1]) for stage in turns)
        if limited:
            names = {stage.method.name for stage in self.stages if stage.share and stage.max_units == inf}
            others = [stage for stage in self.stages if stage.method.name not in names]
            yield from ((stage, True) for stage in others if options.remaining > SPARE_SHARE * options.limit)

    def _first_rule(self, problem: Any, options: Options) -> Answer | None:
        """The answer of the first rule, unless it has the first turn anyway or there is no hurry."""
        known = self.rules and self.rules[0].name == self.first[0].method.name
        if options.limit == inf or not self.rules or known or not self.rule_first:
            return None
        # Others go on from what they were given: nobody is told of an answer that may be worse than the first of theirs.
        return _answer_of_rule(self.rules[0], problem, replace(options, progress=None))


PROGRAM_FIRST = 2_000
"""Columns below which HiGHS has the first turn."""

FIRST_TURN, FIRST_SHARE = 1.0, 0.2
"""Units of work of that turn at most, and its share of a limit; half of 46 deployments of the suites are proven within it."""


def program_first(problem: Any, columns: float) -> list[PortfolioStage]:
    """A short turn of HiGHS where the program has few columns and takes the problem."""
    if columns >= PROGRAM_FIRST or (highs := get_method("highs", problem.kind)).refusal(problem) is not None:
        return []
    return [PortfolioStage(highs, FIRST_SHARE, FIRST_TURN, FIRST_TURN)]


def helped_out(problem: Any, method: Method, *rules: Method, columns: float = inf, rule_first: bool = True) -> Method:
    """A method, which takes the problem; under a limit others answer where it has no answer in time.

    These are rules, and HiGHS where the method ends early. It also has the first turn if its program has few columns.
    """
    stages = [PortfolioStage(method, 1.0)]
    if method.name == "highs":
        return Portfolio(stages, rules, rule_first=rule_first)

    def substitute() -> Stages:
        highs = find_method("highs")
        takes = highs is not None and problem.kind in highs.kinds and highs.refusal(problem) is None
        return (PortfolioStage(highs, 0.0, 0.0),) if highs is not None and takes else ()

    first = [*program_first(problem, columns), *stages]
    return Portfolio(first, rules, substitute, rule_first=rule_first and columns >= PROGRAM_FIRST)


class HelpedOut(FirstOf):
    """Chooses the first of some methods that takes a problem, and HiGHS for when it ends early."""

    def __call__(self, problem: Any) -> Method:
        """The method with its substitute."""
        return helped_out(problem, FirstOf.__call__(self, problem))


def _answer_of_rule(rule: Method, problem: Any, options: Options) -> Answer | None:
    """The answer of a rule; None where it refuses."""
    with suppress(EdrpError):
        if rule.refusal(problem) is None:
            return _turn_taken(rule, problem, _continued(options, options.remaining, None))
    return None


def _turn_taken(method: Method, problem: Any, options: Options) -> Answer:
    """Run one method and return its answer."""
    answer = run_within(method, problem, options)
    return replace(answer, method=answer.method or method.name)


def _continued(options: Options, units: float, previous: Answer | None) -> Options:
    """Options for a method that goes on from what is held; progress is told in the seconds, and with the best, of the whole."""
    report = options.progress
    start = options.start if previous is None or previous.decision is None else previous.decision
    so_far = previous or Answer("none", "finished")

    def progress(_: float, incumbent: float | None, bound: float | None) -> None:
        if report is not None:
            incumbents, bounds = _known(incumbent, so_far.objective), _known(bound, so_far.bound)
            report(options.seconds, min(incumbents, default=None), max(bounds, default=None))

    return replace(options.within(units), start=start, progress=None if report is None else progress)


def _known(*values: float | None) -> list[float]:
    return [value for value in values if value is not None]
