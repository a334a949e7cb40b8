"""A day of changing latencies and loads: planning again at every step, never, only when broken, and when it pays."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from edrp.core.solve import solve
from edrp.placement.deployment import Deployment
from edrp.placement.latency_aware import LatencyAwareProblem
from edrp.placement.network import Node
from edrp.replanning.plans import reconfiguration
from edrp.replanning.replanner import Replanner, ReplanningPolicy
from edrp.validation.simulation.placement.replanning_world import STEP, Moment

Strategy = Callable[[LatencyAwareProblem, Deployment | None], Deployment | None]
"""Maps a problem as measured and the running deployment to the next one; None where none is found and none ran."""

NEVER, BROKEN, EVERY, PAYING = "never", "only when broken", "at every step", "when it pays"


@dataclass(frozen=True, slots=True)
class DayStep:
    """The result of one step of a day.

    Attributes
    ----------
    score : objective of the deployment after the decision, by true delays (latency-aware placement, eq. 1).
    works : whether that deployment has its resources; where it does not, the step counts as downtime.
    downtime : seconds of the reconfiguration.
    moved : instances that started elsewhere.
    """

    score: float
    works: bool
    downtime: float
    moved: int


@dataclass(frozen=True, slots=True)
class DayOutcome:
    """A day under one strategy."""

    steps: tuple[DayStep, ...]
    downtime_worth: float

    @property
    def total(self) -> float:
        """Score by second, mean over the day, where time without processing costs `downtime_worth` by second on top."""
        spent = sum(step.score * STEP + self.downtime_worth * (step.downtime if step.works else STEP) for step in self.steps)
        return spent / (STEP * len(self.steps))

    @property
    def score(self) -> float:
        """Mean score of the steps in which the deployment had its resources."""
        scores = [step.score for step in self.steps if step.works]
        return sum(scores) / len(scores) if scores else float("nan")

    @property
    def downtime(self) -> float:
        """Seconds of reconfigurations."""
        return sum(step.downtime for step in self.steps)

    @property
    def moved(self) -> int:
        """Instances that were moved."""
        return sum(step.moved for step in self.steps)

    @property
    def reconfigurations(self) -> int:
        """Steps at which something moved."""
        return sum(step.moved > 0 for step in self.steps)

    @property
    def broken(self) -> int:
        """Steps in which the deployment lacked a node or resources."""
        return sum(not step.works for step in self.steps)


def strategies(policy: ReplanningPolicy, seed: int) -> dict[str, Strategy]:
    """The four ways to run a day; all plan with the method of the policy."""
    return {
        NEVER: lambda problem, running: _planned(problem, None, policy, seed) if running is None else running,
        BROKEN: _watching(policy.replace(hysteresis=1e9), seed),
        EVERY: lambda problem, running: _planned(problem, running, policy, seed),
        PAYING: _watching(policy, seed),
    }


def run_day(
    day: Iterable[Moment], strategy: Strategy, policy: ReplanningPolicy, progress: Callable[[int], None] | None = None
) -> DayOutcome:
    """Run a day; the first placement costs nothing.

    Parameters
    ----------
    policy
        Definition and worth of downtime; the same for all strategies.

    Raises
    ------
    ValueError
        The strategy finds nothing to begin with.
    """
    running: Deployment | None = None
    known: dict[str, Node] = {}
    steps = []
    for number, moment in enumerate(day, start=1):
        known.update(moment.true.network.by_name)
        after = strategy(moment.measured, running)
        if after is None:
            raise ValueError(f"no initial placement was found at hour {moment.hour:g}")
        steps.append(_step(moment.true, running, after, known, policy))
        running = after
        if progress:
            progress(number)
    return DayOutcome(tuple(steps), policy.downtime_worth)


def _watching(policy: ReplanningPolicy, seed: int) -> Strategy:
    replanner: list[Replanner] = []

    def decide(problem: LatencyAwareProblem, running: Deployment | None) -> Deployment | None:
        if not replanner:
            replanner.append(Replanner(problem, policy, seed=seed))
        return replanner[0].decide(problem).deployment

    return decide


def _planned(problem: LatencyAwareProblem, running: Deployment | None, policy: ReplanningPolicy, seed: int) -> Deployment | None:
    """The deployment that the method finds, whatever it costs to get there; the running one where it finds none."""
    all_nodes_present = running is not None and all(node in problem.network.by_name for name in running for node in running[name])
    start = problem.replace(current=running if all_nodes_present else None)
    solution = solve(start, policy.method, seed=seed, **policy.limits, **policy.parameters)
    return solution.deployment or running


def _step(
    problem: LatencyAwareProblem,
    before: Deployment | None,
    after: Deployment,
    known: dict[str, Node],
    policy: ReplanningPolicy,
) -> DayStep:
    change = reconfiguration(problem, before, known, synchronisation_time=policy.synchronisation_time, how=policy.reconfiguration)
    moved = 0 if before is None else sum(action.moved_replicas for action in before.actions_to(after))
    downtime = 0.0 if change is None else change.downtime(after)
    nodes = problem.network.by_name
    if any(node not in nodes for name in after for node in after[name]):
        return DayStep(0.0, False, downtime, moved)
    evaluation = problem.evaluate(after)
    return DayStep(evaluation.objective, evaluation.feasible, downtime, moved)
