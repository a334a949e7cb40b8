"""Enactment problems as arrays: operators, host types and resources by number."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from edrp.documents.base import named_resources
from edrp.documents.enactment import AMOUNT_SLACK, ContainerApplication, HostType
from edrp.problems.enactment import EnactmentProblem

Index = NDArray[np.int64]
Values = NDArray[np.float64]

UNNEEDED = 100_000
"""Room on a host for instances that need no resources."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """What instances need and what hosts offer, of O operators, K host types and R resources.

    Attributes
    ----------
    operators, types, resources
        Names, in document order.
    needs, capacity
        Shapes (O, R) and (K, R).
    limit
        Shape (K,): most hosts of a type, infinity for any number.
    room
        Shape (K, O): instances of one operator alone that fit on a host, 0 where it may not run there.
    """

    operators: tuple[str, ...]
    types: tuple[str, ...]
    resources: tuple[str, ...]
    needs: Values
    capacity: Values
    limit: Values
    room: Index

    @classmethod
    def of(cls, application: ContainerApplication, host_types: tuple[HostType, ...]) -> Sizes:
        """Sizes by the documents; resources are those that a host type has."""
        resources = tuple(dict.fromkeys(name for each in host_types for name in each.capacity))
        needs = np.array([[named_resources(o.resources).get(name, 0.0) for name in resources] for o in application.operators])
        needs = needs.reshape(len(application.operators), len(resources))
        capacity = np.array([[each.capacity.get(name, 0.0) for name in resources] for each in host_types])
        capacity = capacity.reshape(len(host_types), len(resources))
        limit = np.array([math.inf if each.limit is None else each.limit for each in host_types])
        allowed = np.array([[o.candidates is None or t.name in o.candidates for o in application.operators] for t in host_types])
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = capacity[:, None, :] * (1 + AMOUNT_SLACK) / needs[None]
        alone = np.where(needs[None] > 0, np.floor(ratios), UNNEEDED).min(axis=2, initial=UNNEEDED)
        names = tuple(each.name for each in application.operators), tuple(each.name for each in host_types)
        return cls(*names, resources, needs, capacity, limit, np.where(allowed, alone, 0).astype(np.int64))


@dataclass(frozen=True, slots=True)
class EnactmentTables:
    """An enactment problem as arrays.

    Attributes
    ----------
    sizes
        Needs and capacities.
    price
        Shape (K,): weighted price of a host.
    filling
        Weight of the free share of each resource.
    late
        Weighted penalty of an item.
    fewest, most
        Shape (O,): instances that the load needs, and instances beyond which nothing can be gained or none are allowed
        (infinity where filling always gains).
    arriving, served
        Shape (O,): items within the horizon, queue included, and items that one instance serves in it.
    """

    sizes: Sizes
    price: Values
    filling: float
    late: float
    fewest: Index
    most: Values
    arriving: Values
    served: Values

    def violations(self, counts: Values | Index) -> Values:
        """Items that are late, for numbers of instances of shape (…, O)."""
        return np.maximum(self.arriving - self.served * counts, 0.0)


def enactment_tables(problem: EnactmentProblem) -> EnactmentTables:
    """The problem as arrays."""
    application, weights = problem.application, problem.weights
    sizes = Sizes.of(application, problem.host_types)
    fewest = np.array(list(problem.minimum_instances.values()), np.int64)
    arriving = [problem.queues.get(name, 0.0) + application.load(name) * problem.horizon for name in sizes.operators]
    served = [problem.horizon / each.occupied for each in application.operators]
    tables = EnactmentTables(
        sizes,
        weights.host_cost * np.array([each.price for each in problem.host_types]),
        weights.free_resources,
        weights.violations * problem.penalty,
        fewest,
        np.array([math.inf if each.max_instances is None else each.max_instances for each in application.operators]),
        np.array(arriving),
        np.array(served),
    )
    fills = tables.filling * sizes.needs.sum(axis=1) > 0
    in_time = np.ceil(tables.arriving / tables.served) if tables.late > 0 else np.zeros(len(fewest))
    tables.most[~fills] = np.minimum(tables.most, np.maximum(fewest, in_time))[~fills]
    return tables
