"""The parameters of EDRP's experiments (Table II) in SI units, and the logical networks that carry them by default."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import networkx as nx

from edrp.placement.network import Network, Store

SERVICE_RATE = {
    "source": 284.0,
    "parser": 233.0,
    "filterByCoordinates": 253.0,
    "computeRouteID": 253.0,
    "metronome": 300.0,
    "countByWindow": 335.0,
    "partialRank": 2371.0,
    "globalRank": 3000.0,
}
"""Tuples/s that one replica serves, operators in topological order."""

STATE_SIZE = {"source": 82.0, "metronome": 328.0, "countByWindow": 1376.0, "partialRank": 1536.0, "globalRank": 480.0}
"""Bytes of internal state; operators that are not named have none."""

CODE_SIZE = 300_000.0
"""Bytes, I_C."""

OPERATOR_COST = 1.0
"""Money/h of one replica, C_i."""

LINK_PRICE = 0.02 / 1000
"""Money/h per tuple/s. Table II prints "0.02 $/tps"; only a price per 1000 tuples/s fits the costs of Tables III and V."""

BANDWIDTH = 100e6 / 8
"""Bytes/s between a node and the data store, and between nodes, where no equation reads it."""

STORE = Store(delay=0.005, bandwidth=BANDWIDTH)
"""The data store of section 7.2."""

SPAWN_TIME = 0.5
"""Seconds, t_s."""

SYNCHRONISATION_TIME = 0.25
"""Seconds, t_syn."""

NODE_RESOURCES = 2.0
"""Replicas that a node can hold, Res_u of section 7.2."""

NODE: dict[str, Any] = {"resources": NODE_RESOURCES, "spawn_time": SPAWN_TIME}
"""Fields of every node of section 7.2."""

MEAN_DELAY = 0.032
"""Seconds, the mean network delay of section 7.2."""


def logical_network(graph: nx.Graph[Any], nodes: list[Hashable] | None = None, resources: float = NODE_RESOURCES) -> Network:
    """The fully connected network over a physical graph (edge attribute `delay` in seconds) with Table II's prices and times."""
    return Network.from_graph(graph, nodes=nodes, cost=LINK_PRICE, store=STORE, node_defaults={**NODE, "resources": resources})
