"""Random networks in the plane: delays grow with distance."""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import pdist, squareform

from edrp.datasets.placement.edrp_parameters import LINK_PRICE, MEAN_DELAY, NODE, NODE_RESOURCES, STORE
from edrp.placement.network import Network


def geometric(nodes: int, seed: int, *, mean_delay: float = MEAN_DELAY, resources: float = NODE_RESOURCES) -> Network:
    """Nodes at random in the unit square; the delay of a logical link is proportional to its length.

    Parameters
    ----------
    nodes
        Number of nodes, named "n0", "n1", …
    seed
        The same seed gives the same network.
    mean_delay
        Mean over all pairs, in seconds (default: the 32 ms of EDRP, section 7.2).
    resources
        Resources of each node.

    Raises
    ------
    ValueError
        For fewer than one node.

    Examples
    --------
    >>> network = geometric(8, seed=1)
    >>> len(network.nodes), round(sum(link.delay for link in network.links) / len(network.links), 6)
    (8, 0.032)
    """
    if nodes < 1:
        raise ValueError(f"a network needs at least one node, not {nodes}")
    points = np.random.default_rng(seed).random((nodes, 2))
    distance = pdist(points)
    delay = squareform(distance * (mean_delay / distance.mean())) if nodes > 1 else np.zeros((1, 1))
    names = [f"n{index}" for index in range(nodes)]
    links = [
        {"source": names[u], "target": names[v], "delay": float(delay[u, v]), "cost": LINK_PRICE}
        for u in range(nodes)
        for v in range(u + 1, nodes)
    ]
    described = [{**NODE, "name": name, "resources": resources} for name in names]
    return Network(nodes=tuple(described), links=tuple(links), store=STORE)
