"""Several methods on one problem, one after the other: each goes on from the best decision and the best bound before it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, NamedTuple

from edrp.core.budget import KernelNotCompiledError, deadline, now
from edrp.core.compiling import STILL_COMPILING, better_answer, run_while_compiling
from edrp.core.errors import EdrpError, OutOfTimeError
from edrp.core.methods import Method, Options
from edrp.core.solution import Answer

PROVEN = ("optimal", "infeasible", "unbounded")


class Stage(NamedTuple):
    """A method's turn.

    Attributes
    ----------
    method : takes the problem.
    share : of the time left that it gets, where there is a limit; 0 if it has no turn then.
    seconds : that it gets where there is none; infinite for as long as it takes.
    """

    method: Method
    share: float
    seconds: float = float("inf")


class Portfolio(Method):
    """Runs methods in turn until one of them proves its answer or time is up.

    Parameters
    ----------
    stages
        In their order. The last one has all the time that is left.
    without_kernels
        Methods that answer while the kernels of the others are still being compiled, by preference. Under a time limit the first
        one, a rule that takes milliseconds, is asked before all others, and its answer is kept for when they have none: on a busy
        machine time may be up before kernels are as much as loaded.
    """

    name = "portfolio"
    exact = True
    summary = "several methods in turn"

    def __init__(self, stages: Sequence[Stage], without_kernels: Sequence[Method] = ()) -> None:
        self.stages = tuple(stages)
        self.interpreted_first = all(stage.method.interpreted_first for stage in stages)
        self.without_kernels = tuple(without_kernels)

    @property
    def kinds(self) -> tuple[str, ...]:
        """Kinds that its methods take."""
        return self.stages[0].method.kinds

    def run(self, problem: Any, options: Options) -> Answer:
        """The best of all answers, with the best of all bounds."""
        plain = self._first_without_kernels(problem, options)
        try:
            answer = self._in_turn(problem, options)
        except KernelNotCompiledError:
            if plain.decision is None:
                raise  # there is nothing to lose
            return run_while_compiling(self, problem, options, plain)
        if answer.status in PROVEN or answer.decision is not None or answer.stopped_because == "interrupted":
            return answer
        return _ended_as(better_answer(answer, self._without_kernels(problem, options, plain)), answer)

    def _in_turn(self, problem: Any, options: Options) -> Answer:
        held: Answer | None = None
        stages = [stage for stage in self.stages if options.time_limit is None or stage.share]
        for number, stage in enumerate(stages):
            last = number == len(stages) - 1
            seconds = options.remaining if last else _turn(stage, options)
            turn = _continued(options, seconds, held)
            try:
                answer = _turn_taken(stage.method, problem, turn)
            except KernelNotCompiledError:
                if held is None or held.decision is None:
                    raise  # there is nothing to lose
                answer = _named(run_while_compiling(stage.method, problem, turn), stage.method)
            held = answer if held is None else _together(held, answer, options.gap)
            if options.keep is not None:
                options.keep(held)
            if held.status in PROVEN or held.stopped_because == "interrupted" or options.remaining <= 0:
                break
        assert held is not None
        return held

    def run_without_kernels(self, problem: Any, options: Options) -> Answer:
        """The best that methods without kernels have to say; one that needs a kernel after all, or refuses, is left out."""
        return self._without_kernels(problem, options, Answer("none", "time_limit"))

    def _without_kernels(self, problem: Any, options: Options, held: Answer) -> Answer:
        for method in self.without_kernels:
            if held.status in PROVEN or (held.decision is not None and options.remaining <= 0):
                break
            held = better_answer(_without_kernel(method, problem, _continued(options, options.remaining, held)), held)
        return held

    def _first_without_kernels(self, problem: Any, options: Options) -> Answer:
        """The answer of the first method without kernels, unless it has the first turn anyway or there is no hurry."""
        rules = self.without_kernels[:1]
        if options.time_limit is None or not rules or rules[0].name == self.stages[0].method.name:
            return Answer("none", "time_limit")
        # Others go on from what they were given: nobody is told of an answer that may be worse than the first of theirs.
        return _without_kernel(rules[0], problem, replace(options, progress=None))


def _without_kernel(method: Method, problem: Any, options: Options) -> Answer:
    """The answer of a method that should need no kernel; none where it needs one after all, or refuses."""
    with suppress(KernelNotCompiledError, EdrpError):
        if method.refusal(problem) is None:
            return _turn_taken(method, problem, options)
    return Answer("none", "time_limit")


def _turn_taken(method: Method, problem: Any, options: Options) -> Answer:
    """The answer of one method; one that was still preparing when its turn was over has nothing to say."""
    try:
        with deadline(now() + options.remaining):
            answer = method.run(problem, options)
    except OutOfTimeError as error:
        answer = Answer("none", "time_limit", notes=(str(error),))
    return _named(answer, method)


def _named(answer: Answer, method: Method) -> Answer:
    return replace(answer, method=answer.method or method.name)


def _turn(stage: Stage, options: Options) -> float:
    return stage.seconds if options.time_limit is None else stage.share * options.remaining


def _continued(options: Options, seconds: float, held: Answer | None) -> Options:
    """Options for a method that goes on from what is held; progress is told in the time of the whole."""
    before = options.elapsed
    report = options.progress
    start = options.start if held is None or held.decision is None else held.decision

    def progress(elapsed: float, incumbent: float | None, bound: float | None) -> None:
        if report is not None:
            report(before + elapsed, incumbent, bound)

    return replace(options.within(seconds), start=start, progress=None if report is None else progress)


def _together(held: Answer, answer: Answer, gap: float) -> Answer:
    """One answer of two methods; optimal where the bound of one meets the objective of the other."""
    best = _ended_as(better_answer(held, answer), answer)
    if STILL_COMPILING in answer.notes and STILL_COMPILING not in best.notes:
        best = replace(best, notes=(*best.notes, STILL_COMPILING))
    if best.objective is None or best.bound is None or best.status in PROVEN:
        return best
    if best.objective - best.bound > gap * abs(best.objective):
        return best
    return replace(best, status="optimal", stopped_because="finished", bound=min(best.bound, best.objective))


def _ended_as(best: Answer, last: Answer) -> Answer:
    """The best answer, stopped for the reason of the last method: a rule that is through at once did not finish the search."""
    if best.status in PROVEN or last.stopped_because == "error":
        return best
    return replace(best, stopped_because=last.stopped_because)
