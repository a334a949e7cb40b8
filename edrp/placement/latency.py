"""Latency models of one replica by its input rate and the number of replicas (EDRP, section 4.2.1, ruling on section 7.3)."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from itertools import pairwise
from typing import Annotated, Literal, Self

import numpy as np
from pydantic import Field

from edrp.core.document import RANGES, Document, Faults, NonNegative, Positive, checks, unit

MAX_REPLICAS = 10_000
"""Maximum replicas of one operator, for which tables by number of replicas and deployments that name each one are made."""

MAX_LATENCY = RANGES["s"].largest
"""A replica that takes more seconds than this counts as overloaded."""


class Mm1Latency(Document):
    """Queue with Poisson arrivals and exponential service: `1 / (service_rate - rate)`, in seconds.

    Examples
    --------
    >>> Mm1Latency(service_rate=200.0).at(100.0)
    0.01
    >>> Mm1Latency(service_rate=200.0).at(200.0)
    inf
    """

    model: Literal["mm1"] = Field("mm1", description="says which fields follow")
    service_rate: Positive = Field(description="tuples that a replica on the reference node serves", **unit("tuples/s"))

    def at(self, rate: float, replicas: int = 1) -> float:
        """Latency in seconds at `rate` tuples/s; infinite when the queue is unstable, or so near to it that it might be."""
        spare = self.service_rate - rate
        return 1.0 / spare if spare * MAX_LATENCY >= 1.0 else float("inf")

    def true_rate(self, replicas: int = 1) -> float:
        """Tuples/s that a replica processes when it never waits for input (DS2): the service rate."""
        return self.service_rate


class CapacityCurveLatency(Document):
    """Queue as in `mm1` whose service rate falls with the number of replicas, by measured capacities.

    Replicas share what a cluster has of memory bandwidth, locks and network, so that 8 of them serve less than 8 times as
    much as one. Between measured numbers of replicas the capacity of all replicas together runs along straight lines; it
    begins with no tuples for no replicas, and beyond the largest number it goes on along the last line. With one point
    this is `mm1`. Each of n replicas serves the n-th part of the capacity and receives the n-th part of the load.

    Examples
    --------
    >>> mapper = CapacityCurveLatency(replicas=[1, 8], capacities=[530e3, 3100e3])
    >>> mapper.capacity(1), mapper.true_rate(8)
    (530000.0, 387500.0)
    >>> mapper.at(3000e3 / 8, replicas=8)
    8e-05
    """

    model: Literal["capacity-curve"] = Field("capacity-curve", description="says which fields follow")
    replicas: Annotated[tuple[Annotated[int, Field(ge=1, le=MAX_REPLICAS)], ...], Field(min_length=1)] = Field(
        description="numbers of replicas that were measured, increasing", **unit("1")
    )
    capacities: Annotated[tuple[Positive, ...], Field(min_length=1)] = Field(
        description="tuples that each number of replicas on reference nodes serves together, never falling", **unit("tuples/s")
    )

    @checks("capacity curve")
    def _check(self, faults: Faults) -> None:
        if len(self.replicas) != len(self.capacities):
            why = f"must hold one capacity per number of replicas, that is {len(self.replicas)}"
            faults.add(("capacities",), len(self.capacities), why)
        for index, (fewer, more) in enumerate(pairwise(self.replicas), 1):
            if more <= fewer:
                faults.add(("replicas", index), more, f"must be above the number before it, {fewer}")
        for index, (before, after) in enumerate(pairwise(self.capacities), 1):
            if after < before:
                why = f"falls below {before:g} tuples/s, the capacity of fewer replicas; a replica more must not serve less"
                faults.add(("capacities", index), after, f"{why}: average the measurements, or lower max_replicas")

    @property
    def _lines(self) -> list[tuple[tuple[int, float], tuple[int, float]]]:
        """Neighbouring points of the curve, number of replicas and capacity of each; the first is (0, 0)."""
        return list(pairwise([(0, 0.0), *zip(self.replicas, self.capacities, strict=True)]))

    def capacity(self, replicas: int) -> float:
        """Tuples/s that `replicas` replicas on reference nodes serve together."""
        (fewer, low), (more, high) = next((line for line in self._lines if replicas <= line[1][0]), self._lines[-1])
        return low + (high - low) * (replicas - fewer) / (more - fewer)

    def true_rate(self, replicas: int = 1) -> float:
        """Tuples/s that each of `replicas` replicas processes when it never waits for input (DS2)."""
        return self.capacity(replicas) / replicas

    def fewest_replicas(self, rate: float) -> float:
        """Fewest replicas that together serve `rate` tuples/s; infinite where the curve ends level below it."""
        (fewer, low), (more, high) = next((line for line in self._lines if rate <= line[1][1]), self._lines[-1])
        return math.ceil(fewer + (rate - low) * (more - fewer) / (high - low)) if high > low else math.inf

    def at(self, rate: float, replicas: int = 1) -> float:
        """Latency in seconds of each of `replicas` replicas at `rate` tuples/s each; infinite when the queue is unstable."""
        spare = self.true_rate(replicas) - rate
        return 1.0 / spare if spare * MAX_LATENCY >= 1.0 else float("inf")


class PolynomialLatency(Document):
    """Polynomial in the rate, `c0 + c1·rate + c2·rate² + …`, in seconds.

    Examples
    --------
    >>> PolynomialLatency(coefficients=[0.001, 2e-5]).at(100.0)
    0.003
    """

    model: Literal["polynomial"] = Field("polynomial", description="says which fields follow")
    coefficients: Annotated[tuple[float, ...], Field(min_length=1)] = Field(
        description="coefficient of each power of the rate, lowest power first", **unit("s per (tuples/s)^power")
    )

    @classmethod
    def fit(cls, rates: Sequence[float], latencies: Sequence[float], degree: int = 3) -> Self:
        """Fit measured latencies (s) at rates (tuples/s) by least squares (EDRP, section 7.3).

        Raises
        ------
        ValueError
            When the lengths differ or there are not more measurements than `degree`.

        Examples
        --------
        >>> round(PolynomialLatency.fit([0, 10, 20], [0.1, 0.2, 0.3], degree=1).at(30.0), 9)
        0.4
        """
        if len(rates) != len(latencies):
            raise ValueError(f"{len(rates)} rates but {len(latencies)} latencies: give one latency per rate")
        if len(rates) <= degree:
            raise ValueError(f"{len(rates)} measurements cannot fix a polynomial of degree {degree}: give at least {degree + 1}")
        fitted = np.polynomial.Polynomial.fit(np.asarray(rates, float), np.asarray(latencies, float), degree)
        return cls(coefficients=tuple(float(c) for c in fitted.convert().coef))

    def at(self, rate: float, replicas: int = 1) -> float:
        """Latency in seconds at `rate` tuples/s; infinite beyond `MAX_LATENCY`."""
        value = 0.0
        for coefficient in reversed(self.coefficients):
            value = value * rate + coefficient
        return value if abs(value) <= MAX_LATENCY else float("inf")

    def true_rate(self, replicas: int = 1) -> float:
        """Tuples/s that a replica processes when it never waits for input (DS2): one over the latency without load."""
        unloaded = self.at(0.0)
        return 1.0 / unloaded if unloaded > 0 else float("inf")


class TableLatency(Document):
    """Measured points with straight lines between them.

    Below the first rate the first latency holds; above the last rate nothing was measured and the
    replica counts as overloaded.

    Examples
    --------
    >>> table = TableLatency(rates=[0, 100], latencies=[0.01, 0.03])
    >>> table.at(100.0), table.at(101.0)
    (0.03, inf)
    """

    model: Literal["table"] = Field("table", description="says which fields follow")
    rates: Annotated[tuple[NonNegative, ...], Field(min_length=1)] = Field(
        description="measured input rates, increasing", **unit("tuples/s")
    )
    latencies: Annotated[tuple[NonNegative, ...], Field(min_length=1)] = Field(description="latency at each rate", **unit("s"))

    @checks("table")
    def _check(self, faults: Faults) -> None:
        if len(self.rates) != len(self.latencies):
            faults.add(("latencies",), len(self.latencies), f"must hold one latency per rate, that is {len(self.rates)}")
        for index in range(1, len(self.rates)):
            if self.rates[index] <= self.rates[index - 1]:
                faults.add(("rates", index), self.rates[index], f"must be above the rate before it, {self.rates[index - 1]}")

    def at(self, rate: float, replicas: int = 1) -> float:
        """Latency in seconds at `rate` tuples/s; infinite above the last measured rate."""
        if rate > self.rates[-1]:
            return float("inf")
        return float(np.interp(rate, self.rates, self.latencies))

    def true_rate(self, replicas: int = 1) -> float:
        """Tuples/s that a replica processes when it never waits for input (DS2): the largest rate that was measured."""
        return self.rates[-1]


LatencyModel = Annotated[Mm1Latency | CapacityCurveLatency | PolynomialLatency | TableLatency, Field(discriminator="model")]


def served_share(model: LatencyModel | None, speedup: float) -> float:
    """What a replica on a node serves, relative to the reference node (EDRP, section 7.2).

    A slow node (speed-up below 1) serves that much less. A fast one serves no more: eq. 1 divides the latency of the reference
    node by the speed-up, and that latency has to be finite. A polynomial names no service rate.
    """
    return 1.0 if isinstance(model, PolynomialLatency) else min(1.0, speedup)


def serves(model: LatencyModel | None, rate: float, replicas: int = 1, speedup: float = 1.0) -> bool:
    """Whether each of `replicas` replicas keeps up with `rate` tuples/s on a node (see `served_share`).

    >>> serves(queue := Mm1Latency(service_rate=20.0), 11.0), serves(queue, 11.0, speedup=0.5), serves(queue, 21.0, speedup=2.0)
    (True, False, False)
    """
    return model is None or math.isfinite(model.at(rate / served_share(model, speedup), replicas))


def fewest_replicas(model: LatencyModel | None, load: float, replicas: range, speedup: float = 1.0) -> int:
    """The smallest of some numbers of replicas of which none is overloaded on a node; the end of these where there is none.

    More replicas never serve less together, so that all larger numbers do as well; of a polynomial nothing is asked here.

    >>> fewest_replicas(Mm1Latency(service_rate=20.0), 30.0, range(1, 9), speedup=0.5)
    4
    """
    if model is None or isinstance(model, PolynomialLatency):
        return replicas.start
    return replicas.start + bisect_left(replicas, True, key=lambda r: serves(model, load / r, r, speedup))
