"""Hosts and instances of a run, as a policy's actions change them: when they are up, when they end, what they cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Literal, NamedTuple

from edrp.core.arrays import Floats, Ints
from edrp.core.errors import Fault, InvalidInstanceError, PolicyError
from edrp.enactment import Action, EnactmentState, HostState, Lease, Migrate, Place, Release, Remove, TentativeState
from edrp.enactment.containers import HostType
from edrp.enactment.scenario import EnactmentScenario, InstanceRecord, LeaseRecord, units_paid
from edrp.enactment.state import has_room
from edrp.validation.simulation.enactment.run_inputs import EventLog, RandomStreams

START, STOP, HOLD, RESUME, SAMPLE = range(5)
"""Codes of events of an operator within a round: an instance comes or goes, a stall begins or ends, the queue is sampled."""

SIZE, SEQUENCE, HOLDS, BEGUN, WITHIN = 0, 1, 2, 3, 4
"""Places in `Crew.counts`: instances, items ever begun and instances ever started (settles ties), stalls at the moment, items
begun since the last sample, and from WITHIN on completed items within each level."""

OPEN_SINCE, RECORDED = 0, 1
"""Places in `Crew.sums`: when the last stall ended (s), recorded durations since the last sample (s)."""


class Crew(NamedTuple):
    """The running instances of an operator, as a heap: the one that is free first, and of those the longest unused, on top.

    Attributes
    ----------
    free : seconds: when each instance is free.
    order : number of its last beginning, which settles ties.
    instance : number of the instance.
    counts, sums : see `SIZE` and `OPEN_SINCE`.
    """

    free: Floats
    order: Ints
    instance: Ints
    counts: Ints
    sums: Floats


class Work(NamedTuple):
    """Items of an operator in one round, in the order of arrival, and the results for those that are begun.

    Attributes
    ----------
    arrivals, processing : seconds: when each item arrived, and X, how long it will be processed.
    begins, ends : seconds: when it was begun, and when it leaves (written).
    instances : number of the instance that took it (written).
    """

    arrivals: Floats
    processing: Floats
    begins: Floats
    ends: Floats
    instances: Ints


class Happenings(NamedTuple):
    """Events of an operator within a round, in the order of time; at equal times they come before items are begun.

    Attributes
    ----------
    times : seconds.
    codes : `START`, `STOP`, `HOLD`, `RESUME` or `SAMPLE`.
    subjects : number of the instance that comes or goes.
    """

    times: Floats
    codes: Ints
    subjects: Ints


class Samples(NamedTuple):
    """Monitoring data, one element per sample of the round: items that wait, items begun, seconds recorded for them."""

    waiting: Ints
    begun: Ints
    recorded: Floats


Change = tuple[float, int, int]
"""Change of an instance: time (s), `START` or `STOP`, number of the instance."""

Cause = Literal["initial", "placed", "migrated"]
Ending = Literal["removed", "migrated"]


@dataclass(slots=True, eq=False)
class LeasedHost:
    """A host from lease to release; `images` says when (s) each operator's image is there."""

    name: str
    type: HostType
    start: float
    ready: float
    end: float | None = None
    releasing: bool = False
    images: dict[str, float] = field(default_factory=dict)
    instances: list[FleetInstance] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class FleetInstance:
    """An instance from placement to its end; a successor elsewhere makes it leave."""

    number: int
    operator: str
    host: LeasedHost
    placed: float
    cause: Cause
    started: float | None = None
    ended: float | None = None
    ended_by: Ending | None = None
    leaving: bool = False
    predecessor: FleetInstance | None = None


class Fleet:
    """Keeps hosts and instances, checks actions before it carries them out, and reports changes to operators."""

    def __init__(self, scenario: EnactmentScenario, random_streams: RandomStreams, record: EventLog | None) -> None:
        self._scenario = scenario
        self._operators = scenario.application.by_name
        self._types = scenario.types
        self._random_streams = random_streams
        self._record = record
        self._hosts: dict[str, LeasedHost] = {}
        self._here: dict[str, LeasedHost] = {}
        self._instances: list[FleetInstance] = []
        self._starting: list[tuple[float, int]] = []
        self.changes: dict[str, list[Change]] = {name: [] for name in self._operators}
        self.running = dict.fromkeys(self._operators, 0)
        self.instances = dict.fromkeys(self._operators, 0)
        self.scalings = dict.fromkeys(self._operators, 0)

    @property
    def leases(self) -> int:
        """Hosts leased so far."""
        return len(self._hosts)

    def start_initial(self, state: EnactmentState) -> None:
        """Lease hosts for the initial instances and run them from time 0 on: first fit, in document order.

        Raises
        ------
        InvalidInstanceError
            When the limits of the host types leave no room for them.
        """
        for action in _first_fit(state, self._scenario.initial_instances):
            if isinstance(action, Lease):
                self._lease(action, 0.0, ready=0.0)
            elif isinstance(action, Place):
                host = self._hosts[action.host]
                host.images[action.operator] = 0.0
                self._start(self._put(action.operator, host, 0.0, "initial"), 0.0)
                self.instances[action.operator] += 1

    def apply(self, actions: tuple[Action, ...], state: EnactmentState) -> None:
        """Carry out the actions of a policy, now.

        Raises
        ------
        PolicyError
            At the first impossible action, before any is carried out.
        """
        tentative = TentativeState(state)
        for action in actions:
            if why := self._refusal(action, state):
                raise PolicyError(f"{action}: {why}; {tentative.describe()}", state, action)
            tentative.apply(action)
        for action in actions:
            self._carry_out(action, state.time)

    def advance(self, until: float) -> None:
        """Start all instances that are up before `until` (s), and end those that they replace."""
        while self._starting and self._starting[0][0] < until:
            time, number = heappop(self._starting)
            instance = self._instances[number]
            if instance.ended is None:
                self._start(instance, time)
                self._end_chain(instance.predecessor, time)

    def take_changes(self, operator: str) -> list[Change]:
        """Instances of an operator that came and went, by time, since the last call."""
        taken, self.changes[operator] = self.changes[operator], []
        return taken

    def host_states(self, time: float) -> dict[str, HostState]:
        """The states of the hosts that a policy sees."""
        return {name: _host_state(host, time) for name, host in self._here.items()}

    def lease_records(self, end: float) -> Iterator[LeaseRecord]:
        """All leases, those open at the end of the run paid until then."""
        for host in self._hosts.values():
            paid = units_paid(host.start, end if host.end is None else host.end, host.type.billing_time)
            yield LeaseRecord.model_construct(
                host=host.name, type=host.type.name, start=host.start, ready=host.ready, end=host.end, units=paid
            )

    def instance_records(self) -> Iterator[InstanceRecord]:
        """Yield the records of all instances."""
        for instance in self._instances:
            yield InstanceRecord.model_construct(
                operator=instance.operator,
                host=instance.host.name,
                placed=instance.placed,
                started=instance.started,
                ended=instance.ended,
                cause=instance.cause,
                ended_by=instance.ended_by,
            )

    def _refusal(self, action: Action, state: EnactmentState) -> str:
        """Return the reason why an action is impossible that a tentative state would accept; empty if it is possible."""
        if not isinstance(action, Action):
            return "is no action"
        if isinstance(action, Lease) and action.host in self._hosts and action.host not in state.hosts:
            return f"there was a host {action.host!r} before"
        return ""

    def _carry_out(self, action: Action, time: float) -> None:
        match action:
            case Lease():
                self._lease(action, time, ready=time + self._random_streams.host_start_up(self._types[action.type]))
            case Release(name):
                self._hosts[name].releasing = True
                self._end_if_empty(self._hosts[name], time)
            case Place(operator, name):
                self._place(operator, self._hosts[name], time, "placed")
                self.instances[operator] += 1
                self.scalings[operator] += 1
            case Remove(operator, name):
                instance = _newest(self._hosts[name], operator)
                self._end(instance, time, "removed")
                self._end_chain(instance.predecessor, time)
                self.instances[operator] -= 1
                self.scalings[operator] += 1
            case Migrate(operator, source, target):
                leaving = _newest(self._hosts[source], operator)
                leaving.leaving = True
                self._place(operator, self._hosts[target], time, "migrated").predecessor = leaving

    def _lease(self, action: Lease, time: float, ready: float) -> None:
        host = LeasedHost(action.host, self._types[action.type], time, ready)
        self._hosts[action.host] = self._here[action.host] = host
        self._note(time, "lease", action.host)

    def _place(self, operator: str, host: LeasedHost, time: float, cause: Cause) -> FleetInstance:
        """Place an instance; it starts once the host is ready and the image is there, which is downloaded once."""
        ready = max(time, host.ready)
        download = self._operators[operator].code_size / self._scenario.image_bandwidth
        image_ready = host.images.setdefault(operator, ready + download)
        up = max(ready, image_ready) + self._random_streams.instance_start_up()
        instance = self._put(operator, host, time, cause)
        heappush(self._starting, (up, instance.number))
        return instance

    def _put(self, operator: str, host: LeasedHost, time: float, cause: Cause) -> FleetInstance:
        instance = FleetInstance(len(self._instances), operator, host, time, cause)
        self._instances.append(instance)
        host.instances.append(instance)
        return instance

    def _start(self, instance: FleetInstance, time: float) -> None:
        instance.started = time
        self.running[instance.operator] += 1
        self.changes[instance.operator].append((time, START, instance.number))
        self._note(time, "up", instance.operator, instance.number, instance.host.name)

    def _end_chain(self, instance: FleetInstance | None, time: float) -> None:
        """End an instance whose successor is up or gone, and the chain of its own predecessors."""
        while instance is not None and instance.ended is None:
            self._end(instance, time, "migrated")
            instance = instance.predecessor

    def _end(self, instance: FleetInstance, time: float, by: Ending) -> None:
        instance.ended, instance.ended_by = time, by
        instance.host.instances.remove(instance)
        if instance.started is not None:
            self.running[instance.operator] -= 1
            self.changes[instance.operator].append((time, STOP, instance.number))
        self._note(time, "down", instance.operator, instance.number, instance.host.name)
        self._end_if_empty(instance.host, time)

    def _end_if_empty(self, host: LeasedHost, time: float) -> None:
        if host.releasing and not host.instances:
            host.end = time
            del self._here[host.name]
            self._note(time, "release", host.name)

    def _note(self, time: float, what: str, subject: str, instance: int = -1, host: str = "") -> None:
        if self._record is not None:
            self._record.note(time, what, subject, instance, host)


def _newest(host: LeasedHost, operator: str) -> FleetInstance:
    return next(instance for instance in reversed(host.instances) if instance.operator == operator and not instance.leaving)


def _host_state(host: LeasedHost, time: float) -> HostState:
    return HostState(
        name=host.name,
        type=host.type,
        ready=host.ready <= time,
        paid_until=host.start + units_paid(host.start, time, host.type.billing_time) * host.type.billing_time,
        instances=dict(Counter(instance.operator for instance in host.instances)),
        leaving=dict(Counter(instance.operator for instance in host.instances if instance.leaving)),
        images=frozenset(host.images),
        releasing=host.releasing,
    )


def _first_fit(state: EnactmentState, count: int) -> tuple[Action, ...]:
    """Leases and placements of `count` instances of each operator, each on the first host that has room."""
    tentative = TentativeState(state)
    for operator in state.operators:
        for _ in range(count):
            host = next((host for host in tentative.hosts if tentative.fits(host, operator)), None)
            host = host or _new_host(tentative, operator)
            if host is None:
                why = f"have no room within the limits of the host types: {operator} finds none"
                raise InvalidInstanceError([Fault("initial_instances", str(count), why)])
            tentative.place(operator, host)
    return tentative.actions


def _new_host(tentative: TentativeState, operator: str) -> str | None:
    """Lease a host of the first type that can be leased and can run the operator."""
    for host_type in tentative.state.host_types.values():
        leased = sum(tentative.type(host).name == host_type.name for host in tentative.hosts)
        if (host_type.limit is None or leased < host_type.limit) and has_room(
            tentative.state.operators[operator].operator, host_type, host_type.capacity
        ):
            return tentative.lease(host_type.name)
    return None
