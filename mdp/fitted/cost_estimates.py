"""Projected costs of a policy estimated by simulation, and the answer of SSM where there was no time for a better policy."""

from __future__ import annotations

from contextlib import suppress

import numpy as np

from edrp.core.errors import OutOfTimeError
from edrp.core.methods import Options
from edrp.core.solution import Answer
from edrp.mdp.fitted.policies import PartitionPolicy, SingleStepPolicy
from edrp.mdp.fitted.trajectories import draw_node_counts, follow
from edrp.mdp.matching import gain_between
from edrp.mdp.partitions import Boundaries, OldNodes
from edrp.mdp.policy.process import PolicyModel
from edrp.mdp.single_step.tie_breaking import best_migration
from edrp.migration.policy import MigrationPolicyProblem, PolicyDecision

ESTIMATE_RUNS = 200

NEGLIGIBLE_DISCOUNT = 1e-4
"""Discount factor below which later steps are left out of an estimate."""

ESTIMATE_NOTE = "the projected cost is estimated by simulation; the bound is the cost of ssm for this step"
SINGLE_STEP_NOTE = f"the answer is that of ssm, which minimises this step alone; {ESTIMATE_NOTE}"

POLICY_TIME_SHARE = 0.85
"""Share of a time limit after which SSM answers instead of a fitted policy."""


def projected_cost(policy: PartitionPolicy, model: PolicyModel, start: Boundaries, source: int, seed: int) -> float:
    """Estimate the mean discounted cost of a policy from a partition, in bytes; at least one run where time is short."""
    steps = 1 if model.discount == 0 else max(1, int(np.ceil(np.log(NEGLIGIBLE_DISCOUNT) / np.log(model.discount))))
    generator = np.random.default_rng([seed, 1])
    costs: list[float] = []
    with suppress(OutOfTimeError):
        while len(costs) < ESTIMATE_RUNS:
            node_counts = draw_node_counts(model, source, steps, generator)
            costs.append(float(model.discount ** np.arange(steps) @ follow(policy, model, start, node_counts)[1]))
    return float(np.mean(costs)) if costs else _shortest_estimate(policy, model, start, source, generator)


def _shortest_estimate(
    policy: PartitionPolicy, model: PolicyModel, start: Boundaries, source: int, generator: np.random.Generator
) -> float:
    """Estimate the projected cost from one step, as if all later ones cost the same."""
    target = int(draw_node_counts(model, source, 1, generator)[0])
    state = model.tasks.state_before
    return float(state[-1] - gain_between(state, start, policy.action(start, target))) / (1 - model.discount)


def single_step_answer(problem: MigrationPolicyProblem, options: Options, *why: str) -> Answer:
    """Answer by SSM: optimal for this step, with an estimate of later costs under the same rule."""
    model = PolicyModel.of(problem, problem.reachable_counts)
    size = {"states": sum(model.size.states), "pairs": model.size.pairs}
    if 0 in model.size.states:
        return Answer("infeasible", "finished", size=size)
    old, nodes_before = OldNodes.of(problem.intervals), len(problem.intervals)
    best = best_migration(model.tasks, old, nodes_before, problem.nodes, problem.tolerance, problem.allow_empty)
    assert best is not None, "there is a partition for every node count"
    moved = max(0.0, model.total_state - best[0])
    chosen = OldNodes.of([interval for interval in best[1] if interval is not None]).boundaries
    projected = projected_cost(SingleStepPolicy(model), model, chosen, model.counts.index(problem.nodes), options.seed)
    decision = PolicyDecision(best[1], projected, moved + model.discount * projected)
    return Answer("feasible", "time_limit", decision, decision.objective, moved, size, notes=(*why, SINGLE_STEP_NOTE))
