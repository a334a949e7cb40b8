"""Explanation of infeasible mapping problems: the resource that is short."""

from __future__ import annotations

import numpy as np

from edrp.core.arrays import Bools
from edrp.core.tolerances import LIMIT_SLACK
from edrp.core.wording import enumerated
from edrp.mapping.mapping_arrays import MappingArrays


def shortage(tables: MappingArrays) -> tuple[str, ...]:
    """Name the resource that is short for a task that has no map, one component after the other.

    Each limit is looked at alone; where each can be met alone, the answer says that they cannot be met together.

    Returns
    -------
    tuple of str
        Sentences that begin with the resource: "capacity", "bandwidth", "max_empty_hops", "uplink".

    Examples
    --------
    >>> from edrp.mapping.path_mapping import mapping_arrays
    >>> from edrp.mapping.path_mapping import MappingProblem
    >>> problem = MappingProblem(
    ...     network={"nodes": [{"name": "a", "capacity": 1}, {"name": "b", "capacity": 1, "services": []}],
    ...              "links": [{"source": "a", "target": "b", "bandwidth": 5.0}]},
    ...     task={"source": "a", "delivery": "b", "bandwidths": [1, 9],
    ...           "components": [{"name": "f", "service": "s", "capacity": 1}]},
    ... )
    >>> problem.clashes()
    ('bandwidth: no way from component 1 to the delivery b has 9 bytes/s free; of the links that lead on, a → b has the most, 5',)
    """
    task, network = tables.task, tables.network
    at_server = np.zeros(len(network.names), np.bool_)
    at_server[task.source] = True
    hops = len(task.bandwidths)
    for hop in range(hops):
        able = _able(tables, hop)
        if not able.any():
            return (_no_server(tables, hop),)
        reached = _reached(tables, at_server, task.bandwidths[hop]) & able
        if not reached.any():
            return (_no_way(tables, at_server, able, hop),)
        at_server = reached
    return (_together(tables),)


def _able(tables: MappingArrays, hop: int) -> Bools:
    """Return the servers that can take what follows a hop: the next component, or the delivery."""
    task, network = tables.task, tables.network
    if hop == len(task.needs):
        return np.asarray(np.arange(len(network.names)) == task.delivery)
    return np.asarray(task.hosts[hop] & (network.capacity >= task.needs[hop] * (1 - LIMIT_SLACK)))


def _reached(tables: MappingArrays, at_server: Bools, rate: float) -> Bools:
    """Return the servers that a hop of this rate reaches, each limit alone; with rate 0, limits of rate do not count."""
    network = tables.network
    usable = network.bandwidth >= rate * (1 - LIMIT_SLACK)
    reached, frontier = at_server.copy(), at_server
    for _ in range(min(tables.max_empty_hops + 1, len(at_server))):
        following = np.zeros_like(at_server)
        following[network.target[usable & frontier[network.source]]] = True
        frontier = following & ~reached
        if not frontier.any():
            break
        reached |= frontier
    sending = at_server & (network.uplink >= rate * (1 - LIMIT_SLACK)) & ((network.uplink > 0) | (rate == 0))
    if tables.public and sending.any():
        reached |= network.downlink >= rate * (1 - LIMIT_SLACK)
    return np.asarray(reached)


def _no_server(tables: MappingArrays, hop: int) -> str:
    task, network = tables.task, tables.network
    need = f"component {hop + 1} needs {task.needs[hop]:.6g}"
    if not task.hosts[hop].any():
        return f"capacity: {need}, and no server hosts it"
    best = int(np.where(task.hosts[hop], network.capacity, -1.0).argmax())
    free = f"{network.names[best]} has the most free, {network.capacity[best]:.6g}"
    return f"capacity: {need}; of the servers that host it, {free}"


def _no_way(tables: MappingArrays, at_server: Bools, able: Bools, hop: int) -> str:
    """Explain why no suitable server is reached: for lack of rate, or for lack of links."""
    rate, names = tables.task.bandwidths[hop], tables.network.names
    start = f"component {hop}" if hop else f"the source {names[tables.task.source]}"
    end = f"the delivery {names[tables.task.delivery]}" if hop == len(tables.task.needs) else f"component {hop + 1}"
    if (_reached(tables, at_server, 0.0) & able).any():
        scarce_rate = "uplink and bandwidth" if tables.public else "bandwidth"
        return f"{scarce_rate}: no way from {start} to {end} has {rate:.6g} bytes/s free{_widest(tables, at_server, rate)}"
    passed = f"{tables.max_empty_hops} empty hops" if tables.max_empty_hops != 1 else "1 empty hop"
    return f"max_empty_hops: no server for {end} is within {passed} of one for {start}"


def _widest(tables: MappingArrays, at_server: Bools, rate: float) -> str:
    """The widest of the links that lead on from what is reached and are too narrow, in words; empty where none is."""
    network, reached = tables.network, _reached(tables, at_server, rate)
    narrow = reached[network.source] & ~reached[network.target] & (network.bandwidth < rate)
    if not narrow.any():
        return ""
    best = int(np.where(narrow, network.bandwidth, -1.0).argmax())
    ends = f"{network.names[network.source[best]]} → {network.names[network.target[best]]}"
    return f"; of the links that lead on, {ends} has the most, {network.bandwidth[best]:.6g}"


def _together(tables: MappingArrays) -> str:
    needed, free = float(tables.task.needs.sum()), float(tables.network.capacity.sum())
    if needed > free:
        pairs = zip(tables.network.names, tables.network.capacity, strict=True)
        room = enumerated([f"{name} {amount:.6g}" for name, amount in pairs])
        return f"capacity: the components need {needed:.6g} in all, the servers have {free:.6g} free ({room})"
    limits = ["capacity", "bandwidth", *(["uplink"] if tables.public else []), "max_empty_hops"]
    return f"{enumerated(limits)}: each can be met alone, but not all together"
