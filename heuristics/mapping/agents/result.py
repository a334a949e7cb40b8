"""What the protocol found, and what it took."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from edrp.heuristics.mapping.agents.rules import Specification
from edrp.mapping.costs import MapFacts
from edrp.mapping.documents import PathMap


@dataclass(frozen=True, slots=True)
class ProtocolResult:
    """What has become of one task.

    Attributes
    ----------
    specification : the task, and how it was mapped.
    decision : the map that is reserved (or was, where the task has ended); None for a task that is rejected, or undecided.
    maps, facts : complete maps and what costs look at, best first.
    messages : how many were sent, by kind. "spec" counts specifications, most of which travel with maps.
    terminated : times at which the portal learnt that no map is under way, in seconds; one, after the mapping.
    decided : times at which the portal learnt of the decision.
    ended : whether the task has ended.
    short : for a task that is rejected, what each map that was tried lacked; nothing where no map was found.
    engagements : how often each server took part with maps outstanding; those above one are re-engagements.
    capped : whether the number of messages had come to its limit.
    """

    specification: Specification
    decision: PathMap | None
    maps: tuple[PathMap, ...]
    facts: tuple[MapFacts, ...]
    messages: Counter[str]
    terminated: tuple[float, ...]
    decided: tuple[float, ...]
    ended: bool
    short: tuple[str, ...]
    engagements: Counter[str]
    capped: bool
