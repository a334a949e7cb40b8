"""A deployment for the load now that weighs what later changes of a random load will probably cost."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from edrp.core.document import Document, Faults, Name, Outcome, Positive, checks, unit
from edrp.core.late_imports import sparse
from edrp.core.problem import Evaluation, Margin
from edrp.core.solution import Solution, resolution
from edrp.core.transitions import TransitionProbability, check_transitions, reachable_states
from edrp.placement.deployment import Action, Deployment
from edrp.placement.edrp import EdrpSolution
from edrp.placement.over_time import Load, LoadedProblem, PlacementOverTime
from edrp.placement.sequence import EdrpSequence, Period

SHARED_FIELDS = tuple(name for name in PlacementOverTime.model_fields if name != "kind")
"""Fields of all problems over time."""


class LoadLevel(Load):
    """A load that comes up again and again, and the limits that hold under it."""

    name: Name = Field(description="unique among the levels")


class PolicyState(Outcome):
    """The decision of a policy when a level of the load begins while a deployment runs."""

    level: Name = Field(description="level that begins")
    deployment: Annotated[int, Field(ge=0)] = Field(description="what runs then, counted from 0 in `deployments`", **unit("1"))
    next: Annotated[int, Field(ge=0)] = Field(description="what is to run from then on, counted likewise", **unit("1"))
    cost: float = Field(description="expected: of this change, this period and, discounted, all that follow", **unit("s"))


class DeploymentPolicy(Outcome):
    """A deployment for now, and what is to be done at each level that may follow.

    Without states the deployment never changes: a state that is not listed keeps what runs.
    """

    deployments: Annotated[tuple[Deployment, ...], Field(min_length=1)] = Field(
        description="deployments of the policy; the first one is for now"
    )
    states: tuple[PolicyState, ...] = Field((), description="what the policy does in each state that it can come to")

    @property
    def deployment(self) -> Deployment:
        """The deployment for now."""
        return self.deployments[0]


class EdrpPolicySolution(Solution):
    """The answer of a method to a problem of kind `edrp-policy`."""

    metric_units: ClassVar[Mapping[str, str]] = {
        **EdrpSolution.metric_units,
        "moved_state": "B",
        "running": "s",
        "changing": "s",
        "projected_cost": "s",
    }

    kind: Literal["edrp-policy-solution"] = Field("edrp-policy-solution", description="says what the document is")
    objective: float | None = Field(
        description="cost of this period and its change, and discounted what is expected to follow", **unit("s")
    )
    bound: float | None = Field(description="proven: no policy is expected to cost less", **unit("s"))
    deployment: Deployment | None = Field(description="what is to run now: nodes per operator, once per replica")
    actions: tuple[Action, ...] = Field(description="changes from the current deployment")
    policy: DeploymentPolicy | None = Field(description="what is to be done at each level that may follow")

    @property
    def decision(self) -> DeploymentPolicy | None:
        """The deployment for now and what follows."""
        return self.policy


class EdrpPolicyProblem(PlacementOverTime):
    """Joint replication and placement now, where the load goes on changing at random between levels.

    In each period the load is at one of the levels; `transitions` gives the probabilities of the next one, which is seen before
    the deployment for it is chosen. The objective of a decision is the cost of this period and of the change that leads to it,
    in seconds of an objective of 1 as in `edrp-sequence`, plus γ times the projected cost: what all later periods and changes are
    expected to cost, discounted by γ for each period.

    Examples
    --------
    A second replica costs 1 in each period of the high load that has it, and to start it costs 0.5:

    >>> queue = {"model": "mm1", "service_rate": 10.0}
    >>> problem = EdrpPolicyProblem(
    ...     application={"operators": [{"name": "work", "latency": queue, "external_rate": 5.0, "cost": 1.0, "max_replicas": 2}]},
    ...     network={"nodes": [{"name": "a"}]},
    ...     weights={"cost": 1.0},
    ...     limits={"cost": 1.0, "response_time": 0.5},
    ...     levels=[{"name": "low"}, {"name": "high", "external_rates": {"work": 15.0}, "limits": {"cost": 2.0}}],
    ...     transitions=[[0.5, 0.5], [1.0, 0.0]],
    ...     period=1.0,
    ...     discount=0.5,
    ...     changes={"started_replicas": 0.5},
    ...     level="high",
    ... )
    >>> policy = {
    ...     "deployments": [{"work": ["a", "a"]}, {"work": ["a"]}],
    ...     "states": [
    ...         {"level": "low", "deployment": 0, "next": 1, "cost": 2.6},
    ...         {"level": "low", "deployment": 1, "next": 1, "cost": 2.6},
    ...         {"level": "high", "deployment": 1, "next": 0, "cost": 3.8},
    ...     ],
    ... }
    >>> evaluation = problem.evaluate(policy)
    >>> round(evaluation.objective, 6), evaluation.broken
    (3.3, ())
    """

    objective_terms: ClassVar[tuple[str, ...]] = ("running", "changing", "expected later, discounted")
    decision_type: ClassVar[Any] = DeploymentPolicy
    before_field: ClassVar[str] = "current"
    loads_field: ClassVar[str] = "levels"

    kind: Literal["edrp-policy"] = Field("edrp-policy", description="says what the document is")
    levels: Annotated[tuple[LoadLevel, ...], Field(min_length=1)] = Field(description="levels between which the load changes")
    transitions: tuple[tuple[TransitionProbability, ...], ...] = Field(
        description="row i gives the probabilities of the level in the period after one at levels[i]", **unit("1")
    )
    period: Positive = Field(description="time for which the load stays at a level", **unit("s"))
    discount: float = Field(
        ge=0, lt=1, description="γ: weight of what the next period costs; its limits hold anyway", **unit("1")
    )
    level: Name = Field(description="level of the period that begins now")
    current: Deployment | None = Field(
        None, description="deployment now, which may break limits; null: the first one costs no change"
    )

    @checks()
    def _check_levels(self, faults: Faults) -> None:
        names = [level.name for level in self.levels]
        faults.add_repeated_names("levels", names)
        faults.add_unknown(("level",), self.level, "level", names)
        check_transitions(self.transitions, len(names), "levels", "level", faults)

    @cached_property
    def level_numbers(self) -> dict[str, int]:
        """Index of each level by its name."""
        return {level.name: index for index, level in enumerate(self.levels)}

    @cached_property
    def reachable_levels(self) -> tuple[int, ...]:
        """Indices of the levels that can come up from now on, ascending."""
        return reachable_states(self.transitions, self.level_numbers[self.level])

    def at_level(self, level: int, before: Deployment | None = None) -> LoadedProblem:
        """The problem of kind `edrp` at a level, by its index, as a change from the deployment before."""
        return self.under(self.levels[level], before)

    @cached_property
    def level_sequence(self) -> EdrpSequence:
        """A sequence with a period for each level that can come up, in the order of `reachable_levels`.

        What it costs to run a deployment in a period, or to change to it, is what the policy is charged at the level.
        """
        shared = {name: getattr(self, name) for name in SHARED_FIELDS}
        periods = [
            Period(duration=self.period, **{name: getattr(self.levels[index], name) for name in Load.model_fields})
            for index in self.reachable_levels
        ]
        return EdrpSequence(**shared, periods=periods, initial=self.current)

    def read_decision(self, decision: Any, place: str = "decision") -> DeploymentPolicy:
        """Read a policy, or a deployment that is never to change.

        Raises
        ------
        InvalidInstanceError
            When it is neither, or names what the problem does not have.
        """
        plain = isinstance(decision, Mapping) and not isinstance(decision, Document) and "deployments" not in decision
        if isinstance(decision, Deployment) or (plain and "kind" not in decision):
            decision = {"deployments": [decision]}
        policy: DeploymentPolicy = super().read_decision(decision, place)
        return policy

    def _check_decision(self, decision: DeploymentPolicy, place: str, faults: Faults) -> None:
        for index, deployment in enumerate(decision.deployments):
            self.base._check_decision(deployment, place if not decision.states else f"{place}.deployments[{index}]", faults)
        known: set[tuple[str, int]] = set()
        for index, state in enumerate(decision.states):
            at = (place, "states", index)
            faults.add_unknown((*at, "level"), state.level, "level", self.level_numbers)
            for field in ("deployment", "next"):
                if getattr(state, field) >= len(decision.deployments):
                    faults.add((*at, field), getattr(state, field), f"must be below {len(decision.deployments)}")
            if (state.level, state.deployment) in known:
                faults.add(at, f"{state.level}, {state.deployment}", "is given twice")
            known.add((state.level, state.deployment))

    def evaluate(self, decision: Any) -> Evaluation:
        """Evaluate a policy; the costs of its states must satisfy its Bellman equation, and its changes keep all limits.

        A deployment alone is one that never changes.
        """
        policy = self.read_decision(decision)
        follow = {(self.level_numbers[state.level], state.deployment): state.next for state in policy.states}
        step = partial(self._step, policy.deployments)
        costs = policy_costs(follow, step, self.transitions, self.discount, self.level_numbers[self.level])
        loaded = self.at_level(self.level_numbers[self.level], self.current)
        evaluation = loaded.problem.evaluate(policy.deployment)
        change = self.change(loaded, policy.deployment)
        running, changing = self.period * loaded.factor * evaluation.objective, self.changes.of(change)
        metrics = {
            **evaluation.metrics,
            "started_replicas": 0.0 if change is None else float(change.started_replicas),
            "moved_state": 0.0 if change is None else change.moved_state,
            "running": running,
            "changing": changing,
            "projected_cost": costs.projected,
        }
        broken = [*evaluation.broken, *costs.broken, *self._disagreements(policy, costs)]
        return Evaluation(running + changing + self.discount * costs.projected, metrics, tuple(broken))

    def margins(self, decision: Any) -> Iterator[Margin]:
        """Yield what the first deployment uses of each limit at the level of now."""
        loaded = self.at_level(self.level_numbers[self.level], self.current).problem
        yield from loaded.limit_margins(loaded.evaluate(self.read_decision(decision).deployment).metrics)

    def _step(self, deployments: Sequence[Deployment], level: int, before: int, after: int) -> tuple[float, list[str]]:
        """Cost of a period at a level and of the change before it, and the limits that they break."""
        loaded = self.at_level(level, deployments[before])
        evaluation = loaded.problem.evaluate(deployments[after])
        price = self.changes.of(self.change(loaded, deployments[after]))
        broken = [f"level '{self.levels[level].name}': {why}" for why in evaluation.broken]
        return self.period * loaded.factor * evaluation.objective + price, broken

    def _disagreements(self, policy: DeploymentPolicy, costs: PolicyCosts) -> Iterator[str]:
        for state in policy.states:
            follows = costs.by_state[self.level_numbers[state.level], state.deployment]
            if abs(state.cost - follows) > resolution(follows):
                what = f"projected cost of deployment {state.deployment} at level '{state.level}'"
                yield f"{what}: {state.cost!r} does not satisfy the Bellman equation of the policy, which gives {follows!r}"

    def inconsistency(self, decision: Any) -> str:
        """A disagreement of `evaluate` and `linearise` of a rule in Python or a metric at some level, or ""."""
        deployments = self.read_decision(decision).deployments
        problems = (self.at_level(level).problem for level in self.reachable_levels)
        return next(filter(None, (problem.inconsistency(d) for problem in problems for d in deployments)), "")

    def solution(self, decision: DeploymentPolicy | None, fields: dict[str, Any]) -> EdrpPolicySolution:
        """The deployment for now, the actions that lead to it, and the policy."""
        policy = None if decision is None else self.read_decision(decision)
        deployment = None if policy is None else policy.deployment
        actions = () if deployment is None or self.current is None else self.current.actions_to(deployment)
        return EdrpPolicySolution.model_construct(**fields, deployment=deployment, actions=actions, policy=policy)

    def clashes(self) -> tuple[str, ...]:
        """Why some level that can come up has no feasible deployment, where that can be told without solving."""
        return tuple(
            f"level '{self.levels[level].name}': {why}"
            for level in self.reachable_levels
            for why in self.at_level(level).problem.clashes()
        )


State = tuple[int, int]
"""Index of the level that begins, and of the deployment that runs then."""

Step = Callable[[int, int, int], tuple[float, Sequence[str]]]
"""Cost of a period at a level and of the change before it, from one deployment to another, and the limits that they break."""


@dataclass(frozen=True, slots=True)
class PolicyCosts:
    """Expected discounted costs of a policy.

    Attributes
    ----------
    projected : of all that follows the period that begins now, in seconds.
    by_state : expected cost from each state on that the policy lists or can come to, in seconds.
    broken : limits that it breaks in some of them, in words.
    """

    projected: float
    by_state: Mapping[State, float]
    broken: tuple[str, ...]


def policy_costs(
    follow: Mapping[State, int], step: Step, transitions: Sequence[Sequence[float]], discount: float, level: int
) -> PolicyCosts:
    """Solve the Bellman equation of a policy, V(l, d) = c(l, d, d′) + γ·Σ_m P(l, m)·V(m, d′) with its d′ in each state.

    Parameters
    ----------
    follow
        d′ by state; in a state that is not listed it is d. Deployment 0 runs now.
    level
        Level of the period that begins now.

    Examples
    --------
    A deployment that stays and costs 1 in each period:

    >>> policy_costs({}, lambda level, before, after: (1.0, ()), [[1.0]], 0.5, 0).projected
    2.0
    """
    followers = [{other: chance for other, chance in enumerate(row) if chance > 0} for row in transitions]
    waiting = [*((other, 0) for other in followers[level]), *follow]
    costs: dict[State, float] = {}
    broken: dict[str, None] = {}
    while waiting:
        at, before = waiting.pop()
        if (at, before) not in costs:
            after = follow.get((at, before), before)
            costs[at, before], faults = step(at, before, after)
            broken |= dict.fromkeys(faults)
            waiting += [(other, after) for other in followers[at]]
    values = _solve(costs, follow, followers, discount)
    projected = sum(chance * values[other, 0] for other, chance in followers[level].items())
    return PolicyCosts(projected, values, tuple(broken))


def _solve(
    costs: Mapping[State, float], follow: Mapping[State, int], followers: Sequence[Mapping[int, float]], discount: float
) -> dict[State, float]:
    """Solve (I − γP)·V = c over states that lead to no others; infinite where some cost is."""
    states = sorted(costs)
    index = {state: row for row, state in enumerate(states)}
    rows, columns, chances = [], [], []
    for level, before in states:
        after = follow.get((level, before), before)
        for other, chance in followers[level].items():
            rows.append(index[level, before])
            columns.append(index[other, after])
            chances.append(discount * chance)
    size = (len(states), len(states))
    matrix = sparse.eye_array(len(states), format="csc") - sparse.csc_array((chances, (rows, columns)), size)
    right = np.array([costs[state] for state in states])
    solved = sparse.linalg.spsolve(matrix.tocsc(), right) if np.isfinite(right).all() else np.full(len(states), np.inf)
    return dict(zip(states, np.atleast_1d(solved).tolist(), strict=True))
