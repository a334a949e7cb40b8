"""A run on servers joined by dedicated links and the public network: its records, metrics and audit (bi-modal networks, §6).

Ways to choose among maps are the methods of scenarios. Metrics and audit are computed from the records of a run alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import pairwise
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

from pydantic import Field

from edrp.core.document import RANGES, Faults, Name, NonNegative, Outcome, Positive, checks, unit
from edrp.core.errors import Fault
from edrp.core.plausible_magnitudes import MAX_USUAL_DELAY, long_times
from edrp.core.problem import Evaluation, Problem, read_as
from edrp.core.solution import Solution
from edrp.core.tolerances import DELIVERED_DATA_SLACK, EQUAL_TIMES, SAME_VALUE
from edrp.mapping.path_mapping import MappingProblem
from edrp.mapping.path_tasks import BimodalTask, Component, PathMap, PathTask, Service
from edrp.mapping.server_network import ServerNetwork

Count = Annotated[int, Field(ge=0)]


class TaskRecord(Outcome):
    """Record of one task: refused, or mapped and served to its end."""

    accepted: bool = Field(description="whether a map was found and reserved")
    short: str | None = Field(None, description="what was short; null where it was accepted")
    nodes: tuple[Name, ...] = Field((), description="server of each component, as admitted")
    routes: tuple[tuple[Name, ...], ...] = Field((), description="servers of each hop, as admitted")
    public: tuple[bool, ...] = Field((), description="whether each hop goes over the public network, as admitted")
    start: NonNegative | None = Field(None, description="when its stream began", **unit("s"))
    finish: NonNegative | None = Field(None, description="when all its data was delivered", **unit("s"))
    delivered: NonNegative = Field(0.0, description="data that was delivered", **unit("bytes"))
    windows: Count = Field(0, description="windows in which its rate was observed", **unit("1"))
    shortfall: NonNegative = Field(
        0.0,
        description="sum over the windows of (required − observed rate) / required rate, where that is positive (section 6.2)",
        **unit("1"),
    )
    messages: Count = Field(0, description="maps sent between servers for it", **unit("1"))


class AllocationChanges(Outcome):
    """Moves of hops while their tasks ran, as columns of equal length, in order of time."""

    time: tuple[NonNegative, ...] = Field((), description="when", **unit("s"))
    task: tuple[Count, ...] = Field((), description="position of the task", **unit("1"))
    hop: tuple[Count, ...] = Field((), description="which of its hops", **unit("1"))
    route: tuple[Annotated[int, Field(ge=-1)], ...] = Field(
        (), description="position of its new route among `routes`; -1: the public network", **unit("1")
    )

    @checks("changes")
    def _check(self, faults: Faults) -> None:
        for name in ("task", "hop", "route"):
            if len(getattr(self, name)) != len(self.time):
                faults.add((name,), len(getattr(self, name)), f"must be as many as times, of which there are {len(self.time)}")


class BimodalRun(Outcome):
    """Record of a whole run: which tasks were admitted, how they were served, and which hops were moved."""

    tasks: tuple[TaskRecord, ...] = Field(description="in the order of the scenario")
    routes: tuple[tuple[Name, ...], ...] = Field((), description="dedicated routes that hops were moved to, as servers")
    changes: AllocationChanges = Field(AllocationChanges(), description="hops that were moved")


HOUR = 3600.0


class Span(NamedTuple):
    """One hop of one task on one route, from a time to another; `route` is None on the public network."""

    task: int
    hop: int
    start: float
    end: float
    route: tuple[str, ...] | None
    ends: tuple[str, str]


def run_metrics(scenario: BimodalScenario, run: BimodalRun) -> dict[str, float]:
    """Compute the metrics of a run, by name as `BimodalScenario.evaluate` describes them, and `lost_revenue` (money)."""
    served = [(index, record) for index, record in enumerate(run.tasks) if record.accepted]
    ends = [record.finish for _, record in served if record.finish is not None]
    horizon = scenario.tasks[-1].arrival or max(ends, default=1.0)
    hops = [(record, hop) for _, record in served for hop, route in enumerate(record.routes) if len(route) > 1]
    public = sum(bool(record.public) and record.public[hop] for record, hop in hops)
    return {
        "acceptance": len(served) / len(run.tasks),
        "throughput": len(served) / horizon * HOUR,
        "delivered_rate": math.fsum(record.delivered for _, record in served) / max(ends, default=horizon),
        "deviation": _mean([late_share(record) for _, record in served]),
        "elongation": _mean([run_time(record) / scenario.tasks[index].nominal - 1.0 for index, record in served]),
        **_server_use(scenario, served, horizon),
        "link_utilisation": _link_use(scenario, run, horizon),
        "public_share": public / len(hops) if hops else 0.0,
        "messages": _mean([record.messages for record in run.tasks]),
        "reallocations": float(len(run.changes.time)),
        "lost_revenue": lost_revenue(scenario, run),
    }


def lost_revenue(scenario: BimodalScenario, run: BimodalRun) -> float:
    """Compute the revenue lost: of refused tasks all, of others the share of late data."""
    return math.fsum(
        task.price * scenario.delivered(index) * (late_share(record) if record.accepted else 1.0)
        for index, (task, record) in enumerate(zip(scenario.tasks, run.tasks, strict=True))
    )


def is_whole(record: TaskRecord) -> bool:
    """Tell whether an accepted task has a start, a finish and windows in which it was observed."""
    return not record.accepted or (record.start is not None and record.finish is not None and record.windows > 0)


def late_share(record: TaskRecord) -> float:
    """Return the mean shortfall of the windows of a task."""
    return record.shortfall / record.windows if record.windows else 0.0


def hop_spans(run: BimodalRun) -> Iterator[Span]:
    """Yield for each hop between different servers the routes that it takes, with start and end."""
    moves: dict[tuple[int, int], list[tuple[float, int]]] = {}
    changes = run.changes
    for time, task, hop, moved in zip(changes.time, changes.task, changes.hop, changes.route, strict=True):
        moves.setdefault((task, hop), []).append((time, moved))
    for index, record in enumerate(run.tasks):
        if not record.accepted or record.start is None or record.finish is None:
            continue
        for hop, first in enumerate(record.routes):
            if len(first) == 1:
                continue
            start, ends = record.start, (first[0], first[-1])
            route = None if record.public and record.public[hop] else first
            for time, position in moves.get((index, hop), ()):
                yield Span(index, hop, start, time, route, ends)
                start, route = time, (None if position < 0 else run.routes[position])
            yield Span(index, hop, start, record.finish, route, ends)


def run_time(record: TaskRecord) -> float:
    """Return the seconds from the start of a task to its finish."""
    return (record.finish or 0.0) - (record.start or 0.0)


def _mean(values: list[float]) -> float:
    return math.fsum(values) / len(values) if values else 0.0


def _within(start: float, end: float, horizon: float) -> float:
    """Return the seconds of a span before the horizon."""
    return max(0.0, min(end, horizon) - start)


def _server_use(scenario: BimodalScenario, served: list[tuple[int, TaskRecord]], horizon: float) -> dict[str, float]:
    """Compute the shares of all computing capacity that are reserved, and that the work done needs."""
    reserved, worked = [], []
    for index, record in served:
        needs = math.fsum(scenario.path_task(index).needs)
        duration = run_time(record)
        occupied = needs * _within(record.start or 0.0, record.finish or 0.0, horizon)
        reserved.append(occupied)
        worked.append(occupied * scenario.tasks[index].nominal / duration if duration else 0.0)
    available = math.fsum(server.capacity for server in scenario.network.nodes) * horizon
    return {
        "server_utilisation": math.fsum(reserved) / available if available else 0.0,
        "server_work": math.fsum(worked) / available if available else 0.0,
    }


def _link_use(scenario: BimodalScenario, run: BimodalRun, horizon: float) -> float:
    """Compute the share of all dedicated bandwidth, both directions of each link, that is reserved."""
    rates = [scenario.path_task(index).hop_bandwidths if record.accepted else () for index, record in enumerate(run.tasks)]
    used = math.fsum(
        rates[span.task][span.hop] * (len(span.route) - 1) * _within(span.start, span.end, horizon)
        for span in hop_spans(run)
        if span.route is not None
    )
    available = math.fsum(link.bandwidth for link in scenario.network.arcs.values()) * horizon
    return used / available if available else 0.0


def run_faults(scenario: BimodalScenario, run: BimodalRun) -> Iterator[str]:
    """List faults of a run: maps that break limits, data from nowhere, servers and links that carried too much."""
    if len(run.tasks) != len(scenario.tasks):
        yield f"{len(run.tasks)} records for {len(scenario.tasks)} tasks"
        return
    usable = admission_network(scenario)
    for index, record in enumerate(run.tasks):
        yield from (f"task {index}: {why}" for why in _record_faults(scenario, usable, index, record))
    malformed = list(_change_faults(scenario, run))
    yield from malformed
    if not malformed:
        yield from _overbooked(scenario, run)


def admission_network(scenario: BimodalScenario) -> ServerNetwork:
    """Return the network for admission: without what may not carry streams; downlinks are shared, not reserved."""
    public = scenario.networks != "dedicated"
    nodes = [server.replace(downlink=None, **({} if public else {"uplink": 0.0})) for server in scenario.network.nodes]
    return scenario.network.replace(nodes=tuple(nodes), **({"links": ()} if scenario.networks == "public" else {}))


def _record_faults(scenario: BimodalScenario, usable: ServerNetwork, index: int, record: TaskRecord) -> Iterator[str]:
    task = scenario.tasks[index]
    if not record.accepted:
        if record.nodes or record.start is not None or record.short is None:
            yield "was refused, but has a map, a start, or nothing that was short"
        return
    if not is_whole(record):
        yield "was accepted, but has no start, no finish or no window"
        return
    problem = MappingProblem.model_construct(
        network=usable,
        task=scenario.path_task(index),
        max_empty_hops=scenario.max_empty_hops,
        empty_hops=scenario.empty_hops,
        bandwidth="cumulative",
        cost="additive",
        public_cost=0.0,
    )
    yield from problem.evaluate(PathMap(nodes=record.nodes, routes=record.routes, public=record.public)).broken
    if (record.start or 0.0) < task.arrival:
        yield f"starts at {record.start:g} s, before its arrival at {task.arrival:g} s"
    if run_time(record) < task.nominal * (1 - SAME_VALUE) - EQUAL_TIMES:
        yield f"takes {run_time(record):g} s, less than its source needs, {task.nominal:g} s"
    due = scenario.delivered(index)
    if abs(record.delivered - due) > DELIVERED_DATA_SLACK * due:
        yield f"delivers {record.delivered:g} bytes of {due:g}"
    if record.shortfall > record.windows * (1 + SAME_VALUE):
        yield f"a shortfall of {record.shortfall:g} in {record.windows} windows"


def _change_faults(scenario: BimodalScenario, run: BimodalRun) -> Iterator[str]:
    """List moves of hops that do not exist, or to where a stream may not go."""
    if list(run.changes.time) != sorted(run.changes.time):
        yield "changes: not in order of time"
    columns = zip(run.changes.time, run.changes.task, run.changes.hop, run.changes.route, strict=True)
    for position, (time, task, hop, route) in enumerate(columns):
        place = f"changes[{position}]"
        record = run.tasks[task] if task < len(run.tasks) else None
        if record is None or hop >= len(record.routes) or len(record.routes[hop]) == 1 or route >= len(run.routes):
            yield f"{place}: no such task, hop or route"
            continue
        if not (record.start or 0.0) <= time <= (record.finish or 0.0):
            yield f"{place}: at {time:g} s task {task} does not run"
        if route < 0:
            yield f"{place}: moves task {task} to the public network, which is worse than what it had"
            continue
        nodes, ends = run.routes[route], record.routes[hop]
        if (nodes[0], nodes[-1]) != (ends[0], ends[-1]):
            yield f"{place}: route {' → '.join(nodes)} does not lead from {ends[0]} to {ends[-1]}"
        if scenario.networks == "public" or any(arc not in scenario.network.arcs for arc in pairwise(nodes)):
            yield f"{place}: route {' → '.join(nodes)} has no links"
        elif len(nodes) - 1 > scenario.reallocation_links:
            yield f"{place}: route {' → '.join(nodes)} has more than {scenario.reallocation_links} links"


def _overbooked(scenario: BimodalScenario, run: BimodalRun) -> Iterator[str]:
    """List servers, links and uplinks on which more is reserved at some time than they have."""
    booked: dict[tuple[str, ...], list[tuple[float, bool, float]]] = {}

    def book(resource: tuple[str, ...], start: float, end: float, amount: float) -> None:
        if amount and end > start:
            booked.setdefault(resource, []).extend([(start, True, amount), (end, False, -amount)])

    for index, record in enumerate(run.tasks):
        if record.accepted and record.start is not None and record.finish is not None:
            for node, need in zip(record.nodes, scenario.path_task(index).needs, strict=True):
                book(("capacity", node), record.start, record.finish, need)
    for span in hop_spans(run):
        rate = scenario.path_task(span.task).hop_bandwidths[span.hop]
        if span.route is None:
            book(("uplink", span.ends[0]), span.start, span.end, rate)
        for arc in pairwise(span.route or ()):
            book(("bandwidth", *arc), span.start, span.end, rate)
    for resource, events in booked.items():
        free = _whole(scenario, resource)
        amount_booked = peak = 0.0
        for _, _, amount in sorted(events):  # at equal times what ends comes before what begins
            amount_booked += amount
            peak = max(peak, amount_booked)
        if peak > free * (1 + SAME_VALUE):  # sums of many reservations round more than one
            yield f"{resource[0]} of {' → '.join(resource[1:])}: {peak:.9g} reserved of {free:.9g}"


def _whole(scenario: BimodalScenario, resource: tuple[str, ...]) -> float:
    if resource[0] == "bandwidth":
        return scenario.network.arcs[resource[1], resource[2]].bandwidth
    server = scenario.network.by_name[resource[1]]
    return server.capacity if resource[0] == "capacity" else server.uplink


MAX_INTERVALS = 1_000_000_000
"""Most intervals of one kind in a run."""


class BimodalScenarioSolution(Solution):
    """Solution of a scenario: a run with its metrics."""

    metric_units: ClassVar[Mapping[str, str]] = {
        "throughput": "tasks/h",
        "delivered_rate": "bytes/s",
        "messages": "messages/task",
        "lost_revenue": "money",
    }

    kind: Literal["bimodal-scenario-solution"] = Field("bimodal-scenario-solution", description="says what the document is")
    objective: float | None = Field(
        description="revenue lost by refused tasks and by late data, as re-evaluated", **unit("money")
    )
    run: BimodalRun | None = Field(description="what became of each task")

    @property
    def decision(self) -> BimodalRun | None:
        """The run."""
        return self.run


class BimodalScenario(Problem):
    """Servers, dedicated links, the public network, and tasks that arrive.

    A task is mapped at its arrival on what is free, and holds computing capacity, links and uplinks until all its data is
    delivered. Streams over the public network share up- and downlinks in proportion to their rates; every
    `flow_interval` each such hop passes min(1, share × base^(variation × Z)) of its rate, Z standard normal. Without
    buffers a task advances at the pace of its slowest hop; with a buffer, what a hop cannot pass waits, up to `buffer`
    seconds of the hop's rate. Every `reallocation_interval` links are re-allocated (Alg. 4).

    Examples
    --------
    >>> scenario = BimodalScenario(
    ...     network={"nodes": [{"name": "a", "capacity": 2, "uplink": 2e5}, {"name": "b", "capacity": 2, "uplink": 2e5}]},
    ...     services=[{"name": "decode", "capacity": 1, "shrinkage": 0.5}],
    ...     tasks=[{"arrival": 0, "source": "a", "delivery": "b", "services": ["decode"], "rate": 1e5, "data": 1e7}],
    ... )
    >>> scenario.path_task(0).hop_bandwidths, scenario.tasks[0].nominal
    ((100000.0, 50000.0), 100.0)
    """

    objective_terms: ClassVar[tuple[str, ...]] = ("lost_revenue",)
    decision_type: ClassVar[Any] = BimodalRun

    kind: Literal["bimodal-scenario"] = Field("bimodal-scenario", description="says what the document is")
    network: ServerNetwork = Field(description="servers and dedicated links, all of it free at the start")
    services: tuple[Service, ...] = Field(description="what components there are")
    tasks: Annotated[tuple[BimodalTask, ...], Field(min_length=1)] = Field(description="in the order in which they arrive")
    networks: Literal["both", "dedicated", "public"] = Field("both", description="what may carry streams")
    max_empty_hops: Annotated[int, Field(ge=0, le=1000)] = Field(
        1, description="most servers that a map passes without hosting a component", **unit("1")
    )
    empty_hops: Literal["per_edge", "total"] = Field(
        "per_edge", description="whether `max_empty_hops` bounds each hop or all together"
    )
    reallocation_interval: NonNegative = Field(10.0, description="time between re-allocations of links; 0: never", **unit("s"))
    reallocation_links: Annotated[int, Field(ge=1, le=64)] = Field(
        6, description="most links of a route that re-allocation finds", **unit("1")
    )
    forwarding_price: NonNegative = Field(
        0.0, description="paid for each byte and server that forwards it", **unit("money/bytes")
    )
    flow_interval: Positive = Field(0.01, description="time for which the public network keeps its rate", **unit("s"))
    variation: Annotated[float, Field(ge=0, le=10)] = Field(
        1.0, description="standard deviation of the logarithm of the rate", **unit("1")
    )
    variation_base: Annotated[float, Field(gt=1, le=10)] = Field(2.0, description="base of that logarithm", **unit("1"))
    buffer: NonNegative = Field(0.0, description="rate that a hop can hold back, as a time", **unit("s"))
    window: Positive = Field(10.0, description="time over which a delivery rate is observed", **unit("s"))
    flow: Literal["drawn", "expected"] = Field(
        "drawn", description="whether the public network is drawn, or its expectation is taken; that knows no buffer"
    )

    @checks()
    def _check(self, faults: Faults) -> None:
        names = [service.name for service in self.services]
        faults.add_repeated_names("services", names)
        for index, task in enumerate(self.tasks):
            for end in ("source", "delivery"):
                faults.add_unknown(("tasks", index, end), getattr(task, end), "node of the network", self.network.by_name)
            for position, name in enumerate(task.services):
                if name not in self._services:
                    faults.add_unknown(("tasks", index, "services", position), name, "service of the scenario", names)
            self._check_sizes(index, faults)
            if index and task.arrival < self.tasks[index - 1].arrival:
                faults.add(("tasks", index, "arrival"), task.arrival, f"is before that of tasks[{index - 1}]; order them by time")
        self._check_intervals(faults)
        if self.flow == "expected" and self.buffer:
            faults.add(("buffer",), self.buffer, 'must be 0 with flow "expected", which knows no buffer')

    def _check_sizes(self, index: int, faults: Faults) -> None:
        """Note a task that takes too long, or whose rate or data becomes too large on its way: products of what is in range."""
        task = self.tasks[index]
        longest, largest = RANGES["s"].largest, RANGES["bytes"].largest
        if task.nominal > longest:
            why = f"takes {task.nominal:g} s at a rate of {task.rate:g} bytes/s; at most {longest:g} s are taken"
            faults.add(("tasks", index, "data"), task.data, why)
        grown = 1.0
        for position, name in enumerate(task.services):
            grown *= self._services[name].shrinkage if name in self._services else 1.0
            if not grown * max(task.rate, task.data) <= largest:
                why = f"makes data or a rate of {grown * max(task.rate, task.data):g}; at most {largest:g} is taken"
                faults.add(("tasks", index, "services", position), name, why)
                return

    def _check_intervals(self, faults: Faults) -> None:
        """Note intervals of which a run would have more than can be simulated."""
        latest = max((task.arrival + task.nominal for task in self.tasks), default=0.0)
        for place in ("flow_interval", "window", "reallocation_interval"):
            interval: float = getattr(self, place)
            if interval and latest > MAX_INTERVALS * interval:
                why = f"is {latest / interval:.3g} times in a run of {latest:g} s; at most {MAX_INTERVALS:,} are simulated"
                faults.add((place,), interval, why)

    def _warnings(self) -> Iterator[Fault]:
        network = self.network
        yield from long_times("network.links[{}].delay", [link.delay for link in network.links], MAX_USUAL_DELAY, "delays")
        access = [node.access_delay for node in network.nodes]
        yield from long_times("network.nodes[{}].access_delay", access, MAX_USUAL_DELAY, "delays")
        if not any(task.price for task in self.tasks):
            yield Fault("tasks", "", "have no price, so that no run loses anything")

    @cached_property
    def _services(self) -> dict[str, Service]:
        return {service.name: service for service in self.services}

    @cached_property
    def _path_tasks(self) -> tuple[PathTask, ...]:
        return tuple(self._path_task(task) for task in self.tasks)

    def path_task(self, index: int) -> PathTask:
        """Return a task in the terms of the mapping problem: components are named by their position."""
        return self._path_tasks[index]

    def _path_task(self, task: BimodalTask) -> PathTask:
        described = [self._services[name] for name in task.services]
        components = [
            Component(name=str(position), service=service.name, **service.model_dump(exclude={"name"}))
            for position, service in enumerate(described, start=1)
        ]
        return PathTask(
            source=task.source, delivery=task.delivery, components=tuple(components), rate=task.rate, price=task.price
        )

    def delivered(self, index: int) -> float:
        """Return the total bytes that a task delivers."""
        task = self.tasks[index]
        return task.data * math.prod(self._services[name].shrinkage for name in task.services)

    def evaluate(self, decision: BimodalRun | Mapping[str, Any]) -> Evaluation:
        """Compute the metrics of a run from its records, and check that the records are possible.

        Returns
        -------
        Evaluation
            Metrics (section 6.2): `acceptance`, `throughput` (accepted tasks per hour of arrivals), `delivered_rate`
            (bytes/s), `deviation` from the required rate and `elongation` of accepted tasks, `server_utilisation`
            (reserved), `server_work` (work done), `link_utilisation`, `public_share` of hops as admitted, `messages` per
            task, `reallocations`. The objective is revenue lost: of refused tasks all, of others their deviation's share.
        """
        decision = read_as(BimodalRun, decision, "decision")
        broken = tuple(run_faults(self, decision))
        if len(decision.tasks) != len(self.tasks) or not all(map(is_whole, decision.tasks)):
            return Evaluation(math.inf, {}, broken)
        metrics = run_metrics(self, decision)
        return Evaluation(metrics.pop("lost_revenue"), metrics, broken)

    def solution(self, decision: BimodalRun | None, fields: dict[str, Any]) -> BimodalScenarioSolution:
        """The run."""
        return BimodalScenarioSolution.model_construct(**fields, run=decision)
