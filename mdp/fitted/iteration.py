"""Fitted value iteration, and the exact process restricted to where its policy leads.

C(P) ≈ c_n + Σ_intervals f_n(first, end) keeps the best response an SSM with arc costs, exact for the fitted function and
independent of how many partitions there are. Each round fits it to exact Bellman backups at partitions that the current
policy visits. The *restricted process* then allows only some hundreds of partitions per node count, drawn along trajectories
of the fitted policy with little noise, and is solved exactly: it mends what an additive function cannot express.
"""

from __future__ import annotations

import numpy as np
from threadpoolctl import threadpool_limits

from edrp.core.arrays import Floats
from edrp.core.budget import look, spend
from edrp.core.kernels import kernel
from edrp.core.tolerances import STATE_RESOLUTION
from edrp.mdp.fitted.features import Features
from edrp.mdp.fitted.policies import KEPT_STATE_UNITS, FittedPolicy, RestrictedPolicy, gains_to
from edrp.mdp.fitted.trajectories import distinct, visit
from edrp.mdp.partitions import Boundaries
from edrp.mdp.policy.process import PolicyModel

FITTING_ROUNDS = 15
FITTING_SAMPLES = 200
"""Partitions of each node count at which a round computes backups."""

RANDOM_VISIT_SHARE = 0.3
"""Share of random partitions among those that a round visits."""

BACKUP_PAIR_UNITS = 1e-9
"""Units of work per pair of partitions in a backup of the restricted process."""

RESTRICTED_VISIT_SHARE = 0.05
RESTRICTED_PARTITIONS = 1500
"""Default number of partitions of each node count in the restricted process."""


def fit(
    model: PolicyModel, generator: np.random.Generator, *, rounds: int = FITTING_ROUNDS, samples: int = FITTING_SAMPLES
) -> FittedPolicy:
    """Fit projected costs by value iteration on samples.

    Parameters
    ----------
    model
        The process; there must be a partition for each node count.
    """
    features = [Features(model.tasks.work_before, model.limit(nodes)) for nodes in model.counts]
    policy = FittedPolicy(model, tuple(np.zeros(feature.count) for feature in features))
    # The systems are small: threads of BLAS that wait for each other would cost many times the work.
    with threadpool_limits(1, user_api="blas"):
        for _ in range(rounds):
            visited = visit(policy, model, samples, RANDOM_VISIT_SHARE, generator)
            targets = [policy.backups(source, rows) for source, rows in enumerate(visited)]
            weights = [feature.fit(rows, y) for feature, rows, y in zip(features, visited, targets, strict=True)]
            policy = FittedPolicy(model, tuple(weights))
    return policy


def restrict(policy: FittedPolicy, generator: np.random.Generator, *, kept: int = RESTRICTED_PARTITIONS) -> RestrictedPolicy:
    """Solve the process restricted to partitions that a fitted policy visits.

    Parameters
    ----------
    kept
        Partitions of each node count, before repetitions are dropped; all of them, where there are no more than that.
    """
    model = policy.model
    if max(model.size.states) <= kept:
        partitions = tuple(rows.astype(np.int64) for rows in model.partitions)
    else:
        partitions = tuple(distinct(rows) for rows in visit(policy, model, kept, RESTRICTED_VISIT_SHARE, generator))
    costs = [[_costs(model, a, b) for b in partitions] for a in partitions]
    values = [np.zeros(len(rows)) for rows in partitions]
    error = np.inf
    while error > STATE_RESOLUTION * model.total_state:
        look("the restricted process")
        new = [_backup(model, costs[source], values, source) for source in range(len(values))]
        smallest_change = min(float((b - a).min()) for a, b in zip(values, new, strict=True))
        largest_change = max(float((b - a).max()) for a, b in zip(values, new, strict=True))
        reach = model.discount / (1 - model.discount)
        error = reach * (largest_change - smallest_change) / 2
        values = [value + reach * (smallest_change + largest_change) / 2 for value in new]
    return RestrictedPolicy(model, partitions, tuple(values))


def _costs(model: PolicyModel, before: Boundaries, after: Boundaries) -> Floats:
    look("the restricted process")
    spend(KEPT_STATE_UNITS * (before.size * len(after) + len(before) * after.size))
    gains = np.empty((len(before), len(after)))
    _all_gains(model.tasks.state_before, before, after, gains)
    return model.total_state - gains


@kernel
def _all_gains(state_before: np.ndarray, before: np.ndarray, after: np.ndarray, gains: np.ndarray) -> None:
    for row in range(before.shape[0]):
        gains_to(state_before, before[row], after, gains[row])


def _backup(model: PolicyModel, costs: list[Floats], values: list[Floats], source: int) -> Floats:
    new = np.zeros(len(values[source]))
    for target in model.successors(source):
        spend(BACKUP_PAIR_UNITS * costs[target].size)
        new += model.transitions[source, target] * (costs[target] + model.discount * values[target]).min(axis=1)
    return new
