"""The complete maps that a compiled flood of maps has found, best first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, overload

from numpy.typing import NDArray

from edrp.core.arrays import Ints
from edrp.heuristics.mapping.flood_memory import PUBLIC
from edrp.mapping.costs import MapFacts, ranked


class FoundMap(NamedTuple):
    """A complete map.

    Attributes
    ----------
    nodes : server of each component.
    routes : servers of each hop, a single one for a hop that stays there.
    public : whether each hop goes over the public network.
    facts : what costs look at.
    """

    nodes: tuple[int, ...]
    routes: tuple[tuple[int, ...], ...]
    public: tuple[bool, ...]
    facts: MapFacts


@dataclass(frozen=True)
class FloodResult(Sequence[FoundMap]):
    """Complete maps in the order in which the delivery server would reserve them, and what they took.

    Attributes
    ----------
    messages : number of messages by kind.
    finished : whether every message was handled and acknowledged; not when time was up.
    capped : whether messages were kept back because there were too many.
    facts : of the complete maps, in the order in which they were found.
    cost, most_links : what maps are ranked by.
    steps, ends : maps step by step (dtype `edrp.heuristics.mapping.flood_memory.MAP`), and the last step of each complete one.
    """

    messages: dict[str, int]
    finished: bool
    capped: bool
    facts: list[MapFacts]
    cost: str
    most_links: int
    steps: NDArray[Any]
    ends: Ints

    def __len__(self) -> int:
        """Complete maps."""
        return len(self.facts)

    @overload
    def __getitem__(self, rank: int) -> FoundMap: ...

    @overload
    def __getitem__(self, rank: slice) -> list[FoundMap]: ...

    def __getitem__(self, rank: int | slice) -> FoundMap | list[FoundMap]:
        """The map of that rank, 0 for the best."""
        if isinstance(rank, slice):
            return [self[each] for each in range(*rank.indices(len(self)))]
        return self.unrolled(self.ranking[rank])

    @cached_property
    def ranking(self) -> list[int]:
        """Places in `facts`, best first."""
        return ranked(self.cost, self.facts, self.most_links)

    def unrolled(self, found: int) -> FoundMap:
        """The map of a place in `facts`, followed from its last step back to its first."""
        nodes: list[int] = []
        routes: list[list[int]] = [[]]
        public: list[bool] = [False]
        position = int(self.ends[found])
        while position >= 0:
            step = self.steps[position]
            node = int(step["node"])
            routes[-1].append(node)
            for _ in range(int(step["placed"])):
                nodes.append(node)
                routes.append([node])
                public.append(False)
            public[-1] = public[-1] or int(step["arc"]) == PUBLIC
            position = int(step["parent"])
        return FoundMap(
            nodes=tuple(reversed(nodes)),
            routes=tuple(tuple(reversed(route)) for route in reversed(routes)),
            public=tuple(reversed(public)),
            facts=self.facts[found],
        )
