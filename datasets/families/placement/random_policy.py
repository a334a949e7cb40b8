"""Small random policies of deployments that use every part of the model, for agreement tests and fuzzing."""

from __future__ import annotations

import numpy as np

from edrp.datasets.families.placement.random_sequence import random_sequence
from edrp.placement.over_time import Load
from edrp.placement.policy import SHARED_FIELDS, EdrpPolicyProblem

DISCOUNTS = (0.0, 0.5, 0.8, 0.95)

IMPOSSIBLE = 0.25
"""Probability that a level never follows another one."""


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
