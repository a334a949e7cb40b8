"""Small random sequences and policies of deployments that use every part of the model, for agreement tests and fuzzing."""

from __future__ import annotations

from typing import Any

import numpy as np

from edrp.datasets.families.placement.random_edrp import random_problem
from edrp.placement.metric_values import Limits, Weights
from edrp.placement.over_time import Load
from edrp.placement.policy import SHARED_FIELDS, EdrpPolicyProblem
from edrp.placement.sequence import EdrpSequence

LOADS = (0.3, 1.15)
"""Load of a period relative to the one that the random problem is drawn for."""

OWN_LIMITS, NO_INITIAL = 0.2, 0.4
"""Probabilities that a period has limits of its own, and that there is no initial deployment."""

DISCOUNTS = (0.0, 0.5, 0.8, 0.95)

IMPOSSIBLE = 0.25
"""Probability that a level never follows another one."""


def random_sequence(
    seed: int,
    *,
    operators: tuple[int, int] = (2, 3),
    nodes: tuple[int, int] = (2, 3),
    periods: tuple[int, int] = (3, 4),
    combinations: float = 250,
) -> EdrpSequence:
    """Draw a sequence; some are infeasible.

    All prices of changes, limits on downtime, limits of single periods, both ways to reconfigure and initial deployments that
    break limits occur.

    Parameters
    ----------
    combinations
        Deployments at most, feasible or not.
    """
    random = np.random.default_rng([seed, 40])
    base = random_problem(seed, operators=operators, nodes=nodes, combinations_limit=combinations)
    kept = {name: getattr(base.weights, name) for name in ("response_time", "cost", "network_usage", "availability")}
    total = sum(kept.values())
    weights = Weights(**{name: weight / total for name, weight in kept.items()})
    # The limits; where a weight needs one that is missing, one that does not bind.
    loose = {"response_time": 1e3, "cost": 1e6, "network_usage": 1e6, "availability": 1e-6}
    missing = {name: value for name, value in loose.items() if weights.of(name) and base.limits.of(name) is None}
    limits = base.limits.replace(**missing)
    sources = [operator for operator in base.application.operators if operator.external_rate]
    described = []
    for _ in range(int(random.integers(periods[0], periods[1] + 1))):
        level = random.uniform(*LOADS)
        rates = {operator.name: round(float(level * operator.external_rate), 3) for operator in sources if random.random() < 0.9}
        period: dict[str, Any] = {"duration": float(random.integers(1, 5)), "external_rates": rates}
        if random.random() < OWN_LIMITS:
            period["limits"] = _scaled(limits, float(random.uniform(0.9, 1.5)))
        described.append(period)
    prices = {
        "change": float(random.choice([0.0, 0.05, 0.5])),
        "downtime": float(random.choice([0.0, 0.0, 0.5])),
        "moved_state": float(random.choice([0.0, 1e-7])),
        "started_replicas": float(random.choice([0.0, 0.1, 0.4])),
    }
    fields = {name: getattr(base, name) for name in ("application", "network", "synchronisation_time", "reconfiguration")}
    initial = None if random.random() < NO_INITIAL else base.current
    return EdrpSequence(**fields, weights=weights, limits=limits, periods=described, changes=prices, initial=initial)


def _scaled(limits: Limits, factor: float) -> Limits:
    scaled = {name: limits.of(name) for name in ("response_time", "cost")}
    return limits.replace(**{name: value * factor for name, value in scaled.items() if value is not None})


def random_policy(seed: int, *, levels: tuple[int, int] = (1, 4), combinations: float = 60) -> EdrpPolicyProblem:
    """Draw a problem over the periods of a random sequence as levels; some are infeasible.

    Parameters
    ----------
    combinations
        Deployments at most, feasible or not.
    """
    random = np.random.default_rng([seed, 41])
    sequence = random_sequence(seed, periods=levels, combinations=combinations)
    count = len(sequence.periods)
    chances = random.dirichlet(np.ones(count), count) * (random.random((count, count)) >= IMPOSSIBLE)
    chances += np.eye(count) * (chances.sum(axis=1) == 0)
    described = [
        {"name": f"level {index}", **{name: getattr(period, name) for name in Load.model_fields}}
        for index, period in enumerate(sequence.periods)
    ]
    return EdrpPolicyProblem(
        **{name: getattr(sequence, name) for name in SHARED_FIELDS},
        levels=described,
        transitions=(chances / chances.sum(axis=1, keepdims=True)).tolist(),
        period=float(random.integers(1, 5)),
        discount=float(random.choice(DISCOUNTS)),
        level=f"level {random.integers(count)}",
        current=sequence.initial,
    )
