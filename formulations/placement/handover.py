"""Handover of what one of the package's own methods leaves open, a gap or rules, to the first program of the kind.

The answer of a search for a proof: optimal where its bound reaches its incumbent, else feasible with a gap.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import wraps
from typing import Any, TypeVar

import numpy as np

from edrp.core.budget import deadline, now
from edrp.core.combining import combined
from edrp.core.errors import OutOfTimeError, ProblemTooLargeError
from edrp.core.methods import Method, Options, run_within
from edrp.core.problem import derived, derived_once
from edrp.core.solution import Answer, Status, StoppedBecause, within_gap
from edrp.formulations.formulation import best_feasible
from edrp.formulations.methods import HIGHS
from edrp.formulations.placement.compact import estimated_columns
from edrp.placement.compilation import compile_problem
from edrp.placement.deployment import Deployment
from edrp.placement.problem import PlacementProblem, StreamPlacement


def answer_with_bound(
    problem: PlacementProblem,
    deployment: Deployment,
    gap: float,
    allowed: float,
    stopped: StoppedBecause,
    size: dict[str, int],
    build_seconds: float,
) -> Answer:
    """The answer that an incumbent and its distance to the bound make.

    Parameters
    ----------
    gap
        Incumbent minus bound, both as the search sees them; below 0 counts as 0.
    allowed
        Relative gap at which the incumbent counts as optimal.
    stopped
        Why the search stopped, if it did not finish.
    """
    objective = problem.evaluate(deployment).objective
    gap = max(0.0, gap)
    proven = within_gap(objective, objective - gap, allowed)
    return Answer(
        status="optimal" if proven else "feasible",
        stopped_because="finished" if proven else stopped,
        decision=deployment,
        objective=objective,
        bound=objective - gap if np.isfinite(gap) else None,
        size=size,
        build_seconds=build_seconds,
    )


def nothing_found(
    stopped: StoppedBecause, bound: float, size: dict[str, int], build_seconds: float = 0.0, worst: float = np.inf
) -> Answer:
    """The answer of a search that holds no decision, and knows of none better than a bound: none at all, if that is the `worst`.

    Without a decision and without a proof that there is none a search has not finished: it has met a limit of its own.

    >>> nothing_found("finished", 2.0, {}).stopped_because
    'iteration_limit'
    """
    if bound >= worst:
        return Answer("infeasible", "finished", size=size, build_seconds=build_seconds)
    known = float(bound) if np.isfinite(bound) else None
    why: StoppedBecause = "iteration_limit" if stopped == "finished" and known is not None else stopped
    return Answer("none", why, bound=known, size=size, build_seconds=build_seconds)


def worked_until_limit(options: Options, work: Callable[[], StoppedBecause]) -> StoppedBecause:
    """Do work that may take as long as the options allow, and say why it ended."""
    stopped: StoppedBecause
    try:
        with deadline(now() + options.remaining):
            stopped = work()
    except OutOfTimeError:
        stopped = "time_limit"
    except KeyboardInterrupt:
        stopped = "interrupted"
    return "time_limit" if stopped == "finished" and options.remaining <= 0 else stopped


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


@derived
def _results_without_rules(problem: PlacementProblem) -> dict[Callable[[Any], Any], Any]:
    """What has been derived from the problem without rules, by function."""
    return {}


@contextmanager
def rules_left_out(problem: PlacementType) -> Iterator[PlacementType]:
    """The problem without rules; what is derived from it inside the block is kept as long as what is derived from the problem."""
    relaxed = without_rules(problem)
    with derived_once(relaxed, _results_without_rules(problem)):
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
