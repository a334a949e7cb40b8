"""Measured delays in place of described ones."""

from __future__ import annotations

from collections.abc import Mapping

from edrp.core.errors import Fault, InvalidInstanceError
from edrp.placement.network import Link, Network


def with_delays(network: Network, delays: Mapping[tuple[str, str], float]) -> Network:
    """A copy of a network in which some pairs of nodes have other delays.

    Price, bandwidth and availability of a link stay what they were; pairs without a link get one.

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


def _check(network: Network, delays: Mapping[tuple[str, str], float]) -> None:
    faults = []
    for (u, v), seconds in delays.items():
        place = f"delays[{u} → {v}]"
        faults += [Fault(place, name, "is no node of the network") for name in (u, v) if name not in network.by_name]
        if u == v:
            faults.append(Fault(place, u, "joins a node to itself; such links have no delay, leave it out"))
        if not 0 <= seconds < float("inf"):
            faults.append(Fault(place, str(seconds), "must be finite seconds, at least 0"))
    if faults:
        raise InvalidInstanceError(faults)
