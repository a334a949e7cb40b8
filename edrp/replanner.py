"""Placement that is watched while it runs: a new plan when it pays for its moves, and when there is no choice.

The paper's online scheduler plans anew at every interval and enacts what it finds (latency-aware placement, section 5).
Each move stops the application for a while. EDRP measures that as downtime; here its price decides.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import Field

from edrp.documents import Deployment, Node
from edrp.documents.base import Document, Name, NonNegative, Positive
from edrp.problems.latency_aware import LatencyAwareProblem
from edrp.replanner_decision import ReplanningDecision, Verdict
from edrp.replanner_input import with_measurements
from edrp.replanner_plans import Reconfiguration, plans_near, reconfiguration
from edrp.solve import solve


class ReplanningPolicy(Document):
    """When a plan is worth its moves: when `gain > downtime_worth · downtime / horizon + hysteresis · score`.

    Both sides are scores. The gain is had while conditions last, about `horizon` seconds, which may be many
    measurements; the downtime is paid once.

    Raises
    ------
    InvalidInstanceError
        Naming every value that cannot be.

    Examples
    --------
    >>> ReplanningPolicy(horizon=1200.0, downtime_worth=10.0).price(downtime=6.0)
    0.05
    """

    horizon: Positive = Field(1800.0, description="for how long a gain lasts, as expected", json_schema_extra={"unit": "s"})
    downtime_worth: NonNegative = Field(
        10.0,
        description="score that would be as bad as not processing, for as long; with the paper's weights scores go up to 3",
        json_schema_extra={"unit": "1"},
    )
    hysteresis: NonNegative = Field(
        0.01,
        description="share of the present score to be gained on top of the price: trembling measurements move nothing",
        json_schema_extra={"unit": "1"},
    )
    synchronisation_time: NonNegative = Field(0.25, description="t_syn of any reconfiguration", json_schema_extra={"unit": "s"})
    reconfiguration: Literal["pause-and-resume", "storm"] = Field(
        "pause-and-resume", description="whether only what changes stops, or all restart"
    )
    method: Name = Field("iterated-local-search", description="of the registry, to plan with")
    time_limit: Positive | None = Field(1.0, description="to plan; null for none", json_schema_extra={"unit": "s"})
    parameters: dict[Name, Any] = Field({}, description="of the method")

    def price(self, downtime: float) -> float:
        """What a downtime in seconds costs as a score over the horizon."""
        return self.downtime_worth * downtime / self.horizon


class Replanner:
    """Decides again with every measurement, and remembers what runs.

    Parameters
    ----------
    problem
        What is known at first. Its `current`, where given, is what runs.
    policy
        When to move, and how to plan.
    seed
        Of the method; every decision plans with another one that follows from it.

    Attributes
    ----------
    problem
        As of the last measurement.
    running
        What runs, as far as the replanner knows: it counts on its decisions being carried out. Set it where they were not.

    Examples
    --------
    >>> from edrp.problems.latency_aware import LatencyAwareProblem
    >>> nodes = [{"name": "a", "resources": {"cpu": 1.0}}, {"name": "b", "resources": {"cpu": 1.0}}]
    >>> problem = LatencyAwareProblem(
    ...     application={"operators": [{"name": "read", "resources": {"cpu": 0.2}}, {"name": "write", "resources": {"cpu": 0.2}}],
    ...                  "streams": [{"source": "read", "target": "write", "rate": 5.0}]},
    ...     network={"nodes": nodes, "links": [{"source": "a", "target": "b", "delay": 0.01}]},
    ... )
    >>> replanner = Replanner(problem)
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
        self.problem = problem.replace(current=None)
        self.policy = ReplanningPolicy() if policy is None else policy
        self.running = problem.current
        self._seed = seed
        self._known: dict[str, Node] = {}

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
            self.running = self.running if problem.current is None else problem.current
        self._known.update(self.problem.network.by_name)
        decision = decide(self.problem, self.running, self.policy, seed=self._seed, known=self._known)
        self._seed += 1
        self.running = decision.deployment
        return decision


def decide(
    problem: LatencyAwareProblem,
    running: Deployment | None,
    policy: ReplanningPolicy,
    *,
    seed: int = 0,
    known: Mapping[str, Node] | None = None,
) -> ReplanningDecision:
    """Decide once: the same arguments give the same decision, as far as the method of the policy does.

    Besides the plan that the method finds, those are considered that exchange equal nodes so that
    more stays in place, and those that leave out the slowest moves. Taken is the one with the least score and
    price together; among equals, the one that moves least.

    Parameters
    ----------
    problem
        As it is now; its `current` plays no part.
    running
        What runs; it may name nodes and operators that are no more.
    policy
        When to move, and how to plan.
    seed
        Of the method.
    known
        Descriptions of nodes that have vanished, for the time that moving off them takes.
    """
    start, score, broken = _judged(problem, running)
    solution = solve(
        problem.replace(current=start),
        policy.method,
        time_limit=policy.time_limit,
        seed=seed,
        **policy.parameters,
    )
    change = reconfiguration(
        problem, running, known or {}, synchronisation_time=policy.synchronisation_time, how=policy.reconfiguration
    )
    options = _options(solution.deployment, problem, change, policy)
    if not options:
        verdict: Verdict = "stuck" if score is None else "keep"
        return ReplanningDecision(verdict, running, (), None, score, None, 0.0, 0.0, 0.0, broken, solution)
    best = min(options, key=lambda option: (option.score + option.price, option.moves))
    gain = None if score is None else score - best.score
    margin = 0.0 if score is None else policy.hysteresis * abs(score)
    if gain is not None and gain <= best.price + margin:
        verdict, taken = "keep", running
    else:
        verdict, taken = "place" if change is None else "repair" if gain is None else "move", best.plan
    actions = () if verdict == "keep" or running is None else running.actions_to(best.plan)
    new_score = score if verdict == "keep" else best.score
    return ReplanningDecision(
        verdict, taken, actions, best.plan, new_score, gain, best.downtime, best.price, margin, broken, solution
    )


@dataclass(frozen=True, slots=True)
class _Option:
    plan: Deployment
    score: float
    downtime: float
    price: float
    moves: int


def _options(
    plan: Deployment | None, problem: LatencyAwareProblem, change: Reconfiguration | None, policy: ReplanningPolicy
) -> list[_Option]:
    """Plans that break nothing, with what they cost."""
    options = []
    for near in [] if plan is None else plans_near(plan, problem, change):
        found = problem.evaluate(near)
        if found.feasible:
            downtime = 0.0 if change is None else change.downtime(near)
            moves = 0 if change is None else sum(action.moved_replicas for action in change.current.actions_to(near))
            options.append(_Option(near, found.objective, downtime, policy.price(downtime), moves))
    return options


def _judged(problem: LatencyAwareProblem, running: Deployment | None) -> tuple[Deployment | None, float | None, tuple[str, ...]]:
    """What runs by today's measurements: where a method may start, its score, and what is wrong with it."""
    if running is None:
        return None, None, ()
    nodes, operators = problem.network.by_name, problem.application.by_name
    lost = [f"{name} on {node}: there is no such node" for name in running for node in running[name] if node not in nodes]
    missing = [f"{name}: does not run" for name in operators if name not in running]
    if lost or missing:
        return None, None, (*lost, *missing)
    still = Deployment({name: running[name] for name in operators})
    found = problem.evaluate(still)
    if found.feasible:
        return still, found.objective, ()
    allowed = all(set(still[name]) <= set(operators[name].candidates or nodes) for name in operators)
    return still if allowed else None, None, found.broken
