"""The views of enactment: hosts with their instances at a moment, over a forecast, and over a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from edrp.core.document import named_resources
from edrp.enactment.containers import ContainerApplication
from edrp.enactment.leasing import LeasingProblem, LeasingSolution
from edrp.enactment.run import EnactmentRun, billed_units
from edrp.enactment.scenario import LEVELS, EnactmentScenario, EnactmentScenarioSolution
from edrp.enactment.snapshot import EnactmentProblem, EnactmentSolution
from edrp.enactment.timeline import timeline
from edrp.explorer.application import application_graph
from edrp.explorer.hosts import Carried, host_graph
from edrp.explorer.quantities import figure, quantity
from edrp.explorer.summary import metric_table
from edrp.explorer.view import Bar, Detail, Line, Panel, Row, Rows, Series, Table, Timeline, View

MAX_ROWS, MAX_STATES, MAX_POINTS = 120, 48, 1500
LEASE_NOTE = "Labels and heights are numbers of instances; a frame marks where a billing time unit begins."


def snapshot_view(problem: EnactmentProblem, solution: EnactmentSolution) -> View:
    """The view of kind `enactment`."""
    details = _operator_details(problem.application)
    if solution.hosts is None:
        return View([_application(problem.application, {}, details)], details)
    counts = {name: sum(host.instances.get(name, 0) for host in solution.hosts) for name in problem.minimum_instances}
    rows = [
        (
            name,
            str(fewest),
            str(counts[name]),
            figure(problem.queues.get(name, 0), 4),
            figure(problem.expected_violations(name, counts[name]), 4),
        )
        for name, fewest in problem.minimum_instances.items()
    ]
    notes = {name: f"{count} instance{'s' * (count != 1)}" for name, count in counts.items()}
    carried = [Carried(host.name, host.type, [host.instances]) for host in solution.hosts]
    panels: list[Panel] = [
        host_graph(carried, [0.0], problem.types, problem.application, details),
        _application(problem.application, notes, details),
        Table("Instances", ("operator", "needed", "instances", "queued (items)", "late (items)"), rows, (1, 2, 3, 4)),
        metric_table(solution),
    ]
    return View(panels, details)


def leasing_view(problem: LeasingProblem, solution: LeasingSolution) -> View:
    """The view of kind `leasing`: the slider goes from period to period."""
    details = _operator_details(problem.application)
    periods, length = len(problem.forecast), problem.period
    end = periods * length
    load = Series("Load", [Line("forecast", _steps(problem.forecast, length))], end, "multiple of the external rates", "s")
    if solution.hosts is None:
        return View([_application(problem.application, {}, details), load], details)
    hosts = solution.hosts
    chosen = list(range(0, periods, -(-periods // MAX_STATES)))
    carried = [Carried(host.name, host.type, [_at(host.instances, period) for period in chosen]) for host in hosts]
    needed = [sum(fewest.values()) for fewest in problem.minimum_instances]
    running = [sum(sum(_at(host.instances, period).values()) for host in hosts) for period in range(periods)]
    paid = [problem.paid(host) for host in hosts]
    leased = [sum(period in own for own in paid) for period in range(periods)]
    types = {name: index for index, name in enumerate(problem.types)}
    rows = [Row(host.name, _lease_bars(problem, host, own, types[host.type])) for host, own in zip(hosts, paid, strict=True)][
        :MAX_ROWS
    ]
    lines = [
        Line("instances that run", _steps(running, length), 0),
        Line("instances needed", _steps(needed, length), 1, dashed=True),
    ]
    panels: list[Panel] = [
        host_graph(carried, [period * length for period in chosen], problem.types, problem.application, details),
        Rows("Leases", rows, end, "s", True, LEASE_NOTE, _legend(types)),
        Series("Instances", lines, end, "instances", "s"),
        Series("Hosts", [Line("hosts leased", _steps(leased, length), 2)], end, "hosts", "s"),
        load,
        _application(problem.application, {}, details),
        metric_table(solution),
    ]
    return View(panels, details, Timeline("Forecast", end, "s"))


def run_view(problem: EnactmentScenario, solution: EnactmentScenarioSolution) -> View:
    """The view of kind `enactment-scenario`: a run from the first lease to the last item."""
    details = _operator_details(problem.application)
    run, end = solution.run, problem.duration
    if run is None:
        return View([_application(problem.application, {}, details)], details)
    sampled = timeline(problem, run)
    times = [float(time) for time in sampled.time]
    load = Series("Load", [Line("load", _thinned(times, sampled.machines.tolist()))], end, "multiple of the external rates", "s")
    types = {name: index for index, name in enumerate(problem.types)}
    moments = [end * step / MAX_STATES for step in range(MAX_STATES)]
    notes = {record.name: f"{record.completed:,} items done" for record in run.operators}
    panels: list[Panel] = [
        host_graph(_carried(run, moments, end), moments, problem.types, problem.application, details),
        Series("Hosts", [Line("hosts leased", _thinned(times, sampled.hosts.tolist()), 2)], end, "hosts", "s"),
        Series("Instances", [Line("instances", _thinned(times, sampled.instances.tolist()))], end, "instances", "s"),
        load,
        Series("Paid so far", [Line("hosts", _paid(run, problem), 4)], end, "money", "s"),
        Rows("Leases", _leases(run, problem, types), end, "s", True, "From lease to release.", _legend(types)),
        _application(problem.application, notes, details),
        _levels(problem, solution.metrics),
        _items(run),
        metric_table(solution),
    ]
    return View(panels, details, Timeline("Run", end, "s", seconds=14.0))


def _application(application: ContainerApplication, notes: Mapping[str, str], details: dict[str, Detail]) -> Panel:
    return application_graph(application, notes, details, unit="items/s at load 1")


def _operator_details(application: ContainerApplication) -> dict[str, Detail]:
    details = {}
    for index, operator in enumerate(application.operators):
        rows = [("load", quantity(application.load(operator.name), "items/s"))]
        rows.append(("an item takes", quantity(operator.processing_duration, "s")))
        rows.append(("and occupies", quantity(operator.occupied, "s")))
        rows += [(f"{name} of an instance", figure(amount, 4)) for name, amount in named_resources(operator.resources).items()]
        details[f"o{index}"] = Detail(operator.name, rows)
    return details


def _at(instances: Sequence[Mapping[str, int]], period: int) -> Mapping[str, int]:
    return instances[period] if period < len(instances) else {}


def _steps(values: Sequence[float], length: float) -> list[tuple[float, float]]:
    return _thinned([index * length for index in range(len(values))], values)


def _thinned(times: Sequence[float], values: Sequence[float]) -> list[tuple[float, float]]:
    """Points at which a step function changes; of very many, every so many-th."""
    points = [
        (float(at), float(value))
        for index, (at, value) in enumerate(zip(times, values, strict=True))
        if not index or value != values[index - 1]
    ]
    return points[:: -(-len(points) // MAX_POINTS)] if points else []


def _lease_bars(problem: LeasingProblem, host: Any, paid: frozenset[int], colour: int) -> list[Bar]:
    """A bar for each run of paid periods that carry the same number of instances."""
    bars: list[Bar] = []
    starts = {host.first + unit * problem.unit_periods(host.type) for unit in range(host.units)}
    most = max((sum(instances.values()) for instances in host.instances), default=0) or 1
    for period in sorted(paid):
        count = sum(_at(host.instances, period).values())
        height = 0.3 + 0.7 * count / most
        begin, label = period * problem.period, str(count)
        if bars and bars[-1].end == begin and bars[-1].label == label and period not in starts:
            bars[-1] = Bar(bars[-1].begin, begin + problem.period, label, colour, height, bars[-1].marked)
        else:
            bars.append(Bar(begin, begin + problem.period, label, colour, height, period in starts))
    return bars


def _legend(types: Mapping[str, int]) -> list[tuple[str, str]]:
    return [(f"c{index % 10}", name) for name, index in list(types.items())[:10]]


def _leases(run: EnactmentRun, problem: EnactmentScenario, types: Mapping[str, int]) -> list[Row]:
    rows = []
    for lease in run.leases[:MAX_ROWS]:
        end = problem.duration if lease.end is None else lease.end
        words = f"{lease.units} unit{'s' * (lease.units != 1)} paid"
        rows.append(
            Row(lease.host, [Bar(lease.start, lease.ready, "starts", 7), Bar(lease.ready, end, words, types[lease.type])])
        )
    return rows


def _carried(run: EnactmentRun, moments: Sequence[float], end: float) -> list[Carried]:
    """The instances that ran on each host at some moments."""
    by_host: dict[str, list[dict[str, int]]] = {lease.host: [{} for _ in moments] for lease in run.leases}
    for record in run.instances:
        until = end + 1.0 if record.ended is None else record.ended
        for index, moment in enumerate(moments):
            if record.host in by_host and record.placed <= moment < until:
                counts = by_host[record.host][index]
                counts[record.operator] = counts.get(record.operator, 0) + 1
    kind = {lease.host: lease.type for lease in run.leases}
    return [Carried(name, kind[name], counts) for name, counts in by_host.items()]


def _paid(run: EnactmentRun, problem: EnactmentScenario) -> list[tuple[float, float]]:
    """Money for hosts up to each time: every billing time unit is paid when it begins."""
    types = problem.types
    payments = [
        (lease.start + unit * types[lease.type].billing_time, types[lease.type].price)
        for lease in run.leases
        for unit in range(billed_units(lease, types, problem.duration))
    ]
    times, total, sums = [0.0], 0.0, [0.0]
    for at, price in sorted(payments):
        total += price
        times.append(at)
        sums.append(total)
    return _thinned(times, sums)


def _levels(problem: EnactmentScenario, metrics: Mapping[str, float]) -> Table:
    rows = [
        (
            level.replace("_", " "),
            f"{bound:g} ×",
            f"{100 * metrics[f'{level}_compliance']:.2f} %",
            f"{metrics[f'{level}_total']:.2f}",
        )
        for level, bound in zip(LEVELS, problem.compliance_levels, strict=True)
    ]
    return Table("Compliance", ("level", "duration up to", "items in time", "total cost (money)"), rows, (1, 2, 3))


def _items(run: EnactmentRun) -> Table:
    rows = [
        (
            r.name,
            f"{r.arrived:,}",
            f"{r.completed:,}",
            f"{r.queued:,}",
            f"{100 * r.near_real_time / r.completed:.1f} %" if r.completed else "",
        )
        for r in run.operators
    ]
    return Table("Items", ("operator", "arrived", "completed", "queued at the end", "in time"), rows, (1, 2, 3, 4))
