"""Audit of a run on a bi-modal network: whether its records are possible (bi-modal networks, section 6)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from edrp.mapping.bimodal_metrics import Scenario, hop_spans, is_whole, run_time
from edrp.mapping.bimodal_run import BimodalRun, TaskRecord
from edrp.mapping.path_mapping import SLACK, MappingProblem
from edrp.mapping.path_tasks import PathMap
from edrp.mapping.server_network import ServerNetwork

DATA_SLACK = 1e-6
"""Relative difference between data delivered and data due that counts as rounding."""


def run_faults(scenario: Scenario, run: BimodalRun) -> Iterator[str]:
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


def admission_network(scenario: Scenario) -> ServerNetwork:
    """Return the network for admission: without what may not carry streams; downlinks are shared, not reserved."""
    public = scenario.networks != "dedicated"
    nodes = [server.replace(downlink=None, **({} if public else {"uplink": 0.0})) for server in scenario.network.nodes]
    return scenario.network.replace(nodes=tuple(nodes), **({"links": ()} if scenario.networks == "public" else {}))


def _record_faults(scenario: Scenario, usable: ServerNetwork, index: int, record: TaskRecord) -> Iterator[str]:
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
    if run_time(record) < task.nominal * (1 - SLACK) - 1e-9:
        yield f"takes {run_time(record):g} s, less than its source needs, {task.nominal:g} s"
    due = scenario.delivered(index)
    if abs(record.delivered - due) > DATA_SLACK * due:
        yield f"delivers {record.delivered:g} bytes of {due:g}"
    if record.shortfall > record.windows * (1 + SLACK):
        yield f"a shortfall of {record.shortfall:g} in {record.windows} windows"


def _change_faults(scenario: Scenario, run: BimodalRun) -> Iterator[str]:
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


def _overbooked(scenario: Scenario, run: BimodalRun) -> Iterator[str]:
    """List servers, links and uplinks on which more is reserved at some time than they have."""
    booked: dict[tuple[str, ...], list[tuple[float, bool, float]]] = {}

    def book(what: tuple[str, ...], start: float, end: float, amount: float) -> None:
        if amount and end > start:
            booked.setdefault(what, []).extend([(start, True, amount), (end, False, -amount)])

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
    for what, events in booked.items():
        free = _whole(scenario, what)
        held = peak = 0.0
        for _, _, amount in sorted(events):  # at equal times what ends comes before what begins
            held += amount
            peak = max(peak, held)
        if peak > free * (1 + 1e3 * SLACK):  # sums of many reservations round more than one
            yield f"{what[0]} of {' → '.join(what[1:])}: {peak:.9g} reserved of {free:.9g}"


def _whole(scenario: Scenario, what: tuple[str, ...]) -> float:
    if what[0] == "bandwidth":
        return scenario.network.arcs[what[1], what[2]].bandwidth
    server = scenario.network.by_name[what[1]]
    return server.capacity if what[0] == "capacity" else server.uplink
