"""Lexicographic objectives: stages that minimise one thing after the other, each within a slack of those before.

Every stage is the same problem with another objective and a limit more, solved by the same method and checked like any answer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from edrp.core.errors import VerificationError
from edrp.core.methods import Options
from edrp.core.problem import Evaluation, derived_once
from edrp.core.solution import Answer, StageOutcome, StoppedBecause, relative_gap, within_gap
from edrp.core.whole_numbers import round_up

ROUNDED = "the values of {} are whole multiples of {:g}: its bound {:.12g} is rounded up"
"""Note of a stage that is proven by that."""

SMALL = 0.1
"""Objective of a stage below which it is solved again where only a far limit was known: tolerances are absolute there."""


@dataclass(frozen=True, slots=True)
class Stage:
    """A problem whose objective is that of one stage, with the limits that earlier stages have set.

    Attributes
    ----------
    metric
        Metric that is minimised; "objective" for the weighted sum, which comes last.
    problem
        To be solved.
    value
        Converts an objective of it to the metric's own unit.
    limit
        Limit of later stages where an objective was reached, in the metric's own unit; None where none follows.
    objective_factor
        Objective of the whole problem per unit of the stage's; None where it is not the last.
    step
        Of which every objective is a whole multiple, so that bounds are rounded up; None where there is none.
    """

    metric: str
    problem: Any
    value: Callable[[float], float]
    limit: Callable[[float], float] | None
    objective_factor: float | None
    step: float | None = None


Solver = Callable[[Any, Options], tuple[Answer, Evaluation | None]]
"""Gives the answer to the problem of a stage, and its evaluation once it is checked."""


def solve_in_stages(problem: Any, options: Options, solver: Solver) -> Answer:
    """Solve one stage after the other; optimal where every stage is proven.

    `problem.stage(done, decision)` gives the stage after those that are done; the decision is feasible and within their limits.
    Each stage gets an equal share of the time that remains, and starts from the decision of the one before. The bound of the
    answer is that of the last stage: nothing within the limits that earlier ones have set is better.

    Raises
    ------
    VerificationError
        A method finds a stage infeasible whose start is feasible: a defect.
    """
    decision = options.start if options.start is not None and problem.evaluate(options.start).feasible else None
    done: list[StageOutcome] = []
    notes: dict[str, None] = {}
    answer, build_seconds = Answer("none", "finished"), 0.0
    reasons: list[StoppedBecause] = []
    while len(done) < problem.stage_count and answer.stopped_because != "interrupted":
        began = options.seconds
        own = options.within(options.remaining / (problem.stage_count - len(done)))
        stage, answer = _solved(problem, done, decision, own, solver)
        answer = _with_whole_bound(stage, answer, options.gap)
        build_seconds += answer.build_seconds
        reasons += [answer.stopped_because] if answer.stopped_because != "finished" else []
        notes |= dict.fromkeys(answer.notes)
        if answer.decision is None:
            if done and answer.status == "infeasible":
                raise VerificationError(f"stage {stage.metric}: claimed infeasible, but its start is feasible", answer, None)
            return replace(answer, bound=None, stages=tuple(done)).resting_on(answer.proof)
        decision = answer.decision
        done.append(_outcome(stage, answer, options.seconds - began))
    answer = replace(answer, stopped_because=next(iter(reasons), "finished"), notes=tuple(notes), build_seconds=build_seconds)
    return _whole(problem, answer, stage, done)


def _solved(problem: Any, done: Sequence[StageOutcome], decision: Any, options: Options, solver: Solver) -> tuple[Stage, Answer]:
    """The next stage and its answer, with the objective as evaluated; once again where its limit was far from the answer."""
    for _ in range(2):
        stage = problem.stage(done, decision)
        with derived_once(stage.problem):
            answer, evaluation = solver(stage.problem, replace(options, start=decision, progress=None))
        if evaluation is None:
            return stage, answer
        answer = replace(answer, objective=evaluation.objective)
        known, decision = decision is not None, answer.decision
        if known or stage.step is not None or evaluation.objective >= SMALL or answer.stopped_because != "finished":
            break
    return stage, answer


def _with_whole_bound(stage: Stage, answer: Answer, gap: float) -> Answer:
    """The answer with its bound rounded up to the next possible value; optimal where its decision reaches that."""
    if stage.step is None or answer.bound is None or answer.objective is None:
        return answer
    bound = max(answer.bound, min(round_up(answer.bound, stage.step), answer.objective))
    if answer.status == "optimal" or not within_gap(answer.objective, bound, gap):
        return replace(answer, bound=bound)
    note = ROUNDED.format(stage.metric, stage.step, answer.bound)
    return replace(answer, status="optimal", stopped_because="finished", bound=bound, notes=(*answer.notes, note))


def _outcome(stage: Stage, answer: Answer, seconds: float) -> StageOutcome:
    assert answer.objective is not None
    bound = None if answer.bound is None else min(answer.bound, answer.objective)
    return StageOutcome(
        metric=stage.metric,
        value=stage.value(answer.objective),
        bound=None if bound is None else stage.value(bound),
        gap=None if bound is None else relative_gap(answer.objective, bound),
        proven=answer.status == "optimal",
        limit=None if stage.limit is None else stage.limit(answer.objective),
        method=answer.method or "given",
        proof=answer.basis,
        seconds=seconds,
    )


def _whole(problem: Any, answer: Answer, last: Stage, done: list[StageOutcome]) -> Answer:
    """The answer to the whole problem that the last one of its stages makes."""
    finished = len(done) == problem.stage_count
    proven = finished and all(outcome.proven for outcome in done)
    bound = answer.bound if finished and last.objective_factor is not None else None
    whole = replace(
        answer,
        status="optimal" if proven else "feasible",
        objective=None,
        bound=None if bound is None or last.objective_factor is None else last.objective_factor * bound,
        stages=tuple(done),
    )
    return whole.resting_on(answer.proof)
