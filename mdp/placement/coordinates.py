"""The linear part of the price of changes: coordinates of deployments whose increases cost something.

A replica that starts on a node is an increase of x_iu, state that moves there one of x_iu / n_i, where operator i has n_i
replicas. The price of a change is Σ_j upper_j · (increase of coordinate j)⁺ plus what any change costs. Copies of a deployment
before and after a border between periods are therefore tied by multipliers between 0 and `upper` (Lagrangian decomposition).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from edrp.core.arrays import Floats, Ints
from edrp.placement.compiled import Compiled
from edrp.placement.sequence_arrays import SequenceArrays


@dataclass(frozen=True)
class ChangeCoordinates:
    """Coordinates of deployments, and the price in seconds of an increase of each.

    Attributes
    ----------
    operator, node : shape (coordinates,), index of the operator and of the node.
    shared : shape (coordinates,), whether the coordinate is the share of the operator's replicas instead of their number.
    upper : shape (coordinates,), seconds per unit of increase, above 0.
    fixed : least price of any change besides, in seconds.
    """

    operator: Ints
    node: Ints
    shared: Ints
    upper: Floats
    fixed: float

    @classmethod
    def of(cls, arrays: SequenceArrays) -> ChangeCoordinates:
        """The coordinates of a sequence; those without a price are left out."""
        allowed = arrays.periods[0].candidate
        if arrays.initial is not None:
            allowed = allowed | (arrays.initial > 0)
        price = np.stack([arrays.started, arrays.moved])[:, :, None] * allowed
        shared, operator, node = np.nonzero(price)
        fixed = arrays.change + arrays.downtime * arrays.periods[0].synchronisation_time
        return cls(operator, node, shared, price[shared, operator, node], fixed)

    def __call__(self, counts: Ints) -> Floats:
        """Coordinates of deployments, shape (deployments, operators, nodes): shape (deployments, coordinates)."""
        chosen = counts[:, self.operator, self.node].astype(float)
        total = np.maximum(counts.sum(axis=2), 1)[:, self.operator]
        return np.where(self.shared == 1, chosen / total, chosen)

    def least_worth(self, net: Floats, compiled: Compiled) -> float:
        """Least sum of net multipliers, shape (coordinates,), times coordinates of any deployment within the ranges of replicas.

        As if all replicas of an operator were on the node that is cheapest for it.
        """
        cheapest = np.full((2, len(compiled.max_replicas)), np.inf)
        np.minimum.at(cheapest, (self.shared, self.operator), net)
        cheapest[np.isinf(cheapest)] = 0.0
        replicas = np.where(cheapest[0] < 0, compiled.max_replicas, compiled.min_replicas)
        return float(cheapest[0] @ replicas + cheapest[1].sum())

    def priced(self, compiled: Compiled, multipliers: Floats) -> Compiled:
        """Arrays of a problem with these multipliers as prices of its replicas."""
        shape = (*compiled.latency.shape, compiled.candidate.shape[1])
        return replace(compiled, replica_prices=self.replica_prices(multipliers, shape) if multipliers.any() else None)

    def replica_prices(self, multipliers: Floats, shape: tuple[int, int, int]) -> Floats:
        """Multipliers of coordinates, shape (coordinates,), as a price of each replica.

        Parameters
        ----------
        shape
            Operators, 1 + maximum replicas, nodes.

        Returns
        -------
        numpy.ndarray
            Of that shape: the price of one replica of an operator on the node, by how many it has.
        """
        prices = np.zeros(shape)
        replicas = np.maximum(np.arange(shape[1]), 1)
        for k in np.flatnonzero(multipliers):
            prices[self.operator[k], :, self.node[k]] += multipliers[k] / (replicas if self.shared[k] else 1)
        return prices
