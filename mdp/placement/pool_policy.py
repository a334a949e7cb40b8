"""`pool-policy`: a policy over a pool of deployments, and a bound that does not depend on the pool."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from math import inf

import numpy as np

from edrp.core.arrays import Ints
from edrp.core.errors import OutOfTimeError
from edrp.core.methods import Method, Options
from edrp.core.solution import Answer, StoppedBecause, relative_gap, within_gap
from edrp.mdp.placement.coordinates import ChangeCoordinates
from edrp.mdp.placement.intervals import SolvePriced, differing_rows
from edrp.mdp.placement.policy_bounds import PolicyBounds, PolicyRelaxation
from edrp.mdp.placement.pool import DeploymentPool, all_deployments, count_deployments, neighbours
from edrp.mdp.placement.pool_decisions import NO_DECISION, LevelArrays, PoolDecision, PoolDecisions, compile_levels
from edrp.placement.counted_values import PeriodValues
from edrp.placement.metrics.base import SEARCHED
from edrp.placement.policy import DeploymentPolicy, EdrpPolicyProblem, PolicyState

MAX_LISTED, MAX_COMPLETE, MAX_COMPLETE_TIMED = 100_000, 5_000, 300
"""Deployments up to which all are listed; feasible ones among them that make a complete pool, fewer where downtime counts."""

MAX_BOUNDS = 30
"""Maximum number of multipliers at which a bound is computed."""

MORE_PRECISE = 2
"""The same where there are no multipliers: priced problems are only solved more precisely."""

FIRST_SHARE, FIRST_GAP, PRECISION = 0.5, 1e-4, 0.005
"""Share of the way to better multipliers that is gone first; gap of the first priced problems, and that of others as a share of
the gap of the answer.
"""

LEVEL_SHARE = 0.25
"""Share of what is left of a limit that a priced problem may take."""


@dataclass(frozen=True, slots=True)
class PoolPolicyParameters:
    """Parameters of "pool-policy"; `complete`: whether to list all deployments where they are few."""

    complete: bool = True


class PoolPolicy(Method):
    """Chooses deployments from a pool by value iteration; bounds all policies by priced problems.

    Parameters
    ----------
    solve
        Solver of priced problems (`edrp.formulations.placement.priced`).
    """

    name = "pool-policy"
    kinds = ("edrp-policy",)
    takes = SEARCHED
    exact = True
    undivided = "the root of a priced problem"
    summary = "value iteration over levels and a growing pool of deployments; all deployments where they are few"
    parameters = PoolPolicyParameters

    def __init__(self, solve: SolvePriced) -> None:
        self.solve = solve

    def obstacle(self, problem: EdrpPolicyProblem) -> str | None:
        """Its rows are those of all levels."""
        return differing_rows(compile_levels(problem).sequence.periods, self.name)

    def run(self, problem: EdrpPolicyProblem, options: Options) -> Answer:
        """Decide over all deployments where they are few, otherwise over a pool that grows until nothing better is found."""
        levels = compile_levels(problem)
        coordinates = ChangeCoordinates.of(levels.sequence)
        first = levels.sequence.periods[0]
        pool = DeploymentPool(PeriodValues(levels.sequence.periods), coordinates)
        decisions = PoolDecisions(levels, pool)
        if self.read_parameters(options).complete and count_deployments(first) <= MAX_LISTED:
            pool.add(all_deployments(first))
            if len(pool) <= (MAX_COMPLETE_TIMED if levels.sequence.times_downtime else MAX_COMPLETE):
                return _complete_answer(problem, decisions, options)
        for given in _given(problem, levels, options):
            pool.add(np.concatenate([given[None], neighbours(given, first.candidate)]))
        run = _PoolRun(
            problem, decisions, PolicyBounds(levels, coordinates, pool, self.solve, max(FIRST_GAP, options.gap)), options
        )
        return run.answer()


def _given(problem: EdrpPolicyProblem, levels: LevelArrays, options: Options) -> Iterator[Ints]:
    """The current deployment, and the deployments of the policy to start from."""
    if levels.sequence.initial is not None:
        yield levels.sequence.initial
    if options.start is not None:
        for deployment in problem.read_decision(options.start, "start").deployments:
            with suppress(KeyError):  # of nodes that no operator may use
                yield levels.sequence.periods[0].counts(deployment)


def _complete_answer(problem: EdrpPolicyProblem, decisions: PoolDecisions, options: Options) -> Answer:
    """The answer over all deployments, whose bound is one of all policies."""
    decision = decisions.decide(np.arange(len(decisions.pool)))
    if decision.member < 0:
        return Answer("infeasible", "finished", size=_size(decisions, decision))
    proven = within_gap(decision.objective, decision.bound, options.gap)
    return Answer(
        "optimal" if proven else "feasible",
        "finished" if proven else "time_limit",
        named_policy(problem, decisions, decision),
        decision.objective,
        decision.bound,
        _size(decisions, decision),
    )


def named_policy(problem: EdrpPolicyProblem, decisions: PoolDecisions, decision: PoolDecision) -> DeploymentPolicy:
    """A decision over a pool as a document."""
    assert decision.course is not None
    compiled, counts = decisions.levels.sequence.periods[0], decisions.pool.counts
    befores = [before for _, before in decision.course.states]
    members = list(dict.fromkeys([*decision.used, *befores]))
    place = {member: index for index, member in enumerate(members)}
    names = [problem.levels[index].name for index in problem.reachable_levels]
    steps = zip(decision.course.states, decision.course.actions, decision.course.values.tolist(), strict=True)
    states = [
        PolicyState(level=names[level], deployment=place[before], next=place[after], cost=cost)
        for (level, before), after, cost in steps
    ]
    return DeploymentPolicy(
        deployments=tuple(compiled.deployment(counts[member]) for member in members),
        states=tuple(sorted(states, key=lambda state: (state.deployment, names.index(state.level)))),
    )


def _size(decisions: PoolDecisions, decision: PoolDecision, priced: int = 0) -> dict[str, int]:
    levels, pool = decisions.levels.count, len(decisions.pool)
    size = {"levels": levels, "deployments": pool, "states": levels * pool, "sweeps": decision.sweeps}
    return {**size, "priced_problems": priced} if priced else size


class _PoolRun:
    """A run over a pool that does not hold all deployments."""

    def __init__(self, problem: EdrpPolicyProblem, decisions: PoolDecisions, bounds: PolicyBounds, options: Options) -> None:
        self.problem, self.decisions, self.bounds, self.options = problem, decisions, bounds, options
        self.best, self.bound = NO_DECISION, -inf

    def answer(self) -> Answer:
        """Solve the levels, grow the pool, and improve the bound, until both meet or the limit has passed."""
        bounds = self.bounds
        multipliers = bounds.no_multipliers()
        self._raise_bound(multipliers)
        if self.bounds.infeasible is not None:
            return Answer("infeasible", "finished", size=_size(self.decisions, self.best, self.bounds.priced))
        self._improve()
        share = FIRST_SHARE
        for _ in range(MAX_BOUNDS if multipliers.size else MORE_PRECISE):
            if self._proven or self.options.remaining <= 0:
                break
            # Bounds are concave in the multipliers: on the way to those that suit a poor pool there are better ones.
            relaxation = PolicyRelaxation(bounds.levels, bounds.coordinates, bounds.pool, bounds.fixed)
            climbed = relaxation.climb(multipliers, self.best.objective)
            tried, size, before = multipliers + share * (climbed - multipliers), len(self.decisions.pool), self.bound
            self._raise_bound(tried)
            multipliers, share = (tried, min(1.0, 2 * share)) if self.bound > before else (multipliers, share / 2)
            if len(self.decisions.pool) > size:
                self._improve()
        return self._named()

    @property
    def _proven(self) -> bool:
        return within_gap(self.best.objective, self.bound, self.options.gap)

    def _raise_bound(self, multipliers: np.ndarray) -> None:
        if self.best.member >= 0:
            self.bounds.gap = max(0.1 * self.options.gap, PRECISION * relative_gap(self.best.objective, self.bound))
        with suppress(OutOfTimeError):  # a bound at other multipliers is kept
            self.bound = max(self.bound, self.bounds.bound(multipliers, self._units, self.best.objective))

    def _improve(self) -> None:
        """Decide over the pool, and let it grow."""
        try:
            decision = self.decisions.decide(self.decisions.active(self.best.used))
        except OutOfTimeError:
            return
        decision = self.decisions.grow(decision)
        if decision.objective < self.best.objective:
            self.best = decision

    def _units(self) -> float | None:
        left = self.options.remaining
        return None if left == inf else LEVEL_SHARE * left

    def _named(self) -> Answer:
        stopped: StoppedBecause = "time_limit" if self.options.remaining <= 0 else "iteration_limit"
        size = _size(self.decisions, self.best, self.bounds.priced)
        bound = None if self.bound == -inf else self.bound
        if self.best.member < 0:
            return Answer("none", stopped, bound=bound, size=size)
        if bound is not None:
            bound = min(bound, self.best.objective)
        policy = named_policy(self.problem, self.decisions, self.best)
        if self._proven:
            return Answer("optimal", "finished", policy, self.best.objective, bound, size)
        return Answer("feasible", stopped, policy, self.best.objective, bound, size)
