"""What flows are given as tables."""

from __future__ import annotations

from collections.abc import Iterator

from rich.table import Table

from edrp.cli.terminal import table
from edrp.mapping.link_allocation import Flow, FlowAllocation, LinkAllocationProblem, LinkAllocationSolution, Route

SHOWN_FLOWS = 60
"""Flows after which the rest are only counted; the solution document has them all."""

PUBLIC = "public network"


def allocation_parts(problem: LinkAllocationProblem, solution: LinkAllocationSolution) -> Iterator[Table | str]:
    """Every flow with what it is given and what it had, those that change first, then the metrics."""
    if solution.allocations is None:
        return
    given = sorted(solution.allocations, key=lambda each: each.route == problem.by_name[each.flow].route)
    rows = [_row(problem, problem.by_name[each.flow], each) for each in given[:SHOWN_FLOWS]]
    yield table(("flow", "given", "before", "rate (bytes/s)", "gets through"), rows, right=("rate (bytes/s)", "gets through"))
    if len(given) > SHOWN_FLOWS:
        yield f"… and {len(given) - SHOWN_FLOWS} more flows"
    metrics = [(name, f"{value:.6g}") for name, value in solution.metrics.items()]
    yield table(("metric", "value"), metrics, right=("value",))


def _row(problem: LinkAllocationProblem, flow: Flow, given: FlowAllocation) -> tuple[str, ...]:
    before = "the same" if given.route == flow.route else _way(flow.route)
    share = 1.0 if given.route is not None else problem.public_share * given.public_rate / flow.rate
    return flow.name, _way(given.route), before, f"{flow.rate:.6g}", f"{100 * share:.0f} %"


def _way(route: Route | None) -> str:
    return PUBLIC if route is None else " → ".join(route)
