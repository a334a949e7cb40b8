"""Numbers of nodes that a load requires, and counts of their transitions (state migration, section 6)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from edrp.core.arrays import Ints

if TYPE_CHECKING:
    from pyspark.sql import Column


class TransitionCounts(NamedTuple):
    """Observed changes of the number of nodes.

    Attributes
    ----------
    node_counts
        Numbers of nodes, ascending.
    counts : shape (k, k)
        How often `node_counts[j]` came in the interval after `node_counts[i]`; the diagonal counts stays.
    """

    node_counts: tuple[int, ...]
    counts: Ints


@dataclass(frozen=True, slots=True)
class NodeRule:
    """A rule for the number of nodes: offset + slope · load, rounded up, within `low` … `high`.

    Make one with `normalised` or `by_capacity`.
    """

    offset: float
    slope: float
    low: int
    high: int

    def __post_init__(self) -> None:
        if not 1 <= self.low <= self.high:
            raise ValueError(f"needs 1 ≤ low ≤ high, not low {self.low} and high {self.high}")

    @classmethod
    def normalised(cls, loads: ArrayLike, low: int, high: int, outliers: float = 0.0) -> NodeRule:
        """Create a rule by which the least load gets `low` nodes, the greatest `high`, and others are interpolated.

        This is how the paper gets its node counts from tweets per hour (section 6).

        Parameters
        ----------
        outliers
            Share of the loads at either end that is set aside first: a single spike would otherwise leave all other
            loads at `low`.

        Examples
        --------
        >>> NodeRule.normalised([10.0, 20.0, 50.0], 8, 16)([10.0, 20.0, 30.0, 50.0]).tolist()
        [8, 10, 12, 16]
        """
        loads = np.asarray(loads, dtype=np.float64)
        lowest, highest = (float(load) for load in np.quantile(loads, [outliers, 1 - outliers]))
        slope = (high - low) / (highest - lowest) if highest > lowest else 0.0
        return cls(low - lowest * slope - 0.5, slope, low, high)

    @classmethod
    def by_capacity(cls, capacity: float, low: int, high: int) -> NodeRule:
        """Create a rule by which each node carries `capacity` in an interval.

        >>> NodeRule.by_capacity(100.0, 1, 8)([0.0, 100.0, 101.0, 5000.0]).tolist()
        [1, 1, 2, 8]
        """
        if not capacity > 0:
            raise ValueError(f"capacity must be positive, not {capacity}")
        return cls(0.0, 1 / capacity, low, high)

    def __call__(self, loads: ArrayLike) -> Ints:
        """Compute the number of nodes for each load, in the same shape."""
        nodes = np.ceil(self.offset + self.slope * np.asarray(loads, dtype=np.float64))
        return np.clip(nodes, self.low, self.high).astype(np.int64)

    def column(self, load: Column) -> Column:
        """Compute the number of nodes as a column of a Spark table."""
        import pyspark.sql.functions as sf

        nodes = sf.ceil(sf.lit(self.offset) + sf.lit(self.slope) * load)
        return sf.least(sf.greatest(nodes, sf.lit(self.low)), sf.lit(self.high)).cast("int")
