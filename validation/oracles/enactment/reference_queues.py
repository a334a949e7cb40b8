"""Items, queues and service of the SimPy reference."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any

from edrp.enactment import OperatorState
from edrp.enactment.containers import ContainerOperator
from edrp.enactment.run import OperatorRecord
from edrp.enactment.scenario import LEVELS
from edrp.validation.oracles.enactment.reference_hosts import ReferenceInstance
from edrp.validation.oracles.enactment.reference_stage import Stage

ROUNDING = 1e-9
"""Added before items due are rounded down."""

REMEMBERED = 20
"""Monitoring intervals of which a policy sees the mean recorded duration."""


class ReferenceQueue:
    """Items of an operator that wait, and the instances that take them."""

    def __init__(self, stage: Stage, operator: ContainerOperator) -> None:
        self.stage = stage
        self.operator = operator
        self.followers: list[ReferenceQueue] = []
        self.waiting: deque[float] = deque()
        self.idle: deque[ReferenceInstance] = deque()
        self.instances: list[ReferenceInstance] = []
        self.noise = self._noise()
        self.stalls = self.scalings = 0
        self.arrived = self.begun = self.completed = 0
        self.in_time = [0, 0, 0]
        self.levels = [level * operator.processing_duration for level in stage.scenario.compliance_levels]
        self.recorded, self.begun_in_interval = 0.0, 0
        self.durations: list[float] = []
        self.late_since: float | None = None
        self.delays: list[float] = []
        self.largest = self.seen_arrived = self.seen_begun = 0
        self.busy: list[tuple[float, float]] = []
        self.seen = 0.0

    def rest(self, instance: ReferenceInstance) -> None:
        """An instance is done with its item, or has had none yet."""
        if instance.ended is None:
            self.idle.append(instance)
            self.serve_waiting()

    def leave(self, instance: ReferenceInstance) -> None:
        """An instance takes nothing more."""
        if instance in self.idle:
            self.idle.remove(instance)

    def arrive(self) -> None:
        """An item comes: it waits, or is served at once."""
        self.arrived += 1
        self.stage.note("arrive", self.operator.name)
        self.waiting.append(self.stage.now)
        self.serve_waiting()

    def serve_waiting(self) -> None:
        """Instances without work take items, the instance that has been idle longest first."""
        while self.waiting and self.idle and not self.stalls:
            self.stage.process(self.serve(self.waiting.popleft(), self.idle.popleft()))

    def serve(self, arrival: float, instance: ReferenceInstance) -> Iterator[Any]:
        """One item from the beginning of its processing to its departure."""
        begin = self.stage.now
        self.stage.note("begin", self.operator.name, instance.number)
        processing = self.operator.processing_duration * next(self.noise)
        recorded = begin - arrival + processing
        self.begun += 1
        self.begun_in_interval += 1
        self.recorded += recorded
        occupied = self.operator.occupancy * processing
        self.busy.append((begin, begin + occupied))
        free, leave = self.stage.timeout(occupied), self.stage.timeout(processing)
        yield free
        self.rest(instance)
        yield leave
        self.depart(recorded)

    def depart(self, recorded: float) -> None:
        """An item goes on to the next operators."""
        self.completed += 1
        self.stage.note("depart", self.operator.name)
        for index, level in enumerate(self.levels):
            self.in_time[index] += recorded <= level
        selectivity = self.operator.selectivity
        copies = int(self.completed * selectivity + ROUNDING) - int((self.completed - 1) * selectivity + ROUNDING)
        for follower in self.followers:
            for _ in range(copies):
                follower.arrive()

    def sample(self) -> None:
        """End of a monitoring interval."""
        self.largest = max(self.largest, len(self.waiting))
        if self.begun_in_interval:
            mean = self.recorded / self.begun_in_interval
            self.durations.append(mean)
            late = mean > self.levels[LEVELS.index(self.stage.scenario.objective_level)]
            if late and self.late_since is None:
                self.late_since = self.stage.now
            elif not late and self.late_since is not None:
                self.delays.append(self.stage.now - self.late_since)
                self.late_since = None
        self.recorded, self.begun_in_interval = 0.0, 0

    def observe(self) -> OperatorState:
        """What the policy sees of the operator."""
        now = self.stage.now
        here = [each for each in self.instances if each.ended is None]
        running = sum(each.started is not None for each in here)
        state = OperatorState(
            operator=self.operator,
            running=running,
            starting=sum(each.successor is None for each in here) - running,
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
            real_time=self.in_time[0],
            near_real_time=self.in_time[1],
            relaxed=self.in_time[2],
            time_to_adapt=sum(self.delays) / len(self.delays) if self.delays else None,
        )

    def _noise(self) -> Iterator[float]:
        """The factors of processing durations, one item after the other."""
        while True:
            yield from self.stage.random_streams.factors(self.operator.name, 1000).tolist()
