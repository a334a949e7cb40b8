"""Measured delays in place of described ones."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations, permutations

from edrp.core.budget import refuse_beyond_memory
from edrp.core.errors import Fault, InvalidInstanceError
from edrp.core.wording import suggestion
from edrp.placement.network import BYTES_PER_LINK, Link, Network


def with_delays(network: Network, delays: Mapping[tuple[str, str], float]) -> Network:
    """A copy of a network in which some pairs of nodes have other delays.

    Price, bandwidth and availability of a link stay what they were; pairs without a link get one. Measured delays are of
    pairs of nodes: a routed network with any becomes the logical network of its routes first.

    Parameters
    ----------
    delays
        One way, in seconds, by pair of nodes. In a symmetric network a pair may be named in either order; where it is
        named in both, the mean counts.

    Raises
    ------
    InvalidInstanceError
        Naming every unknown node, every pair of a node with itself, and every delay that is negative or no number.
    """
    _check(network, delays)
    network = _logical(network) if delays else network
    links = {(link.source, link.target): link for link in network.links}
    for (u, v), seconds in delays.items():
        key, delay = (u, v), seconds
        if network.symmetric:
            key = key if key in links or key[::-1] not in links else key[::-1]
            delay = (seconds + delays.get((v, u), seconds)) / 2
        known = network.link(u, v)
        rest = {} if known is None else known.model_dump(include={"bandwidth", "cost", "availability"})
        links[key] = Link(source=key[0], target=key[1], delay=delay, **rest)
    return network.replace(links=tuple(links.values()))


def _logical(network: Network) -> Network:
    """A network with a link for every pair of nodes in place of routes."""
    if not network.routed:
        return network
    pairs = list((combinations if network.symmetric else permutations)(network.by_name, 2))
    refuse_beyond_memory(BYTES_PER_LINK * len(pairs), f"{len(pairs)} links between {len(network.nodes)} nodes", "measure a part")
    links = [(u, v, link) for u, v in pairs if (link := network.link(u, v)) is not None]
    return network.replace(links=[{"source": u, "target": v, **link.model_dump()} for u, v, link in links], routed=False)


def _check(network: Network, delays: Mapping[tuple[str, str], float]) -> None:
    faults = []
    for (u, v), seconds in delays.items():
        place = f"delays[{u} → {v}]"
        unknown = [name for name in (u, v) if name not in network.by_name]
        faults += [Fault(place, name, f"is no node of the network{suggestion(name, network.by_name)}") for name in unknown]
        if u == v:
            faults.append(Fault(place, u, "joins a node to itself; such links have no delay, leave it out"))
        if not 0 <= seconds < float("inf"):
            faults.append(Fault(place, str(seconds), "must be finite seconds, at least 0"))
    InvalidInstanceError.raise_if_any(faults)
