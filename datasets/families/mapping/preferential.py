"""Networks that grow by preferential attachment (Barabási and Albert), as those of bi-modal networks, §4.2 and §6.1."""

from __future__ import annotations

import numpy as np

from edrp.core.arrays import Floats
from edrp.core.errors import Fault, InvalidInstanceError


def preferential_links(servers: int, links: int, random: np.random.Generator, *, each: int = 1) -> list[tuple[int, int]]:
    """Pairs of servers that are linked, in the order in which the links came.

    Servers 1, 2, … join one after the other, each by links to `each` servers that are there already (to all of them while
    there are fewer). Once all have joined, a server drawn uniformly among those that still can sets up one further link at
    a time. The other end is always drawn with probability proportional to the links that a server has, never twice the
    same. With fewer links than it takes for all to join, the last servers stay without.

    The generator is used link by link: with more links of the same seed, the first ones are the same.

    Parameters
    ----------
    servers, links
        How many.
    random
        Where the draws come from.
    each
        Links by which a server joins; 1 gives a tree.

    Raises
    ------
    InvalidInstanceError
        Without servers, and for a negative number of links or more than there are pairs.

    Examples
    --------
    >>> preferential_links(5, 3, np.random.default_rng(0))
    [(1, 0), (2, 0), (3, 0)]
    >>> len(set(preferential_links(5, 10, np.random.default_rng(0))))
    10
    """
    _check(servers, links)
    linked = np.zeros((servers, servers), dtype=bool)
    np.fill_diagonal(linked, True)
    degree = np.zeros(servers)
    found: list[tuple[int, int]] = []

    def link(server: int, among: int) -> None:
        partner = _preferred(np.where(linked[server, :among], 0.0, np.maximum(degree[:among], among == 1)), random)
        linked[server, partner] = linked[partner, server] = True
        degree[[server, partner]] += 1
        found.append((server, partner))

    for server in range(1, servers):
        for _ in range(min(each, server, links - len(found))):
            link(server, server)
    while len(found) < links:
        open_servers = np.flatnonzero(~linked.all(axis=1))
        link(int(random.choice(open_servers)), servers)
    return found


def _preferred(weight: Floats, random: np.random.Generator) -> int:
    """An index, with probability proportional to its weight."""
    reached = np.cumsum(weight)
    return int(np.searchsorted(reached, random.random() * reached[-1], side="right"))


def _check(servers: int, links: int) -> None:
    if servers < 1:
        raise InvalidInstanceError([Fault("servers", str(servers), "must be at least 1")])
    pairs = servers * (servers - 1) // 2
    if links < 0:
        raise InvalidInstanceError([Fault("links", str(links), "must not be negative")])
    if links > pairs:
        raise InvalidInstanceError([Fault("links", str(links), f"must be at most {pairs}: {servers} servers form no more pairs")])
