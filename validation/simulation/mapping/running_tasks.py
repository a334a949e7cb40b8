"""Running tasks: the routes of their hops, and their flow between two events."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edrp.core.arrays import Floats, Ints32
from edrp.core.budget import spend
from edrp.mapping.bimodal_scenario import BimodalScenario
from edrp.mapping.mapping_arrays import FlowArrays, NetworkArrays
from edrp.validation.simulation.mapping.public_network import expected_fractions, stream
from edrp.validation.simulation.mapping.stream_kernel import (
    SENT,
    SHORTFALL,
    START,
    TOTAL,
    WINDOWS,
    Physics,
    Streams,
    advance,
    conclude,
    first_end,
)

FIRST_ROWS = 32
"""Tasks for which there is room at first."""

MAX_INTERVALS = 100_000
"""Flow intervals, or windows, that a task is let flow at once: between two looks at the clock."""


EVENT, INTERVAL = 1e-4, 1e-8
"""Units of work per event, and per flow interval of a public hop or window of a task."""


@dataclass(frozen=True, slots=True)
class Hops:
    """Servers, rates and routes of the hops of a task; h hops, whose routes take at most L links.

    Attributes
    ----------
    source, target : shape (h,), servers; the same for a hop that leads nowhere.
    rate : shape (h,), bytes/s.
    links : shape (h,), arcs of the dedicated route; 0 for the public network and for a hop that leads nowhere.
    arcs : shape (h, L), the route: its first `links` entries, in order.
    """

    source: Ints32
    target: Ints32
    rate: Floats
    links: Ints32
    arcs: Ints32


@dataclass(frozen=True, slots=True)
class Ended:
    """A task that has ended: its number, how many windows it was observed in, and the sum of their shortfalls."""

    task: int
    windows: int
    shortfall: float


class Running:
    """Tasks that run, in the order in which they were admitted, as rows of arrays that grow with their number."""

    def __init__(self, scenario: BimodalScenario, network: NetworkArrays, seed: int) -> None:
        self._scenario, self._seed = scenario, seed
        self._physics = Physics(
            interval=scenario.flow_interval,
            scale=scenario.variation * math.log(scenario.variation_base),
            buffer=scenario.buffer,
            window=scenario.window,
        )
        self._expected = scenario.flow == "expected"
        self._uplink = network.uplink.copy()
        self._downlink = np.array([np.inf if server.downlink is None else server.downlink for server in scenario.network.nodes])
        self._stride = MAX_INTERVALS * min(scenario.flow_interval, scenario.window)
        self.count = 0
        hops = max(len(task.services) for task in scenario.tasks) + 1
        self._allocate(FIRST_ROWS, hops, max(scenario.reallocation_links, scenario.max_empty_hops + 1))

    def _allocate(self, rows: int, hops: int, links: int) -> None:
        self.task = np.zeros(rows, np.int64)
        self.source = np.zeros((rows, hops), np.int32)
        self.target = np.zeros((rows, hops), np.int32)
        self.rate = np.zeros((rows, hops))
        self.price = np.zeros((rows, hops))
        self.links = np.zeros((rows, hops), np.int32)
        self.arcs = np.zeros((rows, hops, links), np.int32)
        self._keys = np.zeros((rows, hops), np.uint64)
        self._streams = Streams(
            hops=np.zeros(rows + 1, np.int64),
            places=np.zeros((rows + 1, hops), np.int64),
            keys=np.zeros((rows + 1, hops), np.uint64),
            levels=np.zeros((rows + 1, hops)),
            mean=np.full(rows + 1, -1.0),
            waiting=np.zeros((rows + 1, hops)),
            progress=np.zeros((rows + 1, 7)),
        )

    @property
    def _kept(self) -> list[NDArray[Any]]:
        """Arrays with a row per task that do not follow from others."""
        columns: list[NDArray[Any]] = [
            self.task,
            self.source,
            self.target,
            self.rate,
            self.price,
            self.links,
            self.arcs,
            self._keys,
        ]
        return [*columns, self._streams.waiting, self._streams.progress]

    def flows(self) -> FlowArrays:
        """Return all hops of all tasks, those of the first task first; changes in it are changes here."""
        count = self.count
        return FlowArrays(
            source=self.source[:count].reshape(-1),
            target=self.target[:count].reshape(-1),
            rate=self.rate[:count].reshape(-1),
            price=self.price[:count].reshape(-1),
            links=self.links[:count].reshape(-1),
            arcs=self.arcs[:count].reshape(count * self.arcs.shape[1], self.arcs.shape[2]),
        )

    def add(self, task: int, hops: Hops, now: float) -> None:
        """Begin a task."""
        if self.count == len(self.task):
            self._grow()
        row, described = self.count, self._scenario.tasks[task]
        self.count += 1
        for array in self._kept:
            array[row] = 0
        used = len(hops.rate)
        self.task[row] = task
        self.source[row, :used], self.target[row, :used], self.rate[row, :used] = hops.source, hops.target, hops.rate
        self.price[row, :used], self.links[row, :used] = described.price, hops.links
        self.arcs[row, :used, : hops.arcs.shape[1]] = hops.arcs
        self._keys[row, :used] = np.array([stream(self._seed, task, hop) for hop in range(used)], np.uint64)
        self._streams.progress[row, START], self._streams.progress[row, TOTAL] = now, described.nominal
        self.share()

    def remove(self, row: int, now: float) -> Ended:
        """Remove a task that has ended; later ones move up."""
        conclude(self._streams, row, now, self._physics)
        progress = self._streams.progress[row]
        ended = Ended(int(self.task[row]), int(progress[WINDOWS]), float(progress[SHORTFALL]))
        for array in self._kept:
            array[row : self.count - 1] = array[row + 1 : self.count]
        self.count -= 1
        self.share()
        return ended

    def hops(self, row: int) -> Hops:
        """Return the current hops of a task."""
        return Hops(self.source[row], self.target[row], self.rate[row], self.links[row], self.arcs[row])

    def share(self) -> None:
        """Share up- and downlinks in proportion to rates."""
        if not self.count:
            return
        part = slice(self.count)
        source, target, rate = self.source[part], self.target[part], self.rate[part]
        public = (self.links[part] == 0) & (source != target)
        sent = np.bincount(source[public], rate[public], len(self._uplink))
        received = np.bincount(target[public], rate[public], len(self._downlink))
        with np.errstate(divide="ignore", invalid="ignore"):
            level = np.log(np.minimum(1.0, np.minimum((self._uplink / sent)[source], (self._downlink / received)[target])))
        level[~public] = np.inf
        streams, places = self._streams, np.argsort(~public, axis=1, kind="stable")
        streams.hops[part] = public.sum(axis=1)
        streams.places[part] = places
        streams.keys[part] = np.take_along_axis(self._keys[part], places, axis=1)
        streams.levels[part] = np.take_along_axis(level, places, axis=1)
        if self._expected:
            max_hops = int(streams.hops[part].max())
            streams.mean[part] = expected_fractions(streams.levels[part, :max_hops], self._physics.scale)
        if self._physics.buffer:
            # Data that waits before a hop which has moved to a dedicated route returns to the source. There it comes as late as
            # behind all that is still to be sent, which is where it would be: such a route passes no more than the rate.
            back = np.where(public, 0.0, streams.waiting[part])
            streams.progress[part, SENT] -= back.sum(axis=1)
            streams.waiting[part] -= back

    def flow(self, now: float, until: float) -> tuple[float, int]:
        """Let tasks flow until one ends, or until some time, or for as long as can be computed at once.

        Returns
        -------
        tuple of float and int
            The time reached, and the row of the task that ends then; -1 for none.
        """
        until = min(until, now + self._stride)
        progress, drawn = self._streams.progress[: self.count], self._streams.mean[: self.count] < 0
        hops = int(self._streams.hops[: self.count][drawn].sum())
        work = INTERVAL * (hops / self._physics.interval + self.count / self._physics.window)
        min_seconds = max(0.0, min(until - now, float((progress[:, TOTAL] - progress[:, SENT]).min(initial=math.inf))))
        spend(EVENT + work * min_seconds)  # so much it takes at least; the rest is known afterwards
        end, row = first_end(self._streams, self.count, now, until, self._physics)
        reached = min(end, until)
        spend(work * max(0.0, reached - now - min_seconds))
        advance(self._streams, self.count, now, reached, self._physics)
        return reached, row

    def _grow(self) -> None:
        """Make room for twice as many tasks."""
        before = [array[: self.count].copy() for array in self._kept]
        rows, hops, links = self.arcs.shape
        self._allocate(2 * rows, hops, links)
        for array, old in zip(self._kept, before, strict=True):
            array[: self.count] = old
        self.share()
