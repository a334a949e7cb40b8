"""Summary of a log of events: the tasks of an operator, their load over time, and the nodes that it needs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow
from numpy.typing import ArrayLike
from pyarrow import parquet

from edrp.core.arrays import Floats, Ints
from edrp.core.errors import Fault, InvalidInstanceError
from edrp.core.files import write_whole, writing
from edrp.datasets.migration.node_counts import NodeRule, TransitionCounts
from edrp.migration.policy import MigrationPolicyProblem
from edrp.migration.single_step import MigrationProblem

Measure = Literal["events", "bytes"]
State = Literal["keys", "window"]

TRACE_HEAD = "trace.json"
TRACE_FORMAT = 1


@dataclass(frozen=True, slots=True)
class TraceSettings:
    """Settings by which events are summarised.

    Attributes
    ----------
    tasks
        m, number of tasks that keys are hashed to.
    interval
        Seconds; one number of nodes for each.
    low, high
        Least and greatest number of nodes.
    capacity
        Load that a node carries in an interval; None spreads the observed loads over `low` … `high`.
    outliers
        Share of the intervals with the least, and with the greatest load, that the spreading does not look at.
    work
        Measure of load: "events", or "bytes" where events have sizes.
    state
        State of a task: "keys", its distinct keys times `bytes_each`; or "window", the bytes of its events in the last
        `window` seconds (where events have no sizes, their number times `bytes_each`).
    bytes_each
        Bytes of state of each key or event.
    window
        Seconds, rounded up to whole intervals.
    malformed_limit
        Events that may be unreadable: a share if below 1, else a number.

    Raises
    ------
    InvalidInstanceError
        All values that cannot be used.
    """

    tasks: int = 64
    interval: float = 3600.0
    low: int = 8
    high: int = 16
    capacity: float | None = None
    outliers: float = 0.0
    work: Measure = "events"
    state: State = "keys"
    bytes_each: float = 100.0
    window: float = 3600.0
    malformed_limit: float = 0.01

    def __post_init__(self) -> None:
        rules: list[tuple[str, bool, str]] = [
            ("tasks", 1 <= self.tasks <= 2**20, "must lie between 1 and 1048576"),
            ("interval", 0 < self.interval < np.inf, "must be a positive number of seconds"),
            ("low", self.low >= 1, "must be at least 1"),
            ("high", self.high >= self.low, f"must not be below low, {self.low}"),
            ("capacity", self.capacity is None or 0 < self.capacity < np.inf, "must be positive"),
            ("outliers", 0 <= self.outliers < 0.5, "must be a share below 0.5"),
            ("work", self.work in ("events", "bytes"), "must be events or bytes"),
            ("state", self.state in ("keys", "window"), "must be keys or window"),
            ("bytes_each", 0 <= self.bytes_each < np.inf, "must be a number of bytes, not negative"),
            ("window", 0 < self.window < np.inf, "must be a positive number of seconds"),
            ("malformed_limit", 0 <= self.malformed_limit < np.inf, "must be a share below 1 or a number of events"),
        ]
        faults = [Fault(name, str(getattr(self, name)), why) for name, right, why in rules if not right]
        InvalidInstanceError.raise_if_any(faults)

    def node_rule(self, loads: ArrayLike) -> NodeRule:
        """Return the rule for the nodes of an interval, given the loads of all intervals."""
        if self.capacity is not None:
            return NodeRule.by_capacity(self.capacity, self.low, self.high)
        return NodeRule.normalised(loads, self.low, self.high, self.outliers)

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as a dictionary."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Trace:
    """Summary of a log of events over T intervals and m tasks; interval t begins at `start_times[t]`.

    Attributes
    ----------
    first
        The first interval begins at `first` · `settings.interval` seconds.
    events : shape (T,)
        Events of each interval.
    bytes : shape (T,)
        Their bytes, or None where events have no sizes.
    node_counts : shape (T,)
        Nodes that the load of each interval asks for.
    work, state_size : shape (m,)
        Work of each task over all intervals, and its state in bytes.
    keys : shape (m,)
        Distinct keys of each task, or None where they were not counted.
    transitions
        How often one number of nodes followed another.
    malformed
        Events left out, by what could not be read in them.
    loads : shape (T, m)
        Work by interval and task, or None where it was not asked for.
    """

    settings: TraceSettings
    first: int
    events: Ints
    bytes: Floats | None
    node_counts: Ints
    work: Floats
    state_size: Floats
    keys: Ints | None
    transitions: TransitionCounts
    malformed: dict[str, int]
    loads: Floats | None = None

    @property
    def start_times(self) -> Floats:
        """Seconds at which each interval begins, shape (T,)."""
        return np.arange(self.first, self.first + self.events.size, dtype=np.float64) * self.settings.interval

    @property
    def changes(self) -> Ints:
        """Intervals in which the number of nodes differs from the one before: the migrations."""
        return np.flatnonzero(np.diff(self.node_counts)) + 1

    def migration_problem(self, at: int | None = None, *, tolerance: float = 0.2, allow_empty: bool = True) -> MigrationProblem:
        """Build a migration of the trace, from an even split of the work among the nodes before it.

        Parameters
        ----------
        at
            Interval in which the number of nodes changes; default: the last one.

        Raises
        ------
        InvalidInstanceError
            When the number of nodes never changes.
        """
        if at is None and self.changes.size == 0:
            why = "is the same in all intervals, so nothing migrates; widen low … high or shorten the interval"
            raise InvalidInstanceError([Fault("node count", str(int(self.node_counts[0])), why)])
        at = int(self.changes[-1]) if at is None else at
        return MigrationProblem(
            work=tuple(self.work.tolist()),
            state_size=tuple(self.state_size.tolist()),
            intervals=even_intervals(self.work, int(self.node_counts[at - 1])),
            nodes=int(self.node_counts[at]),
            tolerance=tolerance,
            allow_empty=allow_empty,
        )

    def policy_problem(
        self,
        node_counts: Sequence[int],
        transitions: ArrayLike,
        *,
        tolerance: float = 0.2,
        discount: float = 0.8,
        allow_empty: bool = False,
    ) -> MigrationPolicyProblem:
        """Build the last migration of the trace with a view to those that will follow.

        Parameters
        ----------
        transitions : shape (k, k)
            Probabilities, estimated from `transitions`.

        Raises
        ------
        InvalidInstanceError
            When the number of nodes never changes, or the probabilities are none.
        """
        last_migration = self.migration_problem(tolerance=tolerance, allow_empty=allow_empty)
        shared = ("work", "state_size", "intervals", "nodes", "tolerance", "allow_empty")
        return MigrationPolicyProblem(
            **{name: getattr(last_migration, name) for name in shared},
            node_counts=tuple(int(count) for count in node_counts),
            transitions=tuple(tuple(row) for row in np.asarray(transitions, dtype=np.float64).tolist()),
            discount=discount,
        )


def even_intervals(work: ArrayLike, nodes: int) -> tuple[tuple[int, int], ...]:
    """Split tasks evenly among `nodes`, each boundary where the work before it comes nearest to its share.

    >>> even_intervals([1, 1, 1, 5], 2)
    ((0, 3), (3, 4))
    """
    before = np.concatenate([[0.0], np.cumsum(np.asarray(work, dtype=np.float64))])
    shares = before[-1] * np.arange(nodes + 1) / nodes
    after = np.clip(np.searchsorted(before, shares), 1, before.size - 1)
    boundaries = np.where(shares - before[after - 1] <= before[after] - shares, after - 1, after)
    boundaries[0], boundaries[-1] = 0, before.size - 1
    return tuple(pairwise(boundaries.tolist()))


def save_trace(trace: Trace, folder: str | Path) -> None:
    """Write a trace: `tasks.parquet`, `intervals.parquet`, perhaps `loads.parquet` (one row an interval), `trace.json`.

    Raises
    ------
    OSError
        When the folder cannot be written to.
    """
    path = Path(folder)
    path.mkdir(parents=True, exist_ok=True)
    (path / TRACE_HEAD).unlink(missing_ok=True)  # what is there from now on is of no trace until the head is back
    tasks: dict[str, Any] = {"task": np.arange(trace.work.size), "work": trace.work, "state_size": trace.state_size}
    intervals: dict[str, Any] = {"start": trace.start_times, "events": trace.events, "nodes": trace.node_counts}
    if trace.keys is not None:
        tasks["keys"] = trace.keys
    if trace.bytes is not None:
        intervals["bytes"] = trace.bytes
    _write(path / "tasks.parquet", tasks)
    _write(path / "intervals.parquet", intervals)
    (path / "loads.parquet").unlink(missing_ok=True)
    if trace.loads is not None:
        rows = pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(trace.loads.ravel()), trace.loads.shape[1])
        _write(path / "loads.parquet", {"work": rows})
    head = {
        "format": TRACE_FORMAT,
        "settings": trace.settings.to_dict(),
        "first": trace.first,
        "intervals": int(trace.events.size),
        "malformed": trace.malformed,
        "node_counts": list(trace.transitions.node_counts),
        "transitions": trace.transitions.counts.tolist(),
        "loads": trace.loads is not None,
    }
    write_whole(path / TRACE_HEAD, json.dumps(head, indent=2) + "\n")


def _write(path: Path, columns: dict[str, Any]) -> None:
    with writing(path) as file:
        parquet.write_table(pyarrow.table(columns), file)
