"""The accounts of a run on a bi-modal network, settled from its records alone (bi-modal networks, section 6.2)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from edrp.mapping.bimodal_run import BimodalRun, TaskRecord
from edrp.mapping.documents import PathMap, ServerNetwork
from edrp.mapping.path_mapping import SLACK, MappingProblem

if TYPE_CHECKING:
    from edrp.mapping.bimodal_scenario import BimodalScenario

HOUR = 3600.0

DATA_SLACK = 1e-6
"""Relative difference between data delivered and data due that counts as rounding."""


class Span(NamedTuple):
    """One hop of one task on one route, from a time to another; `route` is None on the public network."""

    task: int
    hop: int
    start: float
    end: float
    route: tuple[str, ...] | None
    ends: tuple[str, str]


def accounts(scenario: BimodalScenario, run: BimodalRun) -> dict[str, float]:
    """Metrics of a run, by name as `BimodalScenario.evaluate` describes them, and `lost_revenue` (money)."""
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
        "elongation": _mean([_elongation(scenario, index, record) for index, record in served]),
        **_server_use(scenario, served, horizon),
        "link_utilisation": _link_use(scenario, run, horizon),
        "public_share": public / len(hops) if hops else 0.0,
        "messages": _mean([record.messages for record in run.tasks]),
        "reallocations": float(len(run.changes.time)),
        "lost_revenue": math.fsum(
            scenario.tasks[index].price * scenario.delivered(index) * (late_share(record) if record.accepted else 1.0)
            for index, record in enumerate(run.tasks)
        ),
    }


def is_whole(record: TaskRecord) -> bool:
    """Whether an accepted task has a start, a finish and windows in which it was observed."""
    return not record.accepted or (record.start is not None and record.finish is not None and record.windows > 0)


def late_share(record: TaskRecord) -> float:
    """Mean shortfall of the windows of a task."""
    return record.shortfall / record.windows if record.windows else 0.0


def spans_of(run: BimodalRun) -> Iterator[Span]:
    """Which route each hop that leads somewhere takes from when to when."""
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
            for time, place in moves.get((index, hop), ()):
                yield Span(index, hop, start, time, route, ends)
                start, route = time, (None if place < 0 else run.routes[place])
            yield Span(index, hop, start, record.finish, route, ends)


def run_faults(scenario: BimodalScenario, run: BimodalRun) -> Iterator[str]:
    """What cannot have been: maps that break limits, data from nowhere, servers and links that carried too much."""
    if len(run.tasks) != len(scenario.tasks):
        yield f"{len(run.tasks)} records for {len(scenario.tasks)} tasks"
        return
    usable = _usable(scenario)
    for index, record in enumerate(run.tasks):
        yield from (f"task {index}: {why}" for why in _record_faults(scenario, usable, index, record))
    malformed = list(_change_faults(scenario, run))
    yield from malformed
    if not malformed:
        yield from _overbooked(scenario, run)


def _mean(values: list[float]) -> float:
    return math.fsum(values) / len(values) if values else 0.0


def _elongation(scenario: BimodalScenario, index: int, record: TaskRecord) -> float:
    return _duration(record) / scenario.tasks[index].nominal - 1.0


def _duration(record: TaskRecord) -> float:
    return (record.finish or 0.0) - (record.start or 0.0)


def _within(start: float, end: float, horizon: float) -> float:
    """Seconds of a span before the horizon."""
    return max(0.0, min(end, horizon) - start)


def _server_use(scenario: BimodalScenario, served: list[tuple[int, TaskRecord]], horizon: float) -> dict[str, float]:
    """Shares of all computing capacity: reserved, and what the work needs that was done."""
    reserved, worked = [], []
    for index, record in served:
        needs = math.fsum(scenario.path_task(index).needs)
        duration = _duration(record)
        held = needs * _within(record.start or 0.0, record.finish or 0.0, horizon)
        reserved.append(held)
        worked.append(held * scenario.tasks[index].nominal / duration if duration else 0.0)
    whole = math.fsum(each.capacity for each in scenario.network.nodes) * horizon
    return {
        "server_utilisation": math.fsum(reserved) / whole if whole else 0.0,
        "server_work": math.fsum(worked) / whole if whole else 0.0,
    }


def _link_use(scenario: BimodalScenario, run: BimodalRun, horizon: float) -> float:
    """Share of all dedicated bandwidth, both directions of each link, that is reserved."""
    rates = [scenario.path_task(index).hop_bandwidths if record.accepted else () for index, record in enumerate(run.tasks)]
    used = math.fsum(
        rates[span.task][span.hop] * (len(span.route) - 1) * _within(span.start, span.end, horizon)
        for span in spans_of(run)
        if span.route is not None
    )
    whole = math.fsum(link.bandwidth for link in scenario.network.arcs.values()) * horizon
    return used / whole if whole else 0.0


def _usable(scenario: BimodalScenario) -> ServerNetwork:
    """The network as tasks are admitted to it: without what may not carry streams; downlinks are shared, not reserved."""
    public = scenario.networks != "dedicated"
    nodes = [each.replace(downlink=None, **({} if public else {"uplink": 0.0})) for each in scenario.network.nodes]
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
    if _duration(record) < task.nominal * (1 - SLACK) - 1e-9:
        yield f"takes {_duration(record):g} s, less than its source needs, {task.nominal:g} s"
    due = scenario.delivered(index)
    if abs(record.delivered - due) > DATA_SLACK * due:
        yield f"delivers {record.delivered:g} bytes of {due:g}"
    if record.shortfall > record.windows * (1 + SLACK):
        yield f"a shortfall of {record.shortfall:g} in {record.windows} windows"


def _change_faults(scenario: BimodalScenario, run: BimodalRun) -> Iterator[str]:
    """Moves of hops that are none, or to where a stream may not go."""
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
    """Servers, links and uplinks on which more was reserved at some time than there is."""
    booked: dict[tuple[str, ...], list[tuple[float, bool, float]]] = {}

    def book(what: tuple[str, ...], start: float, end: float, amount: float) -> None:
        if amount and end > start:
            booked.setdefault(what, []).extend([(start, True, amount), (end, False, -amount)])

    for index, record in enumerate(run.tasks):
        if record.accepted and record.start is not None and record.finish is not None:
            for node, need in zip(record.nodes, scenario.path_task(index).needs, strict=True):
                book(("capacity", node), record.start, record.finish, need)
    for span in spans_of(run):
        rate = scenario.path_task(span.task).hop_bandwidths[span.hop]
        if span.route is None:
            book(("uplink", span.ends[0]), span.start, span.end, rate)
        for arc in pairwise(span.route or ()):
            book(("bandwidth", *arc), span.start, span.end, rate)
    for what, events in booked.items():
        free = _whole(scenario, what)
        held = most = 0.0
        for _, _, amount in sorted(events):  # at equal times what ends comes before what begins
            held += amount
            most = max(most, held)
        if most > free * (1 + 1e3 * SLACK):  # sums of many reservations round more than one
            yield f"{what[0]} of {' → '.join(what[1:])}: {most:.9g} reserved of {free:.9g}"


def _whole(scenario: BimodalScenario, what: tuple[str, ...]) -> float:
    if what[0] == "bandwidth":
        return scenario.network.arcs[what[1], what[2]].bandwidth
    server = scenario.network.by_name[what[1]]
    return server.capacity if what[0] == "capacity" else server.uplink
