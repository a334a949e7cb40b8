"""A second simulator, written to be read: every item is a process that waits, is served, and moves on.

It shares documents, random numbers and the times of rounds with `edrp.validation.simulation.enactment.simulator`, and nothing
that moves an item, starts an instance or keeps a host. Both give the same log of events.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from heapq import heappop, heappush
from typing import Literal

from edrp import enactment
from edrp.core.tolerances import WHOLE_NUMBER_SLACK
from edrp.enactment.containers import ContainerOperator, HostType
from edrp.enactment.scenario import (
    LEVELS,
    EnactmentRun,
    EnactmentScenario,
    InstanceRecord,
    LeaseRecord,
    OperatorRecord,
    units_paid,
)
from edrp.validation.simulation.enactment.run_inputs import EventLog, RandomStreams, Stall, rounds

Process = Iterator[tuple[float, bool]]
Cause = Literal["initial", "placed", "migrated"]
Ending = Literal["removed", "migrated"]

HOST, ITEM = False, True
"""Order of events at one moment: those of a host, an instance or a round come before those of an item."""

REMEMBERED = 20
"""Monitoring intervals of which a policy sees the mean recorded duration."""


class ReferenceClock:
    """The clock of one run, with the scenario, the random numbers and the log."""

    def __init__(self, scenario: EnactmentScenario, seed: int, log: EventLog | None) -> None:
        self.scenario = scenario
        self.random_streams = RandomStreams(scenario, seed)
        self.now = 0.0
        self._log = log
        self._waiting: list[tuple[float, bool, int, Process]] = []
        self._started = 0

    def note(self, what: str, subject: str, instance: int = -1, host: str = "") -> None:
        """Note an event that happens now."""
        if self._log is not None:
            self._log.note(self.now, what, subject, instance, host)

    def follow(self, process: Process) -> None:
        """Let a process go on until it waits; of equal times that comes first which was told first."""
        for time, item in process:
            self._started += 1
            heappush(self._waiting, (time, item, self._started, process))
            return

    def run(self, until: float) -> None:
        """Let everything happen that comes before a time (s)."""
        while self._waiting and self._waiting[0][0] < until:
            self.now, *_, process = heappop(self._waiting)
            self.follow(process)
        self.now = until


class ReferenceHost:
    """A host from lease to release."""

    def __init__(self, clock: ReferenceClock, name: str, host_type: HostType, ready: float) -> None:
        self._clock, self.name, self.type = clock, name, host_type
        self._start, self.ready = clock.now, ready
        self.end: float | None = None
        self._releasing = False
        self.images: dict[str, float] = {}
        self.instances: list[ReferenceInstance] = []
        clock.note("lease", name)

    def newest(self, operator: str) -> ReferenceInstance:
        """The instance of an operator that was placed last, of those that stay."""
        return [instance for instance in self.instances if instance.operator == operator and instance.successor is None][-1]

    def release(self) -> None:
        """Take nothing new, and end when empty."""
        self._releasing = True
        self.end_if_empty()

    def end_if_empty(self) -> None:
        """End the lease if the host has been released and its last instance is gone."""
        if self._releasing and not self.instances:
            self.end = self._clock.now
            self._clock.note("release", self.name)

    def state(self) -> enactment.HostState:
        """The state of the host that the policy sees."""
        names = [instance.operator for instance in self.instances]
        leaving = [instance.operator for instance in self.instances if instance.successor is not None]
        return enactment.HostState(
            name=self.name,
            type=self.type,
            ready=self.ready <= self._clock.now,
            paid_until=self._start + self._units(self._clock.now) * self.type.billing_time,
            instances={name: names.count(name) for name in names},
            leaving={name: leaving.count(name) for name in leaving},
            images=frozenset(self.images),
            releasing=self._releasing,
        )

    def record(self, end: float) -> LeaseRecord:
        """The lease; one that is open is paid until `end`."""
        units = self._units(end if self.end is None else self.end)
        return LeaseRecord(host=self.name, type=self.type.name, start=self._start, ready=self.ready, end=self.end, units=units)

    def _units(self, until: float) -> int:
        return units_paid(self._start, until, self.type.billing_time)


class ReferenceInstance:
    """An instance from placement to its end. It waits for its host and its image, starts, and ends the one that it replaces."""

    def __init__(
        self, queue: ReferenceQueue, host: ReferenceHost, number: int, cause: Cause, replaces: ReferenceInstance | None = None
    ) -> None:
        self._queue, self._clock, self._host = queue, queue.clock, host
        self.number, self.operator = number, queue.operator.name
        self._placed, self._cause = self._clock.now, cause
        self.started: float | None = None
        self.ended: float | None = None
        self._ended_by: Ending | None = None
        self._replaces = replaces
        self.successor: ReferenceInstance | None = None
        if replaces is not None:
            replaces.successor = self
        host.instances.append(self)

    def start_up(self) -> Process:
        """Simulate an instance from its placement until it is ready."""
        image = self._queue.operator.code_size / self._clock.scenario.image_bandwidth
        ready = max(self._clock.now, self._host.ready)
        image_ready = self._host.images.setdefault(self.operator, ready + image)
        yield max(ready, image_ready) + self._clock.random_streams.instance_start_up(), HOST
        if self.ended is None:
            self.start()

    def start(self) -> None:
        """Start to take items, and end the instance that this one replaces."""
        self.started = self._clock.now
        self._clock.note("up", self.operator, self.number, self._host.name)
        self._queue.rest(self)
        if self._replaces is not None:
            self._replaces.end("migrated")

    def end(self, by: Ending) -> None:
        """Stop and give the resources back; an item that it works on is not affected."""
        if self.ended is not None:
            return
        self.ended, self._ended_by = self._clock.now, by
        self._clock.note("down", self.operator, self.number, self._host.name)
        if self in self._queue.idle:
            self._queue.idle.remove(self)
        self._host.instances.remove(self)
        self._host.end_if_empty()
        if self._replaces is not None:
            self._replaces.end("migrated")

    def record(self) -> InstanceRecord:
        """The record of the instance."""
        times = {"placed": self._placed, "started": self.started, "ended": self.ended}
        return InstanceRecord(operator=self.operator, host=self._host.name, **times, cause=self._cause, ended_by=self._ended_by)


class ReferenceQueue:
    """Items of an operator that wait, and the instances that take them."""

    def __init__(self, clock: ReferenceClock, operator: ContainerOperator) -> None:
        self.clock, self.operator = clock, operator
        self.targets: list[ReferenceQueue] = []
        self.waiting, self.idle = deque[float](), deque[ReferenceInstance]()
        self.instances: list[ReferenceInstance] = []
        self.noise = self._noise()
        self.stalls = self.scalings = 0
        self.arrived = self.begun = self.completed = 0
        self.in_time = [0] * len(LEVELS)
        self.levels = [level * operator.processing_duration for level in clock.scenario.compliance_levels]
        self.recorded, self.begun_in_interval, self.seen = 0.0, 0, 0.0
        self.durations, self.delays = list[float](), list[float]()
        self.late_since: float | None = None
        self.largest = self.seen_arrived = self.seen_begun = 0
        self.busy: list[tuple[float, float]] = []

    def rest(self, instance: ReferenceInstance) -> None:
        """An instance is done with its item, or has had none yet."""
        if instance.ended is None:
            self.idle.append(instance)
            self.serve_waiting()

    def arrive(self) -> None:
        """An item comes: it waits, or is served at once."""
        self.arrived += 1
        self.clock.note("arrive", self.operator.name)
        self.waiting.append(self.clock.now)
        self.serve_waiting()

    def serve_waiting(self) -> None:
        """Instances without work take items, the instance that has been idle longest first."""
        while self.waiting and self.idle and not self.stalls:
            self.clock.follow(self.serve(self.waiting.popleft(), self.idle.popleft()))

    def serve(self, arrival: float, instance: ReferenceInstance) -> Process:
        """Simulate one item from the beginning of its processing to its departure."""
        begin = self.clock.now
        self.clock.note("begin", self.operator.name, instance.number)
        processing = self.operator.processing_duration * next(self.noise)
        recorded = begin - arrival + processing
        self.begun += 1
        self.begun_in_interval += 1
        self.recorded += recorded
        occupied = self.operator.occupancy * processing
        self.busy.append((begin, begin + occupied))
        yield begin + occupied, ITEM
        self.rest(instance)
        yield begin + processing, ITEM
        self.depart(recorded)

    def depart(self, recorded: float) -> None:
        """An item goes on to the next operators."""
        self.completed += 1
        self.clock.note("depart", self.operator.name)
        for index, level in enumerate(self.levels):
            self.in_time[index] += recorded <= level
        before, after = (int(n * self.operator.selectivity + WHOLE_NUMBER_SLACK) for n in (self.completed - 1, self.completed))
        for target in self.targets:
            for _ in range(after - before):
                target.arrive()

    def sample(self) -> None:
        """Close a monitoring interval and store its means."""
        self.largest = max(self.largest, len(self.waiting))
        if self.begun_in_interval:
            mean = self.recorded / self.begun_in_interval
            self.durations.append(mean)
            late = mean > self.levels[LEVELS.index(self.clock.scenario.objective_level)]
            if late and self.late_since is None:
                self.late_since = self.clock.now
            elif not late and self.late_since is not None:
                self.delays.append(self.clock.now - self.late_since)
                self.late_since = None
        self.recorded, self.begun_in_interval = 0.0, 0

    def observe(self) -> enactment.OperatorState:
        """The state of the operator that the policy sees."""
        now = self.clock.now
        present_instances = [instance for instance in self.instances if instance.ended is None]
        running = sum(instance.started is not None for instance in present_instances)
        state = enactment.OperatorState(
            operator=self.operator,
            running=running,
            starting=sum(instance.successor is None for instance in present_instances) - running,
            queue=self.largest,
            durations=tuple(self.durations[-REMEMBERED:]),
            arrivals=self.arrived - self.seen_arrived,
            begun=self.begun - self.seen_begun,
            busy=sum(min(end, now) - max(begin, self.seen) for begin, end in self.busy),
            scalings=self.scalings,
        )
        self.busy = [(begin, end) for begin, end in self.busy if end > now]
        self.seen, self.seen_arrived, self.seen_begun, self.largest = now, self.arrived, self.begun, 0
        return state

    def record(self) -> OperatorRecord:
        """The counts at the end."""
        return OperatorRecord(
            name=self.operator.name,
            arrived=self.arrived,
            completed=self.completed,
            queued=len(self.waiting),
            in_service=self.begun - self.completed,
            **dict(zip(LEVELS, self.in_time, strict=True)),
            time_to_adapt=sum(self.delays) / len(self.delays) if self.delays else None,
        )

    def _noise(self) -> Iterator[float]:
        """The factors of processing durations, one item after the other."""
        while True:
            yield from self.clock.random_streams.factors(self.operator.name, 1000).tolist()


def simulate_reference(
    scenario: EnactmentScenario, policy: enactment.Policy, seed: int, *, record: EventLog | None = None
) -> EnactmentRun:
    """Simulate one run, item by item.

    The arguments are those of `edrp.validation.simulation.enactment.simulator.simulate`; the policy's actions are not checked.
    """
    run = _ReferenceRun(ReferenceClock(scenario, seed, record), policy)
    run.clock.run(scenario.duration)
    return run.document()


class _ReferenceRun:
    """A run under way: operators, hosts and the policy on one clock."""

    def __init__(self, clock: ReferenceClock, policy: enactment.Policy) -> None:
        self.clock, self._scenario, self._policy = clock, clock.scenario, policy
        self._hosts: dict[str, ReferenceHost] = {}
        self._instances: list[ReferenceInstance] = []
        self._queues = {operator.name: ReferenceQueue(clock, operator) for operator in self._scenario.application.operators}
        self._next_sample = 0.0
        for stream in self._scenario.application.streams:
            self._queues[stream.source].targets.append(self._queues[stream.target])
        self._start_initial()
        clock.follow(self._rounds())
        for stall in clock.random_streams.stalls:
            clock.follow(self._stall(stall))
        for queue in self._queues.values():
            if queue.operator.external_rate:
                clock.follow(self._bring(queue))

    def document(self) -> EnactmentRun:
        if self._next_sample == self._scenario.duration:
            self._sample()
        return EnactmentRun(
            leases=tuple(host.record(self._scenario.duration) for host in self._hosts.values()),
            instances=tuple(instance.record() for instance in self._instances),
            operators=tuple(queue.record() for queue in self._queues.values()),
        )

    def _bring(self, queue: ReferenceQueue) -> Process:
        for time in self.clock.random_streams.arrivals(queue.operator).before(self._scenario.duration).tolist():
            yield time, ITEM
            queue.arrive()

    def _stall(self, stall: Stall) -> Process:
        """Simulate a stall, during which no item of an operator is begun."""
        queue = self._queues[stall.operator]
        yield stall.start, HOST
        queue.stalls += 1
        yield stall.end, HOST
        queue.stalls -= 1
        queue.serve_waiting()

    def _rounds(self) -> Process:
        """The policy acts, then queues are sampled until it acts again."""
        for current in rounds(self._scenario):
            for action in self._policy.observe(self._state()):
                self._act(action)
            for time in current.samples:
                self._next_sample = time
                yield time, HOST
                self._sample()

    def _sample(self) -> None:
        for queue in self._queues.values():
            queue.sample()

    def _start_initial(self) -> None:
        """The first instances, first fit, running from the start."""
        types = self._scenario.types
        tentative = enactment.TentativeState(self._state())
        for name, queue in self._queues.items():
            for _ in range(self._scenario.initial_instances):
                host = next((host for host in tentative.hosts if tentative.fits(host, name)), None)
                if host is None:
                    host = tentative.lease(next(name for name in types if name in (queue.operator.candidates or types)))
                    self._hosts[host] = ReferenceHost(self.clock, host, tentative.type(host), ready=0.0)
                tentative.place(name, host)
                self._hosts[host].images[name] = 0.0
                self._place(name, host, "initial").start()

    def _act(self, action: enactment.Action) -> None:
        match action:
            case enactment.Lease(name, host_type):
                described = self._scenario.types[host_type]
                ready = self.clock.now + self.clock.random_streams.host_start_up(described)
                self._hosts[name] = ReferenceHost(self.clock, name, described, ready)
            case enactment.Release(name):
                self._hosts[name].release()
            case enactment.Place(operator, name):
                self._queues[operator].scalings += 1
                self.clock.follow(self._place(operator, name, "placed").start_up())
            case enactment.Remove(operator, name):
                self._queues[operator].scalings += 1
                self._hosts[name].newest(operator).end("removed")
            case enactment.Migrate(operator, source, target):
                leaving = self._hosts[source].newest(operator)
                self.clock.follow(self._place(operator, target, "migrated", leaving).start_up())

    def _place(self, operator: str, host: str, cause: Cause, replaces: ReferenceInstance | None = None) -> ReferenceInstance:
        queue = self._queues[operator]
        instance = ReferenceInstance(queue, self._hosts[host], len(self._instances), cause, replaces)
        self._instances.append(instance)
        queue.instances.append(instance)
        return instance

    def _state(self) -> enactment.EnactmentState:
        return enactment.EnactmentState(
            time=self.clock.now,
            interval=self._scenario.provisioning_interval,
            operators={name: queue.observe() for name, queue in self._queues.items()},
            hosts={name: host.state() for name, host in self._hosts.items() if host.end is None},
            host_types=self._scenario.types,
            streams=tuple((stream.source, stream.target) for stream in self._scenario.application.streams),
            leases=len(self._hosts),
        )
