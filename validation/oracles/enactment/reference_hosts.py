"""Hosts and instances of the SimPy reference."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Literal

from edrp.enactment import HostState
from edrp.enactment.containers import HostType
from edrp.enactment.run import InstanceRecord, LeaseRecord
from edrp.enactment.run_metrics import units_paid
from edrp.validation.oracles.enactment.reference_stage import Stage

if TYPE_CHECKING:
    from edrp.validation.oracles.enactment.reference_queues import ReferenceQueue


class ReferenceHost:
    """A host from lease to release."""

    def __init__(self, stage: Stage, name: str, host_type: HostType, ready: float) -> None:
        self._stage = stage
        self.name = name
        self.type = host_type
        self._start, self.ready = stage.now, ready
        self.end: float | None = None
        self._releasing = False
        self.images: dict[str, float] = {}
        self.instances: list[ReferenceInstance] = []
        stage.note("lease", name)

    def newest(self, operator: str) -> ReferenceInstance:
        """The instance of an operator that was placed last, of those that stay."""
        return [each for each in self.instances if each.operator == operator and each.successor is None][-1]

    def release(self) -> None:
        """Take nothing new, and end when empty."""
        self._releasing = True
        self.end_if_empty()

    def end_if_empty(self) -> None:
        """The last instance is gone, and somebody has released the host."""
        if self._releasing and not self.instances:
            self.end = self._stage.now
            self._stage.note("release", self.name)

    def state(self) -> HostState:
        """What the policy sees."""
        names = [each.operator for each in self.instances]
        leaving = [each.operator for each in self.instances if each.successor is not None]
        return HostState(
            name=self.name,
            type=self.type,
            ready=self.ready <= self._stage.now,
            paid_until=self._start + self._units(self._stage.now) * self.type.billing_time,
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
        self,
        queue: ReferenceQueue,
        host: ReferenceHost,
        number: int,
        cause: Literal["initial", "placed", "migrated"],
        replaces: ReferenceInstance | None = None,
    ) -> None:
        self._queue, self._stage = queue, queue.stage
        self._host = host
        self.number = number
        self.operator = queue.operator.name
        self._placed, self._cause = self._stage.now, cause
        self.started: float | None = None
        self.ended: float | None = None
        self._ended_by: Literal["removed", "migrated"] | None = None
        self._replaces = replaces
        self.successor: ReferenceInstance | None = None
        if replaces is not None:
            replaces.successor = self
        host.instances.append(self)

    def start_up(self) -> Iterator[Any]:
        """From placement to readiness."""
        image = self._queue.operator.code_size / self._stage.scenario.image_bandwidth
        ready = max(self._stage.now, self._host.ready)
        there = self._host.images.setdefault(self.operator, ready + image)
        yield self._stage.moment(max(ready, there) + self._stage.random_streams.instance_start_up())
        if self.ended is None:
            self.start()

    def start(self) -> None:
        """Up: from now on it takes items, and what it replaces does not."""
        self.started = self._stage.now
        self._stage.note("up", self.operator, self.number, self._host.name)
        self._queue.rest(self)
        if self._replaces is not None:
            self._replaces.end("migrated")

    def end(self, by: Literal["removed", "migrated"]) -> None:
        """Stop and give the resources back; an item that it works on is not affected."""
        if self.ended is not None:
            return
        self.ended, self._ended_by = self._stage.now, by
        self._stage.note("down", self.operator, self.number, self._host.name)
        self._queue.leave(self)
        self._host.instances.remove(self)
        self._host.end_if_empty()
        if self._replaces is not None:
            self._replaces.end("migrated")

    def record(self) -> InstanceRecord:
        """All that became of it."""
        return InstanceRecord(
            operator=self.operator,
            host=self._host.name,
            placed=self._placed,
            started=self.started,
            ended=self.ended,
            cause=self._cause,
            ended_by=self._ended_by,
        )
