"""Costs by which maps are compared (bi-modal networks, sections 3.1 and 4.3)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, get_args

import numpy as np

from edrp.core.kernels import inner_loop


@inner_loop
def uniform(seed: int, counter: int) -> float:
    """Return a number in [0, 1) that depends on seed and counter alone (SplitMix64).

    Messages that overtake one another, and code that walks through them in another order, meet the same draws.

    >>> uniform(1, 2) == uniform(1, 2), 0 <= uniform(1, 3) < 1
    (True, True)
    """
    state = np.uint64(seed) * np.uint64(0xD1342543DE82EF95) + (np.uint64(counter) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    state = state ^ (state >> np.uint64(31))
    return float(state >> np.uint64(11)) * (1.0 / 9007199254740992.0)


CostName = Literal["additive", "load-balance", "public-hops", "public-hops-links"]
COSTS: tuple[CostName, ...] = get_args(CostName)
"""Costs by name.

additive: prices of the links used (section 3.1). load-balance: the choice that the paper prints for bi-modal networks
(section 4.3): least load, then more dedicated hops, then fewer public ones. public-hops: fewest public hops, then least load.
public-hops-links: fewest public hops, then fewest links, then least load."""

SAME_LOAD = 0.1
"""Load-balance factors that differ by no more than this from the least count as equal (section 4.3)."""


class MapFacts(NamedTuple):
    """Properties of a whole map, or of its first hops, from which costs are computed.

    Attributes
    ----------
    cost : sum of the prices of links and of public hops.
    links : dedicated links used, each as often as it is.
    public_hops, dedicated_hops : hops between different servers, over the public network or over links.
    load_balance : mean load of the servers that host a component, this task included (section 4.3).
    """

    cost: float
    links: int
    public_hops: int
    dedicated_hops: int
    load_balance: float


def objective(cost: str, facts: MapFacts, max_links: int) -> float:
    """Return the number that is minimised.

    All but `load-balance` settle every comparison by this one number: what comes second counts less than one of what comes
    first.

    Parameters
    ----------
    most_links
        Links that a map can use.

    Examples
    --------
    >>> objective("public-hops", MapFacts(3.0, 4, 2, 3, 0.5), max_links=10)
    2.25
    """
    if cost == "additive":
        return facts.cost
    if cost == "load-balance":
        return facts.load_balance
    if cost == "public-hops":
        return facts.public_hops + facts.load_balance / 2
    return facts.public_hops * (max_links + 1) + facts.links + facts.load_balance / 2


def key(cost: str, facts: MapFacts, max_links: int, components: int) -> tuple[float, float]:
    """Return the key that compares maps of equal prefix: exact, since the tolerance of `load-balance` is not transitive."""
    first = objective(cost, facts, max_links)
    return (first, facts.public_hops - (components + 2.0) * facts.dedicated_hops) if cost == "load-balance" else (first, 0.0)


def ranked(cost: str, candidates: Sequence[MapFacts], max_links: int) -> list[int]:
    """Return the positions of complete maps, best first; of equal maps the earlier one.

    For `load-balance`, maps whose load is within 0.1 of the least come first, those with more dedicated hops before others,
    then those with fewer public ones; then the rest by load.

    >>> near, far = MapFacts(0, 5, 1, 5, 0.55), MapFacts(0, 9, 0, 2, 0.5)
    >>> ranked("load-balance", [far, near], max_links=20), ranked("public-hops", [far, near], max_links=20)
    ([1, 0], [0, 1])
    """
    if cost != "load-balance":
        return sorted(range(len(candidates)), key=lambda each: objective(cost, candidates[each], max_links))
    min_load = min((facts.load_balance for facts in candidates), default=0.0)

    def order(position: int) -> tuple[float, ...]:
        facts = candidates[position]
        if facts.load_balance <= min_load + SAME_LOAD + 1e-12:
            return (0, -facts.dedicated_hops, facts.public_hops, facts.load_balance)
        return (1, facts.load_balance)

    return sorted(range(len(candidates)), key=order)
