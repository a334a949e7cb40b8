"""The lower bound of the paper (bi-modal networks, section 4.2), by which its Fig. 7(a) measures maps."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from edrp.core.errors import UnsupportedProblemError
from edrp.formulations.mapping.guides import Priced
from edrp.formulations.mapping.lagrangian import cheapest
from edrp.formulations.mapping.layered_graph import layers_of
from edrp.mapping.mapping_arrays import mapping_tables
from edrp.mapping.path_mapping import MappingProblem


def relaxed_bound(problem: MappingProblem) -> float:
    """Cost of the cheapest path through a graph with one layer of servers for each component; bandwidths are overlooked.

    A component is only on servers that have room for it, each looked at by itself: several on a server are not added up. Empty
    hops are limited as in the problem.

    Parameters
    ----------
    problem
        With additive cost.

    Returns
    -------
    float
        No map costs less; infinite where even so there is none.

    Raises
    ------
    UnsupportedProblemError
        For another cost.

    Examples
    --------
    The cheap link is too slow, which the bound overlooks:

    >>> problem = MappingProblem(
    ...     network={
    ...         "nodes": [{"name": name, "capacity": 1} for name in "abc"],
    ...         "links": [{"source": "a", "target": "b", "bandwidth": 1, "cost": 1},
    ...                   {"source": "a", "target": "c", "bandwidth": 9, "cost": 4},
    ...                   {"source": "c", "target": "b", "bandwidth": 9, "cost": 4}],
    ...     },
    ...     task={"source": "a", "delivery": "b", "bandwidths": [2, 2], "components": [{"name": "f", "capacity": 1}]},
    ... )
    >>> relaxed_bound(problem)
    1.0
    """
    if problem.cost != "additive":
        raise UnsupportedProblemError(f"cost {problem.cost!r} is no sum over links: the relaxed bound is of additive costs")
    tables = mapping_tables(problem)
    wide = np.full_like(tables.network.bandwidth, np.inf)
    uplink = np.where(tables.network.uplink > 0, np.inf, 0.0)
    network = replace(tables.network, bandwidth=wide, uplink=uplink, downlink=np.full_like(uplink, np.inf))
    layers = layers_of(replace(tables, network=network))
    layers = replace(layers, graph=layers.graph._replace(limit=np.full_like(layers.graph.limit, np.inf)))
    return cheapest(layers, Priced.of(layers, np.zeros(layers.graph.limit.size)))[0]
