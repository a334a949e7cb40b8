"""Families of policies of deployments: levels of the load of a synthetic day, and how they followed each other."""

from __future__ import annotations

import numpy as np

from edrp.core.arrays import Floats, Ints
from edrp.datasets.families.family import Family, first_line
from edrp.datasets.families.placement.plausible_deployments import near_fit, replicas_for
from edrp.datasets.families.placement.sequence import DEFAULT_OPERATORS, day_curve, elastic_sequence
from edrp.datasets.random_numbers import rounded
from edrp.placement.policy import SHARED_FIELDS, EdrpPolicyProblem

DAYS, HOURS = 28, 24
"""Days from which transitions are counted, and periods of each."""

LEVELS = (3, 4, 5)
DISCOUNTS = (0.8, 0.9, 0.95)

RUNNING_SHARE = 0.6
"""Probability that the application runs already, as it was deployed for another load."""

EARLIER_LEVELS = (0.3, 1.0)
"""Load for which it was deployed, relative to the busiest."""


def elastic_levels(seed: int, *, operators: int = DEFAULT_OPERATORS) -> EdrpPolicyProblem:
    """An instance of the family `elastic-levels` by its seed."""
    return _elastic_levels(operators, np.random.default_rng([seed, operators, 2027]))


def _elastic_levels(operators: int, random: np.random.Generator) -> EdrpPolicyProblem:
    """Operators that need more replicas by day, whose load changes from hour to hour as it did on four weeks of days."""
    day = elastic_sequence(int(random.integers(2**31)), operators=operators)
    source = next(operator for operator in day.application.operators if operator.external_rate)
    loads = np.concatenate([day_curve(HOURS, random) for _ in range(DAYS)])
    count = int(random.choice(LEVELS))
    at = load_levels(loads, count)
    described = [
        {
            "name": f"load {number}",
            "external_rates": {source.name: rounded(float(source.external_rate * loads[at == number].max()))},
        }
        for number in range(count)
    ]
    current = None
    if random.random() < RUNNING_SHARE:
        earlier = replicas_for(day.application, float(random.uniform(*EARLIER_LEVELS)), random)
        current = near_fit(day.application, day.network, earlier, random, choices=3)
    return EdrpPolicyProblem(
        **{name: getattr(day, name) for name in SHARED_FIELDS},
        levels=described,
        transitions=[_in_thousandths(row) for row in transition_shares(at, count)],
        period=day.periods[0].duration,
        discount=float(random.choice(DISCOUNTS)),
        level=f"load {random.integers(count)}",
        current=current,
    )


def _in_thousandths(shares: Floats) -> list[float]:
    """Shares rounded so that their sum stays 1: what is left after rounding down goes to the largest remainders."""
    parts = np.floor(1000 * shares)
    order = np.argsort(parts - 1000 * shares, kind="stable")
    parts[order[: round(1000 - parts.sum())]] += 1
    return list((parts / 1000).tolist())


def load_levels(loads: Floats, count: int) -> Ints:
    """Number of the level of each load, from 0 for the lowest; levels are of equal width between the least and the largest load.

    >>> load_levels(np.array([0.1, 0.4, 1.0, 0.6]), 3).tolist()
    [0, 1, 2, 1]
    """
    low, high = float(loads.min()), float(loads.max())
    return np.minimum((count * (loads - low) / (high - low)).astype(np.int64), count - 1)


def transition_shares(at: Ints, count: int) -> Floats:
    """How often each level followed each other one, in shares of a row that sum to 1, shape (count, count).

    >>> transition_shares(np.array([0, 0, 1, 0]), 2).tolist()
    [[0.5, 0.5], [1.0, 0.0]]
    """
    observed = np.zeros((count, count))
    np.add.at(observed, (at[:-1], at[1:]), 1.0)
    observed += np.eye(count) * (observed.sum(axis=1, keepdims=True) == 0)
    return np.asarray(observed / observed.sum(axis=1, keepdims=True))


FAMILIES = (
    Family(
        name="elastic-levels",
        kind="edrp-policy",
        summary=first_line(_elastic_levels),
        make=_elastic_levels,
        size="operators",
        default_size=DEFAULT_OPERATORS,
        least_size=3,
    ),
)
"""Families of policies of deployments, for the record of their kind."""
