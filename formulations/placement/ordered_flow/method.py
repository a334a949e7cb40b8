"""`ordered-flow`: goals of a placement without streams, one after the other, proven in whole numbers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from edrp.core.arrays import Ints
from edrp.core.budget import now
from edrp.core.errors import OutOfTimeError, UnsupportedProblemError
from edrp.core.methods import Method, Options
from edrp.core.problem import RULES
from edrp.core.solution import Answer, Proof, StageOutcome, relative_gap
from edrp.core.wording import enumerated
from edrp.formulations.placement.ordered_flow.integer_program import IntegerProgram, goal_names, integer_program
from edrp.formulations.placement.ordered_flow.lexicographic import Search, StoppedError, grouped
from edrp.placement.compiled import count_replicas
from edrp.placement.edrp import EdrpProblem
from edrp.placement.metrics.base import OWN
from edrp.placement.priorities import has_weighted_stage


class OrderedFlow(Method):
    """Priorities over replicas of operators without streams, in linear programs whose bounds are compared in whole numbers.

    Replicas of operators that have fixed numbers of them flow to nodes; rules are side rows. Goals in a row become one sum where
    their weights stay below 2⁵³. All stages are proven at once, or the first that is not says how far it may be off.
    """

    name = "ordered-flow"
    kinds = ("edrp",)
    takes = frozenset({OWN, RULES})
    exact = True
    undivided = "a linear program"
    summary = "priorities of operators without streams whose numbers of replicas are fixed: one linear program for goals in a row"

    def obstacle(self, problem: EdrpProblem) -> str | None:
        """Return the reason why a problem is no flow with goals that are whole numbers; None if it is."""
        operators = problem.application.operators
        varied = [o.name for o in operators if o.min_replicas != o.max_replicas]
        names = goal_names(problem)
        slack = [index for index, priority in enumerate(problem.priorities) if priority.slack]
        why = (
            ("operators have streams" if problem.application.streams else "")
            or (f"the number of replicas of {enumerated(varied[:3])} is not fixed" if varied else "")
            or (f"priorities[{slack[0]}].slack leaves room for the stages after it" if slack else "")
            or ("the weighted sum is a stage after the priorities" if problem.priorities and has_weighted_stage(problem) else "")
            or ("several metrics have weights, and there are no priorities" if not problem.priorities and len(names) > 1 else "")
            or ("penalties of rules are added to the objective" if any(not rule.hard for rule in problem.counted_rules) else "")
        )
        if not why:
            try:
                integer_program(problem)
            except UnsupportedProblemError as error:
                why = error.why
        return f"{self.name} takes whole numbers over replicas: {why}" if why else None

    def run(self, problem: EdrpProblem, options: Options) -> Answer:
        """Solve all stages at once."""
        self.read_parameters(options)
        began = options.seconds
        program = integer_program(problem)
        compiled = program.compiled
        if np.isinf(compiled.latency[np.arange(len(compiled.operators)), compiled.min_replicas]).any():
            return Answer("infeasible", "finished")  # overloaded
        search = Search(program, grouped(program.goals, compiled.candidate.size), now() + options.remaining, options.seed)
        size = {"columns": program.most.size, "rows": program.lower.size, "nonzeros": program.matrix.nnz}
        answer = Answer("none", "time_limit", size=size, build_seconds=options.seconds - began)
        try:
            point = search.solve()
            answer = replace(answer, status="infeasible" if point is None else "optimal", stopped_because="finished")
        except (StoppedError, OutOfTimeError) as error:
            known = [*search.points, *_given(problem, program, options)]
            point = min(known, key=lambda point: [goal.steps(point) for goal in program.goals], default=None)
            answer = replace(answer, status="none" if point is None else "feasible", notes=(str(error),) if str(error) else ())
            if isinstance(error, StoppedError) and str(error):
                answer = replace(answer, stopped_because="error")
        if point is None:
            return answer.resting_on("solver's word")
        stages = _outcomes(search, point, (options.seconds - began) / len(program.goals))
        proof: Proof | None = "solver's word" if search.searched else None
        whole = replace(answer, decision=compiled.deployment(program.counts(point)), stages=stages)
        whole = whole if problem.priorities else replace(whole, stages=())
        if stages[-1].bound is not None:
            term = next(term for term in problem.terms if term.metric == stages[-1].metric)
            whole = replace(whole, bound=term.coefficient * stages[-1].bound)
        return whole.resting_on(proof)

    def in_one_run(self, problem: EdrpProblem) -> bool:
        """Priorities are what it is for."""
        return True


def _given(problem: EdrpProblem, program: IntegerProgram, options: Options) -> list[Ints]:
    """Start and current deployment, where they are feasible."""
    compiled = program.compiled
    given = [deployment for deployment in (options.start, problem.current) if deployment is not None]
    feasible = [deployment for deployment in given if problem.evaluate(deployment).feasible]
    return [program.point(count_replicas(deployment, compiled.operators, compiled.nodes)) for deployment in feasible]


def _outcomes(search: Search, point: Ints, seconds: float) -> tuple[StageOutcome, ...]:
    """The value of every goal, and its bound where all goals before it reach theirs; the time is shared equally."""
    bounds = [bound for group, value in zip(search.groups, search.bounds, strict=False) for bound in group.split(value)]
    goals, found, met = search.program.goals, list[StageOutcome](), True
    for position, goal in enumerate(goals):
        steps = goal.steps(point)
        bound = min(bounds[position], steps) if met and position < len(bounds) else None
        value, least = float(steps * goal.step), None if bound is None else float(bound * goal.step)
        met = bound == steps
        found.append(
            StageOutcome(
                metric=goal.metric,
                value=value,
                bound=least,
                gap=None if least is None else relative_gap(value, least),
                proven=met,
                limit=None if position == len(goals) - 1 else value,
                method=OrderedFlow.name,
                proof=None if least is None else "solver's word" if search.searched else "own algorithm, not certified",
                seconds=seconds,
            )
        )
    return tuple(found)


METHODS = (OrderedFlow(),)
"""Methods that this module adds to the registry."""
