"""A live migration on the terminal: the steps that are sent, and lines of its journal as sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from edrp.cli.terminal import first_rows
from edrp.core.errors import numbered
from edrp.engines.flink.migrating.discovery import LiveJob
from edrp.engines.flink.migrating.driver import Outcome
from edrp.engines.flink.migrating.moves import StepForecast, Steps, TaskMove
from edrp.migration.intervals import task_numbers
from edrp.report.tables import Table

SHOWN_STEPS = 40

Entry = Mapping[str, Any]


def job_line(job: LiveJob) -> str:
    """The job and its live operators."""
    operators = (f"{live.name} ({live.tasks} tasks on {numbered(live.parallelism, 'worker')})" for live in job.operators.values())
    return f"Job {job.name}: {', '.join(operators)}; checkpoints every {job.checkpoints.interval or 0:g} s"


def step_parts(steps: Steps, planned: Sequence[StepForecast], job: LiveJob, pace: int) -> Iterator[Table | str]:
    """Table of steps: what each moves, and its expected time."""
    if not steps:
        yield "nothing moves: every task is where the plan leads it"
        return
    rows = [
        (str(number), "; ".join(_moves(step, job)), str(forecast.tasks), f"{forecast.size:,}", f"{forecast.seconds:.3g}")
        for number, (step, forecast) in enumerate(zip(steps, planned, strict=True))
    ]
    columns = ("step", "tasks: from → to worker", "tasks", "bytes", "takes about (s)")
    yield from first_rows(columns, rows, SHOWN_STEPS, "steps", columns[2:])
    tasks, size = sum(step.tasks for step in planned), sum(step.size for step in planned)
    limit = f" at {pace:,} bytes/s" if pace else ""
    what = f"{numbered(tasks, 'task')} in {numbered(len(steps), 'step')}"
    yield f"{what}, {size:,} bytes, about {sum(step.seconds for step in planned):.3g} s{limit}"


def _moves(step: Sequence[TaskMove], job: LiveJob) -> Iterator[str]:
    """The moves of a step; neighbouring tasks between the same workers are one range."""
    runs: list[tuple[str, int, int, int, int]] = []
    for move in step:
        live = job.operators[move.operator]
        ends = live.worker(move.source), live.worker(move.target)
        if runs and runs[-1][0] == move.operator and runs[-1][2:] == (move.task, *ends):
            runs[-1] = (move.operator, runs[-1][1], move.task + 1, *ends)
        else:
            runs.append((move.operator, move.task, move.task + 1, *ends))
    for operator, first, end, source, target in runs:
        yield f"{operator} {task_numbers(first, end)}: {source} → {target}"


def outcome_line(outcome: Outcome) -> str:
    """Table of the steps that were taken."""
    if not outcome.plan:
        return "nothing moves: every task is where it is to be"
    what = f"{numbered(outcome.tasks, 'task')} in {numbered(outcome.steps, 'step')}"
    return f"Plan {outcome.plan} is done: {what} after {outcome.seconds:.1f} s"


def migrate_lines(entry: Entry) -> Iterator[str]:
    """The sentence for a line of the journal."""
    kind, plan = entry["kind"], entry.get("plan")
    if kind == "plan":
        seconds = sum(step["planned_seconds"] for step in entry["steps"])
        yield f"Plan {plan} is sent: {numbered(len(entry['steps']), 'step')}, about {seconds:.3g} s"
    elif kind == "going on":
        yield f"Plan {plan} is under way and followed to its end"
    elif kind == "abort":
        yield f"Plan {plan} is aborted: its running step is installed, and no other begins"
    elif kind == "step":
        yield _step(entry)
    elif kind == "interrupted":
        yield f"   waiting for the job: {entry['why']}"
    elif kind == "running again":
        yield f"   the job runs again; {numbered(entry['done'], 'step')} of the plan done"
    elif kind == "gone back":
        yield f"   the job went back to a checkpoint: {numbered(entry['done'], 'step')} of the plan done, the others are repeated"


def _step(entry: Entry) -> str:
    what = f"   step {entry['step']}: {numbered(entry['tasks'], 'task')}"
    if "seconds" not in entry:
        return f"{what}, installed; what it took was lost in a restart"
    planned = f" (about {entry['planned_seconds']:.3g} s planned)" if "planned_seconds" in entry else ""
    refused = f"; {numbered(entry['refused'], 'move')} refused" if entry["refused"] else ""
    held = f"{numbered(entry['held'], 'tuple')} waited, at most {entry['wait']:.3g} s"
    return f"{what}, {entry['bytes']:,} bytes in {entry['seconds']:.3g} s{planned}; {held}{refused}"
