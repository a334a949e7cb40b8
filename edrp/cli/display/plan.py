"""Plans of migrations, of rescales and of days as tables, and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from edrp.cli.display.migration import move_lines
from edrp.cli.terminal import first_rows, table
from edrp.core.errors import numbered
from edrp.mdp.transfer.migration_plan import MigrationPlan
from edrp.mdp.transfer.placement_plan import PlacementPhase, PlacementPlan
from edrp.mdp.transfer.rescale_plan import ChangePlan, RescalePlan, RescaleRole
from edrp.mdp.transfer.schedules import TransferSchedule
from edrp.migration.intervals import task_numbers
from edrp.placement.deployment import counted
from edrp.report.formatting import clock_text
from edrp.report.tables import Table

SHOWN_PHASES = 40

Ranges = dict[str, tuple[tuple[int, int], ...]]


def migration_plan_parts(plan: MigrationPlan) -> Iterator[Table | str]:
    """Who keeps, gives and receives which tasks, then each step with its moves and phases."""
    rows = [(str(node), *(_task_ranges(tasks) for tasks in role)) for node, role in enumerate(plan.roles)]
    yield table(("node", "to stay", "to move out", "to move in"), rows)
    for number, step in enumerate(plan.steps):
        yield f"{_step_text(number, step.schedule)}; fullest node holds work {step.largest_load:.6g}"
        yield from move_lines(step.moves)
        yield from _phase_parts(step.schedule)
    yield f"{plan.total_seconds:.6g} s in all; no schedule with one transfer at a time per link is shorter"


def rescale_plan_parts(plan: RescalePlan) -> Iterator[Table | str]:
    """A table of what each node keeps, gives, receives, starts and stops, then each step with its moves and phases."""
    columns = ("node", "keeps", "gives", "receives", "starts", "stops", "sends (B)", "receives (B)", "busy (s)")
    yield table(columns, [_role_row(role) for role in plan.roles], right=columns[6:])
    for number, step in enumerate(plan.steps):
        node, rate = step.fullest
        yield f"{_step_text(number, step.schedule)}; busiest node is then {node} with {rate:.6g} tuples/s"
        yield from move_lines(step.moves)
        yield from _phase_parts(step.schedule, plan.nodes)
    if not plan.steps:
        yield "no state moves"
    elif len(plan.steps) == 1:
        yield f"{plan.total_seconds:.6g} s in all, as long as the busiest network card needs: no schedule is shorter"
    else:
        at_once = f"all at once it would take {plan.transfer_seconds:.6g} s, as long as the busiest network card needs"
        yield f"{plan.total_seconds:.6g} s in {len(plan.steps)} steps; {at_once}"


def placement_plan_parts(plan: PlacementPlan) -> Iterator[Table | str]:
    """Each phase with what changes, its transfers and what it breaks, then the time in all and what no plan undercuts."""
    if not plan.phases:
        yield "nothing changes"
        return
    for number, phase in enumerate(plan.phases):
        copies, size = len(phase.copies), sum(copy.size for copy in phase.copies)
        seconds = phase.schedule.total_seconds
        yield f"phase {number}: {numbered(copies, 'replica')} copied, {size:.6g} bytes, {seconds:.6g} s"
        rows = [(str(action),) for action in phase.actions]
        yield from first_rows(("change",), rows, SHOWN_PHASES, "changes")
        if phase.stopped_first:
            yield f"stop first, for want of room for both: {', '.join(phase.stopped_first)}"
        yield from (f"broken: {why}" for why in phase.broken)
    most, least = len(plan.phases), plan.min_phases
    known = "no plan within the limits has fewer" if most <= least else f"the fewest within the limits are {least} to {most}"
    card = f"the busiest network card needs {plan.min_seconds:.6g} s"
    yield f"{plan.total_seconds:.6g} s in {numbered(most, 'phase')}; {known}; {card}"


def placement_plan_document(plan: PlacementPlan) -> dict[str, Any]:
    """The plan of moves of replicas for JSON."""
    return {
        "kind": "placement-plan",
        "phases": [_placement_phase(phase, plan.nodes) for phase in plan.phases],
        "min_phases": plan.min_phases,
        "min_seconds": plan.min_seconds,
        "total_seconds": plan.total_seconds,
    }


def _placement_phase(phase: PlacementPhase, nodes: Sequence[str]) -> dict[str, Any]:
    """A phase; `deployment` is that of the operators which change in it."""
    return {
        "stopped_first": list(phase.stopped_first),
        "copies": [copy._asdict() for copy in phase.copies],
        "deployment": {action.operator: list(phase.deployment[action.operator]) for action in phase.actions},
        "transfers": _phases(phase.schedule, nodes),
        "seconds": phase.schedule.total_seconds,
        "broken": list(phase.broken),
    }


def migration_plan_document(plan: MigrationPlan) -> dict[str, Any]:
    """The plan of a migration for JSON."""
    return {
        "kind": "migration-plan",
        "roles": [{name: tasks.tolist() for name, tasks in role._asdict().items()} for role in plan.roles],
        "steps": [
            {
                "moves": [move.model_dump() for move in step.moves],
                "phases": _phases(step.schedule, None),
                "seconds": step.schedule.total_seconds,
                "largest_load": step.largest_load,
            }
            for step in plan.steps
        ],
        "total_seconds": plan.total_seconds,
    }


def rescale_plan_document(plan: RescalePlan) -> dict[str, Any]:
    """The plan of a rescaling for JSON."""
    return {
        "kind": "rescale-plan",
        "roles": [{name: getattr(role, name) for name in RescaleRole.__slots__} for role in plan.roles],
        "steps": [
            {
                "moves": [
                    {"operator": m.operator, "tasks": m.tasks, "source": m.source, "target": m.target, "size": m.size}
                    for m in step.moves
                ],
                "phases": _phases(step.schedule, plan.nodes),
                "seconds": step.schedule.total_seconds,
                "fullest_node": step.fullest[0],
                "fullest_rate": step.fullest[1],
            }
            for step in plan.steps
        ],
        "transfer_seconds": plan.transfer_seconds,
        "total_seconds": plan.total_seconds,
    }


def _phases(schedule: TransferSchedule, nodes: Sequence[str] | None) -> list[dict[str, Any]]:
    name: Any = int if nodes is None else nodes.__getitem__
    return [
        {
            "start": phase.start,
            "duration": phase.duration,
            "transfers": [{"source": name(t.source), "target": name(t.target), "size": t.size} for t in phase.transfers],
        }
        for phase in schedule.phases
    ]


def _step_text(number: int, schedule: TransferSchedule) -> str:
    return f"step {number}: {schedule.total_seconds:.6g} s in {numbered(len(schedule.phases), 'phase')}"


def _phase_parts(schedule: TransferSchedule, nodes: Sequence[str] | None = None) -> Iterator[Table | str]:
    rows, name = [], str if nodes is None else nodes.__getitem__
    for phase in schedule.phases:
        sent = ", ".join(f"{name(t.source)} → {name(t.target)}: {t.size:.6g}" for t in phase.transfers)
        rows.append((f"{phase.start:.6g}", f"{phase.duration:.6g}", sent))
    yield from first_rows(("start (s)", "lasts (s)", "from → to (B)"), rows, SHOWN_PHASES, "phases", ("start (s)", "lasts (s)"))


def _role_row(role: RescaleRole) -> tuple[str, ...]:
    held = (_operator_ranges(part) for part in (role.keeps, role.gives, role.receives))
    changed = (", ".join(f"{name} ×{number}" for name, number in part.items()) for part in (role.starts, role.stops))
    return (role.node, *held, *changed, f"{role.sent:.6g}", f"{role.received:.6g}", f"{role.seconds:.6g}")


def _operator_ranges(ranges: Ranges) -> str:
    return "; ".join(f"{name} {', '.join(task_numbers(*part) for part in parts)}" for name, parts in ranges.items())


def _task_ranges(tasks: np.ndarray) -> str:
    """Task numbers with runs shortened: 0–3, 7."""
    runs = np.split(tasks, np.flatnonzero(np.diff(tasks) > 1) + 1) if tasks.size else []
    return ", ".join(task_numbers(int(run[0]), int(run[-1]) + 1) for run in runs)


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
