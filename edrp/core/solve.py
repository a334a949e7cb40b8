"""`solve`: run a method on a problem, check its answer independently, explain infeasibility."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from pydantic import BaseModel

from edrp.core.arguments import check_arguments
from edrp.core.budget import Clock, deadline, interruptible, now, running, step_begins
from edrp.core.certificates import CertificateRequest, with_certificate
from edrp.core.claims import contradiction, left_alone, refutation
from edrp.core.combining import PROVEN, combined
from edrp.core.errors import InvalidInstanceError, OutOfTimeError, RefusedError, VerificationError
from edrp.core.kinds import find_kind
from edrp.core.methods import Options, Progress, ResolvedMethod, alternative, find_method, get_method, run_method
from edrp.core.plugins import is_ours
from edrp.core.problem import Evaluation, SolutionType, Solvable, derived_once, warn_caller, warning_texts
from edrp.core.solution import Answer, Infeasibility, Solved, installed_versions, relative_gap, resolution, within_gap
from edrp.core.stages import solve_in_stages
from edrp.core.tolerances import OPTIMALITY_GAP, SAME_VALUE


def checked(problem: Solvable[Any], answer: Answer, gap: float = OPTIMALITY_GAP) -> tuple[Evaluation | None, str]:
    """Evaluate an answer's decision independently and say what contradicts what, or an empty string.

    Parameters
    ----------
    problem
        The problem that was solved.
    answer
        The claims of a method.
    gap
        Relative gap at which an incumbent counts as optimal.

    Examples
    --------
    >>> checked(None, Answer("optimal", "finished"))
    (None, "claims status 'optimal' without a decision")
    """
    wrong = contradiction(answer)
    if not wrong and answer.status == "unbounded" and not getattr(problem, "can_be_unbounded", False):
        wrong = f"claims status 'unbounded', but the objective of problems of kind {problem.kind!r} is bounded below"
    if wrong or answer.decision is None:
        return None, wrong
    try:
        evaluation = problem.evaluate(answer.decision)
    except InvalidInstanceError as error:
        return None, f"gives what is no decision about the problem: {'; '.join(map(str, error.faults))}"
    wrong = problem.inconsistency(answer.decision) or _disagreement(answer, evaluation, gap, problem.resolution)
    return evaluation, wrong


def verified(problem: Solvable[Any], answer: Answer, gap: float, method: str) -> Evaluation | None:
    """Evaluate an answer's decision independently.

    Raises
    ------
    VerificationError
        The method, which is called `method` where the answer does not name it, contradicts itself or the evaluator: a defect.
    """
    evaluation, disagreement = checked(problem, answer, gap)
    if disagreement:
        name = answer.method if isinstance(answer, Answer) else ""
        raise VerificationError(f"method {name or method}: {disagreement}", answer, evaluation)
    return evaluation


def _disagreement(answer: Answer, evaluation: Evaluation, gap: float, of_problem: float) -> str:
    """How an answer with a decision disagrees with its evaluation, or an empty string."""
    objective, bound = evaluation.objective, answer.bound
    slack = max(resolution(objective), of_problem)
    if answer.objective is not None and abs(answer.objective - objective) > max(slack, SAME_VALUE * abs(answer.objective)):
        return f"claimed objective {answer.objective!r}, evaluated {objective!r}"
    if not evaluation.feasible:
        return f"claimed {answer.status}, but breaks {'; '.join(evaluation.broken)}"
    for name, value in {"objective": objective, **evaluation.metrics}.items():
        if not math.isfinite(value):
            return f"claimed {answer.status}, but {name} is evaluated as {value!r}"
    if bound is not None and bound > objective + slack:
        return f"bound {bound!r} above the evaluated objective {objective!r}"
    if answer.status == "optimal" and bound is not None and not within_gap(objective, bound + of_problem, gap):
        return f"claimed optimal, but the bound {bound!r} is further below the evaluated {objective!r} than the gap {gap:g}"
    return ""


def _is_finite(value: Any) -> bool:
    """Whether there is no NaN and no infinity anywhere in a value; places are found by `_not_finite` where there is one."""
    kind = type(value)
    if kind is float:
        return math.isfinite(value)
    if value is None or kind in (str, int, bool):
        return True
    if kind in (tuple, list):
        return all(map(_is_finite, value))
    if isinstance(value, (dict, BaseModel)):
        return all(map(_is_finite, (value if isinstance(value, dict) else vars(value)).values()))
    return next(_not_finite(value, ""), None) is None


def _not_finite(value: Any, place: str) -> Iterator[tuple[str, float]]:
    """Places and values of the NaN and infinities in documents, containers and arrays."""
    if value is None or isinstance(value, (str, int)):
        return
    if isinstance(value, float):
        if not math.isfinite(value):
            yield place, float(value)
    elif isinstance(value, BaseModel):
        for name in type(value).model_fields:
            yield from _not_finite(getattr(value, name), f"{place}.{name}" if place else name)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _not_finite(item, f"{place}.{key}" if place else str(key))
    elif isinstance(value, (tuple, list)):
        for index, item in enumerate(value):
            yield from _not_finite(item, f"{place}[{index}]")
    elif isinstance(value, np.ndarray):
        if value.dtype.kind == "f":
            yield from ((f"{place}{index.tolist()}", float(value[tuple(index)])) for index in np.argwhere(~np.isfinite(value)))
    elif is_dataclass(value):
        for field in fields(value):
            yield from _not_finite(getattr(value, field.name), f"{place}.{field.name}")


MAX_EXPLANATION = 20.0
"""Units of work at most for finding out why a problem is infeasible."""

NO_REASON = Infeasibility()

UNCOUNTED = "the method does not count its work, so that the work limit did not stop it"
"""Note of an answer of another package's method."""


class Seconds(NamedTuple):
    """Time that an answer took, and how much of it went into clashes."""

    total: float
    explaining: float | None = None

    def shares(self, build: float) -> dict[str, float]:
        """Seconds by phase, of which building took `build`; those of finding out why nothing is feasible come on top.

        >>> Seconds(5.0).shares(1.0), Seconds(2.0, explaining=4.0).shares(0.5)["explain"]
        ({'build': 1.0, 'solve': 4.0}, 4.0)
        """
        build = min(build, self.total)
        phases = {"build": build, "solve": self.total - build}
        return phases if self.explaining is None else {**phases, "explain": self.explaining}


def solve(
    problem: Solvable[SolutionType],
    method: str = "auto",
    *,
    program: str | None = None,
    time_limit: float | None = None,
    work_limit: float | None = None,
    gap: float = OPTIMALITY_GAP,
    seed: int = 0,
    threads: int = 1,
    start: Any = None,
    progress: Progress | None = None,
    certify: bool | CertificateRequest = False,
    **parameters: Any,
) -> SolutionType:
    """Solve a problem and return the answer, re-evaluated by code that shares nothing with the method.

    Parameters
    ----------
    problem
        The problem to solve.
    method
        Name in the registry (`edrp.methods()`); "auto" chooses and says what it chose.
    program
        For backends, of a deployment problem: "compact" (default), "literal" or "restricted".
    time_limit
        Seconds; None for none. A method that has to stop returns its incumbent, bound and gap.
    work_limit
        Units of work, each about a second of an idle core (docs/explanation/work.md), with which answers repeat at any load;
        None for none. Of two limits the one that comes first ends the run; `solution.stopped_because` says which.
    gap
        Relative gap at which an incumbent counts as proven optimal.
    seed
        Seed of the random number generator; the same seed gives the same answer.
    threads
        Number of threads, for backends that can use more than one.
    start
        Decision to start from, such as a deployment; plain dicts and lists will do.
    progress
        Called now and then with (seconds, incumbent objective, bound); a `KeyboardInterrupt` from it ends the run like Ctrl-C.
    certify
        Whether to write a certificate of an optimum, or of infeasibility, for `solution.certificate`, and have it checked, in
        what remains of the limits and at most 60 units of work; where there is none, a note says why.
    **parameters
        Parameters of the method, by name.

    Raises
    ------
    UnsupportedProblemError
        The method cannot express the problem.
    InvalidArgumentError
        An argument is not what it should be, such as a limit that is text.
    InvalidInstanceError
        `start` is no decision about the problem, or a parameter is not one of the method.
    VerificationError
        The method contradicts itself or the evaluator: a defect.
    """
    settings: dict[str, Any] = {"time_limit": time_limit, "work_limit": work_limit, "gap": gap, "seed": seed}
    settings |= {"threads": threads, "progress": progress, "certify": certify}
    settings |= {name: value for name, value in parameters.items() if name == "options"}
    check_arguments("edrp.solve", problem=problem, method=method, program=program, **settings)
    decision = None if start is None else problem.read_decision(start, "start")
    warn_caller(warning_texts(problem))
    with running(time_limit, work_limit) as run, interruptible(run), derived_once(problem), left_alone(problem, method):
        told = _interruptible_progress(progress, run)
        options = Options(time_limit, gap, seed, threads, program, decision, told, parameters, work_limit)
        solution = _solved_within(run, problem, method, options)
        request = CertificateRequest() if certify is True else certify
        return with_certificate(problem, solution, request, options.remaining) if request else solution


def _solved_within(run: Clock, problem: Solvable[SolutionType], method: str, options: Options) -> SolutionType:
    """The solution within the limits of a run, and why there is none where that is proven."""
    answer, evaluation = _answer(method, problem, options)
    answer = _with_stop_reason(answer, run, method, options)
    seconds, why = Seconds(options.seconds), NO_REASON
    if answer.status == "infeasible":
        why = _infeasibility(problem, options)
        seconds = seconds._replace(explaining=options.seconds - seconds.total)
    return solution_of(problem, answer, evaluation, seconds, options.seed, why)


def _interruptible_progress(progress: Progress | None, run: Clock) -> Progress | None:
    """The caller's progress function; a `KeyboardInterrupt` that it raises interrupts the run, which ends as at Ctrl-C."""
    if progress is None:
        return None

    def told(seconds: float, incumbent: float | None, bound: float | None) -> None:
        try:
            progress(seconds, incumbent, bound)
        except KeyboardInterrupt:
            run.interrupt()

    return told


def _with_stop_reason(answer: Answer, run: Clock, name: str, options: Options) -> Answer:
    """The answer with the limit that stopped it, and a note where it counted no work."""
    run.read()
    stopped, notes, method = answer.stopped_because, answer.notes, find_method(name)
    if run.interrupted and answer.status not in PROVEN:
        stopped = "interrupted"
    elif stopped == "time_limit" and options.work_limit is not None and not run.over:
        stopped = "work_limit"
    elif options.work_limit is not None and method is not None and not is_ours(method.origin) and not run.work:
        notes = (*notes, UNCOUNTED)
    return replace(answer, stopped_because=stopped, notes=tuple(dict.fromkeys(notes)))


def _answer(name: str, problem: Any, options: Options) -> tuple[Answer, Evaluation | None]:
    """The answer of the method of that name and its evaluation, or what was given where that is better than what was found.

    With priorities, stage by stage, of which each is answered like a problem of its own, unless the method solves all in one run.
    Where the method of a choice gives that up, the others go on from what it has found.
    """
    if problem.stage_count and not get_method(name, problem.kind).in_one_run(problem):
        return _in_stages(name, problem, options)
    try:
        resolved = ResolvedMethod(name, get_method(name, problem.kind).resolve(problem))
        answer = resolved.named(run_method(resolved.method, problem, options))
    except OutOfTimeError as error:
        answer = Answer("none", "time_limit", method=name, notes=(str(error),))
    except RefusedError as error:
        if not error.instead:
            raise
        others = ", or ".join(filter(None, (error.remedy, alternative(problem, name, error.instead))))
        raise type(error)(error.why, others) from error
    except SystemExit as error:
        raise VerificationError(f"method {name}: wanted to end the process") from error
    if problem.stage_count and answer.stopped_because == "error" and resolved.method.name != name:
        return _in_stages(name, problem, replace(options, start=answer.decision or options.start))
    evaluation = verified(problem, answer, options.gap, name)
    return (answer, evaluation) if problem.stage_count else _no_worse_than_given(problem, options, answer, evaluation)


def _in_stages(name: str, problem: Any, options: Options) -> tuple[Answer, Evaluation | None]:
    answer = solve_in_stages(problem, options, partial(_answer, name))
    return answer, verified(problem, answer, options.gap, name)


def _no_worse_than_given(
    problem: Solvable[Any], options: Options, answer: Answer, evaluation: Evaluation | None
) -> tuple[Answer, Evaluation | None]:
    """The answer; where the method had to stop early, the better of start and current decision if that is better and feasible.

    Raises
    ------
    VerificationError
        When one of these refutes the answer.
    """
    known = [decision for decision in (options.start, getattr(problem, "current", None)) if decision is not None]
    rated = [(given.objective, given, decision) for decision in known if (given := problem.evaluate(decision)).feasible]
    if not rated:
        return answer, evaluation
    objective, given, decision = min(rated, key=lambda pair: pair[0])
    if wrong := refutation(answer, objective):
        raise VerificationError(f"method {answer.method}: {wrong}", answer, objective)
    stopped_early = answer.stopped_because in ("time_limit", "work_limit", "interrupted")
    if not stopped_early or answer.status in PROVEN or (evaluation is not None and evaluation.objective <= objective):
        return answer, evaluation
    what = "nothing" if evaluation is None else "nothing better"
    notes = (*answer.notes, f"{what} was found before the method had to stop; this is what was given")
    better = replace(answer, status="feasible", decision=decision, objective=objective, notes=notes)
    better = combined(answer, better, options.gap)
    return replace(better, status="feasible", stopped_because=answer.stopped_because), given


def _infeasibility(problem: Solvable[SolutionType], options: Options) -> Infeasibility:
    """Why the problem is infeasible; where that has to be worked out, in what remains of the limits, within reason."""
    step_begins.get()("looking for limits and rules that clash")
    units = min(MAX_EXPLANATION, options.remaining)
    try:
        with deadline(now() + units):
            return find_clashes(problem, units)
    except OutOfTimeError:
        return Infeasibility(problem.clashes())


def find_clashes(problem: Solvable[SolutionType], units: float) -> Infeasibility:
    """Why an infeasible problem is infeasible, in words; `units` of work are for kinds where that has to be worked out."""
    kind = find_kind(problem.kind)
    explain = None if kind is None else kind.explain_infeasibility
    found = problem.clashes() if explain is None else explain(problem, units)
    return found if isinstance(found, Infeasibility) else Infeasibility(tuple(found))


def checked_solution(
    problem: Solvable[SolutionType],
    method: str,
    answer: Answer,
    seconds: Seconds,
    seed: int = 0,
    why: Infeasibility = NO_REASON,
    gap: float = OPTIMALITY_GAP,
) -> SolutionType:
    """The solution that an answer makes once it contradicts neither itself nor the independent evaluator.

    Raises
    ------
    VerificationError
        The method contradicts itself or the evaluator, or a number to be written is not finite: a defect.
    """
    named = replace(answer, method=answer.method or method)
    return solution_of(problem, named, verified(problem, named, gap, method), seconds, seed, why)


def solution_of(
    problem: Solvable[SolutionType],
    answer: Answer,
    evaluation: Evaluation | None,
    seconds: Seconds,
    seed: int,
    why: Infeasibility,
) -> SolutionType:
    """The solution that an answer makes which has been verified, with its evaluation.

    Raises
    ------
    VerificationError
        A number to be written is not finite: a defect.
    """
    objective = evaluation.objective if evaluation else None
    bound = answer.bound
    if objective is not None and bound is not None:
        bound = min(bound, objective)
    fields = {
        "status": answer.status,
        "stopped_because": answer.stopped_because,
        "objective": objective,
        "bound": bound,
        "gap": relative_gap(objective, bound) if objective is not None and bound is not None else None,
        "metrics": evaluation.metrics if evaluation else {},
        "broken": evaluation.broken if evaluation else (),
        "clashes": why.clashes,
        "remedies": why.remedies,
        "method": answer.method,
        "seconds": seconds.shares(answer.build_seconds),
        "size": answer.size,
        "seed": seed,
        "versions": installed_versions("highspy", "numpy"),
        "notes": answer.notes,
        "proof": answer.basis,
        "stages": answer.stages,
    }
    solution = problem.solution(None if answer.decision is None else problem.read_decision(answer.decision), fields)
    if not _is_finite(solution):
        place, value = next(_not_finite(solution, ""))
        raise VerificationError(f"method {answer.method}: {place} is {value!r}, no number to be written", answer, evaluation)
    solution._solved = Solved(problem)
    return solution
