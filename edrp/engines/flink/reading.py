"""Translate a capture of Flink into an observation: the counters of its vertices into differences between rounds."""

from __future__ import annotations

import html
import math
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple

from edrp.engines import observation as observed
from edrp.engines.capture import Capture
from edrp.engines.errors import EngineError
from edrp.engines.flink.source_metrics import backlog_samples, head_shares

MILLISECONDS = 1e-3

PARTITIONINGS: dict[str, observed.Partitioning] = {
    **dict.fromkeys(("REBALANCE", "RESCALE", "SHUFFLE"), "rebalance"),
    "HASH": "hash",
    "FORWARD": "forward",
    "BROADCAST": "broadcast",
    "CUSTOM": "custom",
    "GLOBAL": "global",
}
"""Partitioning by ship strategy; unknown ones may be as uneven as "custom"."""

OLDEST, NEWEST = (1, 20), (2, 3)
"""Versions of Flink between which this was tested."""

TESTED = " to ".join(f"{major}.{minor}" for major, minor in (OLDEST, NEWEST))

BRANCH = re.compile(r"(?::  |   )*[+:]- ")
"""Stands before every operator but the first in the description of a chain."""

ASYNCHRONOUS = re.compile(r"async(?!=\[false)", re.IGNORECASE)
"""Mark in the names of operators that wait for answers: Flink says "async wait operator", lookup joins have `async=[…]`."""

FINISHED = "FINISHED"
"""Status of a replica that has come to the end of its input."""

STARTING = 20.0
"""Seconds after a start of a subtask in which its counters may be those of an earlier start."""

COUNTERS = ("read-records", "write-records", "read-bytes", "write-bytes")

MIN_WINDOW = 4.0
"""Seconds that a task's clock must have run in a window: Flink's times are refreshed about once a second."""


def read_observation(capture: Capture) -> observed.Observation:
    """Read a capture.

    Raises
    ------
    EngineError
        In one line: it is of another engine, lacks answers or metrics, or a clock ran back while it was made.
    """
    if capture.engine != "flink":
        raise EngineError(capture.source, f"is a capture of {capture.engine}, not of flink")
    try:
        return _CaptureReader(capture).observation()
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        why = f"lacks what Flink {TESTED} answer ({type(error).__name__}: {error}); capture again"
        raise EngineError(capture.source, why) from None


class _CaptureReader:
    """Reads the parts of one capture."""

    def __init__(self, capture: Capture) -> None:
        self._capture = capture
        self._root = f"/jobs/{capture.job}"
        times = [answer.at_ms for answer in capture.answers]
        self._refuse_clock_running_back(times, "the clock of the machine that captured")
        self._job = capture.last(self._root)
        if self._job is None:
            raise EngineError(capture.source, "describes no job; capture again")
        self._names = self._operator_names()
        self._plan = (self._job.get("plan") or capture.last(f"{self._root}/plan")["plan"])["nodes"]
        self._finished = {vertex["id"] for vertex in self._job["vertices"] if self._has_finished(vertex)}

    def observation(self) -> observed.Observation:
        config = self._capture.last("/config") or self._capture.last("/overview") or {}
        limits = self._capture.last(f"{self._root}/rescales/config") or {}
        delay = limits.get("maximumDelayForTriggeringRescaleInMillis")
        version = str(config.get("flink-version", "unknown"))
        running = [vertex for vertex in self._job["vertices"] if vertex["id"] not in self._finished]
        if not running:
            raise EngineError(self._capture.source, "all operators of the job have finished; only a running job is advised on")
        streams = tuple(self._streams())
        described = ((self._names[node["id"]], str(node.get("description"))) for node in self._plan)
        forks = [name for name, text in described if ":- " in text or " -> (" in name]  # several operators behind one
        shares = {self._names[key]: share for key, share in head_shares(self._capture, self._job, self._plan).items()}
        counted = list(count_once([self._operator(vertex) for vertex in running], streams, forks, shares))
        return observed.Observation(
            engine="flink",
            version=version,
            job=str(self._job["name"]),
            key=self._capture.job,
            live=self._live,
            max_delay=None if delay is None else delay * MILLISECONDS,
            operators=tuple(operator for operator, _ in counted),
            streams=streams,
            nodes=tuple(self._nodes()),
            checkpoints=self._checkpoints(),
            rescales=tuple(self._rescales()),
            follows_slots=self._reactive,
            finished={key: bounds for key in sorted(self._finished) if (bounds := self._bounds(key)) is not None},
            remarks=(*self._remarks(version), *(remark for _, remarks in counted for remark in remarks)),
        )

    def _remarks(self, version: str) -> Iterator[str]:
        number = re.match(r"(\d+)\.(\d+)", version)
        if number is None or not OLDEST <= (int(number[1]), int(number[2])) <= NEWEST:
            yield f"Flink {version} is outside {TESTED}, the versions that this was tested with"
        for vertex in self._job["vertices"]:
            if vertex["id"] in self._finished:
                yield f"{self._names[vertex['id']]} has finished and is left out"
        for node in self._plan:
            for origin in node.get("inputs", ()):
                how, ends = origin.get("ship_strategy", ""), f"{self._names[origin['id']]} to {self._names[node['id']]}"
                if how not in PARTITIONINGS and not self._finished & {origin["id"], node["id"]}:
                    yield f"the stream from {ends} has an unknown ship_strategy, {how!r}: its skew is taken to stay as it is"

    @property
    def _live(self) -> bool:
        """Whether the adaptive scheduler runs the job; versions that do not say so have requirements only with it."""
        scheduler = self._job.get("schedulerType")
        return self._requirements is not None if scheduler is None else scheduler == "Adaptive"

    @property
    def _reactive(self) -> bool:
        """Whether the scheduler is in reactive mode, in which it tells requirements and refuses others."""
        settings = self._capture.last("/jobmanager/config") or ()
        return any(row["key"] == "scheduler-mode" and str(row["value"]).lower() == "reactive" for row in settings)

    @property
    def _requirements(self) -> Any:
        return self._capture.last(f"{self._root}/resource-requirements")

    def _refuse_clock_running_back(self, times: list[int], whose: str) -> None:
        for before, after in pairwise(times):
            if after < before:
                why = f"{whose} ran back by {(before - after) * MILLISECONDS:g} s, so that rates cannot be told; capture again"
                raise EngineError(self._capture.source, why)

    def _operator_names(self) -> dict[str, str]:
        """Name of each operator by the identifier of its vertex; equal names are numbered."""
        occurrences: Counter[str] = Counter()
        names = {}
        for vertex in self._job["vertices"]:
            name = str(vertex["name"])[:180]
            occurrences[name] += 1
            names[vertex["id"]] = name if occurrences[name] == 1 else f"{name} ({occurrences[name]})"
        return names

    def _has_finished(self, vertex: Any) -> bool:
        """Whether all replicas have come to the end of their input, as those of a table that is read once."""
        rounds = self._capture.all(f"{self._root}/vertices/{vertex['id']}")
        subtasks = rounds[-1].answer["subtasks"] if rounds else ()
        return bool(subtasks) and all(subtask["status"] == FINISHED for subtask in subtasks)

    def _bounds(self, key: str) -> tuple[int, int] | None:
        """Fewest and most replicas that are asked for."""
        requirement = (self._requirements or {}).get(key)
        return (requirement["parallelism"]["lowerBound"], requirement["parallelism"]["upperBound"]) if requirement else None

    def _operator(self, vertex: Any) -> observed.OperatorObservation:
        key, name = vertex["id"], self._names[vertex["id"]]
        rounds = self._capture.all(f"{self._root}/vertices/{key}")
        if not rounds:
            raise EngineError(self._capture.source, f"has no counters of operator {name!r}; capture again")
        self._refuse_clock_running_back([answer.answer["now"] for answer in rounds], "the clock of the JobManager")
        if counters_ran_back([answer.answer for answer in rounds]):
            why = f"counters of operator {name!r} ran back without a restart, so that rates cannot be told; capture again"
            raise EngineError(self._capture.source, why)
        windows = operator_windows([answer.answer for answer in rounds])
        if not windows:
            why = f"metrics of operator {name!r} are missing; they come seconds after a start: capture again, for more --seconds"
            raise EngineError(self._capture.source, why)
        subtasks = sorted(rounds[-1].answer["subtasks"], key=lambda subtask: subtask["subtask"])
        waiting = [subtask["subtask"] for subtask in subtasks if subtask["status"] not in ("RUNNING", FINISHED)]
        if waiting:
            why = f"replica {waiting[0]} of operator {name!r} was {subtasks[waiting[0]]['status']} at the end; capture again"
            raise EngineError(self._capture.source, why)
        names, chained = _chained(next((node for node in self._plan if node["id"] == key), {}), str(vertex["name"]))
        return observed.OperatorObservation(
            name=name,
            key=key,
            nodes=tuple(str(subtask["taskmanager-id"]) for subtask in subtasks),
            max_parallelism=int(vertex.get("maxParallelism", 128)),
            bounds=self._bounds(key),
            slot_group=str(vertex.get("slotSharingGroupId", "default")),
            windows=windows,
            start_seconds=_start_seconds(subtasks),
            state_sizes=self._state_sizes(key),
            names=names,
            chained=chained,
            asynchronous=any(ASYNCHRONOUS.search(name) for name in names),
            backlog=backlog_samples(self._capture, f"{self._root}/vertices/{key}", len(subtasks)),
        )

    def _state_sizes(self, key: str) -> tuple[int, ...]:
        """Bytes by subtask in the newest checkpoint that was asked for."""
        ending = f"/subtasks/{key}"
        details = [a for a in self._capture.answers if a.path.endswith(ending) and "/details/" in a.path and a.status == 200]
        if not details:
            return ()
        subtasks = sorted(details[-1].answer["subtasks"], key=lambda subtask: subtask["index"])
        return tuple(int(subtask.get("state_size", 0)) for subtask in subtasks)

    def _streams(self) -> Iterator[observed.StreamObservation]:
        edges: Counter[tuple[str, str, observed.Partitioning]] = Counter()
        for node in self._plan:
            for origin in node.get("inputs", ()):
                if not self._finished & {origin["id"], node["id"]}:
                    how = PARTITIONINGS.get(origin.get("ship_strategy", ""), "custom")
                    edges[self._names[origin["id"]], self._names[node["id"]], how] += 1
        for ends, count in edges.items():
            yield observed.StreamObservation(*ends, count)

    def _nodes(self) -> Iterator[observed.NodeObservation]:
        answer = self._capture.last("/taskmanagers")
        for manager in answer["taskmanagers"]:
            named = manager.get("totalResource", {}).get("extendedResources", {})
            amounts = {str(name): float(amount) for name, amount in named.items()}
            yield observed.NodeObservation(str(manager["id"]), int(manager["slotsNumber"]), int(manager["freeSlots"]), amounts)

    def _checkpoints(self) -> observed.CheckpointObservation:
        answer = self._capture.last(f"{self._root}/checkpoints") or {}
        interval = (self._capture.last(f"{self._root}/checkpoints/config") or {}).get("interval")
        complete = [row for row in answer.get("history", ()) if row["status"] == "COMPLETED" and not row["is_savepoint"]]
        latest = (answer.get("latest") or {}).get("completed") or {}
        completed_at = latest.get("latest_ack_timestamp")
        return observed.CheckpointObservation(
            interval=None if interval is None or interval >= 1 << 53 else interval * MILLISECONDS,
            durations=tuple(row["end_to_end_duration"] * MILLISECONDS for row in complete),
            state_size=int(latest.get("state_size", 0)),
            completed_at=None if completed_at is None else completed_at * MILLISECONDS,
        )

    def _rescales(self) -> Iterator[observed.RescaleObservation]:
        """Completed changes that the engine remembers, newest first; the first start of a job is none."""
        for row in self._capture.last(f"{self._root}/rescales/history") or ():
            if row["terminalState"] != "COMPLETED" or row["triggerCause"] == "INITIAL_SCHEDULE":
                continue
            row = self._capture.last(f"{self._root}/rescales/details/{row['rescaleUuid']}") or row
            changes = row.get("vertices", {})
            yield observed.RescaleObservation(
                seconds=(row["endTimestampInMillis"] - row["startTimestampInMillis"]) * MILLISECONDS,
                stopped=_stopped_seconds(row.get("schedulerStates", ())),
                before={key: change["preRescaleParallelism"] or 0 for key, change in changes.items()},
                after={key: change["postRescaleParallelism"] or 0 for key, change in changes.items()},
            )


def _chained(node: Any, name: str) -> tuple[tuple[str, ...], int]:
    """Return the whole names of a vertex's operators, from its name and its description in the plan, and their number.

    A description in form of a tree has a line for each operator. Arrows in the name of the vertex separate operators if there
    are as many lines, or if there is no tree to tell: the name of an operator may hold an arrow, too.

    >>> _chained({"description": "count<br/>+- Sink: store<br/>"}, "count -> Sink: store")
    (('count', 'Sink: store'), 2)
    >>> _chained({"description": "a -&gt; b<br/>"}, "a -> b"), _chained({}, "a -> b")
    ((('a -> b',), 1), (('a', 'b'), 2))
    """
    text = str(node.get("description") or "")
    described: list[str] = []
    for line in text.removesuffix("<br/>").split("<br/>") if text.endswith("<br/>") else ():
        branch = BRANCH.match(line)
        if described and branch is None:  # the name of the operator goes on in another line
            described[-1] += f"\n{html.unescape(line)}"
        else:
            described.append(html.unescape(line[branch.end() if branch else 0 :]))
    parts = name.split(" -> ")
    names = [*described, *(parts if len(parts) == len(described) or not described else ())]
    return tuple(dict.fromkeys(names)), len(described or parts)


def _start_seconds(subtasks: list[Any]) -> tuple[float, float]:
    """Seconds of deploying the subtask that took longest until it ran, and of initialising it, which restores state."""
    durations = [subtask.get("status-duration", {}) for subtask in subtasks]
    starts = [(row.get("SCHEDULED", 0) + row.get("DEPLOYING", 0), row.get("INITIALIZING", 0)) for row in durations]
    deploying, initialising = max(starts, key=sum)
    return max(deploying, 0) * MILLISECONDS, max(initialising, 0) * MILLISECONDS


def _stopped_seconds(states: Any) -> float | None:
    """Seconds from leaving the state Executing to entering it again."""
    left_executing = next((state["leaveTimestampInMillis"] for state in states if state["state"] == "Executing"), None)
    entered = next((state["enterTimestampInMillis"] for state in reversed(states) if state["state"] == "Executing"), None)
    if left_executing is None or entered is None or entered < left_executing:
        return None
    return float((entered - left_executing) * MILLISECONDS)


def count_once(
    operators: Sequence[observed.OperatorObservation],
    streams: Sequence[observed.StreamObservation],
    forks: Collection[str],
    shares: Mapping[str, float],
) -> Iterator[tuple[observed.OperatorObservation, tuple[str, ...]]]:
    """Each operator with what it sends counted once, and a remark where that is estimated.

    Every operator of a chain that sends to others counts a tuple once, whatever the number of its edges, and `write-records` is
    the sum over the chain (`BroadcastingOutputCollector`, Flink 1.20 to 2.3): once for an operator that is chained with nothing,
    and once for each branch of a chain that forks.

    Parameters
    ----------
    forks
        Names of the operators whose chains fork: they are taken to send what their largest stream carries.
    shares
        What the first operator of a chain sends, as a share of what is counted, by name; where it is known, it decides.
    """
    carried = {}
    for target in operators:
        inputs = [stream for stream in streams if stream.target == target.name]
        if len(inputs) == 1:
            copies = inputs[0].edges * (target.parallelism if inputs[0].partitioning == "broadcast" else 1)
            carried[inputs[0]] = observed.mean_rate(target.windows, out=False) / copies
    for operator in operators:
        outputs = [stream for stream in streams if stream.source == operator.name]
        share, counted = shares.get(operator.name, 1.0), observed.mean_rate(operator.windows, out=True)
        remarks: tuple[str, ...] = ()
        if operator.name in forks and operator.name not in shares and sum(stream.edges for stream in outputs) > 1 and counted:
            rates = [carried[stream] for stream in outputs if stream in carried] or [counted / len(outputs)]
            share = min(1.0, max(rates) / counted)
            why = "its chain forks, where Flink counts a tuple once for each branch that sends it"
            remarks = (f"{operator.name} is taken to send what its largest stream carries: {why}",)
        yield (operator if share == 1.0 else _scaled(operator, share)), remarks


def _scaled(operator: observed.OperatorObservation, share: float) -> observed.OperatorObservation:
    """The operator with so large a share of the tuples that were counted as sent."""
    windows = (
        replace(window, subtasks=tuple(replace(one, records_out=round(share * one.records_out)) for one in window.subtasks))
        for window in operator.windows
    )
    return replace(operator, windows=tuple(windows))


def operator_windows(rounds: Sequence[Any]) -> tuple[observed.OperatorWindow, ...]:
    """Windows between rounds of `/jobs/:id/vertices/:vid`, in the order of time; empty where metrics are missing throughout.

    A window never spans a start of any subtask. Where rounds are too few for one, counters since the start make one, unless
    these are all 0.
    """
    windows: list[observed.OperatorWindow] = []
    base: CounterRound | None = None
    newest: CounterRound | None = None
    for later in filter(None, map(_read_round, rounds)):
        if base is None or not _continues(base, later):
            base = later
        elif _clock_between(base, later) >= MIN_WINDOW:
            windows.append(_difference(base, later))
            base = later
        newest = later
    if not windows and newest is not None:
        # Counters began at 0.
        subtasks = tuple(observed.SubtaskWindow(s.node, *s.counters, s.busy, s.idle, s.backpressured) for s in newest.samples)
        seconds = max(0.0, newest.now - max(sample.started for sample in newest.samples))
        since_start = observed.OperatorWindow(seconds, subtasks, True)
        windows = [since_start] if any(subtask.clock or subtask.records_out for subtask in since_start.subtasks) else []
    return tuple(windows)


def counters_ran_back(rounds: Sequence[Any]) -> bool:
    """Whether a counter is less than in an earlier round of the same start of its subtask, which no counter can be.

    Right after a start, what was gathered before it may still be handed out.
    """
    highest: dict[tuple[int, str, tuple[int | str, ...]], tuple[int, ...]] = {}
    for answer in rounds:
        samples = _read_round(answer)
        for number, sample in enumerate(() if samples is None else samples.samples):
            if samples is None or samples.now - sample.started < STARTING:
                continue
            key = (number, sample.node, sample.attempt)
            if any(now < before for now, before in zip(sample.counters, highest.get(key, sample.counters), strict=True)):
                return True
            highest[key] = sample.counters
    return False


def _read_round(answer: Any) -> CounterRound | None:
    """The counters of all subtasks; None where one does not run yet or a counter is missing.

    A subtask that has finished before others stands still, and has no clock any more.
    """
    samples = []
    for subtask in sorted(answer["subtasks"], key=lambda subtask: subtask["subtask"]):
        metrics = subtask["metrics"]
        finished = subtask["status"] == "FINISHED"
        counts = finished or subtask["status"] == "RUNNING"
        if not counts or not all(metrics.get(f"{name}-complete", False) for name in COUNTERS):
            return None
        started = int(subtask.get("start-time", subtask.get("start_time", 0)))
        reads, writes, bytes_in, bytes_out = (int(metrics[name]) for name in COUNTERS)
        samples.append(
            CounterSample(
                (int(subtask["attempt"]), started),
                started * MILLISECONDS,
                str(subtask["taskmanager-id"]),
                (reads, writes, bytes_in, bytes_out),
                None if finished else _seconds(metrics.get("accumulated-busy-time")),
                _seconds(metrics.get("accumulated-idle-time")) or 0.0,
                _seconds(metrics.get("accumulated-backpressured-time")) or 0.0,
            )
        )
    return CounterRound(answer["now"] * MILLISECONDS, tuple(samples)) if samples else None


def _seconds(value: Any) -> float | None:
    """A time in milliseconds, which Flink gives as a number or as the text "NaN"."""
    number = float(value) if value is not None else math.nan
    return number * MILLISECONDS if math.isfinite(number) else None


class CounterSample(NamedTuple):
    """The counters of a subtask in one round.

    Attributes
    ----------
    attempt : tells starts of the subtask apart.
    started : when it started, in seconds by the clock of the rounds.
    counters : tuples in and out, bytes in and out, since the start.
    busy, idle, backpressured : seconds since the start; busy is None where the engine does not measure it.
    """

    attempt: tuple[int | str, ...]
    started: float
    node: str
    counters: tuple[int, int, int, int]
    busy: float | None
    idle: float
    backpressured: float

    @property
    def clock(self) -> float:
        """Seconds of the task's own clock; infinite where it has none, and therefore never too few."""
        return math.inf if self.busy is None else self.busy + self.idle + self.backpressured


class CounterRound(NamedTuple):
    """The counters of all subtasks of an operator at one time, in seconds by some clock."""

    now: float
    samples: tuple[CounterSample, ...]


def _continues(base: CounterRound, later: CounterRound) -> bool:
    """Whether the same starts of the same subtasks are seen again and no counter has fallen."""
    return len(base.samples) == len(later.samples) and all(
        a.attempt == b.attempt and a.node == b.node and all(x <= y for x, y in zip(a.counters, b.counters, strict=True))
        for a, b in zip(base.samples, later.samples, strict=True)
    )


def _clock_between(base: CounterRound, later: CounterRound) -> float:
    """Least seconds that any subtask's own clock ran; the clock of the rounds for those that have none."""
    wall = later.now - base.now
    clocks = (
        wall if a.busy is None or b.busy is None else b.clock - a.clock for a, b in zip(base.samples, later.samples, strict=True)
    )
    return min(clocks)


def _difference(base: CounterRound, later: CounterRound) -> observed.OperatorWindow:
    subtasks = []
    for a, b in zip(base.samples, later.samples, strict=True):
        records_in, records_out, bytes_in, bytes_out = (y - x for x, y in zip(a.counters, b.counters, strict=True))
        busy = None if a.busy is None or b.busy is None else max(0.0, b.busy - a.busy)
        idle, backpressured = max(0.0, b.idle - a.idle), max(0.0, b.backpressured - a.backpressured)
        subtasks.append(observed.SubtaskWindow(b.node, records_in, records_out, bytes_in, bytes_out, busy, idle, backpressured))
    return observed.OperatorWindow(later.now - base.now, tuple(subtasks))
