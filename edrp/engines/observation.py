"""Observations of a running job, in words that no engine has for itself.

Rates are differences of counters over the task's own clock, which is the sum of its busy, idle and backpressured time:
counters and clock are read together, whereas the time of day at which an engine hands them out lags behind.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from edrp.placement.deployment import Deployment

Partitioning = Literal["forward", "hash", "rebalance", "broadcast", "custom", "global"]
"""Partitioning of a stream's tuples among replicas; with "broadcast" every replica receives all of them, with "global" the first.
With "custom" code of the job decides."""


@dataclass(frozen=True, slots=True)
class SubtaskWindow:
    """The work of one replica over a while.

    Attributes
    ----------
    records_in, records_out, bytes_in, bytes_out : differences of counters.
    busy, idle, backpressured : seconds of the task's own clock; busy is None where the engine does not measure it.
    """

    node: str
    records_in: int
    records_out: int
    bytes_in: int
    bytes_out: int
    busy: float | None
    idle: float
    backpressured: float

    @property
    def clock(self) -> float:
        """Seconds that the task's own clock ran; 0 where it is not known."""
        return 0.0 if self.busy is None else self.busy + self.idle + self.backpressured


@dataclass(frozen=True, slots=True)
class OperatorWindow:
    """The work of all replicas of an operator between two rounds, with one number of replicas.

    Attributes
    ----------
    seconds : between the rounds by the engine's clock, for replicas without a clock of their own.
    subtasks : one per replica, in the engine's order.
    since_start : whether the window begins with the start of the replicas, for lack of a second round.
    """

    seconds: float
    subtasks: tuple[SubtaskWindow, ...]
    since_start: bool = False

    @property
    def parallelism(self) -> int:
        """Number of replicas."""
        return len(self.subtasks)

    @property
    def clock(self) -> float:
        """Seconds of the window: mean of the replicas' own clocks, else the engine's."""
        clocks = [subtask.clock for subtask in self.subtasks]
        return sum(clocks) / len(clocks) if all(clocks) else self.seconds

    def rate(self, *, out: bool) -> float:
        """Tuples/s that all replicas receive, or send if `out`, each by its own clock."""
        records = [subtask.records_out if out else subtask.records_in for subtask in self.subtasks]
        seconds = [subtask.clock or self.seconds for subtask in self.subtasks]
        return sum(count / time for count, time in zip(records, seconds, strict=True) if time > 0)


def mean_rate(windows: Sequence[OperatorWindow], *, out: bool) -> float:
    """Tuples/s that all replicas receive in these windows, or send if `out`; 0 where no time passes."""
    clock = sum(window.clock for window in windows)
    return sum(window.rate(out=out) * window.clock for window in windows) / clock if clock else 0.0


@dataclass(frozen=True, slots=True)
class BacklogSample:
    """Statement of a source about the input that it has not read, at one time.

    Attributes
    ----------
    at : seconds by the engine's clock.
    pending : tuples of all replicas that wait to be read; None where the source does not tell.
    lag : seconds between a tuple's event time and when it is emitted, mean of the replicas; None where it does not tell.
    """

    at: float
    pending: float | None
    lag: float | None


@dataclass(frozen=True, slots=True)
class OperatorObservation:
    """One operator; where the engine chains operators, one chain.

    Attributes
    ----------
    name : unique in the job.
    key : the engine's identifier.
    nodes : node of each replica now.
    max_parallelism : most replicas that the engine allows.
    bounds : fewest and most replicas that are asked for now; None where the engine has no such bounds.
    slot_group : operators of one group share slots.
    windows : in the order of time; with another number of replicas after a rescale.
    start_seconds : deploying the slowest replica, and then initialising it, which restores its state.
    state_sizes : bytes in the last checkpoint, by replica; empty where there is none.
    names : whole names of the operators that are chained in it, as far as the engine tells them.
    chained : number of these operators.
    asynchronous : whether it is known to wait for answers of others while it counts as idle.
    workers : workers between which its tasks can move while it runs, with and without tasks; the replicas are those with
        tasks then. None where tasks cannot move.
    backlog : of a source, what it says about its backlog, in the order of time; empty where it says nothing.
    """

    name: str
    key: str
    nodes: tuple[str, ...]
    max_parallelism: int
    bounds: tuple[int, int] | None
    slot_group: str
    windows: tuple[OperatorWindow, ...]
    start_seconds: tuple[float, float]
    state_sizes: tuple[int, ...]
    names: tuple[str, ...] = ()
    chained: int = 1
    asynchronous: bool = False
    workers: int | None = None
    backlog: tuple[BacklogSample, ...] = ()

    @property
    def parallelism(self) -> int:
        """Number of replicas now."""
        return len(self.nodes)


@dataclass(frozen=True, slots=True)
class StreamObservation:
    """A stream between two operators; `edges` is the number of edges that it stands for, each with all of its tuples."""

    source: str
    target: str
    partitioning: Partitioning
    edges: int = 1


@dataclass(frozen=True, slots=True)
class NodeObservation:
    """A node, its slots, those of them that are free, and amounts of named resources that it advertises."""

    name: str
    slots: int
    free_slots: int
    resources: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class CheckpointObservation:
    """The checkpoints of a job.

    Attributes
    ----------
    interval : seconds between checkpoints; None where none are made.
    durations : seconds that the recorded ones took, newest first.
    state_size : bytes of the last complete one.
    completed_at : when it was complete, in seconds since 1970; None where there is none.
    """

    interval: float | None
    durations: tuple[float, ...]
    state_size: int
    completed_at: float | None


@dataclass(frozen=True, slots=True)
class RescaleObservation:
    """A change of the numbers of replicas that the engine remembers.

    Attributes
    ----------
    seconds : from the request to running again, waiting included.
    stopped : seconds of it without processing before replicas are deployed; None where the engine does not tell.
    before, after : replicas by the engine's identifier of the operator; empty where it does not tell.
    """

    seconds: float
    stopped: float | None
    before: Mapping[str, int]
    after: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Observation:
    """A running job, as far as a capture shows it.

    Attributes
    ----------
    live : whether the engine changes numbers of replicas while the job runs; placement cannot be chosen then.
    max_delay : seconds that a rescale waits for a checkpoint at most; None where the engine does not tell.
    follows_slots : whether the engine itself gives the job as many replicas as there are slots, and refuses other numbers.
    finished : bounds of the replicas of operators that have finished and are left out, by the engine's identifier.
    remarks : what limits the use of the observation, in sentences.
    """

    engine: str
    version: str
    job: str
    key: str
    live: bool
    max_delay: float | None
    operators: tuple[OperatorObservation, ...]
    streams: tuple[StreamObservation, ...]
    nodes: tuple[NodeObservation, ...]
    checkpoints: CheckpointObservation
    rescales: tuple[RescaleObservation, ...]
    follows_slots: bool = False
    finished: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()

    @property
    def deployment(self) -> Deployment:
        """The deployment that runs."""
        return Deployment({operator.name: operator.nodes for operator in self.operators})

    @property
    def own_slots(self) -> dict[str, int]:
        """Slots of each node that the job itself holds: of every slot-sharing group as many as its largest operator there."""
        slots: dict[str, dict[str, int]] = {node.name: {} for node in self.nodes}
        for operator in self.operators:
            for name, count in Counter(operator.nodes).items():
                groups = slots.setdefault(name, {})
                groups[operator.slot_group] = max(count, groups.get(operator.slot_group, 0))
        return {name: sum(groups.values()) for name, groups in slots.items()}

    @property
    def open_slots(self) -> dict[str, int]:
        """Slots of each node that the job may have: its own and those that are free, but none of other jobs."""
        own_slots = self.own_slots
        return {node.name: min(node.slots, own_slots[node.name] + node.free_slots) for node in self.nodes}
