"""The actions that policies return, and the protocol of a policy; a policy names the hosts that it leases."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from edrp.enactment.state import EnactmentState


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
