"""Running jobs: observations, advice, watches and live migrations as tables and sentences, and advice as a page."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import takewhile
from typing import Any

from rich.text import Text

from edrp.cli.display.solution import STOPS
from edrp.cli.terminal import first_rows, table
from edrp.core.errors import numbered
from edrp.core.solution import Solution
from edrp.engines.advice import Advice
from edrp.engines.downtime import DowntimeParts
from edrp.engines.estimates import Estimate
from edrp.engines.fit import JobFit, OperatorFit
from edrp.engines.flink.migrating.discovery import LiveJob
from edrp.engines.flink.migrating.driver import Outcome
from edrp.engines.flink.migrating.moves import StepForecast, Steps, TaskMove
from edrp.engines.model import slot_clashes
from edrp.engines.predictions import DOWNTIME, THROUGHPUT
from edrp.migration.intervals import task_numbers
from edrp.placement.deployment import counted
from edrp.report.formatting import byte_figure, figure
from edrp.report.page import Page, Section, render
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


OBSERVED = ("operator", "replicas", "tuples/s", "busy", "served/s by one", "from", "skew", "selectivity", "state")

METHODS = {"ratio": "busy time", "intercept": "line over loads", "understated": "low load", None: ""}
"""Where a service rate is from, in words."""


def observation_parts(fit: JobFit) -> Iterator[Table | str]:
    """The operators with their rates, and what limits the use of these numbers."""
    seen = fit.observation
    yield f"Job {seen.job} on {seen.engine} {seen.version}"
    yield table(OBSERVED, [_operator_row(operator) for operator in fit.operators], right=(*OBSERVED[1:5], *OBSERVED[6:]))
    yield from (f"• {remark}" for remark in fit.remarks)


def _operator_row(operator: OperatorFit) -> tuple[str, ...]:
    """A row as `OBSERVED` names its cells; empty where a number is not known or means nothing."""
    service = operator.service
    return (
        operator.name,
        str(operator.replicas),
        _rate(operator.rate),
        "" if operator.busy is None else f"{operator.busy:.0%}",
        "" if service is None else f"{_rate(service.value)} ({_rate(service.low)}–{_rate(service.high)})",
        METHODS[operator.method],
        "" if operator.source else f"{operator.skew:.3g}",
        "" if operator.source else f"{operator.selectivity:.3g}",
        byte_figure(operator.state_size) if operator.state_sizes else "",
    )


def _rate(rate: float) -> str:
    """Three digits at least, and never a power of ten."""
    return f"{rate:.0f}" if rate >= 100 else f"{rate:.3g}"


ADVISED = ("operator", "replicas", "proposed", "busy now", "predicted", "where")
"""Columns before that of what scales the engine's jobs today, which has its name."""

RIGHT = ("replicas", "proposed", "busy now", "predicted")
UNKNOWN = "unknown"

DOWNTIME_COLUMNS = ("downtime", "seconds (90 % interval)")


def advice_parts(
    advice: Advice, rule: Mapping[str, int], rule_name: str, calls: Mapping[str, Sequence[str]]
) -> Iterator[Table | Text | str]:
    """The replicas that run and those proposed, the costs of the change, the verdict, and the calls that carry it out.

    Parameters
    ----------
    rule, rule_name
        Number of replicas by what scales the engine's jobs today, of each operator that it can judge; its name and version.
    calls
        Lines of the files that carry it out, by name, of which those above the first empty line are shown.
    """
    yield job_sentence(advice)
    yield table((*ADVISED, rule_name), operator_rows(advice, rule), right=(*RIGHT, rule_name))
    if advice.changes:
        yield table(DOWNTIME_COLUMNS, downtime_rows(advice.downtime))
    yield verdict_sentence(advice)
    yield proof_sentence(advice)
    yield rule_sentence(advice, rule, rule_name)
    yield from free_sentences(advice)
    yield from (f"• {remark}" for remark in advice.remarks)
    if calls and advice.recommended:
        yield "Files that --out writes to make the change:"
    for name, lines in calls.items() if advice.recommended else ():
        shown = list(takewhile(str.strip, lines))
        yield f"{name}:"
        yield from (Text(f"  {line}", no_wrap=True) for line in shown)  # which are copied as they are
        yield from ["  …"] if len(shown) < len(lines) else []


def job_sentence(advice: Advice) -> str:
    """The job, the engine, and how changes are made."""
    seen = advice.fit.observation
    how = ways_to_change({"live": seen.live, "follows_slots": seen.follows_slots})
    return f"Job {seen.job} on {seen.engine} {seen.version}: {how}"


def operator_rows(advice: Advice, rule: Mapping[str, int]) -> list[tuple[str, ...]]:
    """A row per operator, as `ADVISED` names its cells; the last one is by the rule."""
    live = advice.fit.observation.live
    rows: list[tuple[str, ...]] = []
    for operator in advice.operators:
        unknown = UNKNOWN if operator.judged else ""
        now = unknown if operator.busy is None else f"{operator.busy:.0%}"
        then = unknown if operator.predicted_busy is None else _percent(operator.predicted_busy)
        then = f"≥ {then}" if operator.at_least and operator.predicted_busy is not None else then
        where = counted(operator.nodes if live else operator.proposed_nodes)
        where = "the scheduler chooses" if live and operator.proposed != operator.replicas else where
        replicas = str(operator.replicas), str(operator.proposed)
        rows.append((operator.name, *replicas, now, then, where, str(rule.get(operator.name, UNKNOWN))))
    return rows


def downtime_rows(downtime: DowntimeParts) -> list[tuple[str, str]]:
    """A row per part of the downtime."""
    waiting = "waiting for a checkpoint (the job goes on)" if downtime.live else "stopping with a savepoint"
    return [
        (waiting, _seconds(downtime.checkpoint_wait)),
        ("stopping and deploying", _seconds(downtime.restart)),
        ("restoring state", _seconds(downtime.restore)),
        ("without processing, in all", _seconds(downtime.silence)),
        ("input that is replayed", _seconds(downtime.replay)),
        ("catching up", _seconds(downtime.catch_up)),
    ]


def verdict_sentence(advice: Advice) -> str:
    """The verdict and its reasons."""
    seconds = advice.downtime.silence.value
    unknown = [operator.name for operator in advice.operators if operator.judged and operator.predicted_busy is None]
    silent = f"; how busy {', '.join(unknown)} will be is not known" if unknown else ""
    if advice.verdict == "unknown":
        return "unknown: of no operator it is known how busy it is, so that none is advised on"
    if advice.verdict == "stuck":
        clashes = slot_clashes(advice.fit.observation, advice.problem, advice.solution.clashes)
        found = "" if advice.short else f"{advice.solution.method} found none"
        because = f": {'; '.join(clashes) or found}".removesuffix(": ")
        return f"stuck: what runs breaks {'; '.join(advice.broken)}, and there is no plan{because}{silent}"
    if advice.verdict == "repair":
        return f"repair: what runs breaks {'; '.join(advice.broken)}; {seconds:.3g} s of downtime{silent}"
    if advice.gain is None or not advice.changes:
        return f"keep: no better plan was found{silent}"
    price = f"{advice.price:.4g} for {seconds:.3g} s of downtime"
    return f"{advice.verdict}: a gain of {advice.gain:.4g} at a price of {price}{silent}"


def proof_sentence(advice: Advice) -> str:
    """Whether the plan is proven."""
    if advice.verdict == "unknown":
        return "Nothing is proven: the model knows no service rate."
    method = advice.solution.method.removeprefix("auto: ")
    if advice.solution.status == "optimal":
        return f"The plan is the best of the model, as {method} has proven."
    return f"The plan is the best that {method} found; {_how_far(advice.solution)}."


def _how_far(solution: Solution) -> str:
    """How much better another plan may be, where the best is not proven, and why."""
    why = f" ({STOPS[solution.stopped_because]} came first)" if solution.stopped_because in STOPS else ""
    if solution.gap is None:
        return f"it keeps all limits, but a better one may exist{why}"
    return f"another one may be better in the objective by {100 * solution.gap:.2g} %, not by more{why}"


def rule_sentence(advice: Advice, rule: Mapping[str, int], name: str) -> str:
    """How the plan differs from what scales the engine's jobs today."""
    name = f"{advice.fit.observation.engine.capitalize()}'s {name}"
    judged = [operator for operator in advice.operators if operator.name in rule]
    if not any(operator.judged for operator in judged):
        return f"The rule of {name} needs busy times, too, and says nothing."
    ours, theirs = sum(operator.proposed for operator in judged), sum(rule.values())
    differing = ", ".join(
        f"{operator.name} {operator.proposed} against {rule[operator.name]}"
        for operator in judged
        if rule[operator.name] != operator.proposed
    )
    among = "" if len(judged) == len(advice.operators) else " where it can tell"
    if not differing:
        return f"The rule of {name} gives the same numbers of replicas{among}."
    return f"The rule of {name} differs: {differing}; {ours} replicas in all against {theirs}{among}."


def free_sentences(advice: Advice) -> Iterator[str]:
    """The fewest replicas if ranges of key groups were free; nothing where key groups are not known."""
    if not advice.fewest:
        return
    gains = [f"{name} would do with {free} instead of {even}" for name, (even, free) in advice.fewest.items() if free < even]
    said = ", ".join(gains) or "every operator would need as many"
    engine = advice.fit.observation.engine.capitalize()
    yield f"Fewest replicas, if ranges of key groups were free, which {engine} cannot run: {said}."


def _percent(estimate: Estimate) -> str:
    return f"{estimate.value:.0%} ({estimate.low:.0%}–{estimate.high:.0%})"


def _seconds(estimate: Estimate) -> str:
    return f"{estimate.value:.2f} ({estimate.low:.2f}–{estimate.high:.2f})"


FITTED = ("operator", "tuples/s", "service rate (90 % interval)", "by", "skew", "tuples out per tuple in", "state")


def advice_page(advice: Advice, rule: Mapping[str, int], rule_name: str, calls: Mapping[str, Sequence[str]]) -> str:
    """The advice as one self-contained HTML page; arguments are those of `advice_parts`."""
    plan = Table("Operators", (*ADVISED, rule_name), tuple(operator_rows(advice, rule)), (*RIGHT, rule_name), open=True)
    busy = "Busy shares are those of the busiest replica; predictions have a 90 % interval."
    sentences = (proof_sentence(advice), rule_sentence(advice, rule, rule_name), *free_sentences(advice))
    sections = [Section("Plan", sentences, notes=(busy,), tables=(plan,))]
    if advice.changes:
        parts = Table("Downtime", DOWNTIME_COLUMNS, tuple(downtime_rows(advice.downtime)), DOWNTIME_COLUMNS[1:], open=True)
        sections.append(Section("What the change costs", (), tables=(parts,)))
    if advice.recommended:
        files = tuple(Section(name, code="\n".join(lines)) for name, lines in calls.items())
        sections.append(Section("Calls", ("None of them has been sent.",), parts=files))
    fitted = Table("Fitted", FITTED, tuple(map(_fitted_row, advice.fit.operators)), FITTED[1:], open=True)
    sections.append(Section("What was measured", tuple(map(_sentence, advice.remarks)), tables=(fitted,)))
    title = f"Advice on job {advice.fit.observation.job}"
    return render(Page(title, job_sentence(advice), (_sentence(verdict_sentence(advice)),), sections, datetime.now(UTC)))


def _fitted_row(operator: OperatorFit) -> tuple[str, ...]:
    service = operator.service
    served = "" if service is None else f"{figure(service.value)} ({figure(service.low)}–{figure(service.high)})"
    cells = (figure(operator.rate), served, operator.method or "", f"{operator.skew:.3g}", f"{operator.selectivity:.3g}")
    return (operator.name, *cells, byte_figure(operator.state_size))


def _sentence(remark: str) -> str:
    """A remark as a sentence of the page; those of a terminal begin small."""
    return f"{remark[:1].upper()}{remark[1:]}."
