"""The state that a policy sees, the actions that it returns, and a copy of the state on which actions are tried one by one."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Protocol

from edrp.core.budget import look
from edrp.core.document import named_resources
from edrp.core.errors import PolicyError
from edrp.core.tolerances import LIMIT_SLACK
from edrp.core.wording import suggestion
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


@dataclass(frozen=True, slots=True)
class Lease:
    """Lease a host of a type under a name that no host had before; it is paid from now on, unit by unit, until released."""

    host: str
    type: str

    def __str__(self) -> str:
        return f"lease {self.host} of type {self.type}"


@dataclass(frozen=True, slots=True)
class Release:
    """Give a host back as soon as the instances that migrate away from it have stopped; it takes no new instances."""

    host: str

    def __str__(self) -> str:
        return f"release {self.host}"


@dataclass(frozen=True, slots=True)
class Place:
    """Start one more instance of an operator on a host, once the host is ready."""

    operator: str
    host: str

    def __str__(self) -> str:
        return f"place {self.operator} on {self.host}"


@dataclass(frozen=True, slots=True)
class Remove:
    """Stop one instance of an operator on a host; it finishes the item that it works on."""

    operator: str
    host: str

    def __str__(self) -> str:
        return f"remove {self.operator} from {self.host}"


@dataclass(frozen=True, slots=True)
class Migrate:
    """Start an instance on the target, then stop one on the source: both hold resources until then."""

    operator: str
    source: str
    target: str

    def __str__(self) -> str:
        return f"migrate {self.operator} from {self.source} to {self.target}"


Action = Lease | Release | Place | Remove | Migrate


class Policy(Protocol):
    """Decides, round by round, on leases, placements, migrations and releases. An object serves one run and may remember it."""

    name: str

    def observe(self, state: EnactmentState) -> tuple[Action, ...]:
        """Return the actions to take now, in this order; called at the start and then once per provisioning interval."""
        ...


@dataclass(slots=True)
class _TentativeHost:
    """A host as it will be once the actions are done."""

    type: HostType
    paid_until: float
    free: dict[str, float]
    releasing: bool = False
    images: set[str] = field(default_factory=set)
    instances: Counter[str] = field(default_factory=Counter)
    leaving: Counter[str] = field(default_factory=Counter)


class TentativeState:
    """A mutable copy of a state and the actions that were done to it.

    A policy plans on it and returns its actions; the simulator checks actions on it before it carries them out.

    Raises
    ------
    PolicyError
        From every method that changes the state: an unknown name, a host that is full or given back, the last instance
        of an operator (or fewer than it must, more than it may have), the release of a host with instances that stay, more
        hosts of a type than there may be.

    Examples
    --------
    >>> from edrp.enactment.containers import ContainerOperator
    >>> from edrp.enactment.state import OperatorState
    >>> work = ContainerOperator(name="work", processing_duration=0.5, resources={"cpu": 3})
    >>> small = HostType(name="small", resources={"cpu": 4}, price=1, billing_time=600)
    >>> tentative = TentativeState(EnactmentState(0.0, 60.0, {"work": OperatorState(work, running=0)}, {}, {"small": small}))
    >>> host = tentative.lease("small")
    >>> tentative.place("work", host)
    >>> tentative.fits(host, "work"), [str(action) for action in tentative.actions]
    (False, ['lease host-1 of type small', 'place work on host-1'])
    >>> tentative.remove("work", host)
    Traceback (most recent call last):
    edrp.core.errors.PolicyError: remove work from host-1: it is the last instance of work; at 0 s, host-1 (small): 1 work
    """

    def __init__(self, state: EnactmentState) -> None:
        self.state = state
        self._needs = {name: named_resources(monitored.operator.resources) for name, monitored in state.operators.items()}
        self._instances = dict.fromkeys(state.operators, 0)
        self._hosts: dict[str, _TentativeHost] = {}
        self._done: list[Action] = []
        self._leases = 0
        self._leased = Counter(host.type.name for host in state.hosts.values())
        for name, host in state.hosts.items():
            held = set(host.images), Counter(host.instances), Counter(host.leaving)
            self._hosts[name] = _TentativeHost(host.type, host.paid_until, state.free(name), host.releasing, *held)
            for operator, count in self.on(name).items():
                self._instances[operator] += count

    def copy(self) -> TentativeState:
        """An independent copy with the same actions done."""
        copy = TentativeState(self.state)
        for action in self._done:
            copy.apply(action)
        return copy

    @property
    def actions(self) -> tuple[Action, ...]:
        """The actions so far, in order."""
        return tuple(self._done)

    @property
    def hosts(self) -> tuple[str, ...]:
        """Hosts that are leased and not given back, in the order in which they were leased."""
        return tuple(name for name, host in self._hosts.items() if not host.releasing)

    def leased(self, host_type: str) -> int:
        """Hosts of a type, those included that have been given back and still work."""
        return self._leased[host_type]

    def type(self, host: str) -> HostType:
        """Type of a host."""
        return self._hosts[host].type

    def paid_until(self, host: str) -> float:
        """Seconds: end of the billing time unit (BTU) that is paid."""
        return self._hosts[host].paid_until

    def free(self, host: str) -> dict[str, float]:
        """Resources that are left on a host."""
        return dict(self._hosts[host].free)

    def free_share(self, host: str) -> float:
        """Sum of the shares of a host's resources that are left."""
        free = self._hosts[host].free
        return sum(free[name] / amount for name, amount in self.type(host).capacity.items() if amount)

    def has_image(self, host: str, operator: str) -> bool:
        """Whether the operator's container image is on the host, or will be."""
        return operator in self._hosts[host].images

    def on(self, host: str) -> dict[str, int]:
        """Instances on a host, by operator, that are not about to leave it."""
        described = self._hosts[host]
        return {name: count for name, count in (described.instances - described.leaving).items() if count}

    def instances(self, operator: str) -> int:
        """Instances of an operator, running and starting; of one that migrates only the successor counts."""
        return self._instances[operator]

    @property
    def counts(self) -> dict[str, int]:
        """Instances of every operator, as `instances` counts them."""
        return dict(self._instances)

    def may_grow(self, operator: str) -> bool:
        """Whether the operator may have another instance, wherever there is room for it."""
        limit = self.state.operators[operator].operator.max_instances
        return limit is None or self._instances[operator] < limit

    def may_shrink(self, operator: str) -> bool:
        """Whether the operator may have one instance fewer."""
        return self._instances[operator] > self.state.operators[operator].operator.min_instances

    def fits(self, host: str, operator: str) -> bool:
        """Whether one more instance of the operator finds room on a host."""
        described = self._hosts[host]
        return not described.releasing and has_room(self.state.operators[operator].operator, described.type, described.free)

    def lease(self, host_type: str, name: str | None = None) -> str:
        """Lease a host; returns its name, which is the next free one by default."""
        host = name or self._next_name()
        self.apply(Lease(host, host_type))
        return host

    def place(self, operator: str, host: str) -> None:
        """Start one more instance."""
        self.apply(Place(operator, host))

    def remove(self, operator: str, host: str) -> None:
        """Stop one instance."""
        self.apply(Remove(operator, host))

    def migrate(self, operator: str, source: str, target: str) -> None:
        """Move one instance; it holds resources on both hosts until its successor is up."""
        self.apply(Migrate(operator, source, target))

    def release(self, host: str) -> None:
        """Give a host back."""
        self.apply(Release(host))

    def apply(self, action: Action) -> None:
        """Do any action; where loads are large a policy takes thousands in a round, so the clock is looked at here."""
        look("a round of actions")
        why = self._refusal(action)
        if why:
            raise PolicyError(f"{action}: {why}; {self.describe()}", self.state, action)
        match action:
            case Lease(host, host_type):
                self._leases += 1
                self._leased[host_type] += 1
                described = self.state.host_types[host_type]
                self._hosts[host] = _TentativeHost(described, self.state.time + described.billing_time, described.capacity)
            case Release(host):
                self._hosts[host].releasing = True
                self._leased[self._hosts[host].type.name] -= host not in self.state.hosts
            case Place(operator, host):
                self._put(operator, host, 1)
                self._instances[operator] += 1
            case Remove(operator, host):
                self._put(operator, host, -1)
                self._instances[operator] -= 1
            case Migrate(operator, source, target):
                self._put(operator, target, 1)
                self._hosts[source].leaving[operator] += 1
        self._done.append(action)

    def describe(self) -> str:
        """The state in one line, for messages."""
        hosts = []
        for name, host in self._hosts.items():
            inside = ", ".join(f"{count} {operator}" for operator, count in host.instances.items() if count) or "empty"
            hosts.append(f"{name} ({host.type.name}{', given back' if host.releasing else ''}): {inside}")
        return f"at {self.state.time:g} s, {'; '.join(hosts) or 'no hosts'}"

    def _put(self, operator: str, host: str, count: int) -> None:
        described = self._hosts[host]
        described.instances[operator] += count
        described.images.add(operator)
        for resource, amount in self._needs[operator].items():
            described.free[resource] = described.free.get(resource, 0.0) - count * amount

    def _next_name(self) -> str:
        index = max(self.state.leases + self._leases, len(self._hosts)) + 1
        while f"host-{index}" in self._hosts:
            index += 1
        return f"host-{index}"

    def _refusal(self, action: Action) -> str:
        match action:
            case Lease(host, host_type):
                return self._lease_refusal(host, host_type)
            case Release(host):
                return self._known(host) or self._release_refusal(host)
            case Place(operator, host):
                return self._known(host, operator) or self._room_refusal(operator, host) or self._excess(operator)
            case Remove(operator, host):
                return self._known(host, operator) or self._leave_refusal(operator, host, last=True)
            case Migrate(operator, source, target):
                if source == target:
                    return "source and target are the same host"
                refusal = self._known(source, operator) or self._known(target)
                return refusal or self._leave_refusal(operator, source, last=False) or self._room_refusal(operator, target)

    def _known(self, host: str, operator: str | None = None) -> str:
        if host not in self._hosts:
            return f"there is no host {host!r}{suggestion(host, self._hosts)}"
        if operator is not None and operator not in self._instances:
            return f"there is no operator {operator!r}{suggestion(operator, self._instances)}"
        return ""

    def _lease_refusal(self, host: str, host_type: str) -> str:
        if host in self._hosts:
            return f"there is a host {host!r} already"
        if host_type not in self.state.host_types:
            return f"there is no host type {host_type!r}{suggestion(host_type, self.state.host_types)}"
        limit = self.state.host_types[host_type].limit
        leased = sum(host.type.name == host_type for host in self._hosts.values())
        return f"no more than {limit} hosts of type {host_type} may be leased" if limit is not None and leased >= limit else ""

    def _release_refusal(self, host: str) -> str:
        if self._hosts[host].releasing:
            return "it has been given back already"
        staying = self.on(host)
        if staying:
            return f"{', '.join(f'{count} {name}' for name, count in staying.items())} would stay; remove or migrate them first"
        return ""

    def _room_refusal(self, operator: str, host: str) -> str:
        described = self._hosts[host]
        if described.releasing:
            return f"{host} has been given back"
        if has_room(self.state.operators[operator].operator, described.type, described.free):
            return ""
        short = [
            f"{name} {amount:.6g} needed, {described.free.get(name, 0.0):.6g} left"
            for name, amount in self._needs[operator].items()
            if amount > described.free.get(name, 0.0)
        ]
        if short:
            return f"{host} has no room: {'; '.join(short)}"
        return f"{operator} may not run on hosts of type {described.type.name}"

    def _leave_refusal(self, operator: str, host: str, *, last: bool) -> str:
        if not self.on(host).get(operator, 0):
            return f"no instance of {operator} on {host} is there to stop"
        if not last or self.may_shrink(operator):
            return ""
        fewest = self.state.operators[operator].operator.min_instances
        return f"it is the last instance of {operator}" if fewest == 1 else f"{operator} must have {fewest} instances"

    def _excess(self, operator: str) -> str:
        if self.may_grow(operator):
            return ""
        limit = self.state.operators[operator].operator.max_instances
        return f"{operator} may have {limit} instances, and has {self._instances[operator]}"
