"""Which host takes a new instance (cost-efficient enactment, Alg. 2)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from edrp.core.arrays import Bools, Floats
from edrp.core.document import named_resources
from edrp.enactment import TentativeState
from edrp.enactment.containers import AMOUNT_SLACK

CACHED_FACTOR = 0.01
"""CF of Alg. 2, the paper's value: hosts that hold the image are a group of their own, before all others."""


def suitabilities(free: Floats, capacity: Floats, need: Floats, cached: Bools, cached_factor: float = CACHED_FACTOR) -> Floats:
    """How badly each host suits one more instance (cost-efficient enactment, Alg. 2): the lowest is best, -1 has no room.

    The paper subtracts normalised memory from normalised CPU; with other resources beside these two, the difference is
    that between the freest and the scarcest. Its line 10 is read as "if the image of the operator is on the host".

    Parameters
    ----------
    free, capacity : shape (hosts, resources)
        What is left, and what an empty host has.
    need : shape (resources,)
        Of one instance.
    cached : shape (hosts,)
        Whether the container image is there.
    cached_factor
        CF, by which the value of these hosts is multiplied.

    Examples
    --------
    Two hosts with as much memory left; on the first the instance leaves CPU and memory out of balance:

    >>> capacity = np.array([[4.0, 8.0], [4.0, 8.0], [4.0, 8.0]])
    >>> free = np.array([[4.0, 4.0], [2.0, 4.0], [0.5, 8.0]])
    >>> suitabilities(free, capacity, np.array([1.0, 2.0]), np.array([False, False, True])).tolist()
    [0.25, 0.0, -1.0]
    """
    used, there = need > 0, capacity > 0
    feasibility = (free[:, used] / need[used]).min(axis=1, initial=np.inf)
    remaining = np.divide(free - need, capacity, out=np.full(free.shape, np.nan), where=there)
    difference = np.fmax.reduce(remaining, axis=1) - np.fmin.reduce(remaining, axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):  # of hosts without room, which are overwritten
        value = np.where(cached, cached_factor, 1.0) * difference / feasibility
    return np.where((need <= free + AMOUNT_SLACK * capacity).all(axis=1), value, -1.0)


def best_host(tentative: TentativeState, operator: str, hosts: Sequence[str], cached_factor: float = CACHED_FACTOR) -> str | None:
    """The host that suits one more instance best, ties to the one with most free CPU, then by name; None has room nowhere.

    Parameters
    ----------
    tentative
        Hosts and what runs on them.
    operator
        Of which an instance is to be placed.
    hosts
        Those that may be chosen.
    cached_factor
        CF of Alg. 2.
    """
    able = [host for host in hosts if tentative.fits(host, operator)]
    if not able:
        return None
    frees = [tentative.free(host) for host in able]
    capacities = [tentative.type(host).capacity for host in able]
    needs = named_resources(tentative.state.operators[operator].operator.resources)
    resources = tuple(dict.fromkeys(name for each in (needs, *capacities) for name in each))
    values = suitabilities(
        np.array([[each.get(name, 0.0) for name in resources] for each in frees]),
        np.array([[each.get(name, 0.0) for name in resources] for each in capacities]),
        np.array([needs.get(name, 0.0) for name in resources]),
        np.array([tentative.has_image(host, operator) for host in able]),
        cached_factor,
    )
    best = min(range(len(able)), key=lambda index: (values[index], -frees[index].get("cpu", 0.0), able[index]))
    return able[best]


def usable(tentative: TentativeState, *, starting: bool) -> tuple[str, ...]:
    """Hosts on which instances can be placed: all that are not given back, or of these only the ones that are up."""
    hosts = tentative.state.hosts
    return tuple(host for host in tentative.hosts if starting or (host in hosts and hosts[host].ready))
