"""Choice of a policy by simulation: none is used unless it beats SSM."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from edrp.core.arrays import Floats
from edrp.mdp.fitted.policies import PartitionPolicy, SingleStepPolicy
from edrp.mdp.fitted.trajectories import draw_node_counts, follow, single_step_start
from edrp.mdp.policy.process import PolicyModel

GUARD_RUNS = 12
GUARD_STEPS = 80
GUARD_WARM_UP = 10
GUARD_CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Saving:
    """Saving of a policy against SSM per migration, as a share of SSM's cost.

    Attributes
    ----------
    mean, low, high : estimate and ends of its 95 % confidence interval, over simulated runs.
    cost, single_step_cost : mean bytes that move per migration.
    """

    mean: float
    low: float
    high: float
    cost: float
    single_step_cost: float

    def __str__(self) -> str:
        return f"{100 * self.mean:.1f} % ({100 * self.low:.1f} to {100 * self.high:.1f} %)"


@dataclass(frozen=True, slots=True)
class GuardedPolicy:
    """The policy that simulation recommends.

    Attributes
    ----------
    name : name of the chosen candidate; "ssm" where none is surely better.
    savings : by name, saving of every candidate.
    """

    name: str
    policy: PartitionPolicy
    savings: dict[str, Saving]


def choose_policy(
    model: PolicyModel, candidates: Mapping[str, PartitionPolicy], seed: int, *, runs: int = GUARD_RUNS, steps: int = GUARD_STEPS
) -> GuardedPolicy:
    """Simulate candidates and SSM on the same random migrations; take the best if it is surely better than SSM.

    Parameters
    ----------
    seed
        Seed of the simulation; should differ from the one that the candidates were made with.
    runs, steps
        Independent runs, and migrations that count in each of them.
    """
    ssm = SingleStepPolicy(model)
    costs: dict[str, Floats] = {name: np.empty(runs) for name in ("ssm", *candidates)}
    for run, child in enumerate(np.random.SeedSequence(seed).spawn(runs)):
        generator = np.random.default_rng(child)
        source = int(generator.integers(len(model.counts)))
        start = single_step_start(model, source, generator)
        classes = draw_node_counts(model, source, GUARD_WARM_UP + steps, generator)
        for name, policy in {"ssm": ssm, **candidates}.items():
            costs[name][run] = follow(policy, model, start, classes)[1][GUARD_WARM_UP:].mean()
    savings = {name: _saving(costs["ssm"], costs[name]) for name in candidates}
    best = min(savings, key=lambda name: savings[name].cost, default="ssm")
    if best == "ssm" or savings[best].low <= 0:
        return GuardedPolicy("ssm", ssm, savings)
    return GuardedPolicy(best, candidates[best], savings)


def _saving(single_step: Floats, costs: Floats) -> Saving:
    base = float(single_step.mean())
    if base == 0:
        return Saving(0.0, 0.0, 0.0, float(costs.mean()), base)
    shares = (single_step - costs) / base
    mean, runs = float(shares.mean()), len(shares)
    error = float(shares.std(ddof=1)) / np.sqrt(runs) if runs > 1 else np.inf
    width = error * float(stdtrit(runs - 1, (1 + GUARD_CONFIDENCE) / 2)) if runs > 1 else np.inf
    return Saving(mean, mean - width, mean + width, float(costs.mean()), base)
