"""The fit of an observation: rates, service rates with intervals, capacity curves, skew, state, times to restart."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from edrp.engines.estimates import BusyPoint, Estimate, RateMethod, next_duration, service_rate
from edrp.engines.key_groups import KeyGroups, group_sizes, group_work
from edrp.engines.observation import Observation, OperatorObservation, OperatorWindow

RECENT = 20.0
"""Seconds at the end of a capture that say how things are now."""

MIN_RECORDS = 30
"""Tuples from which on a window says something about the service rate."""

BACKPRESSURED = 0.1
"""Share of time backpressured above which the job does not keep up."""

RECENT_RESCALES = 5
"""Newest rescales that say how long stopping takes now: virtual machines grow warm, and what else runs on the nodes changes."""

NO_TIME = Estimate(0.0, 0.0, 0.0)

ASSUMED_STOP = Estimate(0.3, 0.1, 1.0)
"""Seconds between stopping all replicas and deploying the first, where the engine remembers no rescale."""


@dataclass(frozen=True, slots=True)
class OperatorFit:
    """One operator.

    Attributes
    ----------
    rate : tuples/s that all replicas receive now; of a source, that they send.
    busy : share of time that the busiest replica is busy now; None where the engine does not measure it, and for sources,
        whose waiting may count as busy.
    service : tuples/s that one replica serves when it never waits, by the newest number of replicas; None as for `busy`.
    method : where the service rate is from; None where there is none.
    capacities : tuples/s that so many replicas serve together, by their number, never falling; one entry for each number that
        was seen.
    skew : tuples of the busiest replica over the mean of all.
    selectivity : tuples out per tuple in.
    state_sizes : bytes by replica in the last checkpoint.
    backpressured : share of time that the replica that waits most waits for those after it.
    groups : key groups of an operator whose input is split by keys, if their state is known; None otherwise.
    """

    name: str
    source: bool
    replicas: int
    rate: float
    busy: float | None
    service: Estimate | None
    method: RateMethod | None
    capacities: tuple[tuple[int, float], ...]
    skew: float
    selectivity: float
    state_sizes: tuple[int, ...]
    backpressured: float
    groups: KeyGroups | None = None

    @property
    def state_size(self) -> int:
        """Bytes of all replicas."""
        return sum(self.state_sizes)


@dataclass(frozen=True, slots=True)
class StreamFit:
    """A stream: tuples/s, and bytes of a tuple."""

    source: str
    target: str
    rate: float
    bytes_per_tuple: float


@dataclass(frozen=True, slots=True)
class JobFit:
    """A job.

    Attributes
    ----------
    restart : seconds without processing before state is restored: stopping and deploying.
    restore : seconds of restoring the state of the slowest replica.
    checkpoint : seconds that a checkpoint takes; None where none was seen.
    remarks : what limits the use of the numbers, in sentences.
    """

    observation: Observation
    operators: tuple[OperatorFit, ...]
    streams: tuple[StreamFit, ...]
    restart: Estimate
    restore: Estimate
    checkpoint: Estimate | None
    remarks: tuple[str, ...]


def fit_job(observation: Observation, group_states: Mapping[str, Sequence[int]] | None = None) -> JobFit:
    """Fit all that an observation says.

    Parameters
    ----------
    observation
        The job.
    group_states
        Bytes by key group of the operators whose key groups a checkpoint tells. If there are any, every operator whose input
        is split by keys has its key groups: the load of a replica follows the state of those that it holds.
    """
    operators = tuple(_fit_operator(operator, observation, group_states or {}) for operator in observation.operators)
    restart, restore = _restart_and_restore(observation)
    return JobFit(
        observation,
        operators,
        tuple(_streams(observation, {operator.name: operator for operator in operators})),
        restart,
        restore,
        next_duration(observation.checkpoints.durations),
        tuple(_remarks(observation, operators)),
    )


def _fit_operator(
    operator: OperatorObservation, observation: Observation, group_states: Mapping[str, Sequence[int]]
) -> OperatorFit:
    source = all(stream.target != operator.name for stream in observation.streams)
    recent = _recent(operator.windows)
    received = sum(_total_rate(window, out=source) * _weight(window) for window in recent)
    weight = sum(map(_weight, recent))
    service, method = (None, None) if source else _service(operator.windows, recent[-1].parallelism)
    loads = [sum(window.subtasks[u].records_in for window in recent) for u in range(recent[-1].parallelism)]
    clocks = [sum(window.subtasks[u].clock for window in recent) for u in range(recent[-1].parallelism)]
    busy = [sum(window.subtasks[u].busy or 0.0 for window in recent) for u in range(recent[-1].parallelism)]
    waits = [sum(window.subtasks[u].backpressured for window in recent) for u in range(recent[-1].parallelism)]
    shares = [part / clock for part, clock in zip(busy, clocks, strict=True) if clock > 0]
    hashed = any(stream.target == operator.name and stream.partitioning == "hash" for stream in observation.streams)
    sent = sum(subtask.records_out for window in recent for subtask in window.subtasks)
    return OperatorFit(
        name=operator.name,
        source=source,
        replicas=operator.parallelism,
        rate=received / weight if weight else 0.0,
        busy=max(shares) if shares and not source else None,
        service=service,
        method=method,
        capacities=() if source else tuple(_capacities(operator.windows)),
        skew=max(loads) * len(loads) / sum(loads) if hashed and sum(loads) > 0 else 1.0,
        selectivity=1.0 if source else sent / sum(loads) if sum(loads) else 0.0,
        state_sizes=operator.state_sizes,
        backpressured=max((part / clock for part, clock in zip(waits, clocks, strict=True) if clock > 0), default=0.0),
        groups=_key_groups(operator, loads, group_states) if hashed and group_states else None,
    )


def _key_groups(operator: OperatorObservation, loads: Sequence[int], group_states: Mapping[str, Sequence[int]]) -> KeyGroups:
    groups = operator.max_parallelism
    sizes = group_states.get(operator.name) or group_sizes(operator.state_sizes or [0], groups)
    return KeyGroups(tuple(group_work(loads, groups, sizes)), tuple(map(float, sizes)))


def _recent(windows: Sequence[OperatorWindow]) -> list[OperatorWindow]:
    """The last windows with the newest number of replicas, over at least `RECENT` seconds where there are as many."""
    recent: list[OperatorWindow] = []
    for window in reversed(windows):
        enough = sum(map(_weight, recent)) >= RECENT
        if recent and (enough or window.parallelism != recent[0].parallelism):
            break
        recent.insert(0, window)
    return recent


def _weight(window: OperatorWindow) -> float:
    """Seconds of a window: mean of the replicas' own clocks, else the engine's."""
    clocks = [subtask.clock for subtask in window.subtasks]
    return sum(clocks) / len(clocks) if all(clocks) else window.seconds


def _total_rate(window: OperatorWindow, *, out: bool) -> float:
    """Tuples/s of all replicas, each by its own clock."""
    records = [subtask.records_out if out else subtask.records_in for subtask in window.subtasks]
    seconds = [subtask.clock or window.seconds for subtask in window.subtasks]
    return sum(count / time for count, time in zip(records, seconds, strict=True) if time > 0)


def _points(windows: Sequence[OperatorWindow], replicas: int) -> list[BusyPoint]:
    """How busy each of so many replicas was in each window."""
    return [
        BusyPoint(subtask.records_in / subtask.clock, subtask.busy / subtask.clock, replica)
        for window in windows
        if window.parallelism == replicas
        for replica, subtask in enumerate(window.subtasks)
        if subtask.busy and subtask.records_in >= MIN_RECORDS
    ]


def _service(windows: Sequence[OperatorWindow], replicas: int) -> tuple[Estimate | None, RateMethod | None]:
    points = _points(windows, replicas)
    return service_rate(points) if points else (None, None)


def _capacities(windows: Sequence[OperatorWindow]) -> Iterator[tuple[int, float]]:
    """Capacity of each number of replicas that was seen; where more replicas seem to serve less, as much as fewer."""
    reached = 0.0
    for replicas in sorted({window.parallelism for window in windows}):
        service, _ = _service(windows, replicas)
        if service is not None:
            reached = max(reached, replicas * service.value)
            yield replicas, reached


def _streams(observation: Observation, fits: dict[str, OperatorFit]) -> Iterator[StreamFit]:
    """Rates of streams: what a target receives where it has one input, else what the source sends; the rest is split evenly."""
    inputs = {name: [stream for stream in observation.streams if stream.target == name] for name in fits}
    outputs = {name: [stream for stream in observation.streams if stream.source == name] for name in fits}
    sent = {name: fit.rate * fit.selectivity for name, fit in fits.items()}
    tuple_sizes = {operator.name: _tuple_size(operator.windows[-1]) for operator in observation.operators}
    for stream in observation.streams:
        others = [other for other in inputs[stream.target] if other != stream]
        if not others:
            rate = fits[stream.target].rate
        elif len(outputs[stream.source]) == 1:
            rate = sent[stream.source]
        else:
            known = [other for other in others if len(outputs[other.source]) == 1]
            left = fits[stream.target].rate - sum(sent[other.source] for other in known)
            rate = max(0.0, left) / (len(others) + 1 - len(known))
        yield StreamFit(stream.source, stream.target, rate, tuple_sizes[stream.target])


def _tuple_size(window: OperatorWindow) -> float:
    """Bytes per tuple that an operator receives: what is sent lies in buffers for a while before it is counted."""
    records = sum(subtask.records_in for subtask in window.subtasks)
    return sum(subtask.bytes_in for subtask in window.subtasks) / records if records else 0.0


def _restart_and_restore(observation: Observation) -> tuple[Estimate, Estimate]:
    """By the last start of the operator that took longest, and by how long remembered rescales stopped the job before that."""
    remembered = [rescale.stopped for rescale in observation.rescales if rescale.stopped is not None]
    stopped = next_duration(remembered[:RECENT_RESCALES]) or ASSUMED_STOP
    seconds = max((operator.start_seconds for operator in observation.operators), key=sum)
    deploying, restoring = (next_duration([part]) or NO_TIME for part in seconds)
    restart = Estimate(stopped.value + deploying.value, stopped.low + deploying.low, stopped.high + deploying.high)
    return restart, restoring


def _remarks(observation: Observation, operators: Sequence[OperatorFit]) -> Iterator[str]:
    for operator in operators:
        if operator.method == "understated":
            busy = f"{operator.busy or 0:.0%}"
            yield f"capacity of {operator.name} is probably understated: it was {busy} busy; capture at a higher load"
        if operator.source and operator.backpressured > BACKPRESSURED:
            yield f"{operator.name} waits for those after it: more is offered than the {operator.rate:.6g} tuples/s that it sends"
        if not operator.source and operator.service is None:
            yield f"service rate of {operator.name} is not known: it received too little, or has no busy time; its replicas stay"
        if operator.groups is not None:
            yield f"work of the key groups of {operator.name} that a replica holds is taken to follow their state"
        elif operator.skew > 1 and operator.replicas > 1:
            yield f"the busiest replica of {operator.name} receives {operator.skew:.3g} times the mean; that is taken to stay so"
    if any(window.since_start for operator in observation.operators for window in operator.windows):
        yield "there is one round of counters only, so that rates are means since the start; capture for more --seconds"
    if not any(rescale.stopped is not None for rescale in observation.rescales):
        yield "no rescale is remembered (web.adaptive-scheduler.rescale-history.size, from 2.3 on): the time to stop is assumed"
