"""Layers of an operator with tasks: what its replicas may hold, by how many there are and how slow the slowest may be."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from edrp.core.arrays import Bools, Floats, Ints
from edrp.core.budget import look, refuse_beyond_memory
from edrp.core.tolerances import LATENCY_FLOOR_SLACK, LIMIT_SLACK
from edrp.formulations.migration.rescale.decomposition.split_kernel import SplitLayer, SplitWork
from edrp.migration.rescale.arrays import KeyedArrays
from edrp.migration.rescale.deployment import depends_on_number, even_boundaries, possible_replicas
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


LEVELS = 40
"""Levels of latency of an operator; the last one permits any."""

SPAN = 40.0
"""Latency of the last level but one, relative to the first."""

INSTEAD = ("", ("range-annealing",))


@dataclass(frozen=True, slots=True)
class KeyedLayer:
    """A layer of an operator.

    Attributes
    ----------
    split : what the kernel takes.
    places : shape (places,), tasks before each place where a range may end, 0 and all included.
    work : memory of the kernel.
    """

    split: SplitLayer
    places: Ints
    work: SplitWork


def keyed_layers(arrays: KeyedArrays, index: int, nodes: Bools) -> list[KeyedLayer]:
    """Layers of an operator with tasks on nodes that may run it; none where no number of replicas is stable."""
    problem, operator = arrays.problem, arrays.operator(index)
    assert operator.tasks is not None
    numbers, count = possible_replicas(problem, operator), operator.tasks.count
    if not numbers or not nodes.any():
        return []
    even, counted = problem.ranges == "even", depends_on_number(problem, operator)
    if problem.operator_latency == "mean":
        width = max(numbers) if even else count
        what = f"latencies of all ranges of the {count:,} tasks of '{operator.name}'"
        refuse_beyond_memory(8.0 * (width + 1) ** 2, what, *INSTEAD)
    layers = []
    for replicas in numbers if counted else [0]:
        look("the levels of latency")
        places = np.array(even_boundaries(count, replicas) if even else range(count + 1), np.int64)
        split = _split_layer(arrays, index, nodes, places, numbers, replicas)
        rounds = split.exact
        what = f"places of the {count:,} tasks of '{operator.name}' with {replicas} replicas"
        refuse_beyond_memory(24.0 * places.size * (rounds + 1 + nodes.size), what, *INSTEAD)
        layers.append(KeyedLayer(split, places, SplitWork.empty(places.size - 1, nodes.size, rounds)))
    return layers


def _split_layer(arrays: KeyedArrays, index: int, nodes: Bools, places: Ints, numbers: list[int], replicas: int) -> SplitLayer:
    """A layer of so many replicas, 0 for any of the numbers."""
    problem, operator, load = arrays.problem, arrays.operator(index), float(arrays.compiled.load[index])
    speedup, model, even = arrays.compiled.speedup, operator.latency, problem.ranges == "even"
    share = arrays.tasks[index].work_before[places] / arrays.tasks[index].work_before[-1]
    known = replicas or 1
    stable = as_share(problem.utilisation * largest_rate(model, math.inf, known, load), load)
    if replicas and problem.tolerance is not None:
        stable = min(stable, (1 + problem.tolerance) / replicas * (1 + 2 * LIMIT_SLACK))
    mean = problem.operator_latency == "mean"
    ends = np.diff(share)
    heaviest = max(float(ends.max()), 1.0 / (replicas or max(numbers)))
    seconds, tops = np.zeros(1), np.array([np.inf])
    min_seconds = least_seconds(model, load * heaviest * (1 - LATENCY_FLOOR_SLACK), known) / float(speedup[nodes].max())
    if not mean and 0 < min_seconds < math.inf:
        tops = np.append(min_seconds * SPAN ** (np.arange(1, LEVELS + 1) / LEVELS), np.inf)
        seconds = np.append(min_seconds, tops[:-1])
    caps = np.empty((tops.size, nodes.size))
    for level, top in enumerate(tops):
        for speed in np.unique(speedup):
            cap = as_share(largest_rate(model, float(top * speed), known, load), load)
            caps[level, speedup == speed] = min(cap, stable)
    return SplitLayer(
        share=share,
        caps=caps,
        seconds=seconds,
        range_seconds=_range_seconds(model, share, load, known) if mean else np.zeros((0, 0)),
        speedup=speedup,
        exact=replicas,
        longest=1 if even else places.size,
    )


def _range_seconds(model: Any, share: Floats, load: float, replicas: int) -> Floats:
    """Share times latency on the reference node of every range, infinite where it is unstable."""
    size = share.size
    table = np.zeros((size, size))
    for a in range(size - 1):
        look("the latencies of ranges")
        for b in range(a + 1, size):
            part = share[b] - share[a]
            table[a, b] = 0.0 if model is None or part <= 0 else part * model.at(load * part, replicas)
    return table
