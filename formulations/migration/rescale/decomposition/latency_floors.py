"""Largest rates at which a replica may keep to a latency: floors of latency models that never fall with the rate."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from edrp.core.tolerances import LATENCY_FLOOR_SLACK
from edrp.placement.latency import MAX_LATENCY, CapacityCurveLatency, Mm1Latency, PolynomialLatency, TableLatency

HALVINGS = 60
"""Steps by which a rate is enclosed."""


def largest_rate(model: Any, seconds: float, replicas: int, load: float) -> float:
    """Upper bound on the rate (tuples/s, at most the load) at which a replica on the reference node meets a latency in seconds.

    >>> round(largest_rate(Mm1Latency(service_rate=10.0), 0.5, 1, 20.0), 6)
    8.0
    """
    if model is None:
        return math.inf
    if isinstance(model, (Mm1Latency, CapacityCurveLatency)):
        rate = model.true_rate(replicas) - 1.0 / min(seconds, MAX_LATENCY)
        return rate + LATENCY_FLOOR_SLACK * model.true_rate(replicas)
    if isinstance(model, TableLatency):
        return _on_table(model, seconds)
    return _on_polynomial(model, min(seconds, MAX_LATENCY), load)


def least_seconds(model: Any, rate: float, replicas: int) -> float:
    """Lower bound on the latency of a replica on the reference node at this rate or a higher one, in seconds; 0 where unknown."""
    if model is None:
        return 0.0
    if isinstance(model, TableLatency):
        above = [latency for point, latency in zip(model.rates, model.latencies, strict=True) if point >= rate]
        return min([*above, model.at(rate, replicas)]) if rate <= model.rates[-1] else math.inf
    if isinstance(model, PolynomialLatency) and min(model.coefficients[1:], default=0.0) < 0:
        return 0.0
    return float(model.at(rate, replicas)) * (1 - LATENCY_FLOOR_SLACK)


def _on_table(model: TableLatency, seconds: float) -> float:
    """The last point where a line of the table is not above the seconds."""
    rates, latencies = model.rates, model.latencies
    if latencies[-1] <= seconds:
        return rates[-1]
    for (x, low), (y, high) in reversed(list(zip(zip(rates, latencies), zip(rates[1:], latencies[1:])))):  # noqa: B905
        if low <= seconds:
            return x + (y - x) * min(1.0, (seconds - low) / (high - low) + LATENCY_FLOOR_SLACK)
    return 0.0 if latencies[0] <= seconds else -1.0


def _on_polynomial(model: PolynomialLatency, seconds: float, load: float) -> float:
    if min(model.coefficients[1:], default=0.0) < 0 or model.at(load) <= seconds:
        return math.inf
    if model.at(0.0) > seconds:
        return -1.0
    low, high = 0.0, load
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if model.at(middle) <= seconds else (low, middle)
    return high


def as_share(rate: float, load: float) -> float:
    """The share of a load that a rate is; any where there is no load and the rate may be 0."""
    if load <= 0:
        return math.inf if rate >= 0 else -1.0
    return float(np.divide(rate, load)) * (1 + LATENCY_FLOOR_SLACK) if rate >= 0 else -1.0
