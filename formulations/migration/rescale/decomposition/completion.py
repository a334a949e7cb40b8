"""Enumeration of what a gap leaves open: all alternatives of each operator within it, and all their combinations.

Under prices that prove a bound, a deployment that is better than the best answer is one in which every operator costs hardly more
than the cheapest way to run it. Where these are few, they are listed, and what they cost together is computed exactly, as are all
feasible routes whose reduced cost is within the gap in vehicle routing [1]_.

References
----------
.. [1] R. Baldacci, N. Christofides, A. Mingozzi, "An exact algorithm for the vehicle routing problem based on the set
   partitioning formulation with additional cuts", Mathematical Programming 115, 2008.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from edrp.core.arrays import Floats
from edrp.core.budget import look
from edrp.formulations.migration.rescale.decomposition.alternatives import (
    MAX_SET_NODES,
    Alternatives,
    Replicas,
    list_alternatives,
)
from edrp.formulations.migration.rescale.decomposition.combining import search_combinations, without_hopeless
from edrp.formulations.migration.rescale.decomposition.join import least_states
from edrp.formulations.migration.rescale.decomposition.prices import PriceBlocks
from edrp.formulations.migration.rescale.decomposition.relaxation import PricedProblem, PriceRelaxation


def complete(
    relaxation: PriceRelaxation, blocks: PriceBlocks, prices: Floats, most: float, improve: Callable[[list[Replicas]], float]
) -> float | None:
    """Look at all deployments that change something and may be below an objective; None where they are too many.

    Parameters
    ----------
    relaxation, blocks, prices
        Prices that prove a bound, the higher the fewer deployments are left.
    most
        Objective at which deployments are of no interest.
    improve
        Told of one that may be better; returns the objective at which deployments are of no interest from then on.

    Returns
    -------
    float
        Objective below which every deployment has been told.
    """
    if len(relaxation.model.room) > MAX_SET_NODES:
        return None
    priced = relaxation.priced(blocks, prices)
    listed = _listed(relaxation, priced, most)
    listed = None if listed is None else without_hopeless(priced, listed, most)
    if listed is None:
        return None
    if not all(ways.size for ways in listed):
        return most
    return search_combinations(relaxation.model, priced, listed, most, improve)


def _listed(relaxation: PriceRelaxation, priced: PricedProblem, most: float) -> list[Alternatives] | None:
    """The alternatives of every operator; those that are listed first leave less room to the others."""
    own_cost = priced.own.copy()
    listed: dict[int, Alternatives] = {}
    for i in sorted(range(len(own_cost)), key=lambda i: relaxation.operators[i].keyed):
        possible = np.isfinite(own_cost[i])
        room = np.full(own_cost[i].size, -np.inf)
        room[possible] = most - (_least_by_state(own_cost, priced, i)[possible] - own_cost[i, possible])
        room[room < own_cost[i]] = -np.inf
        ways = list_alternatives(relaxation.operators[i], priced.paid[i], room)
        if ways is None:
            return None
        listed[i] = ways
        own_cost[i] = np.inf
        np.minimum.at(own_cost[i], ways.state, ways.cost)
    return [listed[i] for i in range(len(own_cost))]


def _least_by_state(state_costs: Floats, priced: PricedProblem, i: int) -> Floats:
    """The least price of everything with an operator in each of its states."""
    least_costs = np.full(state_costs.shape[1], np.inf)
    for state in np.flatnonzero(np.isfinite(state_costs[i])).tolist():
        look("the alternatives of operators")
        fixed = state_costs.copy()
        fixed[i] = np.inf
        fixed[i, state] = state_costs[i, state]
        least_costs[state] = least_states(fixed, priced.pairs)[0] + priced.constant
    return least_costs
