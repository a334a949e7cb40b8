"""The portal of a task, through which a user submits it (bi-modal networks, section 2)."""

from __future__ import annotations

from edrp.heuristics.mapping.rules import Specification
from edrp.validation.simulation.mapping.agents.messages import (
    PORTAL,
    Ack,
    Begin,
    Confirm,
    End,
    Forget,
    Map,
    Message,
    Reject,
    Release,
    Select,
)
from edrp.validation.simulation.mapping.agents.partial import PartialMap


class Portal:
    """The portal of one task: the root of its mapping, outside of all servers.

    It sends the first map to the source. Once that is acknowledged no map is under way any more, so it tells the delivery to
    select among what has arrived. Once it knows whether the task is accepted, it lets all servers forget the mapping: the
    word goes to the source and from each server to those to whom it sent the specification, which reaches everyone.
    """

    def __init__(self, task: int, specification: Specification) -> None:
        self.task = task
        self.specification = specification
        self.accepted: PartialMap | None = None
        self.ended = False
        self.short: tuple[str, ...] = ()

    def receive(self, message: Message) -> list[Message]:
        """Handle a message, and return the messages to send now."""
        task, source = self.task, self.specification.task.source
        match message:
            case Begin():
                return [Map(task, PORTAL, source, PartialMap(((source,),)), specification=self.specification)]
            case Ack():
                return [Select(task, PORTAL, self.specification.task.delivery)]
            case Confirm():
                self.accepted = message.map
                return [Forget(task, PORTAL, source), *self._release()]
            case Reject():
                self.short = message.short
                return [Forget(task, PORTAL, source)]
            case End():
                self.ended = True
                return self._release()
        raise TypeError(f"portals do not receive messages of kind {message.kind}")

    def _release(self) -> list[Message]:
        """Give back what the task holds, once it has ended: for one that was given up early, as soon as it is accepted."""
        if not self.ended or self.accepted is None:
            return []
        return [Release(self.task, PORTAL, self.specification.task.source, self.accepted, 0)]
