"""Placement that is watched while it runs: a new plan when it pays for its moves, and when there is no choice.

The paper's online scheduler plans again at every interval and enacts what it finds (latency-aware placement, section 3.3).
Each move stops the application for a while. EDRP measures that as downtime; here its price decides.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import Field

from edrp.core.arguments import check_arguments
from edrp.core.document import Document, Name, NonNegative, Positive, unit
from edrp.core.problem import read_as
from edrp.core.solve import solve
from edrp.placement.deployment import Action, Deployment, DeploymentLike
from edrp.placement.latency_aware import LatencyAwareProblem, LatencyAwareSolution
from edrp.placement.network import Node
from edrp.replanning.measurements import with_measurements
from edrp.replanning.plans import Reconfiguration, patched, plans_near, reconfiguration


class DowntimePolicy(Document):
    """When a plan is worth its downtime.

    A plan is judged by its score and its price, `downtime_worth · downtime / horizon`: its score is had while
    conditions last, about `horizon` seconds, which may be many measurements; the downtime is paid once. The placement that runs
    has no price. Among all plans within a share `hysteresis` of the least, that one is taken that moves the fewest instances.

    Raises
    ------
    InvalidInstanceError
        Naming every value that cannot be.

    Examples
    --------
    >>> DowntimePolicy(horizon=1200.0, downtime_worth=10.0).price(downtime=6.0)
    0.05
    """

    horizon: Positive = Field(3600.0, description="for how long a gain lasts, as expected", **unit("s"))
    downtime_worth: NonNegative = Field(
        30.0,
        description="score that would be as bad as not processing, for as long; by the paper's weights scores stay below 3",
        **unit("1"),
    )
    hysteresis: NonNegative = Field(
        0.01,
        description="what comes so near to the best, as a share of it, is as good: trembling measurements move nothing",
        **unit("1"),
    )

    def price(self, downtime: float) -> float:
        """Price of a downtime in seconds, as a score over the horizon."""
        return self.downtime_worth * downtime / self.horizon


@dataclass(frozen=True, slots=True)
class PlanOption:
    """A plan that works: its score, seconds of downtime until it runs, the price of that as a score, and instances that move."""

    plan: Deployment
    score: float
    downtime: float
    price: float
    moves: int

    @property
    def total(self) -> float:
        """Sum of the score and the price of the change."""
        return self.score + self.price


def choose_option(options: Sequence[PlanOption], hysteresis: float) -> PlanOption:
    """The option that moves least, among those within the hysteresis of the least total.

    Examples
    --------
    >>> stay = PlanOption(Deployment({"a": ["x"]}), score=1.0, downtime=0.0, price=0.0, moves=0)
    >>> move = PlanOption(Deployment({"a": ["y"]}), score=0.9, downtime=2.0, price=0.095, moves=1)
    >>> choose_option([stay, move], 0.01) is stay, choose_option([stay, move], 0.001) is move
    (True, True)
    """
    within = min(option.total for option in options) * (1 + hysteresis)
    return min((option for option in options if option.total <= within), key=lambda option: (option.moves, option.total))


Verdict = Literal["place", "keep", "move", "repair", "stuck"]


@dataclass(frozen=True, slots=True)
class ReplanningDecision:
    """The decision to act on now, and its reasons.

    Attributes
    ----------
    verdict : "place" (nothing ran), "keep", "move" (it pays), "repair" (what runs is broken), or "stuck" (what runs is
        broken or nothing runs, and no plan was found).
    deployment : what is to run from now on; None only where nothing ran and nothing was found.
    actions : that lead there from what ran.
    plan : what is adopted, or the best that was not; None where nothing that works was found.
    score : of `deployment` by what is measured now (eq. 1); None where nothing works.
    gain : score of what ran less that of `plan`; None where either is missing or broken.
    downtime : seconds that going over to `plan` takes.
    price : of that downtime, as a score.
    margin : what the gain of the best plan must leave, its price paid, for anything to move.
    broken : what is wrong with what ran, in words.
    solution : what the method found.
    """

    verdict: Verdict
    deployment: Deployment | None
    actions: tuple[Action, ...]
    plan: Deployment | None
    score: float | None
    gain: float | None
    downtime: float
    price: float
    margin: float
    broken: tuple[str, ...]
    solution: LatencyAwareSolution

    @property
    def moved(self) -> bool:
        """Whether anything is to be done."""
        return self.verdict in ("place", "move", "repair")

    def __str__(self) -> str:
        changes = "; ".join(str(action) for action in self.actions)
        match self.verdict:
            case "place":
                return f"place: nothing ran; score {self.score:.6g}"
            case "stuck":
                because = "; ".join(self.solution.clashes) or f"{self.solution.method} found none"
                wrong = f"what runs breaks {'; '.join(self.broken)}, and " if self.deployment else ""
                return f"stuck: {wrong}there is no plan: {because}"
            case "repair":
                return f"repair: what ran breaks {'; '.join(self.broken)}; {self.downtime:.6g} s of downtime: {changes}"
        if self.gain is None or (self.verdict == "keep" and self.plan == self.deployment):
            return "keep: no better plan was found"
        sums = f"a gain of {self.gain:.6g} at a price of {self.price:.6g} for {self.downtime:.6g} s of downtime"
        return f"move: {sums}: {changes}" if self.moved else f"keep: {sums}, which leaves no more than {self.margin:.6g}"


class ReplanningPolicy(DowntimePolicy):
    """When a plan is worth its moves, how an application moves, and how it is planned.

    Raises
    ------
    InvalidInstanceError
        Naming every value that cannot be.

    Examples
    --------
    >>> ReplanningPolicy(horizon=600.0, method="highs").price(downtime=2.0)
    0.1
    """

    synchronisation_time: NonNegative = Field(0.25, description="t_syn of any reconfiguration", **unit("s"))
    reconfiguration: Literal["pause-and-resume", "storm"] = Field(
        "pause-and-resume", description="whether only what changes stops, or all restart"
    )
    method: Name = Field("iterated-local-search", description="of the registry, to plan with")
    work_limit: Positive | None = Field(1.0, description="units of work to plan; null for none", **unit("1"))
    time_limit: Positive | None = Field(None, description="to plan; null for none", **unit("s"))
    parameters: dict[Name, Any] = Field({}, description="of the method")

    @property
    def limits(self) -> dict[str, Any]:
        """Limits of a plan, as arguments of `edrp.solve`."""
        return {"time_limit": self.time_limit, "work_limit": self.work_limit}


class Replanner:
    """Decides again with every measurement, and remembers what runs.

    Parameters
    ----------
    problem
        The problem as it is known at first. Its `current`, where given, is what runs.
    policy
        When to move, and how to plan.
    seed
        Seed of the method; every decision plans with another one that follows from it.

    Attributes
    ----------
    problem
        As of the last measurement.
    running
        The placement that runs, as far as the replanner knows: it counts on its decisions being carried out. Set it where they
        were not; a plain dict will do.

    Examples
    --------
    >>> from edrp.placement.latency_aware import LatencyAwareProblem
    >>> nodes = [{"name": "a", "resources": {"cpu": 1.0}}, {"name": "b", "resources": {"cpu": 1.0}}]
    >>> problem = LatencyAwareProblem(
    ...     application={"operators": [{"name": "read", "resources": {"cpu": 0.2}}, {"name": "write", "resources": {"cpu": 0.2}}],
    ...                  "streams": [{"source": "read", "target": "write", "rate": 5.0}]},
    ...     network={"nodes": nodes, "links": [{"source": "a", "target": "b", "delay": 0.01}]},
    ... )
    >>> replanner = Replanner(problem, ReplanningPolicy(work_limit=0.05))
    >>> replanner.decide().verdict
    'place'
    >>> replanner.measure(rates={("read", "write"): 9.0}).verdict
    'keep'
    >>> replanner.measure(resources={"read": {"cpu": 0.9}}).verdict
    'repair'
    >>> replanner.running["read"] == replanner.running["write"]
    False
    """

    def __init__(self, problem: LatencyAwareProblem, policy: ReplanningPolicy | None = None, *, seed: int = 0) -> None:
        check_arguments("edrp.Replanner", problem=problem, seed=seed)
        self.problem = problem.replace(current=None)
        self.policy = ReplanningPolicy() if policy is None else policy
        self._running = problem.current
        self._seed = seed
        self._known: dict[str, Node] = {}

    @property
    def running(self) -> Deployment | None:
        """The deployment that runs."""
        return self._running

    @running.setter
    def running(self, running: DeploymentLike | None) -> None:
        self._running = read_as(Deployment | None, running, "running")

    def measure(self, **measured: Any) -> ReplanningDecision:
        """Decide with new measurements; arguments and errors are those of `with_measurements`."""
        return self.decide(with_measurements(self.problem, **measured))

    def decide(self, problem: LatencyAwareProblem | None = None) -> ReplanningDecision:
        """Decide about a problem as it is now, by default the one that is known; its `current`, where given, is what runs.

        Raises
        ------
        UnsupportedProblemError
            The method of the policy cannot express the problem.
        """
        if problem is not None:
            self.problem = problem.replace(current=None)
            self._running = self._running if problem.current is None else problem.current
        self._known.update(self.problem.network.by_name)
        decision = decide(self.problem, self._running, self.policy, seed=self._seed, known=self._known)
        self._seed += 1
        self._running = decision.deployment
        return decision


def decide(
    problem: LatencyAwareProblem,
    running: DeploymentLike | None,
    policy: ReplanningPolicy,
    *,
    seed: int = 0,
    known: Mapping[str, Node] | None = None,
) -> ReplanningDecision:
    """Decide once: without a time limit in the policy the same arguments give the same decision, at any load.

    Besides the plan that the method finds, these are considered: the plan with equal nodes exchanged such that more stays
    in place, both without their slowest moves, and what runs, if need be with as little changed as makes it work.

    Parameters
    ----------
    problem
        As it is now; its `current` plays no part.
    running
        The placement that runs; it may name nodes and operators that are no more. A plain dict will do.
    policy
        When to move, and how to plan.
    seed
        Seed of the method.
    known
        Descriptions of nodes that have vanished, for the time that moving off them takes.
    """
    before: Deployment | None = read_as(Deployment | None, running, "running")
    start, broken = (None, ()) if before is None else _working(problem, before)
    solution = solve(problem.replace(current=start), policy.method, seed=seed, **policy.limits, **policy.parameters)
    change = reconfiguration(
        problem, before, known or {}, synchronisation_time=policy.synchronisation_time, how=policy.reconfiguration
    )
    near_plans = [] if solution.deployment is None else plans_near(solution.deployment, problem, change)
    plans = dict.fromkeys([*near_plans, *([] if start is None else [start])])
    options = [option for plan in plans if (option := _option(plan, problem, change, policy)) is not None]
    kept_option = next((option for option in options if start is not None and not broken and option.plan == start), None)
    if not options:
        return ReplanningDecision("stuck", before, (), None, None, None, 0.0, 0.0, 0.0, broken, solution)
    chosen, best = choose_option(options, policy.hysteresis), min(options, key=lambda option: option.total)
    verdict: Verdict = "keep" if chosen is kept_option else "place" if change is None else "move" if kept_option else "repair"
    plan = best if chosen is kept_option else chosen
    return ReplanningDecision(
        verdict=verdict,
        deployment=chosen.plan,
        actions=() if before is None or chosen is kept_option else before.actions_to(chosen.plan),
        plan=plan.plan,
        score=chosen.score,
        gain=None if kept_option is None else kept_option.score - plan.score,
        downtime=plan.downtime,
        price=plan.price,
        margin=0.0 if kept_option is None else policy.hysteresis * best.total,
        broken=broken,
        solution=solution,
    )


def _option(
    plan: Deployment, problem: LatencyAwareProblem, change: Reconfiguration | None, policy: ReplanningPolicy
) -> PlanOption | None:
    """Gain and price of a plan; None if it breaks anything."""
    evaluation = problem.evaluate(plan)
    if not evaluation.feasible:
        return None
    downtime = 0.0 if change is None else change.downtime(plan)
    moves = 0 if change is None else sum(action.moved_replicas for action in change.current.actions_to(plan))
    return PlanOption(plan, evaluation.objective, downtime, policy.price(downtime), moves)


def _working(problem: LatencyAwareProblem, running: Deployment) -> tuple[Deployment | None, tuple[str, ...]]:
    """The running deployment as far as it is still wanted, repaired where it does not work; and its faults."""
    nodes, operators = problem.network.by_name, problem.application.by_name
    working = {name: running[name] for name in operators if name in running}
    wrong = [f"{name} on {node}: there is no such node" for name in working for node in working[name] if node not in nodes]
    wrong += [f"{name}: does not run" for name in operators if name not in running]
    wrong = wrong or list(problem.evaluate(Deployment(working)).broken)
    if not wrong:
        return Deployment(working), ()
    return patched(problem, running), tuple(wrong)
