"""Metrics of a run on a bi-modal network, computed from its records alone (bi-modal networks, section 6.2)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Literal, NamedTuple, Protocol

from edrp.mapping.bimodal_run import BimodalRun, TaskRecord
from edrp.mapping.path_tasks import BimodalTask, PathTask
from edrp.mapping.server_network import ServerNetwork

HOUR = 3600.0


class Scenario(Protocol):
    """The part of a scenario that metrics and audits of its runs read."""

    @property
    def network(self) -> ServerNetwork:
        """Servers and dedicated links."""
        ...

    @property
    def tasks(self) -> tuple[BimodalTask, ...]:
        """Tasks in the order of their arrival."""
        ...

    @property
    def networks(self) -> str:
        """The networks that may carry streams: "both", "dedicated" or "public"."""
        ...

    @property
    def max_empty_hops(self) -> int:
        """Limit on the servers that a map passes without hosting a component."""
        ...

    @property
    def empty_hops(self) -> Literal["per_edge", "total"]:
        """Whether that limit holds "per_edge" or in "total"."""
        ...

    @property
    def reallocation_links(self) -> int:
        """Maximum number of links of a route that re-allocation finds."""
        ...

    def path_task(self, index: int) -> PathTask:
        """Return a task in the terms of the mapping problem."""
        ...

    def delivered(self, index: int) -> float:
        """Return the bytes that a task delivers."""
        ...


class Span(NamedTuple):
    """One hop of one task on one route, from a time to another; `route` is None on the public network."""

    task: int
    hop: int
    start: float
    end: float
    route: tuple[str, ...] | None
    ends: tuple[str, str]


def run_metrics(scenario: Scenario, run: BimodalRun) -> dict[str, float]:
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
        "elongation": _mean([_elongation(scenario, index, record) for index, record in served]),
        **_server_use(scenario, served, horizon),
        "link_utilisation": _link_use(scenario, run, horizon),
        "public_share": public / len(hops) if hops else 0.0,
        "messages": _mean([record.messages for record in run.tasks]),
        "reallocations": float(len(run.changes.time)),
        "lost_revenue": lost_revenue(scenario, run),
    }


def lost_revenue(scenario: Scenario, run: BimodalRun) -> float:
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


def _elongation(scenario: Scenario, index: int, record: TaskRecord) -> float:
    return run_time(record) / scenario.tasks[index].nominal - 1.0


def _within(start: float, end: float, horizon: float) -> float:
    """Return the seconds of a span before the horizon."""
    return max(0.0, min(end, horizon) - start)


def _server_use(scenario: Scenario, served: list[tuple[int, TaskRecord]], horizon: float) -> dict[str, float]:
    """Compute the shares of all computing capacity that are reserved, and that the work done needs."""
    reserved, worked = [], []
    for index, record in served:
        needs = math.fsum(scenario.path_task(index).needs)
        duration = run_time(record)
        held = needs * _within(record.start or 0.0, record.finish or 0.0, horizon)
        reserved.append(held)
        worked.append(held * scenario.tasks[index].nominal / duration if duration else 0.0)
    whole = math.fsum(server.capacity for server in scenario.network.nodes) * horizon
    return {
        "server_utilisation": math.fsum(reserved) / whole if whole else 0.0,
        "server_work": math.fsum(worked) / whole if whole else 0.0,
    }


def _link_use(scenario: Scenario, run: BimodalRun, horizon: float) -> float:
    """Compute the share of all dedicated bandwidth, both directions of each link, that is reserved."""
    rates = [scenario.path_task(index).hop_bandwidths if record.accepted else () for index, record in enumerate(run.tasks)]
    used = math.fsum(
        rates[span.task][span.hop] * (len(span.route) - 1) * _within(span.start, span.end, horizon)
        for span in hop_spans(run)
        if span.route is not None
    )
    whole = math.fsum(link.bandwidth for link in scenario.network.arcs.values()) * horizon
    return used / whole if whole else 0.0
