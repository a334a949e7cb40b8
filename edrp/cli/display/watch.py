"""A watch on the terminal: lines of its journal as sentences."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from edrp.cli.display.migrate import migrate_lines
from edrp.core.errors import numbered
from edrp.engines.predictions import DOWNTIME, THROUGHPUT

Entry = Mapping[str, Any]


def watch_lines(entry: Entry) -> Iterator[str]:
    """The sentences for a line of the journal; none where it says nothing new."""
    describe = _DESCRIBED.get(entry["kind"])
    if describe is not None:
        yield from describe(entry)


def ways_to_change(job: Entry) -> str:
    """How the replicas of a job change, by `live` and `follows_slots` of its observation."""
    if job.get("follows_slots"):
        return "replicas follow the slots (reactive mode) and cannot be asked for; start or stop TaskManagers"
    return "replicas can change live" if job["live"] else "changes need a restart"


def _start(entry: Entry) -> Iterator[str]:
    mode = entry["limits"]["mode"]
    how = "dry run, nothing is changed" if mode is None else f"changes are applied ({mode})"
    ways = "tasks can move while tuples flow" if mode == "live" else ways_to_change(entry)
    yield f"Job {entry['job']} on {entry['engine']} {entry['version']}: {ways}; {how}"


def _observation(entry: Entry) -> Iterator[str]:
    busy = [
        f"{name} {seen['replicas']} × {seen['busy']:.0%}" for name, seen in entry["operators"].items() if seen["busy"] is not None
    ]
    waits = "; the job does not keep up" if entry["waiting"] else ""
    yield f"{entry['round']}: {entry['throughput']:.6g} tuples/s; busy: {', '.join(busy)}{waits}"


def _outcome(entry: Entry) -> Iterator[str]:
    if not entry["comparable"]:
        yield "   the replicas are not those that were predicted for: somebody else changes the job"
    for found in entry["judgements"]:
        if not found["covered"]:
            yield f"   missed: {_quantity(found['quantity'], found['predicted'])} predicted, {_measured(found)} measured"
    if entry["below"]:
        yield "   the throughput is below what the last change was to reach"


def _advice(entry: Entry) -> Iterator[str]:
    if not entry["wanted"]:
        yield f"   {entry['verdict']}" + (f": {'; '.join(entry['broken'])}" if entry["broken"] else "")
        return
    changes = ", ".join(
        f"{name} {now} → {then}{_busy(entry['busy'].get(name))}" for name, (now, then) in entry["changes"].items()
    )
    moved = entry.get("moved_tasks", {})
    changes = ", ".join(filter(None, (changes, *(f"{numbered(count, 'task')} of {name} move" for name, count in moved.items()))))
    silence = entry["downtime"]
    kind = "of waiting for moved tasks" if moved else "of downtime"
    stops = "" if silence is None else f"; {silence['value']:.2f} s {kind} (at most {silence['high']:.2f})"
    blocked = f"; not applied: {'; '.join(entry['blocked'])}" if entry["blocked"] else ""
    yield f"   {entry['verdict']}: {changes or 'other places'}{stops}{blocked}"


def _offered(entry: Entry) -> Iterator[str]:
    waiting = "" if entry["backlog"] is None else f", {entry['backlog']:.6g} tuples wait"
    if entry["rate"] is None:
        why = "how much is unknown, since a source waits and tells no backlog"
        yield f"   offered: at least {entry['processed']:.6g} tuples/s; {why}"
    else:
        yield f"   offered: {entry['rate']:.6g} tuples/s by {entry['evidence']}{waiting}"


def _decision(entry: Entry) -> Iterator[str]:
    if entry["remark"]:
        yield f"   {entry['remark']}"
    yield f"   {'change' if entry['change'] else 'wait'}: {entry['reason']}"


def _action(entry: Entry) -> Iterator[str]:
    step = entry["step"]
    what = "rolling back" if entry["rollback"] else "applying"
    if step == "failed":
        yield f"   {what} failed: {entry['why']}"
    elif step == "done":
        counts = ", ".join(f"{name} {len(nodes)}" for name, nodes in entry["after"].items())
        yield f"   {what}: done after {entry['seconds']:.1f} s; {counts} run"
    elif step == "migration":
        for line in migrate_lines({**entry, "kind": entry["what"], "step": entry.get("number")}):
            yield f"   {what}: {line.strip()}"
    elif step == "checkpoint":
        yield f"   {what}: checkpoint {entry['id']} is complete"
    elif step == "checkpoint failed":
        yield f"   {what}: {entry['why']}; another one is tried, since a rescale without one replays all since the last"
    elif step == "savepoint":
        yield f"   {what}: stopped with savepoint {entry['location']}"
    elif step == "cancelling":
        yield f"   {what}: {entry['why']}; job {entry['key']}, which never ran, is cancelled, and the old plan started again"


def _error(entry: Entry) -> Iterator[str]:
    yield f"   not observed or advised on: {entry['why']}"


def _stop(entry: Entry) -> Iterator[str]:
    yield f"Stopped ({entry['why']}) after {entry['rounds']} observations"


_DESCRIBED: dict[str, Callable[[Entry], Iterator[str]]] = {
    "start": _start,
    "observation": _observation,
    "outcome": _outcome,
    "offered": _offered,
    "decision": _decision,
    "advice": _advice,
    "action": _action,
    "error": _error,
    "stop": _stop,
}


def _busy(estimate: Entry | None) -> str:
    if estimate is None:
        return ""
    return f" ({estimate['value']:.0%} busy, {estimate['low']:.0%}–{estimate['high']:.0%})"


def _quantity(name: str, estimate: Entry) -> str:
    if name == THROUGHPUT:
        return f"throughput of {estimate['low']:.6g} to {estimate['high']:.6g} tuples/s"
    if name == DOWNTIME:
        return f"downtime of at most {estimate['high']:.2f} s"
    return f"{name} {estimate['low']:.0%} to {estimate['high']:.0%} busy"


def _measured(found: Entry) -> str:
    value = found["measured"]
    if found["quantity"] == THROUGHPUT:
        return f"{value:.6g} tuples/s"
    return f"{value:.2f} s" if found["quantity"] == DOWNTIME else f"{value:.0%}"
