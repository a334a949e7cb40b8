"""Kafka Streams' metrics of tasks, topics and state stores, as MBeans (Jolokia) or as Prometheus's exporter of MBeans names them.

A task `0_3` is the third partition of subtopology 0: subtopologies are operators, their tasks replicas, and instances of the
application nodes. Tasks of one subtopology send to another one through a topic that the one produces and the other consumes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from edrp.engines.errors import EngineError
from edrp.engines.exports import Export
from edrp.engines.metrics import Scrape, choose_job
from edrp.engines.observation import (
    CheckpointObservation,
    NodeObservation,
    Observation,
    OperatorObservation,
    OperatorWindow,
    StoreObservation,
    StreamObservation,
    SubtaskWindow,
)
from edrp.engines.rounds import CounterRound, CounterSample, counter_windows

TASK, TOPIC, STATE = (f"kafka_streams_stream_{kind}_metrics_" for kind in ("task", "topic", "state"))
PROCESSED, RATE, LATENCY = TASK + "process_total", TASK + "process_rate", TASK + "process_latency_avg"
STORE_SIZES = (STATE + "total_sst_files_size", STATE + "cur_size_all_mem_tables")
STORE_ROWS = STATE + "estimate_num_keys"

RATE_SECONDS = 60
"""Seconds of which Kafka Streams' rates are means: `metrics.num.samples` of `metrics.sample.window.ms`, by default."""

NANOSECONDS = 1e-9

THREAD = re.compile(r"(?P<client>(?P<application>.*?)(-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})?)-StreamThread-\d+$")
"""A thread by its name: application, instance and number; instances are called by a UUID unless they have names of their own."""

Tasks = dict[str, str]
"""Thread by task."""


class KafkaStreamsReader:
    """Reads metrics of Kafka Streams."""

    def recognises(self, export: Export) -> bool:
        """Whether there are metrics of tasks."""
        return any(scrape.has_prefix(TASK) for scrape in export.scrapes)

    def observe(self, export: Export, job: str | None) -> Observation:
        """Read the export.

        Raises
        ------
        EngineError
            It holds several applications, or lacks how many records tasks processed.
        """
        threads = [labels["thread_id"] for scrape in export.scrapes for labels, _ in scrape.named(PROCESSED)]
        if not threads:
            raise EngineError(export.source, "lacks process-total of tasks; set metrics.recording.level=DEBUG and export again")
        application = choose_job([_application(thread) for thread in threads], job, export.source)
        reader = _Reader(export, application)
        operators, streams = reader.operators(), reader.streams()
        fed = {stream.target for stream in streams}
        inputs = [reader.input(operator) for operator in operators if operator.name not in fed]
        return Observation(
            engine="kafka-streams",
            version="",
            job=application,
            key=application,
            live=False,
            max_delay=None,
            operators=(*inputs, *operators),
            streams=(*(StreamObservation(o.name, o.key, "hash") for o in inputs), *streams),
            nodes=tuple(reader.nodes()),
            checkpoints=CheckpointObservation(None, (), 0, None),
            rescales=(),
            stores=tuple(reader.stores()),
            untold=tuple(reader.untold()),
        )


READER = KafkaStreamsReader()
"""The reader, which has no state."""


class _Reader:
    """Reads the parts of the export of one application."""

    def __init__(self, export: Export, application: str) -> None:
        self._source = export.source
        self._application = application
        self._scrapes = [scrape for scrape in export.scrapes if self._tasks(scrape)]
        self._last = self._scrapes[-1]
        self._assigned = self._tasks(self._last)
        self._latency = self._by_task(self._last, LATENCY)

    def operators(self) -> list[OperatorObservation]:
        """Subtopologies, in the order of their numbers."""
        return [self._operator(number) for number in sorted({_split(task)[0] for task in self._assigned})]

    def input(self, operator: OperatorObservation) -> OperatorObservation:
        """The topics that an operator reads from outside, as a source."""
        number = int(operator.name.rpartition(" ")[2])
        topics = sorted({topic for task, topic in self._topics("records_consumed_total") if _split(task)[0] == number})
        windows = []
        for window in operator.windows:
            records, read = (sum(getattr(s, field) for s in window.subtasks) for field in ("records_in", "bytes_in"))
            windows.append(OperatorWindow(window.seconds, (SubtaskWindow("", 0, records, 0, read, None, 0.0, 0.0),)))
        name = f"topic {', '.join(topics)}" if topics else f"input of {operator.name}"
        return OperatorObservation(name, operator.name, ("",), 1, None, "", tuple(windows), (0.0, 0.0), ())

    def streams(self) -> list[StreamObservation]:
        """Topics that one subtopology produces and another one consumes."""
        ends = {
            (_split(source)[0], _split(target)[0])
            for source, produced in self._topics("records_produced_total")
            for target, consumed in self._topics("records_consumed_total")
            if produced == consumed
        }
        return [StreamObservation(_name(a), _name(b), "hash") for a, b in sorted(ends) if a != b]

    def nodes(self) -> Iterator[NodeObservation]:
        """Instances of the application; a slot is a thread, which any number of tasks share."""
        threads = sorted(set(self._assigned.values()))
        for client in sorted(set(map(_client, threads))):
            yield NodeObservation(client, sum(_client(thread) == client for thread in threads), 0, {})

    def stores(self) -> Iterator[StoreObservation]:
        """State stores in RocksDB, which alone tells sizes."""
        sizes, rows = self._store_values(STORE_SIZES), self._store_values((STORE_ROWS,))
        for number, name in sorted({(_split(task)[0], store) for task, store in sizes}):
            held = [(task, store) for task, store in sizes if (_split(task)[0], store) == (number, name)]
            known = [rows[key] for key in held if key in rows]
            size = int(sum(sizes[key] for key in held))
            yield StoreObservation(_name(number), name, len(held), size, int(sum(known)) if len(known) == len(held) else None)

    def untold(self) -> Iterator[str]:
        """Sentences on what is missing."""
        yield "Kafka Streams' metrics tell no busy, idle or backpressured time of a task, and no times of a restart: no advice"
        if self._latency:
            yield "busy is records processed times process-latency-avg: what a task waits for while it processes counts as busy"
        else:
            yield "process-latency-avg is missing, so that there is no busy share: set metrics.recording.level=DEBUG"
        if sum(scrape.at is not None for scrape in self._scrapes) < 2:
            yield f"there are no two exports with times: rates are Kafka Streams' own means over {RATE_SECONDS} s"
        if not self._topics("records_produced_total"):
            yield "records-produced-total of topics is missing: streams between subtopologies and selectivities are not known"

    def _operator(self, number: int) -> OperatorObservation:
        rounds = [_round for scrape in self._scrapes if (_round := self._round(scrape, number)) is not None]
        windows = counter_windows(rounds) if len(rounds) > 1 else ()
        if not windows or windows[0].since_start or not windows[0].seconds:
            windows = (self._rate_window(number),)
        tasks = self._tasks_of(self._assigned, number)
        sizes = self._store_values(STORE_SIZES)
        held = [int(sum(size for (other, _), size in sizes.items() if other == task)) for task in tasks]
        return OperatorObservation(
            name=_name(number),
            key=str(number),
            nodes=tuple(_client(self._assigned[task]) for task in tasks),
            max_parallelism=len(tasks),
            bounds=None,
            slot_group="",
            windows=tuple(self._with_busy(window, tasks) for window in windows),
            start_seconds=(0.0, 0.0),
            state_sizes=tuple(held) if any(held) else (),
        )

    def _round(self, scrape: Scrape, number: int) -> CounterRound | None:
        """Counters of the tasks of a subtopology; None where the time is not told."""
        assigned = self._tasks(scrape)
        tasks = self._tasks_of(assigned, number)
        samples = [
            CounterSample((assigned[task],), 0.0, _client(assigned[task]), counters, None, 0.0, 0.0)
            for task, counters in zip(tasks, self._counters(scrape, tasks), strict=True)
        ]
        return CounterRound(scrape.at, tuple(samples)) if samples and scrape.at is not None else None

    def _counters(self, scrape: Scrape, tasks: Sequence[str]) -> list[tuple[int, int, int, int]]:
        """Records in and out, bytes in and out, of each task."""
        names = (PROCESSED, *(f"{TOPIC}{what}_total" for what in ("records_produced", "bytes_consumed", "bytes_produced")))
        processed, produced, consumed, sent = (self._by_task(scrape, name) for name in names)
        return [
            (int(processed[task]), int(produced.get(task, 0.0)), int(consumed.get(task, 0.0)), int(sent.get(task, 0.0)))
            for task in tasks
        ]

    def _rate_window(self, number: int) -> OperatorWindow:
        """A window from the rates that Kafka Streams tells."""
        rates = self._by_task(self._last, RATE)
        tasks = self._tasks_of(self._assigned, number)
        if any(task not in rates for task in tasks):
            why = "lacks process-rate of tasks and has no two rounds with times; export twice as JSON, or process-rate too"
            raise EngineError(self._source, why)
        totals = self._counters(self._last, tasks)
        subtasks = []
        for task, counters in zip(tasks, totals, strict=True):
            records = rates[task] * RATE_SECONDS  # and of the other counters the same share
            share = records / counters[0] if counters[0] else 0.0
            sent, read, written = (round(counter * share) for counter in counters[1:])
            subtasks.append(SubtaskWindow(_client(self._assigned[task]), round(records), sent, read, written, None, 0.0, 0.0))
        return OperatorWindow(RATE_SECONDS, tuple(subtasks))

    def _with_busy(self, window: OperatorWindow, tasks: Sequence[str]) -> OperatorWindow:
        """The window with busy time, where the time that a record takes is known of all tasks."""
        if window.parallelism != len(tasks) or any(task not in self._latency for task in tasks):
            return window
        subtasks = []
        for subtask, task in zip(window.subtasks, tasks, strict=True):
            busy = min(window.seconds, subtask.records_in * self._latency[task] * NANOSECONDS)
            subtasks.append(replace(subtask, busy=busy, idle=window.seconds - busy))
        return replace(window, subtasks=tuple(subtasks))

    def _tasks(self, scrape: Scrape) -> Tasks:
        """The thread of each task of the application."""
        assigned: Tasks = {}
        for labels, _ in scrape.named(PROCESSED):
            thread, task = labels["thread_id"], labels["task_id"]
            if _application(thread) != self._application:
                continue
            if assigned.setdefault(task, thread) != thread:
                why = f"task {task} is on {assigned[task]} and on {thread} at once; export after tasks have been assigned again"
                raise EngineError(self._source, why)
        return assigned

    def _tasks_of(self, assigned: Mapping[str, str], number: int) -> list[str]:
        """Tasks of a subtopology, in the order of their partitions."""
        return sorted((task for task in assigned if _split(task)[0] == number), key=_split)

    def _by_task(self, scrape: Scrape, metric: str) -> dict[str, float]:
        """Sums of a metric by task, over whatever else it is told apart by."""
        totals: dict[str, float] = {}
        for labels, value in scrape.named(metric):
            if _application(labels["thread_id"]) == self._application:
                totals[labels["task_id"]] = totals.get(labels["task_id"], 0.0) + value
        return totals

    def _topics(self, what: str) -> list[tuple[str, str]]:
        """Tasks and topics of which there is a count."""
        return [
            (labels["task_id"], labels.get("topic_name", labels.get("topic", "")))
            for labels, _ in self._last.named(TOPIC + what)
            if labels["task_id"] in self._assigned
        ]

    def _store_values(self, metrics: Sequence[str]) -> dict[tuple[str, str], float]:
        """Sums of metrics by task and state store, whose label is called after its kind."""
        totals: dict[tuple[str, str], float] = {}
        for metric in metrics:
            for labels, value in self._last.named(metric):
                store = next((text for name, text in labels.items() if name.endswith("state_id")), "")
                if labels["task_id"] in self._assigned:
                    key = labels["task_id"], store
                    totals[key] = totals.get(key, 0.0) + value
        return totals


def _split(task: str) -> tuple[int, int]:
    """Subtopology and partition of a task; where topologies have names, these come first."""
    subtopology, partition = task.rsplit("_", 1)
    return int(subtopology.rpartition("__")[2]), int(partition)


def _name(number: int) -> str:
    return f"subtopology {number}"


def _application(thread: str) -> str:
    match = THREAD.match(thread)
    return match["application"] if match else thread


def _client(thread: str) -> str:
    match = THREAD.match(thread)
    return match["client"] if match else thread
