"""Follow an application through time: solve again at every step from the deployment of the step before."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter

from edrp.core.errors import EdrpError
from edrp.core.solve import solve
from edrp.placement.deployment import Action, Deployment
from edrp.placement.edrp import EdrpProblem, EdrpSolution

ProblemAt = Callable[[int, float, Deployment | None], EdrpProblem]
"""The problem of a step: its number, its source rate in tuples/s, the deployment to reconfigure."""

Solver = Callable[[EdrpProblem], EdrpSolution]

StepProgress = Callable[[int, int], None]
"""Called with the steps done and their number."""


@dataclass(frozen=True, slots=True)
class ReplayStep:
    """The decision at one step of a replay.

    Attributes
    ----------
    number : position in the replay.
    rate : of the source, in tuples/s.
    problem : the problem that was solved; its `current` is the deployment before.
    deployment : the deployment after.
    objective : EDRP, eq. 12.
    metrics : values by name.
    actions : changes from the deployment before.
    solved : whether a deployment was found; otherwise the one before stays.
    """

    number: int
    rate: float
    problem: EdrpProblem
    deployment: Deployment
    objective: float
    metrics: dict[str, float]
    actions: tuple[Action, ...]
    solved: bool

    @property
    def words(self) -> str:
        """The actions in words, scale-outs first and migrations last; empty when nothing changes."""
        before = self.problem.current
        if before is None:
            return ""
        ordered = sorted(self.actions, key=lambda action: ("scale-out", "scale-in", "migration").index(action.kind))
        return "; ".join(in_words(action, before) for action in ordered)


@dataclass(frozen=True, slots=True)
class Replay:
    """All steps of a replay and what they add up to; `seconds` is the time that deciding took."""

    steps: tuple[ReplayStep, ...]
    seconds: float

    def mean(self, metric: str) -> float:
        """Mean of a metric over the steps."""
        return sum(step.metrics[metric] for step in self.steps) / len(self.steps)

    @property
    def downtime(self) -> float:
        """Seconds of downtime in all."""
        return sum(step.metrics["downtime"] for step in self.steps)

    @property
    def reconfigurations(self) -> tuple[ReplayStep, ...]:
        """Steps at which something changed."""
        return tuple(step for step in self.steps if step.actions)

    @property
    def replicas(self) -> tuple[int, ...]:
        """Replicas of all operators together, by step."""
        return tuple(sum(step.deployment.degree(name) for name in step.deployment) for step in self.steps)


def replay(
    rates: Sequence[float], problem_at: ProblemAt, start: Deployment, decide: Solver, progress: StepProgress | None = None
) -> Replay:
    """Decide at every step from the deployment of the step before.

    Parameters
    ----------
    rates
        Source rate of every step in tuples/s; the first one is met by `start` as it is.
    decide
        Solves a problem. Where it finds nothing, the deployment stays for that step.
    """
    began = perf_counter()
    steps = [_kept(0, rates[0], problem_at(0, rates[0], start), start, solved=True)]
    for number in range(1, len(rates)):
        problem = problem_at(number, rates[number], steps[-1].deployment)
        steps.append(_decided(number, rates[number], problem, decide(problem)))
        if progress:
            progress(number, len(rates) - 1)
    return Replay(tuple(steps), perf_counter() - began)


def place_first(problem: EdrpProblem, decide: Solver) -> Deployment:
    """Decide the initial deployment.

    Raises
    ------
    EdrpError
        When there is none.
    """
    solution = decide(problem)
    if solution.deployment is None:
        raise EdrpError(f"no initial deployment was found: {'; '.join(solution.clashes) or solution.stopped_because}")
    return solution.deployment


def solver(method: str, program: str = "compact") -> Solver:
    """Solve with a method of the registry, to proven optimality."""
    return lambda problem: solve(problem, method, program=program)


def in_words(action: Action, before: Deployment) -> str:
    """Describe an action in words."""
    nodes_before = set(before[action.operator])
    if action.kind == "scale-out" and not action.removed:
        where = "on the same node" if set(action.added) <= nodes_before else f"to {_names(action.added)}"
        return f"{action.operator} scaled out {where}"
    if action.kind == "scale-in" and not action.added:
        return f"{action.operator} scaled in" + ("" if len(nodes_before) == 1 else f" on {_names(action.removed)}")
    verb = {"migration": "moved", "scale-out": "scaled out", "scale-in": "scaled in"}[action.kind]
    return f"{action.operator} {verb} from {_names(action.removed)} to {_names(action.added)}"


def _names(nodes: tuple[str, ...]) -> str:
    return " and ".join(dict.fromkeys(nodes))


def _decided(number: int, rate: float, problem: EdrpProblem, solution: EdrpSolution) -> ReplayStep:
    assert problem.current is not None
    if solution.deployment is None or solution.objective is None:
        return _kept(number, rate, problem, problem.current, solved=False)
    deployment, objective = solution.deployment, solution.objective
    return ReplayStep(number, rate, problem, deployment, objective, solution.metrics, solution.actions, solved=True)


def _kept(number: int, rate: float, problem: EdrpProblem, deployment: Deployment, *, solved: bool) -> ReplayStep:
    evaluation = problem.evaluate(deployment)
    return ReplayStep(number, rate, problem, deployment, evaluation.objective, evaluation.metrics, (), solved)
