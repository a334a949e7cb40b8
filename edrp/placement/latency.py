"""Latency models of one replica as a function of its input rate (EDRP, section 4.2.1 and ruling on section 7.3)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from edrp.core.document import RANGES, Document, Faults, NonNegative, Positive

LONGEST = RANGES["s"].largest
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
    service_rate: Positive = Field(
        description="tuples that a replica on the reference node serves", json_schema_extra={"unit": "tuples/s"}
    )

    def at(self, rate: float) -> float:
        """Latency in seconds at `rate` tuples/s; infinite when the queue is unstable, or so near to it that it might be."""
        spare = self.service_rate - rate
        return 1.0 / spare if spare * LONGEST >= 1.0 else float("inf")


class PolynomialLatency(Document):
    """Polynomial in the rate, `c0 + c1·rate + c2·rate² + …`, in seconds.

    Examples
    --------
    >>> PolynomialLatency(coefficients=[0.001, 2e-5]).at(100.0)
    0.003
    """

    model: Literal["polynomial"] = Field("polynomial", description="says which fields follow")
    coefficients: Annotated[tuple[float, ...], Field(min_length=1)] = Field(
        description="coefficient of each power of the rate, lowest power first",
        json_schema_extra={"unit": "s per (tuples/s)^power"},
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
        >>> PolynomialLatency.fit([0, 10, 20], [0.1, 0.2, 0.3], degree=1).at(30.0)
        0.4
        """
        if len(rates) != len(latencies):
            raise ValueError(f"{len(rates)} rates but {len(latencies)} latencies: give one latency per rate")
        if len(rates) <= degree:
            raise ValueError(f"{len(rates)} measurements cannot fix a polynomial of degree {degree}: give at least {degree + 1}")
        fitted = np.polynomial.Polynomial.fit(np.asarray(rates, float), np.asarray(latencies, float), degree)
        return cls(coefficients=tuple(float(c) for c in fitted.convert().coef))

    def at(self, rate: float) -> float:
        """Latency in seconds at `rate` tuples/s; infinite beyond `LONGEST`."""
        value = 0.0
        for coefficient in reversed(self.coefficients):
            value = value * rate + coefficient
        return value if abs(value) <= LONGEST else float("inf")


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
        description="measured input rates, increasing", json_schema_extra={"unit": "tuples/s"}
    )
    latencies: Annotated[tuple[NonNegative, ...], Field(min_length=1)] = Field(
        description="latency at each rate", json_schema_extra={"unit": "s"}
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        faults = Faults("table")
        if len(self.rates) != len(self.latencies):
            faults.add(("latencies",), len(self.latencies), f"must hold one latency per rate, that is {len(self.rates)}")
        for index in range(1, len(self.rates)):
            if self.rates[index] <= self.rates[index - 1]:
                faults.add(("rates", index), self.rates[index], f"must be above the rate before it, {self.rates[index - 1]}")
        faults.raise_if_any()
        return self

    def at(self, rate: float) -> float:
        """Latency in seconds at `rate` tuples/s; infinite above the last measured rate."""
        if rate > self.rates[-1]:
            return float("inf")
        return float(np.interp(rate, self.rates, self.latencies))


LatencyModel = Annotated[Mm1Latency | PolynomialLatency | TableLatency, Field(discriminator="model")]
