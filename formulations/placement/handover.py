"""Handover of what one of the package's own methods leaves open, a gap or rules, to the first program of the kind."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import wraps
from typing import Any, TypeVar

from edrp.core.combining import combined
from edrp.core.errors import ProblemTooLargeError
from edrp.core.methods import Method, Options, run_within
from edrp.core.problem import derived, derived_once
from edrp.core.solution import Answer, Status, within_gap
from edrp.formulations.formulation import best_feasible
from edrp.formulations.methods import HIGHS
from edrp.formulations.placement.compact import estimated_columns
from edrp.placement.compilation import compile_problem
from edrp.placement.problem import PlacementProblem, StreamPlacement

PlacementType = TypeVar("PlacementType", bound=PlacementProblem)

RULES_LEFT_OUT = "what was proven without the rules is a bound; the program with them took over"

RELAXATION_WORK = 0.002
"""Units of work per column of the program that it waits for a proof without rules, half of the limit at most."""


def finish_by_program(problem: StreamPlacement, answer: Answer, options: Options, name: str, why: str) -> Answer:
    """The answer where it is proven or time is up, else the better one of it and of the program that goes on from it."""
    if answer.status in ("optimal", "infeasible") or answer.stopped_because == "interrupted" or options.remaining <= 0:
        return answer
    whole = run_within(HIGHS, problem, replace(options, start=answer.decision or options.start, parameters={}, program=None))
    both = combined(answer, whole, options.gap)
    method = f"{name}, {HIGHS.name}"
    named = replace(both, size=answer.size, build_seconds=answer.build_seconds, method=method, notes=(why,))
    return named.resting_on(whole.proof)


@derived
def without_rules(problem: PlacementType) -> PlacementType:
    """The problem without rules, besides those that its candidates enforce; the problem itself where there are no others."""
    if not problem.rules or not len(rows := compile_problem(problem).rules):
        return problem
    left_out = {rows.rules[index].name for index in rows.rule}
    return problem.replace(rules=tuple(rule for rule in problem.rules if rule.name not in left_out))


@contextmanager
def rules_left_out(problem: PlacementType) -> Iterator[PlacementType]:
    """The problem without rules, from which results are derived once inside the block."""
    relaxed = without_rules(problem)
    with derived_once(relaxed):
        yield relaxed


def leaving_out_rules(run: Callable[[Any, Any, Options], Answer]) -> Callable[[Any, Any, Options], Answer]:
    """Decorate `run` of a method that knows no rules, for problems that have some.

    The method leaves them out: its bound, and that nothing is feasible, hold with rules, too. Where its optimum meets them, it
    is one with rules; else the program with them takes over.
    """

    @wraps(run)
    def run_with_rules(method: Any, problem: Any, options: Options) -> Answer:
        if without_rules(problem) is problem:
            return run(method, problem, options)
        answer = _as_bound(method, problem, options)
        try:
            return finish_by_program(problem, answer, options, method.name, RULES_LEFT_OUT)
        except ProblemTooLargeError as error:
            return replace(answer, notes=(str(error),))

    return run_with_rules


def _as_bound(method: Method, problem: PlacementProblem, options: Options) -> Answer:
    """Derive bounds of a problem with rules from the answer to that without them, and the best known decision that meets them."""
    report = options.progress
    quiet = None if report is None else lambda seconds, incumbent, bound: report(options.seconds, None, bound)
    patience = RELAXATION_WORK * estimated_columns(compile_problem(problem))
    part = replace(options.within(min(patience, 0.5 * options.remaining)), progress=quiet)
    with rules_left_out(problem) as relaxed:
        answer = run_within(method, relaxed, part)
    if answer.status == "infeasible":
        return answer
    decision = best_feasible(problem, (answer.decision, options.start, problem.current))
    objective = None if decision is None else problem.evaluate(decision).objective
    if objective is not None and answer.bound is not None and within_gap(objective, answer.bound, options.gap):
        bound = min(objective, answer.bound)
        return replace(answer, status="optimal", stopped_because="finished", decision=decision, objective=objective, bound=bound)
    stopped = "iteration_limit" if answer.stopped_because == "finished" else answer.stopped_because
    status: Status = "none" if decision is None else "feasible"
    return replace(answer, status=status, stopped_because=stopped, decision=decision, objective=objective)
