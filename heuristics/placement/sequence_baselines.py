"""The rules that users follow today over a day: the best deployment of each period, or one deployment for all periods."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from edrp.core.budget import spend
from edrp.core.methods import Method, Options, get_method, run_method
from edrp.core.problem import EVERYTHING
from edrp.core.solution import Answer, within_gap
from edrp.placement.deployment import Deployment
from edrp.placement.sequence import EdrpSequence

PERIOD_WORK = 8e-4
"""Units of work per operator to choose a method for a period and to compile it."""


class Myopic(Method):
    """The best deployment of each period, whatever the changes cost; of equally good ones, that which runs already."""

    name = "myopic"
    kinds = ("edrp-sequence",)
    takes = EVERYTHING
    summary = "the optimum of each period by itself, whatever changes cost"

    def run(self, problem: EdrpSequence, options: Options) -> Answer:
        """Solve the periods one after the other."""
        answers = list(period_answers(problem, options))
        if len(answers) < len(problem.periods) or any(answer.decision is None for answer in answers):
            return nothing(answers, len(problem.periods))
        return evaluated(problem, tuple(answer.decision for answer in answers), free_bound(problem, answers))


class StaticDeployment(Method):
    """One deployment for all periods: of the best ones of single periods, that which is feasible and costs least in all."""

    name = "static-deployment"
    kinds = ("edrp-sequence",)
    takes = EVERYTHING
    summary = "one deployment for all periods, the best of those that are optimal in one of them"

    def run(self, problem: EdrpSequence, options: Options) -> Answer:
        """Solve the periods, and try each deployment in all of them."""
        answers = list(period_answers(problem, options))
        found = list(dict.fromkeys(answer.decision for answer in answers if answer.decision is not None))
        courses = [
            (deployment,) * len(problem.periods) for deployment in [*found, *([problem.initial] if problem.initial else [])]
        ]
        evaluations = {course: problem.evaluate(course) for course in courses}
        feasible = [course for course in courses if evaluations[course].feasible]
        if not feasible:
            return nothing(answers, len(problem.periods), "no deployment that is best in a period is feasible in all")
        return evaluated(problem, min(feasible, key=lambda course: evaluations[course].objective), free_bound(problem, answers))


def period_answers(problem: EdrpSequence, options: Options) -> Iterator[Answer]:
    """Answers to the periods by themselves, each within its share of what remains; the last is the first without a decision.

    Equal loads are solved once.
    """
    known: dict[str, Answer] = {}
    given = options.start
    starts = [None] * len(problem.periods) if given is None else problem.read_decision(given, "start")
    for number, period in enumerate(problem.periods):
        load = period.replace(duration=1.0).model_dump_json()
        if load not in known:
            loaded = problem.period(number).problem
            spend(PERIOD_WORK * len(loaded.application.operators))
            method = get_method("auto", "edrp").resolve(loaded)
            share = options.within(options.remaining / (len(problem.periods) - number))
            known[load] = run_method(method, loaded, replace(share, start=starts[number]))
        yield known[load]
        if known[load].decision is None:
            return


def free_bound(problem: EdrpSequence, answers: list[Answer]) -> float | None:
    """Bound on the objective with free changes, or None where a period is without a bound."""
    bounds = [answer.bound for answer in answers if answer.bound is not None]
    if len(bounds) < len(problem.periods):
        return None
    return sum(
        period.duration * problem.period(number).factor * bound
        for number, (period, bound) in enumerate(zip(problem.periods, bounds, strict=True))
    )


def evaluated(problem: EdrpSequence, course: tuple[Deployment, ...], bound: float | None) -> Answer:
    """The answer with a course that was found; what breaks the limit on downtime is none."""
    evaluation = problem.evaluate(course)
    if not evaluation.feasible:
        return Answer("none", "finished", notes=(f"what was found is not feasible: {evaluation.broken[0]}",))
    is_proven = bound is not None and within_gap(evaluation.objective, bound, 0.0)
    return Answer("optimal" if is_proven else "feasible", "finished", course, evaluation.objective, bound)


def nothing(answers: list[Answer], periods: int, why: str = "") -> Answer:
    """The answer without a course."""
    if answers and answers[-1].status == "infeasible":
        return Answer(
            "infeasible", "finished", notes=(f"period {len(answers) - 1} has no feasible deployment",), proof=answers[-1].proof
        )
    if why:
        return Answer("none", "finished", notes=(why,))
    return Answer("none", "time_limit", notes=(f"{len(answers)} of {periods} periods were solved",))


METHODS = (Myopic(), StaticDeployment())
"""Methods that this module adds to the registry."""
