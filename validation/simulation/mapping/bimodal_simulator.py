"""Simulates streams on a bi-modal network, from one event to the next (bi-modal networks, §6.1); choices among maps as methods.

Events are arrivals, ends, and re-allocations of links. Between two of them all that tasks hold stays as it is, and they flow
in one pass (`stream_kernel.cpp` in `edrp/native`), flow interval by flow interval. Among events at one time, ends come
first, then arrivals, then re-allocations. Where nothing has ended, begun or moved since links were last allocated, another
allocation changes nothing, and is left out. A task that arrives is admitted on free resources, which it holds until it ends. As a
method, a scenario is solved by a run in which every task is mapped by one choice.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from itertools import pairwise
from math import ceil, inf
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from edrp import _native
from edrp.core import budget
from edrp.core.arrays import Floats, Ints32
from edrp.core.budget import look, now, spend, units_left
from edrp.core.errors import Fault, InvalidInstanceError, OutOfTimeError
from edrp.core.methods import Method, Options
from edrp.core.solution import Answer
from edrp.heuristics.mapping.map_rules import Rules
from edrp.heuristics.mapping.methods import Flood, FoundMap
from edrp.heuristics.mapping.reallocation import reallocate
from edrp.mapping import bimodal_scenario as documents
from edrp.mapping import mapping_arrays
from edrp.mapping.path_mapping import shortage
from edrp.mapping.path_tasks import PathMap
from edrp.validation.simulation.mapping.stream_kernel import (
    SENT,
    SHORTFALL,
    START,
    TOTAL,
    WINDOWS,
    Physics,
    Streams,
    expected_fractions,
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

    def __init__(self, scenario: documents.BimodalScenario, network: mapping_arrays.NetworkArrays, seed: int) -> None:
        self._scenario, self._seed = scenario, np.array([seed % 2**64], np.uint64)
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

    def flows(self) -> mapping_arrays.FlowArrays:
        """Return all hops of all tasks, those of the first task first; changes in it are changes here."""
        count = self.count
        return mapping_arrays.FlowArrays(
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
        _native.write_stream_keys(self._seed, task, self._keys[row, :used])
        self._streams.progress[row, START], self._streams.progress[row, TOTAL] = now, described.nominal
        self.share()

    def remove(self, row: int, now: float) -> Ended:
        """Remove a task that has ended; later ones move up."""
        _native.conclude_task(self._streams, row, now, self._physics)
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
        spend(EVENT + work * min_seconds)  # the least that it takes; the rest is known afterwards
        end, row = _native.first_task_end(self._streams, self.count, now, until, self._physics)
        reached = min(end, until)
        spend(work * max(0.0, reached - now - min_seconds))
        _native.advance_tasks(self._streams, self.count, now, reached, self._physics)
        return reached, row

    def _grow(self) -> None:
        before = [array[: self.count].copy() for array in self._kept]
        rows, hops, links = self.arcs.shape
        self._allocate(2 * rows, hops, links)
        for array, old in zip(self._kept, before, strict=True):
            array[: self.count] = old
        self.share()


ADMITTED = 5e-4
"""Units of work per task that arrives, besides its messages."""


class Admission(NamedTuple):
    """The answer to a task that arrives.

    Attributes
    ----------
    map, hops : where it runs and what its hops hold; None where it is refused.
    short : what was short; None where it is admitted.
    messages : maps sent between servers.
    """

    map: PathMap | None
    hops: Hops | None
    short: str | None
    messages: int


class Admissions:
    """Maps tasks on free capacities and rates, and keeps track of them."""

    def __init__(
        self,
        scenario: documents.BimodalScenario,
        cost: mapping_arrays.CostName,
        max_empty_hops: int,
        *,
        split_by_hops: bool = False,
        message_delays: bool = True,
    ) -> None:
        self._scenario, self._cost, self._max_empty_hops = scenario, cost, max_empty_hops
        network = documents.admission_network(scenario)
        self.network = mapping_arrays.network_arrays(network)
        if not message_delays:
            self.network.delay[:] = self.network.access_delay[:] = 0.0
        self._index = {name: position for position, name in enumerate(self.network.names)}
        arcs = zip(self.network.source.tolist(), self.network.target.tolist(), strict=True)
        self._arcs = {arc: number for number, arc in enumerate(arcs)}
        self._hosts = {
            service.name: np.array([node.hosts(service.name) for node in network.nodes]) for service in scenario.services
        }
        self._public = bool((self.network.uplink > 0).any())
        total = scenario.empty_hops == "total"
        rules = Rules(max_empty_hops=max_empty_hops, total_hops=total, cost=cost, split_by_hops=split_by_hops)
        self._flood = Flood(self.network, rules, public=self._public)
        self._held: dict[int, tuple[tuple[int, ...], mapping_arrays.TaskArrays]] = {}

    def admit(self, task: int) -> Admission:
        """Map a task and reserve the resources of the best map, or say what is short."""
        spend(ADMITTED)
        described = self._scenario.path_task(task)
        services = self._scenario.tasks[task].services
        tables = mapping_arrays.TaskArrays(
            source=self._index[described.source],
            delivery=self._index[described.delivery],
            needs=np.array(described.needs, float),
            bandwidths=np.array(described.hop_bandwidths, float),
            hosts=np.array([self._hosts[name] for name in services], np.bool_).reshape(len(services), len(self._index)),
        )
        maps = self._flood.run(tables, until=now() + units_left())
        look("the maps of a task")
        messages = maps.messages["map"]
        if not maps:
            return Admission(None, None, "; ".join(shortage(self._problem(tables))), messages)
        best = maps[0]
        hops = self._hops(best, tables)
        self._held[task] = best.nodes, tables
        self._book(task, hops, -1.0)
        return Admission(mapping_arrays.path_map(self.network, best.nodes, best.routes, best.public), hops, None, messages)

    def release(self, task: int, hops: Hops) -> None:
        """Release the resources of a task, whose hops are as they are now."""
        self._book(task, hops, 1.0)
        del self._held[task]

    def _book(self, task: int, hops: Hops, sign: float) -> None:
        """Subtract the resources of a task from the free ones, or add them."""
        nodes, tables = self._held[task]
        np.add.at(self.network.capacity, np.array(nodes, np.int64), sign * tables.needs)
        public = (hops.links == 0) & (hops.source != hops.target)
        np.add.at(self.network.uplink, hops.source[public], sign * hops.rate[public])
        for hop in np.flatnonzero(hops.links):
            np.add.at(self.network.bandwidth, hops.arcs[hop, : hops.links[hop]], sign * hops.rate[hop])

    def _problem(self, task: mapping_arrays.TaskArrays) -> mapping_arrays.MappingArrays:
        hops, total = len(task.bandwidths), self._scenario.empty_hops == "total"
        return mapping_arrays.MappingArrays(
            network=self.network,
            task=task,
            max_empty_hops=self._max_empty_hops,
            total_hops=total,
            cumulative=True,
            public=self._public,
            public_cost=0.0,
            cost=self._cost,
            max_links=hops + self._max_empty_hops * (1 if total else hops),
        )

    def _hops(self, best: FoundMap, task: mapping_arrays.TaskArrays) -> Hops:
        routes = [() if public else route for route, public in zip(best.routes, best.public, strict=True)]
        arcs = np.zeros((len(routes), self._max_empty_hops + 1), np.int32)
        for hop, route in enumerate(routes):
            for position, arc in enumerate(pairwise(route)):
                arcs[hop, position] = self._arcs[arc]
        return Hops(
            source=np.array([route[0] for route in best.routes], np.int32),
            target=np.array([route[-1] for route in best.routes], np.int32),
            rate=task.bandwidths,
            links=np.array([max(0, len(route) - 1) for route in routes], np.int32),
            arcs=arcs,
        )


def simulate(
    scenario: documents.BimodalScenario,
    cost: mapping_arrays.CostName,
    seed: int,
    *,
    reallocation: bool = True,
    max_empty_hops: int | None = None,
    split_by_hops: bool = False,
    message_delays: bool = True,
    until: float = inf,
) -> documents.BimodalRun:
    """Simulate one run, until the last task has ended.

    Parameters
    ----------
    cost
        Which map a task takes, of those that are found: the name of one of `edrp.mapping.mapping_arrays.COSTS`.
    seed
        Seed of everything random; not negative. The same seed gives the same run. The draws for a hop of a task depend on
        no other task, so that runs of one seed meet the same network.
    reallocation
        Whether links are re-allocated at the intervals of the scenario.
    max_empty_hops
        Most servers that a map passes without hosting a component; at most, and by default, as the scenario says.
    split_by_hops
        Whether partial maps that have passed different numbers of servers are compared apart.
    message_delays
        Whether maps between servers take the delays of links and of the public network. Otherwise they are handled in the
        order in which they are sent; then more of them come over the public network before others, and are kept.
    until
        When to give up, on the clock of limits (`edrp.core.budget.now`). It is looked at between events.

    Raises
    ------
    OutOfTimeError
        When `until` came first.
    """
    max_hops = scenario.max_empty_hops if max_empty_hops is None else min(max_empty_hops, scenario.max_empty_hops)
    admissions = Admissions(scenario, cost, max_hops, split_by_hops=split_by_hops, message_delays=message_delays)
    run = _SimulatedRun(scenario, admissions, seed, reallocation=reallocation)
    for task, described in enumerate(scenario.tasks):
        run.advance(described.arrival, until)
        run.admit(task)
    run.advance(inf, until)
    return run.document()


class _SimulatedRun:
    """State of a run under way."""

    def __init__(self, scenario: documents.BimodalScenario, admissions: Admissions, seed: int, *, reallocation: bool) -> None:
        self._scenario, self._admissions = scenario, admissions
        self._running = Running(scenario, admissions.network, seed)
        self._records: list[documents.TaskRecord] = []
        self._interval = scenario.reallocation_interval if reallocation else 0.0
        self._settled = True
        self._epoch = 0
        self._now = 0.0
        self._routes: dict[tuple[str, ...], int] = {}
        self._changes: list[tuple[float, int, int, int]] = []

    def advance(self, until: float, deadline: float) -> None:
        """Let tasks flow, end and change links until some time, or until none is left, unless the deadline comes first."""
        while not budget.passed(deadline):
            if not self._running.count:
                self._now = until
                return
            epoch = self._next_epoch()
            self._now, row = self._running.flow(self._now, min(until, epoch))
            if row >= 0:
                self._end(row)
            elif self._now == until:
                return
            elif self._now == epoch:
                self._reallocate()
        raise OutOfTimeError("the limit came before the end of the run")

    def admit(self, task: int) -> None:
        admission = self._admissions.admit(task)
        decision = admission.map
        if decision is None or admission.hops is None:
            refused = documents.TaskRecord.model_construct(accepted=False, short=admission.short, messages=admission.messages)
            self._records.append(refused)
            return
        self._running.add(task, admission.hops, self._now)
        self._settled = False
        self._records.append(
            documents.TaskRecord.model_construct(
                accepted=True,
                nodes=decision.nodes,
                routes=decision.routes,
                public=decision.public,
                start=self._now,
                messages=admission.messages,
            )
        )

    def document(self) -> documents.BimodalRun:
        time, task, hop, route = zip(*self._changes, strict=True) if self._changes else ((),) * 4
        return documents.BimodalRun.model_construct(
            tasks=tuple(self._records),
            routes=tuple(self._routes),
            changes=documents.AllocationChanges.model_construct(time=time, task=task, hop=hop, route=route),
        )

    def _next_epoch(self) -> float:
        """Return the next time at which links are re-allocated, a multiple of the interval; infinity for none."""
        if self._settled or not self._interval:
            return inf
        self._epoch = max(self._epoch, ceil(self._now / self._interval))
        return max(self._now, self._epoch * self._interval)

    def _end(self, row: int) -> None:
        hops = self._running.hops(row)
        task = int(self._running.task[row])
        self._admissions.release(task, hops)
        ended = self._running.remove(row, self._now)
        self._settled = False
        self._records[task] = self._records[task].model_copy(
            update={
                "finish": self._now,
                "delivered": self._scenario.delivered(task),
                "windows": ended.windows,
                "shortfall": ended.shortfall,
            }
        )

    def _reallocate(self) -> None:
        """Re-allocate links at all servers (Alg. 4)."""
        self._epoch += 1
        running, scenario = self._running, self._scenario
        links, arcs = running.links[: running.count].copy(), running.arcs[: running.count].copy()
        network = self._admissions.network
        moved = reallocate(network, running.flows(), scenario.reallocation_links, scenario.forwarding_price)
        self._settled = moved == 0
        if not moved:
            return
        for row, hop in np.argwhere(self._moved(links, arcs)).tolist():
            servers = mapping_arrays.route_names(network, running.arcs[row, hop, : running.links[row, hop]]) or ()
            route = self._routes.setdefault(servers, len(self._routes))
            self._changes.append((self._now, int(running.task[row]), hop, route))
            if not links[row, hop]:
                network.uplink[running.source[row, hop]] += running.rate[row, hop]
        running.share()

    def _moved(self, links: np.ndarray, arcs: np.ndarray) -> np.ndarray:
        """Find hops whose route has changed; entries behind the end of a route do not count."""
        running = self._running
        used = np.arange(arcs.shape[2]) < links[..., None]
        return (running.links[: running.count] != links) | ((running.arcs[: running.count] != arcs) & used).any(axis=2)


CHOICES: dict[mapping_arrays.CostName, str] = {
    "load-balance": "the printed choice: least load within 0.1, then most dedicated hops, then fewest public ones",
    "public-hops": "fewest hops over the public network, then least load",
    "public-hops-links": "fewest hops over the public network, then fewest links, then least load",
}
"""Costs by which a task takes one of its maps, and how they choose."""

SUFFIX = "-mapping"
"""Suffix that makes the name of a method from the name of its cost."""


@dataclass(frozen=True, slots=True)
class SimulationParameters:
    """Parameters of a run.

    Attributes
    ----------
    reallocation : whether links are re-allocated at the intervals of the scenario (Alg. 4).
    max_empty_hops : most servers that a map passes without hosting a component, at most and by default as the scenario says.
    split_by_hops : whether partial maps that have passed different numbers of servers are compared apart.
    message_delays : whether maps between servers take the delays of the network, or are handled in the order of sending.
    """

    reallocation: bool = True
    max_empty_hops: Annotated[int, Field(ge=0)] | None = None
    split_by_hops: bool = False
    message_delays: bool = True


class MappingChoice(Method):
    """A choice among maps, made for every task of a scenario by the simulator."""

    kinds = ("bimodal-scenario",)
    parameters = SimulationParameters

    def __init__(self, cost: mapping_arrays.CostName) -> None:
        self._cost = cost
        self.name = cost + SUFFIX
        self.summary = f"simulates a run; of its maps a task takes {CHOICES[cost]}"

    def run(self, problem: documents.BimodalScenario, options: Options) -> Answer:
        """Simulate once, with `options.seed`; where time is up before the run ends, there is no solution."""
        parameters = self.read_parameters(options)
        hops, limit = parameters.max_empty_hops, problem.max_empty_hops
        if hops is not None and hops > limit:
            fault = Fault("max_empty_hops", str(hops), f"must be at most {limit}, the limit of the scenario")
            raise InvalidInstanceError([fault], f"parameters of method {self.name}")
        run = simulate(problem, self._cost, options.seed, until=options.started + options.limit, **asdict(parameters))
        size = {"messages": sum(record.messages for record in run.tasks), "reallocations": len(run.changes.time)}
        return Answer("feasible", "finished", decision=run, objective=documents.lost_revenue(problem, run), size=size)


METHODS = tuple(MappingChoice(cost) for cost in CHOICES)
"""Methods that this module adds to the registry."""
