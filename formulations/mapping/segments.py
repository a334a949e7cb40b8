"""Better maps by segments: some neighbouring components at a time are mapped again, within what all others leave free."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from edrp.formulations.mapping.map_moves import HOST
from edrp.mapping.mapping_arrays import MappingArrays, NetworkArrays

SEGMENTS = (12, 20)
"""Components of a segment: as many as the search over labels maps in milliseconds, and where that helps no more, others."""


class Segment(NamedTuple):
    """A part of a map as a task of its own.

    Attributes
    ----------
    tables : the task of the segment, between the servers before and after it, on what the rest of the map leaves free.
    before, moves, after : moves of the map, split.
    """

    tables: MappingArrays
    before: list[int]
    moves: list[int]
    after: list[int]


def segment(tables: MappingArrays, moves: Sequence[int], number: int, size: int) -> Segment | None:
    """Return the segment of so many components with this number, half of which is also in the next one; None after the last."""
    task, first = tables.task, number * size // 2
    end = min(first + size, task.needs.size)
    if first and first + size // 2 >= task.needs.size:
        return None
    hosts = [position for position, move in enumerate(moves) if move == HOST]
    start = hosts[first - 1] + 1 if first else 0
    stop = hosts[end] if end < len(hosts) else len(moves)
    used = _Uses(tables)
    source = used.follow(moves[:start], 0)
    delivery = used.follow(moves[start:stop], first, counted=False, server=source)
    used.follow(moves[stop:], end, server=delivery)
    hops = slice(first, end + 1)
    part = replace(
        task,
        source=source,
        delivery=delivery,
        needs=task.needs[first:end],
        bandwidths=task.bandwidths[hops],
        hosts=task.hosts[first:end],
    )
    empty = tables.max_empty_hops - (used.empty if tables.total_hops else 0)
    own = replace(tables, network=used.free(), task=part, max_empty_hops=empty)
    return Segment(own, list(moves[:start]), list(moves[start:stop]), list(moves[stop:]))


class _Uses:
    """Use of servers and links by parts of a map.

    Attributes
    ----------
    empty : empty hops.
    """

    def __init__(self, tables: MappingArrays) -> None:
        self.tables, self.empty = tables, 0
        network = tables.network
        self._capacity, self._bandwidth = np.zeros_like(network.capacity), np.zeros_like(network.bandwidth)
        self._uplink, self._downlink = np.zeros_like(network.uplink), np.zeros_like(network.downlink)

    def follow(self, moves: Sequence[int], mapped: int, *, counted: bool = True, server: int | None = None) -> int:
        """Follow moves from a server, by default the source, with so many components mapped, and return where they end."""
        network, task = self.tables.network, self.tables.task
        arcs, at, links = network.target.size, task.source if server is None else server, 0
        for move in moves:
            if move == HOST:
                self._capacity[at] += task.needs[mapped] * counted
                mapped, links = mapped + 1, 0
                continue
            rate = task.bandwidths[mapped] * counted
            if move < arcs:
                self._bandwidth[move] += rate
                at = int(network.target[move])
                self.empty += counted and links > 0
                links += 1
            else:
                self._uplink[at] += rate
                at = move - arcs
                self._downlink[at] += rate
        return at

    def free(self) -> NetworkArrays:
        """Return the network with what is left; of rates all, where uses do not add up."""
        network = self.tables.network
        left = replace(network, capacity=np.maximum(0.0, network.capacity - self._capacity))
        if self.tables.cumulative:
            left.bandwidth = np.maximum(0.0, network.bandwidth - self._bandwidth)
            left.uplink = np.maximum(0.0, network.uplink - self._uplink)
            left.downlink = np.maximum(0.0, network.downlink - self._downlink)
        return left
