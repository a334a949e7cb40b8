"""The state that a policy sees, as a monitoring system reports it (cost-efficient enactment, "System model and notation")."""

from __future__ import annotations

from dataclasses import dataclass, field

from edrp.core.document import named_resources
from edrp.core.tolerances import LIMIT_SLACK
from edrp.enactment.containers import ContainerOperator, HostType


@dataclass(frozen=True, slots=True)
class OperatorState:
    """One operator type as monitored.

    Attributes
    ----------
    operator
        As described.
    running, starting
        Instances that take items, and those that will once they are up.
    queue
        Items that wait: the largest sample since the last observation.
    durations
        Seconds: mean recorded duration (waiting and processing) of each monitoring interval in which items were begun,
        oldest first; at most the last 20.
    arrivals, begun
        Items that arrived, and items that an instance took, since the last observation.
    busy
        Instance-seconds that were occupied since the last observation.
    scalings
        Instances placed and removed by scaling so far.
    """

    operator: ContainerOperator
    running: int = 1
    starting: int = 0
    queue: int = 0
    durations: tuple[float, ...] = ()
    arrivals: int = 0
    begun: int = 0
    busy: float = 0.0
    scalings: int = 0

    @property
    def duration(self) -> float:
        """Seconds: the last recorded duration, 0 before the first."""
        return self.durations[-1] if self.durations else 0.0

    @property
    def instances(self) -> int:
        """Running and starting ones."""
        return self.running + self.starting


@dataclass(frozen=True, slots=True)
class HostState:
    """One leased host.

    Attributes
    ----------
    name, type
        As leased.
    ready
        Whether it is up.
    paid_until
        Seconds: end of the billing time unit (BTU) that is paid.
    instances
        By operator: all instances that hold resources, whether they run, start or are about to leave.
    leaving
        By operator: those of them that stop once their successor elsewhere is up.
    images
        Operators whose container image is on the host.
    releasing
        Whether it is being given back and only waits for migrations.
    """

    name: str
    type: HostType
    ready: bool = True
    paid_until: float = 0.0
    instances: dict[str, int] = field(default_factory=dict)
    leaving: dict[str, int] = field(default_factory=dict)
    images: frozenset[str] = frozenset()
    releasing: bool = False


@dataclass(frozen=True, slots=True)
class EnactmentState:
    """The whole state that a policy sees.

    Attributes
    ----------
    time, interval
        Seconds since the start, and to the next observation.
    operators
        By name, in document order.
    hosts
        By name, in the order in which they were leased.
    host_types
        By name, in document order.
    streams
        (source, target) pairs of operators, in document order.
    leases
        Number of hosts leased so far, released ones included.

    Examples
    --------
    >>> work = ContainerOperator(name="work", processing_duration=0.5, resources={"cpu": 1})
    >>> small = HostType(name="small", resources={"cpu": 4}, price=1, billing_time=600)
    >>> state = EnactmentState(60.0, 60.0, {"work": OperatorState(work, queue=12)},
    ...                        {"a": HostState("a", small, instances={"work": 1})}, {"small": small})
    >>> state.free("a")
    {'cpu': 3.0}
    """

    time: float
    interval: float
    operators: dict[str, OperatorState]
    hosts: dict[str, HostState]
    host_types: dict[str, HostType]
    streams: tuple[tuple[str, str], ...] = ()
    leases: int = 0

    def free(self, host: str) -> dict[str, float]:
        """Resources that are left on a host."""
        described = self.hosts[host]
        free = described.type.capacity
        for name, count in described.instances.items():
            for resource, amount in named_resources(self.operators[name].operator.resources).items():
                free[resource] = free.get(resource, 0.0) - count * amount
        return free

    def fits(self, host: str, operator: str) -> bool:
        """Whether one more instance of the operator finds room on a host."""
        described = self.hosts[host]
        return not described.releasing and has_room(self.operators[operator].operator, described.type, self.free(host))


def has_room(operator: ContainerOperator, host_type: HostType, free: dict[str, float]) -> bool:
    """Whether an instance fits into the free resources of a host of the type."""
    if operator.candidates is not None and host_type.name not in operator.candidates:
        return False
    capacity = host_type.capacity
    needs = named_resources(operator.resources).items()
    return all(amount <= free.get(name, 0.0) + LIMIT_SLACK * capacity.get(name, 0.0) for name, amount in needs)
