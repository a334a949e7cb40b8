"""Flink's counters as its reporter for Prometheus names them.

The same counters as those of the REST API, with names such as `flink_taskmanager_job_task_numRecordsIn` and the task, subtask and
TaskManager as labels. Streams between operators, slots, and state by operator are not among them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from edrp.engines.errors import EngineError
from edrp.engines.exports import Export
from edrp.engines.metrics import Scrape, choose_job
from edrp.engines.observation import CheckpointObservation, NodeObservation, Observation, OperatorObservation
from edrp.engines.rounds import CounterRound, CounterSample, counter_windows

TASK, JOB = "flink_taskmanager_job_task_", "flink_jobmanager_job_"
COUNTERS = ("numRecordsIn", "numRecordsOut", "numBytesIn", "numBytesOut")
TIMES = ("accumulateBusyTimeMs", "accumulateIdleTimeMs", "accumulateBackPressuredTimeMs")
MILLISECONDS = 1e-3

UNTOLD = "Flink's metrics do not tell streams, slots, bounds of replicas, times of a restart, or state by operator: no advice"


class _Task(NamedTuple):
    """A subtask in one scrape, without its counters."""

    operator: str
    key: str
    subtask: int
    attempt: str
    node: str


class FlinkPrometheusReader:
    """Reads what Flink's reporter for Prometheus exposes."""

    def recognises(self, export: Export) -> bool:
        """Whether there are metrics of Flink's tasks."""
        return any(scrape.has_prefix(TASK) for scrape in export.scrapes)

    def observe(self, export: Export, job: str | None) -> Observation:
        """Read the export.

        Raises
        ------
        EngineError
            It holds several jobs, or lacks the counters or the times that rates are computed from.
        """
        names = [labels["job_name"] for scrape in export.scrapes for labels, _ in scrape.named(TASK + COUNTERS[0])]
        name = choose_job(names, job, export.source)
        rounds: dict[str, list[CounterRound]] = {}
        keys: dict[str, str] = {}
        for scrape in export.scrapes:
            for operator, key, counter_round in _rounds(scrape, name):
                rounds.setdefault(operator, []).append(counter_round)
                keys[operator] = key
        operators = [_operator(operator, keys[operator], rounds[operator], export.source) for operator in rounds]
        nodes = sorted({node for operator in operators for node in operator.nodes})
        return Observation(
            engine="flink",
            version="",
            job=name,
            key=name,
            live=False,
            max_delay=None,
            operators=tuple(sorted(operators, key=lambda o: (any(s.records_in for s in o.windows[-1].subtasks), o.name))),
            streams=(),
            nodes=tuple(NodeObservation(node, 0, 0, {}) for node in nodes),
            checkpoints=_checkpoints(export, name),
            rescales=(),
            untold=(UNTOLD,),
        )


READER = FlinkPrometheusReader()
"""The reader, which has no state."""


def _rounds(scrape: Scrape, job: str) -> Iterator[tuple[str, str, CounterRound]]:
    """The counters of every operator of a job in one scrape, with its name and identifier.

    Scrapes in the text format have no time. The clock of the task that has run longest is as good: it runs as time does.
    """
    values: dict[_Task, dict[str, float]] = {}
    for metric in (*COUNTERS, *TIMES):
        for labels, value in scrape.named(TASK + metric):
            if labels.get("job_name") == job:
                values.setdefault(_task(labels), {})[metric] = value
    clocks = [sum(row[time] for time in TIMES) * MILLISECONDS for row in values.values() if all(time in row for time in TIMES)]
    age = max(clocks, default=0.0)
    now = age if scrape.at is None else scrape.at
    by_operator: dict[tuple[str, str], list[_Task]] = {}
    for task, row in values.items():
        if all(counter in row for counter in COUNTERS):
            by_operator.setdefault((task.operator, task.key), []).append(task)
    for (operator, key), tasks in by_operator.items():
        newest = {task.subtask: task for task in sorted(tasks, key=lambda task: task.attempt)}
        samples = tuple(_sample(newest[subtask], values[newest[subtask]], now - age) for subtask in sorted(newest))
        yield operator, key, CounterRound(now, samples)


def _task(labels: dict[str, str]) -> _Task:
    key = labels.get("task_id", labels["task_name"])
    attempt = f"{int(labels.get('task_attempt_num', 0)):09d} {labels.get('task_attempt_id', '')}"
    return _Task(labels["task_name"], key, int(labels["subtask_index"]), attempt, labels.get("tm_id", labels.get("host", "")))


def _sample(task: _Task, row: dict[str, float], started: float) -> CounterSample:
    reads, writes, bytes_in, bytes_out = (int(row[counter]) for counter in COUNTERS)
    busy, idle, backpressured = (row[time] * MILLISECONDS if time in row else None for time in TIMES)
    return CounterSample(
        (task.attempt,), started, task.node, (reads, writes, bytes_in, bytes_out), busy, idle or 0.0, backpressured or 0.0
    )


def _operator(name: str, key: str, rounds: list[CounterRound], source: str) -> OperatorObservation:
    windows = counter_windows(rounds)
    if not any(window.seconds for window in windows):
        why = f"tells no time in which operator {name!r} ran: export {TIMES[0]} too, or two answers of Prometheus's HTTP API"
        raise EngineError(source, why)
    nodes = tuple(sample.node for sample in rounds[-1].samples)
    return OperatorObservation(
        name=name,
        key=key,
        nodes=nodes,
        max_parallelism=len(nodes),
        bounds=None,
        slot_group="",
        windows=windows,
        start_seconds=(0.0, 0.0),
        state_sizes=(),
    )


def _checkpoints(export: Export, job: str) -> CheckpointObservation:
    """The last checkpoint of each scrape, newest first."""
    durations = [value * MILLISECONDS for value in _job_values(export, job, "lastCheckpointDuration")]
    sizes = _job_values(export, job, "lastCheckpointSize")
    return CheckpointObservation(None, tuple(dict.fromkeys(durations)), int(next(sizes, 0.0)), None)


def _job_values(export: Export, job: str, metric: str) -> Iterator[float]:
    """Values of a metric of the JobManager, newest first; below 0 where there is none yet."""
    for scrape in reversed(export.scrapes):
        yield from (value for labels, value in scrape.named(JOB + metric) if labels.get("job_name") == job and value >= 0)
