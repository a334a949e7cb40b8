"""The fit of an observation: rates, loads, service rates with intervals, capacity curves, skew, state, times to restart."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from edrp.engines.estimates import BUSY_ENOUGH, BusyPoint, Estimate, RateMethod, next_duration, service_rate
from edrp.engines.key_groups import KeyGroups, group_sizes, group_work
from edrp.engines.observation import Observation, OperatorObservation, OperatorWindow, StreamObservation, mean_rate

RECENT = 20.0
"""Seconds at the end of a capture that say how things are now."""

MIN_RECORDS = 30
"""Tuples from which on a window says something about the service rate."""

BACKPRESSURED = 0.1
"""Share of time backpressured above which the job does not keep up."""

RECENT_RESCALES = 5
"""Newest rescales that say how long stopping takes now: virtual machines grow warm, and what else runs on the nodes changes."""

FEW_GROUPS = 8
"""Key groups per replica below which replicas receive unequal loads for the number of their key groups alone: 2 and 1 of 4, or 9
and 8 of 128. From there on the skew of keys is larger than that."""

NO_TIME_LEFT = 0.99
"""Share of time busy of replicas that what piles up before an operator is for: one with time left has received all of its own."""

UNRELATED = 2.0
"""Tuples per busy second of a replica that has time left, over those of one that has none, from which on busy time says nothing
before an operator is full: waiting counts as busy at most, which makes this ratio smaller than 1."""

NO_TIME = Estimate(0.0, 0.0, 0.0)

ASSUMED_STOP = Estimate(0.3, 0.1, 1.0)
"""Seconds between stopping all replicas and deploying the first, where the engine remembers no rescale."""

SATURATED = 0.98
"""Share of time busy from which on an operator has nothing to spare."""

DISAGREEMENT = 0.02
"""Share by which a saturated operator must receive less than is sent to it before the rest counts as piling up in buffers."""


@dataclass(frozen=True, slots=True)
class OperatorFit:
    """Estimates for one operator.

    Attributes
    ----------
    rate : tuples/s that all replicas receive now; of a source, that they send.
    load : tuples/s that they would receive if the operator and those before it kept up; of a broadcast, each tuple counts once.
    broadcast : tuples/s of the load that every replica receives.
    first : tuples/s of the load that the first replica receives, however many there are.
    highest : most tuples/s that a replica received in a window.
    busy : share of time that the busiest replica is busy now; None where the engine does not measure it or it says nothing: of
        asynchronous operators that are not full, and of sources that are chained with nothing, whose waiting may count as busy.
    service : tuples/s that one replica serves when it never waits, by the newest number of replicas; None as for `busy`.
        Those of a source are tuples that it sends.
    method : where the service rate is from; None where there is none.
    capacities : tuples/s that replicas serve together, by their number, never falling; one entry for each number seen.
    skew : tuples of the busiest replica over the mean of all, where keys or the replicas before it decide what each receives.
    selectivity : tuples out per tuple in.
    state_sizes : bytes by replica in the last checkpoint.
    backpressured : share of time that the replica that waits most waits for those after it.
    groups : key groups of an operator whose input is split by keys, if their state is known or a replica holds few; None
        otherwise.
    asynchronous : whether busy time says nothing before all time is busy.
    unbounded : whether more may be offered to it than its load, since a source cannot send more.
    """

    name: str
    source: bool
    replicas: int
    rate: float
    load: float
    broadcast: float
    highest: float
    busy: float | None
    service: Estimate | None
    method: RateMethod | None
    capacities: tuple[tuple[int, float], ...]
    skew: float
    selectivity: float
    state_sizes: tuple[int, ...]
    backpressured: float
    groups: KeyGroups | None = None
    asynchronous: bool = False
    unbounded: bool = False
    first: float = 0.0

    @property
    def undivided(self) -> float:
        """Tuples/s of the load that the busiest replica receives, however many there are."""
        return min(self.load, self.broadcast + self.first)

    def received(self, replicas: int) -> float:
        """Tuples/s that `replicas` replicas together would receive, copies of what is broadcast included."""
        return self.load + (replicas - 1) * self.broadcast

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
    passing = {operator.name: _passing(operator, observation) for operator in observation.operators}
    loads = _Flow(observation, passing).loads()
    operators = tuple(_fit_operator(operator, observation, loads, group_states or {}) for operator in observation.operators)
    # Estimate restart and restore (s) from the slowest operator's last start and from the downtimes of remembered rescales.
    remembered = [rescale.stopped for rescale in observation.rescales if rescale.stopped is not None]
    stopped = next_duration(remembered[:RECENT_RESCALES]) or ASSUMED_STOP
    seconds = max((operator.start_seconds for operator in observation.operators), key=sum)
    deploying, restoring = (next_duration([part]) or NO_TIME for part in seconds)
    restart = Estimate(stopped.value + deploying.value, stopped.low + deploying.low, stopped.high + deploying.high)
    tuple_sizes = {operator.name: _tuple_size(operator.windows[-1]) for operator in observation.operators}
    return JobFit(
        observation,
        operators,
        tuple(StreamFit(s.source, s.target, s.edges * rate, tuple_sizes[s.target]) for s, rate in loads.streams.items()),
        restart,
        restoring,
        next_duration(observation.checkpoints.durations),
        tuple(_remarks(observation, operators, "follow their state" if group_states else "be even")),
    )


class _Recent:
    """Current counters of an operator: sums over the last windows, by replica."""

    def __init__(self, operator: OperatorObservation, *, source: bool) -> None:
        self._windows, self._source = _recent(operator.windows), source
        self._replicas = range(self._windows[-1].parallelism)
        self.received = [sum(window.subtasks[u].records_in for window in self._windows) for u in self._replicas]
        self.sent = sum(subtask.records_out for window in self._windows for subtask in window.subtasks)
        clocks = [sum(window.subtasks[u].clock for window in self._windows) for u in self._replicas]
        busy = [sum(window.subtasks[u].busy or 0.0 for window in self._windows) for u in self._replicas]
        waits = [sum(window.subtasks[u].backpressured for window in self._windows) for u in self._replicas]
        self.shares = [part / clock if clock > 0 else None for part, clock in zip(busy, clocks, strict=True)]
        self.backpressured = max((part / clock for part, clock in zip(waits, clocks, strict=True) if clock > 0), default=0.0)

    @property
    def rate(self) -> float:
        """Tuples/s that all replicas receive; of a source, that they send."""
        return mean_rate(self._windows, out=self._source)

    @property
    def selectivity(self) -> float:
        """Tuples out per tuple in; what a source sends is its rate."""
        total = sum(self.received)
        return 1.0 if self._source else self.sent / total if total else 0.0

    @property
    def busy(self) -> float | None:
        """Share of time that the busiest replica is busy."""
        return max((share for share in self.shares if share is not None), default=None)

    def divided_tuples(self, growth: float, broadcast: float, first: float) -> list[float]:
        """Tuples of each replica that are divided, with those that wait for full ones: not what all receive, or the first."""
        total, rate = sum(self.received), self.rate
        full = [share is not None and share >= NO_TIME_LEFT for share in self.shares]
        waiting = total * (growth - 1.0) / max(1, sum(full))
        fixed = [total * (broadcast + first * (u == 0)) / rate if rate else 0.0 for u in self._replicas]
        return [max(0.0, r + waiting * late - alike) for r, late, alike in zip(self.received, full, fixed, strict=True)]


def _is_source(operator: OperatorObservation, observation: Observation) -> bool:
    return all(stream.target != operator.name for stream in observation.streams)


def _passing(operator: OperatorObservation, observation: Observation) -> Passing:
    source = _is_source(operator, observation)
    recent, chained = _Recent(operator, source=source), operator.chained > 1
    busy = recent.busy or 0.0
    held_back = source and (recent.backpressured > BACKPRESSURED or (chained and busy >= SATURATED))
    return Passing(recent.rate, recent.rate * recent.selectivity, busy, operator.parallelism, held_back)


def _fit_operator(
    operator: OperatorObservation, observation: Observation, loads: Loads, group_states: Mapping[str, Sequence[int]]
) -> OperatorFit:
    source = _is_source(operator, observation)
    recent = _Recent(operator, source=source)
    service = None if source and operator.chained == 1 else _Service(operator, out=source)
    growth, broadcast, first = loads.growth[operator.name], loads.broadcast[operator.name], loads.first[operator.name]
    partitionings = {stream.partitioning for stream in observation.streams if stream.target == operator.name}
    hashed, uneven = "hash" in partitionings, bool(partitionings & {"hash", "forward", "custom"})
    divided = recent.divided_tuples(growth, broadcast, first)
    few = operator.max_parallelism < FEW_GROUPS * operator.parallelism
    estimate, method = service.now if service else (None, None)
    return OperatorFit(
        name=operator.name,
        source=source,
        replicas=operator.parallelism,
        rate=recent.rate,
        load=max(broadcast, recent.rate * growth - (operator.parallelism - 1) * broadcast),
        broadcast=broadcast,
        highest=_highest(operator.windows, out=source),
        busy=recent.busy if service and service.says_busy(recent.busy) else None,
        service=estimate,
        method=method,
        capacities=tuple(service.capacities()) if service else (),
        skew=max(divided) * len(divided) / sum(divided) if uneven and sum(divided) > 0 else 1.0,
        selectivity=recent.selectivity,
        state_sizes=operator.state_sizes,
        backpressured=recent.backpressured,
        groups=_key_groups(operator, divided, group_states) if hashed and (group_states or few) else None,
        asynchronous=service is not None and service.asynchronous,
        unbounded=operator.name in loads.unbounded,
        first=first,
    )


def _key_groups(operator: OperatorObservation, loads: Sequence[float], group_states: Mapping[str, Sequence[int]]) -> KeyGroups:
    groups = operator.max_parallelism
    sizes = group_states.get(operator.name) or group_sizes(operator.state_sizes or [0], groups)
    return KeyGroups(tuple(group_work(loads, groups, sizes)), tuple(map(float, sizes)))


def _recent(windows: Sequence[OperatorWindow]) -> list[OperatorWindow]:
    """The last windows with the newest number of replicas, over at least `RECENT` seconds where there are as many."""
    recent: list[OperatorWindow] = []
    for window in reversed(windows):
        enough = sum(earlier.clock for earlier in recent) >= RECENT
        if recent and (enough or window.parallelism != recent[0].parallelism):
            break
        recent.insert(0, window)
    return recent


def _highest(windows: Sequence[OperatorWindow], *, out: bool) -> float:
    """Most tuples/s that a replica took in, or that a source sent, in a window."""
    counts = (
        (subtask.records_out if out else subtask.records_in, subtask.clock or window.seconds)
        for window in windows
        for subtask in window.subtasks
    )
    return max((count / seconds for count, seconds in counts if seconds > 0), default=0.0)


class _Service:
    """Service rates of an operator's replicas, from their busy time in each window; a source serves the tuples that it sends."""

    def __init__(self, operator: OperatorObservation, *, out: bool) -> None:
        self._windows, self._out = operator.windows, out
        self._replicas = operator.windows[-1].parallelism
        points = [point for replicas in self._numbers for point in self._points(replicas)]
        full = [point.rate for point in points if point.busy >= SATURATED]
        idle = [point.rate / point.busy for point in points if point.busy < BUSY_ENOUGH]
        related = not full or not idle or max(idle) <= UNRELATED * max(full)
        self.asynchronous = operator.asynchronous or not related

    @property
    def now(self) -> tuple[Estimate | None, RateMethod | None]:
        """Service rate of a replica at the present number of replicas; at any number if the operator is asynchronous."""
        numbers = self._numbers if self.asynchronous else [self._replicas]
        points = [point for replicas in numbers for point in self._usable(replicas)]
        return service_rate(points) if points else (None, None)

    def says_busy(self, busy: float | None) -> bool:
        """Whether such a share of time busy says something."""
        return not self.asynchronous or (busy or 0.0) >= SATURATED

    def capacities(self) -> Iterator[tuple[int, float]]:
        """Capacity of each number of replicas that was seen; where more replicas seem to serve less, as much as fewer."""
        reached = 0.0
        for replicas in self._numbers:
            points = self._usable(replicas)
            if points:
                reached = max(reached, replicas * service_rate(points)[0].value)
                yield replicas, reached

    @property
    def _numbers(self) -> list[int]:
        return sorted({window.parallelism for window in self._windows})

    def _usable(self, replicas: int) -> list[BusyPoint]:
        """Return the points of `_points` whose busy share says something about the service rate."""
        return [point for point in self._points(replicas) if self.says_busy(point.busy)]

    def _points(self, replicas: int) -> list[BusyPoint]:
        """Return rate and busy share of each replica in each window that had `replicas` replicas."""
        counted = (
            (subtask.records_out if self._out else subtask.records_in, subtask, replica)
            for window in self._windows
            if window.parallelism == replicas
            for replica, subtask in enumerate(window.subtasks)
        )
        return [
            BusyPoint(count / subtask.clock, subtask.busy / subtask.clock, replica)
            for count, subtask, replica in counted
            if subtask.busy and count >= MIN_RECORDS
        ]


def _tuple_size(window: OperatorWindow) -> float:
    """Bytes per tuple that an operator receives: what is sent lies in buffers for a while before it is counted."""
    records = sum(subtask.records_in for subtask in window.subtasks)
    return sum(subtask.bytes_in for subtask in window.subtasks) / records if records else 0.0


def _remarks(observation: Observation, operators: Sequence[OperatorFit], spread: str) -> Iterator[str]:
    yield from observation.remarks
    for observed, operator in zip(observation.operators, operators, strict=True):
        yield from _service_remarks(operator, chained=observed.chained > 1)
        yield from _load_remarks(operator)
        if operator.groups is not None:
            yield f"work of the key groups of {operator.name} that a replica holds is taken to {spread}"
        elif operator.skew > 1 and operator.replicas > 1:
            yield f"the busiest replica of {operator.name} receives {operator.skew:.3g} times the mean; that is taken to stay so"
    for stream in observation.streams:
        if stream.partitioning == "global":
            yield f"the stream from {stream.source} to {stream.target} goes to the first replica alone, however many there are"
    if any(window.since_start for operator in observation.operators for window in operator.windows):
        yield "there is one round of counters only, so that rates are means since the start; capture for more --seconds"
    if not any(rescale.stopped is not None for rescale in observation.rescales):
        yield "no rescale is remembered (web.adaptive-scheduler.rescale-history.size, from 2.3 on): the time to stop is assumed"


def _service_remarks(operator: OperatorFit, *, chained: bool) -> Iterator[str]:
    name = operator.name
    waits = f"{name} is asynchronous: it waits without being busy until it is full"
    if operator.asynchronous and operator.service is not None:
        yield f"{waits}; its service rate is that of replicas that were full"
    elif operator.method == "understated":
        yield f"capacity of {name} is probably understated: it was {operator.busy or 0:.0%} busy; capture at a higher load"
    elif operator.service is None and (chained or not operator.source):
        why = "it received too little" if operator.busy is not None else "the engine gives no busy time of it"
        yield f"service rate of {name} is not known: {waits if operator.asynchronous else why}; its replicas stay"


def _load_remarks(operator: OperatorFit) -> Iterator[str]:
    name, rate = operator.name, f"{operator.rate:.6g} tuples/s"
    full = operator.busy is not None and operator.busy >= SATURATED
    load = operator.received(operator.replicas)
    if operator.source and operator.backpressured > BACKPRESSURED:
        yield f"{name} waits for those after it: more is offered than the {rate} that it sends"
    elif operator.source and full:
        yield (
            f"{name} is busy all the time: its load is at least the {rate} that it sends, and probably more; more replicas help "
            "if its input has as many parts, and not if it waits in its own code"
        )
    elif full and load > operator.rate * (1.0 + DISAGREEMENT):
        yield f"{name} receives {rate}, and the rest of its load of at least {load:.6g} piles up before it"
    if operator.broadcast:
        yield f"every replica of {name} receives the {operator.broadcast:.6g} tuples/s that are broadcast, however many there are"


@dataclass(frozen=True, slots=True)
class Passing:
    """Current traffic of an operator.

    Attributes
    ----------
    rate : tuples/s that all replicas receive; of a source, that they send.
    sent : tuples/s that all replicas send.
    busy : share of time that the busiest replica is busy; 0 where that is not known.
    replicas : number of replicas.
    held : whether more may be offered than is sent, of a source that is full or waits for those after it.
    """

    rate: float
    sent: float
    busy: float
    replicas: int
    held: bool


@dataclass(frozen=True, slots=True)
class Loads:
    """Loads of a job.

    Attributes
    ----------
    growth : load of each operator over what it receives now; above 1 where it, or one before it, does not keep up.
    streams : tuples/s of each stream, with what piles up; of a broadcast, each tuple counts once.
    broadcast : tuples/s that every replica of an operator receives alike.
    first : tuples/s that only the first replica of an operator receives, by streams that send nothing to the others.
    unbounded : operators whose load may be larger: sources that are held, and those after them.
    """

    growth: Mapping[str, float]
    streams: Mapping[StreamObservation, float]
    broadcast: Mapping[str, float]
    first: Mapping[str, float]
    unbounded: frozenset[str]


class _Flow:
    """Traffic on the streams of one job, by which what the sources send is followed through it.

    While the buffers before a saturated operator fill, it receives less than is sent to it. Its load is what is sent then, and
    those after it get as much more as it would send. What is sent to it is known of senders with a single stream.
    """

    def __init__(self, observation: Observation, passing: Mapping[str, Passing]) -> None:
        self._streams, self._passing = observation.streams, passing
        self._inputs = {name: [stream for stream in self._streams if stream.target == name] for name in passing}
        self._outputs = {name: [stream for stream in self._streams if stream.source == name] for name in passing}
        self._growth: dict[str, float] = {}

    def loads(self) -> Loads:
        growth = {name: self._grown(name) for name in self._passing}
        rates = {
            stream: self._offered(stream) if growth[stream.target] > 1.0 else self._arriving(stream) for stream in self._streams
        }
        broadcast, first = (
            {
                name: sum(stream.edges * rates[stream] for stream in inputs if stream.partitioning == how)
                for name, inputs in self._inputs.items()
            }
            for how in ("broadcast", "global")
        )
        unbounded: set[str] = set()
        waiting = [name for name, passing in self._passing.items() if passing.held]
        while waiting:
            name = waiting.pop()
            if name not in unbounded:
                unbounded.add(name)
                waiting += [stream.target for stream in self._outputs[name]]
        return Loads(growth, rates, broadcast, first, frozenset(unbounded))

    def _grown(self, name: str) -> float:
        """Load over what is received; streams of a capture that run in a circle end there."""
        if name not in self._growth:
            self._growth[name] = 1.0
            received, inputs = self._passing[name].rate, self._inputs[name]
            offered = sum(self._offered(stream) * self._copies(stream) for stream in inputs)
            limited = self._passing[name].busy >= SATURATED or any(self._grown(stream.source) > 1.0 for stream in inputs)
            if limited and received > 0 and offered > received * (1.0 + DISAGREEMENT):
                self._growth[name] = offered / received
        return self._growth[name]

    def _offered(self, stream: StreamObservation) -> float:
        """Tuples/s that are sent, if the sender gets its load."""
        alone = len(self._outputs[stream.source]) == 1
        rate = self._passing[stream.source].sent if alone else self._arriving(stream)
        return rate * self._grown(stream.source)

    def _arriving(self, stream: StreamObservation) -> float:
        """Tuples/s now: all of the target where it has one input, else what the source sends.

        Sources with several streams may send different tuples on each: what is left is split in proportion to what they send.
        """
        received = self._passing[stream.target].rate
        inputs = self._inputs[stream.target]
        if len(inputs) == 1:
            return received / self._copies(stream)
        sent = {other: self._passing[other.source].sent for other in inputs}
        if len(self._outputs[stream.source]) == 1:
            return sent[stream]
        single_outputs = [other for other in inputs if len(self._outputs[other.source]) == 1]
        remaining = max(0.0, received - sum(sent[other] * self._copies(other) for other in single_outputs))
        split = [other for other in inputs if other not in single_outputs]
        total = sum(sent[other] * self._copies(other) for other in split)
        return remaining * (sent[stream] / total if total else 1.0 / sum(map(self._copies, split)))

    def _copies(self, stream: StreamObservation) -> int:
        """Times that the target receives each of its tuples."""
        return stream.edges * (self._passing[stream.target].replicas if stream.partitioning == "broadcast" else 1)
