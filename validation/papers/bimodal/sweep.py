"""Samples of bi-modal networks by what is varied: arrivals per hour, or dedicated links."""

from __future__ import annotations

from typing import NamedTuple

from edrp.core.arrays import Floats
from edrp.validation.papers.bimodal.plan import CHOSEN, RATE, SPANNING, Cell
from edrp.validation.papers.bimodal.runs import Samples

COARSE = 25
"""Least distance between numbers of links whose values are compared: close points differ by less than networks do."""


class Sweep(NamedTuple):
    """Samples by what is varied.

    Attributes
    ----------
    samples
        Of all cells.
    """

    samples: Samples

    @property
    def rates(self) -> list[float]:
        """At which both networks were run, at the spanning tree."""
        return sorted({cell.rate for cell in self.samples if cell.networks == "both" and cell.links == SPANNING})

    @property
    def links(self) -> list[int]:
        """With which both networks were run, at the default rate."""
        return sorted({cell.links for cell in self.samples if cell.networks == "both" and cell.rate == RATE})

    @property
    def coarse_links(self) -> list[int]:
        """Of these, so many that none is close to another."""
        kept: list[int] = []
        for links in self.links:
            if not kept or links - kept[-1] >= COARSE - 1:
                kept.append(links)
        return kept

    def at(self, metric: str, networks: str = "both", *, rate: float = RATE, links: int = SPANNING, way: str = CHOSEN) -> Floats:
        """A metric over the networks."""
        return self.samples[Cell(networks, rate, links, way)][metric]

    def has(self, way: str) -> bool:
        """Whether runs were made in that way at the default point."""
        return Cell("both", way=way) in self.samples

    def by_links(self, metric: str, networks: str) -> dict[float, Floats]:
        """A metric over the networks, by number of links."""
        return {links: self.at(metric, networks, links=links) for links in self.links}
