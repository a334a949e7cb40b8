"""The plan of a day as a table, and as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from edrp.cli.terminal import first_rows
from edrp.core.errors import numbered
from edrp.mdp.transfer.rescale_plan import ChangePlan
from edrp.placement.deployment import counted
from edrp.report.formatting import clock_text
from edrp.report.tables import Table

SHOWN_ACTIONS = 200
"""Rows after which the rest are only counted; the document has them all."""


def change_plan_parts(plan: ChangePlan) -> Iterator[Table | str]:
    """The first deployment, then a row for each operator that changes, at its time from the beginning of the first period."""
    placed = "; ".join(f"{name}: {counted(nodes)}" for name, nodes in plan.first.items())
    yield f"runs already: {placed}" if plan.running else f"00:00  start {placed}"
    if not plan.changes:
        yield f"nothing changes until {clock_text(plan.duration)}"
        return
    rows = [
        (clock_text(change.at), f"{change.at:.6g}", str(action.action), f"{action.moved_state:.6g}")
        + ((str(change.change.started_replicas), f"{change.change.downtime:.6g}", f"{change.price:.6g}") if first else ("",) * 3)
        for change in plan.changes
        for first, action in ((action is change.actions[0], action) for action in change.actions)
    ]
    columns = ("at", "second", "change", "state (B)", "starts", "downtime (s)", "price (s)")
    yield from first_rows(columns, rows, SHOWN_ACTIONS, "actions", ("at", "second", *columns[3:]))
    totals = plan.totals
    did = (
        f"{numbered(int(totals['started_replicas']), 'replica')} started",
        f"{totals['moved_state']:.6g} bytes of state moved",
        f"{totals['downtime']:.6g} s of downtime",
    )
    yield f"{numbered(len(plan.changes), 'change')} until {clock_text(plan.duration)}: {', '.join(did)}"


def change_plan_document(plan: ChangePlan) -> dict[str, Any]:
    """The plan for JSON."""
    return {
        "kind": "edrp-sequence-plan",
        "first": dict(plan.first),
        "running": plan.running,
        "changes": [
            {
                "at": change.at,
                "period": change.period,
                "actions": [
                    {
                        "operator": action.action.operator,
                        "starts": action.starts,
                        "stops": action.stops,
                        "moved_state": action.moved_state,
                    }
                    for action in change.actions
                ],
                "started_replicas": change.change.started_replicas,
                "moved_state": change.change.moved_state,
                "downtime": change.change.downtime,
                "price": change.price,
                "deployment": dict(change.deployment),
            }
            for change in plan.changes
        ],
        "duration": plan.duration,
        **plan.totals,
    }
