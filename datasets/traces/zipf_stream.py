"""A synthetic stream of keyed events of any length, made by Spark row by row from a seed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

DAY = 86_400.0
EVENTS_PER_PARTITION = 2_000_000
RHYTHMS = ((1.0, 0.5), (7.0, 0.15), (0.23, 0.12), (0.77, 0.1))
"""Period in days and strength of the waves in the load: the day, the week, and two that fit neither."""


def zipf_events(
    spark: SparkSession,
    events: int = 100_000_000,
    *,
    keys: int = 1_000_000,
    exponent: float = 1.1,
    days: float = 30.0,
    seed: int = 0,
) -> DataFrame:
    """Events in order of time, with daily rhythm and Zipf keys: columns `time` (s from 0) and `key` (1 … `keys`).

    Every row is a function of its number and the seed, so that the stream is the same however Spark divides it,
    and is never stored. Times are those of an even stream, stretched and squeezed by waves; key k has a
    probability proportional to the integral of x to the power −`exponent` from k to k + 1.

    Parameters
    ----------
    exponent
        Exponent of Zipf's law; 0 makes all keys equally frequent.

    Raises
    ------
    ValueError
        For a number of events or keys below 1, a negative exponent, or no positive length.
    """
    import pyspark.sql.functions as sf

    if events < 1 or keys < 1 or exponent < 0 or not days > 0:
        raise ValueError(f"cannot make {events} events with {keys} keys, exponent {exponent}, in {days} days")
    rows = spark.range(0, events, 1, max(2, -(-events // EVENTS_PER_PARTITION)))
    row = sf.col("id")
    key = zipf_key(uniform_column(seed, row), keys, exponent)
    return rows.select(_time(row * sf.lit(days / events), seed).alias("time"), key.alias("key"))


def uniform_column(seed: int, *columns: Column) -> Column:
    """A number in [0, 1) from a hash of the seed and the columns: the same on every machine and in every order."""
    import pyspark.sql.functions as sf

    return sf.shiftrightunsigned(sf.xxhash64(sf.lit(seed).cast("bigint"), *columns), 11).cast("double") * sf.lit(2.0**-53)


def zipf_key(uniform: Column, keys: int, exponent: float) -> Column:
    """The key (1 … `keys`) at which the distribution function of Zipf's law, made continuous, reaches `uniform`."""
    import pyspark.sql.functions as sf

    if abs(exponent - 1) < 1e-9:
        rank = sf.exp(uniform * sf.lit(float(np.log(keys + 1.0))))
    else:
        power = 1 - exponent
        rank = sf.pow(1 - uniform * sf.lit(1 - (keys + 1.0) ** power), sf.lit(1 / power))
    return sf.least(sf.floor(rank), sf.lit(keys).cast("bigint"))  # rounding may carry the last one over


def _time(day: Column, seed: int) -> Column:
    """Seconds at which the event falls that an even stream has at `day`; increasing, since every strength is below 1."""
    import pyspark.sql.functions as sf

    phases = np.random.default_rng(seed).uniform(0, 2 * np.pi, len(RHYTHMS))
    for (period, strength), phase in zip(RHYTHMS, phases, strict=True):
        wave = 2 * np.pi / period
        shift = sf.sin(day * sf.lit(wave) + sf.lit(float(phase))) - sf.lit(float(np.sin(phase)))
        day = day + sf.lit(strength / wave) * shift
    return day * sf.lit(DAY)
