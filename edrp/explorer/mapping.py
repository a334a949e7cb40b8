"""The views of mapping: a task's way over servers and links, flows on links, and tasks over a run."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from edrp.explorer.boxes import Item, line_width
from edrp.explorer.prices import PRICE_NOTE, link_prices
from edrp.explorer.quantities import figure, percent, quantity
from edrp.explorer.servers import Servers
from edrp.explorer.summary import metric_table
from edrp.explorer.view import (
    Bar,
    Detail,
    Edge,
    Limit,
    Limits,
    Line,
    Panel,
    Row,
    Rows,
    Series,
    State,
    Table,
    Timeline,
    View,
)
from edrp.mapping.bimodal_run import BimodalRun, Span, hop_spans, late_share
from edrp.mapping.bimodal_scenario import BimodalScenario, BimodalScenarioSolution
from edrp.mapping.bimodal_timeline import timeline
from edrp.mapping.link_allocation import FlowAllocation, LinkAllocationProblem, LinkAllocationSolution
from edrp.mapping.path_mapping import MappingProblem, MappingSolution
from edrp.mapping.path_tasks import PathMap

MAX_LIMITS, MAX_FLOWS, MAX_TASKS, MAX_STATES = 60, 120, 120, 48

Use = tuple[str, float, float, str]
"""A limit: its name, what is used, what there is, and the unit."""


def map_view(problem: MappingProblem, solution: MappingSolution) -> View:
    """The view of kind `mapping`."""
    servers = Servers(problem.network)
    found = solution.decision
    task = problem.task
    ends: dict[str, list[Item]] = {}
    for name, words in ((task.source, "source"), (task.delivery, "delivery")):
        ends.setdefault(servers.id(name), []).append(Item(f"end-{words}", words, 7, detail=words))
        servers.details[words] = Detail(f"{words.capitalize()} of the task", [("server", name)])
    if found is None:
        return View([servers.graph("Servers and links", [State(0.0)], content=ends)], servers.details)
    for index, (component, node) in enumerate(zip(task.components, found.nodes, strict=True)):
        rows = [("server", node), ("needs", figure(task.needs[index], 4))]
        rows += [("service", component.service)] if component.service is not None else []
        servers.details[f"c{index}"] = Detail(component.name, rows)
        ends.setdefault(servers.id(node), []).append(Item(f"c{index}", component.name, index, detail=f"c{index}"))
    edges = _hops(servers, found, task.hop_bandwidths)
    legend = [("chip", "component of the task"), ("line", "hop, as wide as its rate"), ("dashed", "hop over the public network")]
    names = [*(component.name for component in task.components), "delivery"]
    stops = [*found.nodes, task.delivery]
    hops = [
        (
            str(hop),
            " → ".join(route) if len(route) > 1 else f"stays on {route[0]}",
            quantity(rate, "bytes/s"),
            f"{name} on {node}",
        )
        for hop, (route, rate, name, node) in enumerate(zip(found.routes, task.hop_bandwidths, names, stops, strict=True))
    ]
    panels: list[Panel] = [
        servers.graph("The task on servers and links", [State(0.0, edges=edges)], content=ends, legend=legend),
        _limits(_map_uses(problem, found)),
        Table("Hops", ("hop", "way", "rate", "leads to"), hops, (0, 2)),
        metric_table(solution),
    ]
    return View(panels, servers.details)


def _hops(servers: Servers, found: PathMap, rates: Sequence[float]) -> list[Edge]:
    edges = []
    for hop, (route, rate) in enumerate(zip(found.routes, rates, strict=True)):
        public = found.is_public(hop)
        servers.details[f"r{hop}"] = Detail(
            f"Hop {hop}: {' → '.join(route)}",
            [("rate", quantity(rate, "bytes/s")), ("over", "public network" if public else "links")],
        )
        for u, v in pairwise(route):
            width = line_width(rate, max(rates))
            label = f"hop {hop}"
            edges.append(Edge(servers.id(u), servers.id(v), width, dashed=public, colour=hop, label=label, detail=f"r{hop}"))
    return edges


def _map_uses(problem: MappingProblem, found: PathMap) -> list[Use]:
    needs: Counter[str] = Counter()
    for node, need in zip(found.nodes, problem.task.needs, strict=True):
        needs[node] += need  # type: ignore[assignment]  # a counter of amounts
    uses: list[Use] = [
        (f"capacity of {name}", float(need), problem.network.by_name[name].capacity, "") for name, need in needs.items()
    ]
    rates: dict[tuple[str, str], float] = {}
    for hop, (route, rate) in enumerate(zip(found.routes, problem.task.hop_bandwidths, strict=True)):
        if found.is_public(hop):
            uses.append((f"uplink of {route[0]}", rate, problem.network.by_name[route[0]].uplink, "bytes/s"))
        else:
            for arc in pairwise(route):
                rates[arc] = rates.get(arc, 0.0) + rate
    arcs = problem.network.arcs
    return uses + [(f"{u} → {v}", rate, arcs[u, v].bandwidth, "bytes/s") for (u, v), rate in rates.items()]


def allocation_view(problem: LinkAllocationProblem, solution: LinkAllocationSolution) -> View:
    """The view of kind `link-allocation`: flows now and afterwards."""
    servers = Servers(problem.network)
    for index, flow in enumerate(problem.flows):
        rows = [("rate", quantity(flow.rate, "bytes/s")), ("price", quantity(flow.price, "money/byte"))]
        servers.details[f"f{index}"] = Detail(f"{flow.name}: {flow.source} → {flow.target}", rows)
    legend = [("line", "flow on dedicated links, as wide as its rate"), ("dashed", "flow on the public network")]
    now = State(0.0, (), _flows(servers, problem, problem.current))
    if solution.allocations is None:
        return View([servers.graph("Flows", [now], legend=legend)], servers.details)
    afterwards = State(1.0, (), _flows(servers, problem, solution.allocations))
    given = []
    for allocation in solution.allocations[:MAX_FLOWS]:
        flow = problem.by_name[allocation.flow]
        share = 1.0 if allocation.route is not None else problem.public_share * allocation.public_rate / flow.rate
        given.append((flow.name, _way(allocation.route), _way(flow.route), quantity(flow.rate, "bytes/s"), percent(share)))
    panels: list[Panel] = [
        servers.graph("Flows on servers and links", [now, afterwards], legend=legend),
        _limits(_flow_uses(problem, solution.allocations), link_prices(problem)),
        Table("Flows", ("flow", "given", "before", "rate", "gets through"), given, (3, 4)),
        metric_table(solution),
    ]
    line = Timeline("Allocation", 1.0, "", 1.0, [(0.0, "now"), (1.0, "afterwards")], 2.0)
    return View(panels, servers.details, line)


def _flows(servers: Servers, problem: LinkAllocationProblem, allocations: Iterable[FlowAllocation]) -> list[Edge]:
    number = {flow.name: index for index, flow in enumerate(problem.flows)}
    largest, edges = max(flow.rate for flow in problem.flows), []
    for allocation in list(allocations)[:MAX_FLOWS]:
        flow, index = problem.by_name[allocation.flow], number[allocation.flow]
        public = allocation.route is None
        rate = allocation.public_rate if public else flow.rate
        for u, v in [(flow.source, flow.target)] if allocation.route is None else pairwise(allocation.route):
            width = line_width(rate, largest)
            edges.append(
                Edge(servers.id(u), servers.id(v), width, dashed=public, colour=index, label=flow.name, detail=f"f{index}")
            )
    return edges


def _flow_uses(problem: LinkAllocationProblem, allocations: Iterable[FlowAllocation]) -> list[Use]:
    arcs: dict[tuple[str, str], float] = {}
    up: dict[str, float] = {}
    for allocation in allocations:
        flow = problem.by_name[allocation.flow]
        for arc in pairwise(allocation.route or ()):
            arcs[arc] = arcs.get(arc, 0.0) + flow.rate
        if allocation.route is None:
            up[flow.source] = up.get(flow.source, 0.0) + allocation.public_rate
    known, servers = problem.network.arcs, problem.network.by_name
    uses: list[Use] = [(f"{u} → {v}", rate, known[u, v].bandwidth, "bytes/s") for (u, v), rate in arcs.items()]
    return uses + [(f"uplink of {name}", rate, servers[name].uplink, "bytes/s") for name, rate in up.items()]


def _way(route: Sequence[str] | None) -> str:
    return "public network" if route is None else " → ".join(route)


def _limits(uses: Sequence[Use], prices: Mapping[str, float] | None = None) -> Limits:
    rows, known = [], prices or {}
    ranked = sorted(uses, key=lambda use: -(use[1] / use[2] if use[2] else math.inf if use[1] else 0.0))
    for name, used, free, unit in ranked[:MAX_LIMITS]:
        share = used / free if free else math.inf if used else 0.0
        slack = f"{quantity(free - used, unit)} left" if used <= free else f"{quantity(used - free, unit)} over"
        price = f"{known[name]:.3g}" if name in known else ""
        rows.append(Limit(name, quantity(used, unit), quantity(free, unit), share, slack, price))
    return Limits("What is used of servers and links", rows, PRICE_NOTE if known else "")


def bimodal_view(problem: BimodalScenario, solution: BimodalScenarioSolution) -> View:
    """The view of kind `bimodal-scenario`: a run from the first task to the last."""
    servers = Servers(problem.network)
    run = solution.run
    if run is None:
        return View([servers.graph("Servers and links", [State(0.0)])], servers.details)
    sampled = timeline(problem, run)
    end = float(sampled.time[-1]) or 1.0
    moments = [end * step / MAX_STATES for step in range(MAX_STATES)]
    spans = [span for span in hop_spans(run) if span.ends[0] in servers.number and span.ends[1] in servers.number]
    rates = {index: problem.path_task(index).hop_bandwidths for index, record in enumerate(run.tasks) if record.accepted}
    states = [_moment(servers, at, [span for span in spans if span.start <= at < span.end], rates) for at in moments]
    legend = [("line", "streams on dedicated links, as wide as their rate"), ("dashed", "streams on the public network")]
    times = [float(time) for time in sampled.time]

    def line(name: str, values: Iterable[float], colour: int) -> Line:
        return Line(name, list(zip(times, map(float, values), strict=True)), colour)

    refused = [arrived - accepted for arrived, accepted in zip(sampled.arrived, sampled.accepted, strict=True)]
    tasks = [line("arrived", sampled.arrived, 7), line("accepted", sampled.accepted, 0), line("refused", refused, 3)]
    running = [line("tasks that run", sampled.running, 2), line("hops over the public network", sampled.public_hops, 1)]
    use = [line("servers", sampled.server_utilisation, 3), line("links", sampled.link_utilisation, 4)]
    short = Counter((record.short or "").split(":")[0] for record in run.tasks if not record.accepted)
    panels: list[Panel] = [
        servers.graph("Streams on servers and links", states, legend=legend),
        Series("Tasks so far", tasks, end, "tasks", "s"),
        Series("At a time", running, end, "number", "s"),
        Series("Reserved share", use, end, "share", "s"),
        Series("Lost so far", [Line("revenue", _lost(problem, run), 4)], end, "money", "s"),
        _task_rows(problem, solution, end, servers.details),
        *(
            [Table("Refused", ("what was short", "tasks"), [(w, f"{n:,}") for w, n in short.most_common(20)], (1,))]
            if short
            else []
        ),
        metric_table(solution),
    ]
    return View(panels, servers.details, Timeline("Run", end, "s", seconds=14.0))


def _lost(problem: BimodalScenario, run: BimodalRun) -> list[tuple[float, float]]:
    """Revenue lost up to each time: of a refused task when it arrives, of late data when its task ends."""
    losses = []
    for index, (task, record) in enumerate(zip(problem.tasks, run.tasks, strict=True)):
        share = late_share(record) if record.accepted else 1.0
        at = record.finish if record.accepted and record.finish is not None else task.arrival
        losses.append((at, task.price * problem.delivered(index) * share))
    total, points = 0.0, [(0.0, 0.0)]
    for at, amount in sorted(losses):
        total += amount
        points.append((at, total))
    return points


def _moment(servers: Servers, at: float, spans: Iterable[Span], rates: Mapping[int, Sequence[float]]) -> State:
    """The flows at a moment, added up by pair of servers."""
    flow: dict[tuple[str, str, bool], float] = {}
    for span in spans:
        for u, v in [span.ends] if span.route is None else pairwise(span.route):
            key = (u, v, span.route is None)
            flow[key] = flow.get(key, 0.0) + rates[span.task][span.hop]
    largest = max(flow.values(), default=1.0)
    edges = [
        Edge(servers.id(u), servers.id(v), line_width(rate, largest), dashed=public, colour=1 if public else 0)
        for (u, v, public), rate in flow.items()
        if u in servers.number and v in servers.number
    ]
    return State(at, (), edges)


def _task_rows(problem: BimodalScenario, solution: BimodalScenarioSolution, end: float, details: dict[str, Detail]) -> Rows:
    assert solution.run is not None
    rows = []
    for index, (task, record) in enumerate(zip(problem.tasks, solution.run.tasks, strict=True)):
        if index == MAX_TASKS:
            break
        described = [
            ("from", task.source),
            ("to", task.delivery),
            ("rate", quantity(task.rate, "bytes/s")),
            ("data", quantity(task.data, "bytes")),
        ]
        lines = [] if record.accepted else [f"Refused: {record.short}"]
        if record.accepted:
            described.append(("late data", percent(late_share(record))))
        details[f"t{index}"] = Detail(f"Task {index}", described, lines)
        begin = task.arrival if record.start is None else record.start
        until = min(end, begin + task.nominal) if record.finish is None else record.finish
        colour = 0 if record.accepted else 3
        words = "refused" if not record.accepted else "over the public network" if any(record.public) else "on links"
        colour = 1 if record.accepted and any(record.public) else colour
        rows.append(Row(f"{index}", [Bar(begin, until, words, colour, 1.0 if record.accepted else 0.4, detail=f"t{index}")]))
    legend = [("c0", "on dedicated links"), ("c1", "partly over the public network"), ("c3", "refused")]
    note = f"The first {MAX_TASKS} of {len(problem.tasks):,} tasks." if len(problem.tasks) > MAX_TASKS else ""
    return Rows("Tasks", rows, end, "s", True, note, legend)
