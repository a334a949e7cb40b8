"""Enactment problems as arrays: operators, host types and resources by number."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from edrp.core.arrays import Floats, Ints
from edrp.enactment.sizes import Sizes
from edrp.enactment.snapshot import EnactmentProblem


@dataclass(frozen=True, slots=True)
class EnactmentArrays:
    """An enactment problem as arrays.

    Attributes
    ----------
    sizes : needs and capacities.
    price : shape (K,): weighted price of a host.
    filling : weight of the free share of each resource.
    late : weighted penalty of an item.
    min_counts, max_counts : shape (O,): instances that the load needs, and instances beyond which nothing can be gained or none
        are allowed.
    arriving, served : shape (O,): items within the horizon, queue included, and items that one instance serves in it.
    """

    sizes: Sizes
    price: Floats
    filling: float
    late: float
    min_counts: Ints
    max_counts: Floats
    arriving: Floats
    served: Floats

    @property
    def always_gains(self) -> bool:
        """Whether the number of instances and hosts is unbounded: no field of the document limits it."""
        fills = self.filling * self.sizes.needs.sum(axis=1) > 0
        unlimited = np.array([operator.max_instances is None for operator in self.sizes.operators])
        return bool((fills & unlimited).any())

    def violations(self, counts: Floats | Ints) -> Floats:
        """Items that are late, for numbers of instances of shape (…, O)."""
        return np.maximum(self.arriving - self.served * counts, 0.0)


def enactment_arrays(problem: EnactmentProblem) -> EnactmentArrays:
    """The problem as arrays."""
    application, weights = problem.application, problem.weights
    sizes = Sizes.of(application.operators, problem.host_types, problem.apart)
    fewest = np.array(list(problem.minimum_instances.values()), np.int64)
    arriving = [problem.queues.get(name, 0.0) + application.load(name) * problem.horizon for name in sizes.operator_names]
    served = [problem.horizon / operator.occupied for operator in application.operators]
    arrays = EnactmentArrays(
        sizes,
        weights.host_cost * np.array([host_type.price for host_type in problem.host_types]),
        weights.free_resources,
        weights.violations * problem.penalty,
        fewest,
        np.array([float(operator.allowed_instances) for operator in application.operators]),
        np.array(arriving),
        np.array(served),
    )
    fills = arrays.filling * sizes.needs.sum(axis=1) > 0
    in_time = np.ceil(arrays.arriving / arrays.served) if arrays.late > 0 else np.zeros(len(fewest))
    arrays.max_counts[~fills] = np.minimum(arrays.max_counts, np.maximum(fewest, in_time))[~fills]
    return arrays
