"""Tables of leased hosts and of the instances on them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from edrp.cli.display.solution import metric_table
from edrp.cli.terminal import first_rows, table
from edrp.enactment.containers import Host, used_resources
from edrp.enactment.leasing import LeasingProblem, LeasingSolution, paid_spans
from edrp.enactment.scenario import LEVELS, EnactmentScenario, EnactmentScenarioSolution
from edrp.enactment.snapshot import EnactmentProblem, EnactmentSolution
from edrp.report.comparison import Quantity
from edrp.report.formatting import SHARE, Unit
from edrp.report.tables import Table

MONEY, COUNT = Unit(1, ",.2f", " money"), Unit(1, ",.1f")
SHOWN_HOSTS = 40
"""Hosts after which the rest are only counted; the solution document has them all."""


def snapshot_parts(problem: EnactmentProblem, solution: EnactmentSolution) -> Iterator[Table | str]:
    """Every host with its instances and the shares in use, then the instances of each operator."""
    if solution.hosts is None:
        return
    inside = [", ".join(f"{count} {name}" for name, count in host.instances.items() if count) for host in solution.hosts]
    rows = [(h.name, h.type, held or "empty", _used(h, problem)) for h, held in zip(solution.hosts, inside, strict=True)]
    yield from first_rows(("host", "type", "instances", "in use"), rows, SHOWN_HOSTS, "hosts")
    fewest = problem.minimum_instances
    counts = {name: sum(host.instances.get(name, 0) for host in solution.hosts) for name in fewest}
    lines = [
        (name, str(fewest[name]), str(counts[name]), f"{problem.queues.get(name, 0):.6g}", f"{late:.6g}")
        for name in fewest
        for late in [problem.expected_violations(name, counts[name])]
    ]
    columns = ("operator", "needed", "instances", "queued (items)", "late (items)")
    yield table(columns, lines, right=columns[1:])
    yield metric_table(solution.metrics, solution.metric_units)


def leasing_parts(problem: LeasingProblem, solution: LeasingSolution) -> Iterator[Table | str]:
    """When each host is paid and for how much, then the metrics."""
    if solution.hosts is None:
        return
    rows = []
    for host in solution.hosts:
        paid = len(problem.paid(host))
        used = sum(any(counts.values()) for counts in host.instances)
        spans = ", ".join(f"{begin:g}–{end:g}" for begin, end in paid_spans(problem, host))
        rows.append((host.name, host.type, spans, str(host.units), f"{problem.price(host):.6g}", f"{used} of {paid}"))
    columns = ("host", "type", "paid (s)", "units (BTU)", "price (money)", "periods in use")
    yield from first_rows(columns, rows, SHOWN_HOSTS, "hosts", columns[3:])
    yield metric_table(solution.metrics, solution.metric_units)


def run_parts(problem: EnactmentScenario, solution: EnactmentScenarioSolution) -> Iterator[Table | str]:
    """Compliance and cost by level, then the items of each operator."""
    if solution.run is None:
        return
    metrics = solution.metrics
    levels = [
        (
            level.replace("_", " "),
            f"{bound:g} ×",
            f"{100 * metrics[f'{level}_compliance']:.2f} %",
            f"{metrics[f'{level}_total']:.2f}",
        )
        for level, bound in zip(LEVELS, problem.compliance_levels, strict=True)
    ]
    yield table(
        ("level", "duration up to", "items in time", "total cost (money)"), levels, right=("items in time", "total cost (money)")
    )
    rows = [_items(record.model_dump()) for record in solution.run.operators]
    yield table(("operator", *_COUNTS, "in time"), rows, "Items by operator", right=_COUNTS)
    others = {name: value for name, value in metrics.items() if not name.endswith(("_compliance", "_total"))}
    yield metric_table(others, solution.metric_units)


_COUNTS = ("arrived", "completed", "queued", "in service")


def _items(record: Mapping[str, object]) -> tuple[str, ...]:
    counts = (f"{record[name.replace(' ', '_')]:,}" for name in _COUNTS)
    completed, near = record["completed"], record["near_real_time"]
    assert isinstance(completed, int)
    assert isinstance(near, int)
    return (str(record["name"]), *counts, f"{100 * near / completed:.1f} %" if completed else "")


def _used(host: Host, problem: EnactmentProblem) -> str:
    used = used_resources(host.instances, problem.application)
    capacity = problem.types[host.type].capacity
    return ", ".join(f"{name} {100 * used.get(name, 0) / amount:.0f} %" for name, amount in capacity.items() if amount)


def run_quantities(scenario: EnactmentScenario) -> tuple[Quantity, ...]:
    """Quantities by which runs are compared: the objective first, which is the cost with penalties of the level that counts."""
    counted = scenario.objective_level
    costs = {level: Quantity(f"{level}_total", f"cost and penalties, {level.replace('_', ' ')}", MONEY) for level in LEVELS}
    return (
        costs.pop(counted),
        Quantity("resource_cost", "cost of hosts", MONEY),
        *(Quantity(f"{level}_compliance", f"items in time, {level.replace('_', ' ')}", SHARE) for level in LEVELS),
        *costs.values(),
        Quantity("paid_units", "billing time units paid", COUNT._replace(name=" BTU")),
        Quantity("mean_hosts", "hosts, mean over time", COUNT._replace(spec=".2f")),
        Quantity("mean_instances", "instances, mean over time", COUNT),
        Quantity("upscalings", "instances added", COUNT),
        Quantity("downscalings", "instances removed", COUNT),
        Quantity("migrations", "instances migrated", COUNT),
        Quantity("time_to_adapt", "time to adapt", COUNT._replace(name=" s")),
    )
