"""Maps of tasks, allocations of links and runs on a terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from edrp.cli.display.solution import metric_table
from edrp.cli.terminal import first_rows, table
from edrp.mapping.bimodal_scenario import BimodalScenario, BimodalScenarioSolution
from edrp.mapping.link_allocation import Flow, FlowAllocation, LinkAllocationProblem, LinkAllocationSolution, Route
from edrp.mapping.path_mapping import MappingProblem, MappingSolution
from edrp.report.comparison import Quantity
from edrp.report.formatting import SHARE, Unit
from edrp.report.tables import Table

RUN_QUANTITIES = (
    Quantity("objective", "lost revenue", Unit(1, ",.2f", " money")),
    Quantity("acceptance", "tasks accepted", SHARE),
    Quantity("throughput", "throughput", Unit(1, ",.2f", " tasks/h")),
    Quantity("delivered_rate", "delivered rate", Unit(1, ",.0f", " bytes/s")),
    Quantity("deviation", "deviation from the required rate", SHARE),
    Quantity("elongation", "elongation of tasks", SHARE),
    Quantity("server_utilisation", "server capacity reserved", SHARE),
    Quantity("server_work", "server capacity at work", SHARE),
    Quantity("link_utilisation", "link utilisation", SHARE),
    Quantity("public_share", "hops over the public network", SHARE),
    Quantity("messages", "messages", Unit(1, ",.0f", " messages/task")),
    Quantity("reallocations", "re-allocations", Unit(1, ",.1f")),
)
"""Quantities by which runs are compared, the objective first."""

SHOWN_FLOWS = 60
"""Flows after which the rest are only counted; the solution document has them all."""

PUBLIC = "public network"


def map_parts(problem: MappingProblem, solution: MappingSolution) -> Iterator[Table | str]:
    """Every hop with its way and what it leads to, then the metrics."""
    found = solution.decision
    if found is None:
        return
    names = [*(component.name for component in problem.task.components), "delivery"]
    ends = [*found.nodes, problem.task.delivery]
    rows = [
        (str(hop), _way(route, found.is_public(hop)), f"{rate:.6g}", f"{name} on {node}")
        for hop, (route, rate, name, node) in enumerate(zip(found.routes, problem.task.hop_bandwidths, names, ends, strict=True))
    ]
    yield table(("hop", "way", "rate (bytes/s)", "leads to"), rows, right=("hop", "rate (bytes/s)"))
    yield metric_table(solution.metrics, solution.metric_units, titles=True)


def bimodal_parts(problem: BimodalScenario, solution: BimodalScenarioSolution) -> Iterator[Table | str]:
    """The metrics, then what refused tasks lacked."""
    if solution.run is None:
        return
    yield metric_table(solution.metrics, solution.metric_units, titles=True)
    lacked = Counter((record.short or "").split(":")[0] for record in solution.run.tasks if not record.accepted)
    if lacked:
        reasons = "; ".join(f"{count} × {what}" for what, count in lacked.most_common())
        yield f"{lacked.total()} of {len(solution.run.tasks)} tasks refused; what was short: {reasons}"


def _way(route: tuple[str, ...], public: bool) -> str:
    if len(route) == 1:
        return f"stays on {route[0]}"
    return " → ".join(route) if not public else f"{route[0]} ⇢ {route[1]} (public)"


def allocation_parts(problem: LinkAllocationProblem, solution: LinkAllocationSolution) -> Iterator[Table | str]:
    """Every flow with its new and its old route, those that change first, then the metrics."""
    if solution.allocations is None:
        return
    allocations = sorted(solution.allocations, key=lambda new: new.route == problem.by_name[new.flow].route)
    rows = [_allocation_row(problem, problem.by_name[allocation.flow], allocation) for allocation in allocations]
    columns = ("flow", "given", "before", "rate (bytes/s)", "gets through")
    yield from first_rows(columns, rows, SHOWN_FLOWS, "flows", columns[3:])
    yield metric_table(solution.metrics, solution.metric_units)


def _allocation_row(problem: LinkAllocationProblem, flow: Flow, new: FlowAllocation) -> tuple[str, ...]:
    before = "the same" if new.route == flow.route else _route(flow.route)
    share = 1.0 if new.route is not None else problem.public_share * new.public_rate / flow.rate
    return flow.name, _route(new.route), before, f"{flow.rate:.6g}", f"{100 * share:.0f} %"


def _route(route: Route | None) -> str:
    return PUBLIC if route is None else " → ".join(route)
