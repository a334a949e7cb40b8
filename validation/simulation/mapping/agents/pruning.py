"""Prunings: which maps a server sends on, and to which neighbours (bi-modal networks, section 4.1)."""

from __future__ import annotations

import math
from typing import TypeVar

from edrp.heuristics.mapping.rules import PruningName, Specification
from edrp.mapping.costs import key
from edrp.mapping.counter_random import uniform
from edrp.validation.simulation.mapping.agents.partial import PartialMap

Way = TypeVar("Way")

NOTHING_SEEN = (math.inf, math.inf)


class Enumeration:
    """Sends every map to every neighbour, which finds every map there is (Alg. 1); the base of all prunings.

    A pruning is that of one server for one task; its state lasts until the mapping has ended everywhere. `number` is that of the
    message being handled and `more` how many components were put here: draws depend on both alone.
    """

    def __init__(self, specification: Specification) -> None:
        self.specification = specification

    def passes(self, extended: PartialMap, number: int, more: int) -> bool:
        """Tell whether a map is sent on: every map is."""
        return True

    def chosen(self, ways: list[Way], number: int, more: int) -> list[Way]:
        """Choose the ways to send a map: all of them; rates are checked afterwards."""
        return ways


class LeastCost(Enumeration):
    """LeastCostMap (section 4.1.1): only maps that are better than all before them with as many components mapped.

    Better is strictly less, or maps would circle at no cost. Keys are exact: with the tolerance of the load-balance choice,
    what passes would depend on the order in which maps arrive.
    """

    def __init__(self, specification: Specification) -> None:
        super().__init__(specification)
        self.table: dict[tuple[int, int], tuple[float, float]] = {}

    def passes(self, extended: PartialMap, number: int, more: int) -> bool:
        """Tell whether the map is better; then later ones must beat it."""
        rules = self.specification.rules
        new_key = key(rules.cost, extended.facts, self.specification.max_links, len(self.specification.task.components))
        place = extended.prefix, extended.empty_hops if rules.split_by_hops else 0
        if not new_key < self.table.get(place, NOTHING_SEEN):
            return False
        self.table[place] = new_key
        return True


class Annealed(LeastCost):
    """AnnealedLeastCostMap (section 4.1.2): worse maps pass too, the less likely the more components are mapped."""

    def passes(self, extended: PartialMap, number: int, more: int) -> bool:
        """Tell whether the map is better, or passes at random."""
        if super().passes(extended, number, more):
            return True
        chance = math.exp(-self.specification.rules.cooling * (extended.prefix + 1))
        return uniform(self.specification.seed + 1, 64 * number + more) < chance


class RandomNeighbours(Enumeration):
    """RandomNeighbor (section 4.1.3): every map goes to a few neighbours, drawn without replacement.

    They are drawn before rates are looked at: where the way to one that is drawn has not the rate, nobody gets the map in its
    stead. That is why "the number of feasible ways narrows down very quickly" (section 4.2), and messages with it.
    """

    def chosen(self, ways: list[Way], number: int, more: int) -> list[Way]:
        """Return the neighbours drawn, in the order of drawing."""
        ways = list(ways)
        drawn = min(self.specification.rules.neighbours, len(ways))
        for position in range(drawn):
            draw = uniform(self.specification.seed + 2, 4096 * number + 64 * more + position)
            other = position + int(draw * (len(ways) - position))
            ways[position], ways[other] = ways[other], ways[position]
        return ways[:drawn]


PRUNINGS: dict[PruningName, type[Enumeration]] = {
    "least-cost": LeastCost,
    "annealed": Annealed,
    "random": RandomNeighbours,
    "none": Enumeration,
}
"""Prunings by name."""
