"""A second simulator, written to be read: every item is a process that waits, is served, and moves on.

It shares documents, random numbers and the times of rounds with `edrp.validation.simulation.enactment.simulator`, and nothing
that moves an item, starts an instance or keeps a host. Both give the same log of events.
"""

from __future__ import annotations

from edrp.enactment import Action, EnactmentState, Lease, Migrate, Place, Policy, Release, Remove, TentativeState
from edrp.enactment.scenario import EnactmentRun, EnactmentScenario
from edrp.validation.oracles.enactment.reference_parts import (
    HOST,
    ITEM,
    Cause,
    Process,
    ReferenceClock,
    ReferenceHost,
    ReferenceInstance,
    ReferenceQueue,
)
from edrp.validation.simulation.enactment.event_log import EventLog
from edrp.validation.simulation.enactment.rounds import rounds
from edrp.validation.simulation.enactment.run_randomness import Stall


def simulate_reference(scenario: EnactmentScenario, policy: Policy, seed: int, *, record: EventLog | None = None) -> EnactmentRun:
    """Simulate one run, item by item.

    The arguments are those of `edrp.validation.simulation.enactment.simulator.simulate`; the policy's actions are not checked.
    """
    run = _ReferenceRun(ReferenceClock(scenario, seed, record), policy)
    run.clock.run(scenario.duration)
    return run.document()


class _ReferenceRun:
    """A run under way: operators, hosts and the policy on one clock."""

    def __init__(self, clock: ReferenceClock, policy: Policy) -> None:
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
        """The records of the run."""
        if self._next_sample == self._scenario.duration:
            self._sample()
        return EnactmentRun(
            leases=tuple(host.record(self._scenario.duration) for host in self._hosts.values()),
            instances=tuple(instance.record() for instance in self._instances),
            operators=tuple(queue.record() for queue in self._queues.values()),
        )

    def _bring(self, queue: ReferenceQueue) -> Process:
        """Simulate the arrival of items from outside."""
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
        tentative = TentativeState(self._state())
        for name, queue in self._queues.items():
            for _ in range(self._scenario.initial_instances):
                host = next((host for host in tentative.hosts if tentative.fits(host, name)), None)
                if host is None:
                    host = tentative.lease(next(name for name in types if name in (queue.operator.candidates or types)))
                    self._hosts[host] = ReferenceHost(self.clock, host, tentative.type(host), ready=0.0)
                tentative.place(name, host)
                self._hosts[host].images[name] = 0.0
                self._place(name, host, "initial").start()

    def _act(self, action: Action) -> None:
        """Carry out one action of the policy."""
        match action:
            case Lease(name, host_type):
                described = self._scenario.types[host_type]
                ready = self.clock.now + self.clock.random_streams.host_start_up(described)
                self._hosts[name] = ReferenceHost(self.clock, name, described, ready)
            case Release(name):
                self._hosts[name].release()
            case Place(operator, name):
                self._queues[operator].scalings += 1
                self.clock.follow(self._place(operator, name, "placed").start_up())
            case Remove(operator, name):
                self._queues[operator].scalings += 1
                self._hosts[name].newest(operator).end("removed")
            case Migrate(operator, source, target):
                leaving = self._hosts[source].newest(operator)
                self.clock.follow(self._place(operator, target, "migrated", leaving).start_up())

    def _place(self, operator: str, host: str, cause: Cause, replaces: ReferenceInstance | None = None) -> ReferenceInstance:
        queue = self._queues[operator]
        instance = ReferenceInstance(queue, self._hosts[host], len(self._instances), cause, replaces)
        self._instances.append(instance)
        queue.instances.append(instance)
        return instance

    def _state(self) -> EnactmentState:
        return EnactmentState(
            time=self.clock.now,
            interval=self._scenario.provisioning_interval,
            operators={name: queue.observe() for name, queue in self._queues.items()},
            hosts={name: host.state() for name, host in self._hosts.items() if host.end is None},
            host_types=self._scenario.types,
            streams=tuple((stream.source, stream.target) for stream in self._scenario.application.streams),
            leases=len(self._hosts),
        )
