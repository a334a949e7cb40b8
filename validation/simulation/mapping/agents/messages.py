"""Messages between servers, and between servers and the portal of a task."""

from __future__ import annotations

from dataclasses import dataclass

from edrp.heuristics.mapping.rules import Specification
from edrp.validation.simulation.mapping.agents.partial import PartialMap

PORTAL = ""
"""Address of the portal of a task; no server has an empty name."""


@dataclass(frozen=True, slots=True)
class Message:
    """One message about one task."""

    task: int
    sender: str
    receiver: str

    @property
    def kind(self) -> str:
        """Word by which messages are counted."""
        return type(self).__name__.lower()


@dataclass(frozen=True, slots=True)
class Map(Message):
    """A map to be extended (Algs. 1 and 3), over a dedicated link or the public network.

    The specification travels with the first map from a server to another. `number` is set by the carrier of messages, in the
    order in which maps are sent.
    """

    map: PartialMap
    public: bool = False
    specification: Specification | None = None
    number: int = -1


@dataclass(frozen=True, slots=True)
class Ack(Message):
    """Acknowledges the map of that number (Alg. 2); the final one closes the engagement of its sender."""

    number: int
    final: bool


@dataclass(frozen=True, slots=True)
class Ask(Message):
    """Asks for the specification, which a map has overtaken."""


@dataclass(frozen=True, slots=True)
class Spec(Message):
    """The specification by itself."""

    specification: Specification


@dataclass(frozen=True, slots=True)
class Select(Message):
    """Tells the delivery server that the mapping has ended: no map is under way any more."""


@dataclass(frozen=True, slots=True)
class Probe(Message):
    """Reserves, from the delivery back to the source, what a map takes; `place` is that of the receiver among its stops."""

    map: PartialMap
    place: int


@dataclass(frozen=True, slots=True)
class Rollback(Message):
    """Undoes a probe on its way back to the delivery; `short` names what was taken by others."""

    map: PartialMap
    place: int
    short: str


@dataclass(frozen=True, slots=True)
class Confirm(Message):
    """Tells the portal that the probe has reached the source: the task is accepted."""

    map: PartialMap


@dataclass(frozen=True, slots=True)
class Reject(Message):
    """Tells the portal that no map is left; `short` names what each map that was tried lacked."""

    short: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Forget(Message):
    """Lets a server drop what it keeps of a mapping, and tell those to whom it sent the specification."""


@dataclass(frozen=True, slots=True)
class Release(Message):
    """Gives back, from the source on, what a task that has ended held."""

    map: PartialMap
    place: int


@dataclass(frozen=True, slots=True)
class Begin(Message):
    """The user hands a task to its portal."""


@dataclass(frozen=True, slots=True)
class End(Message):
    """The user tells the portal that the task has ended."""

