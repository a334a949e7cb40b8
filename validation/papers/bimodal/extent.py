"""Extent of the experiments on bi-modal networks: points, the runs at each, and the folders of their results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, Literal, NamedTuple

Networks = Literal["both", "dedicated", "public"]

NETWORKS: tuple[Networks, ...] = ("both", "dedicated", "public")
RATES = (10.0, 20.0, 30.0, 40.0, 60.0, 80.0, 100.0, 120.0)
"""Arrivals per hour."""

LINKS = (25, 50, 75, 99, 110, 120, 125, 150, 175, 200)
"""Dedicated links among 100 servers; 120 and 125 are the numbers that the paper speaks of."""

DEFAULT_RATE, SPANNING = 60.0, 99
"""Default values while the other is varied: the paper's rate, and the links of a spanning tree."""

SIZES = (30, 45, 60, 75, 90, 105, 120)
"""Servers of the networks of Fig. 7."""


@dataclass(frozen=True, slots=True)
class RunMode:
    """Settings of a run apart from its networks: a method of the batch layer, with some fields of `BimodalScenario`.

    The heading of its columns says what a map has to have least of, in this order.
    """

    heading: str
    method: str
    fields: Mapping[str, Any] = field(default_factory=dict)


NEVER = ":reallocation=False"
"""Parameter by which a method leaves links as they were at admission."""

AT_ONCE = ":message_delays=False"
"""Parameter by which servers handle maps in the order in which they are sent, as if messages took no time."""

CHOSEN, PRINTED, FEWEST_LINKS, FURTHER = "chosen", "printed", "fewest-links", "further"
FIXED, PRINTED_FIXED, FURTHER_FIXED = "fixed", "printed-fixed", "further-fixed"
INSTANT, PRINTED_INSTANT, FURTHER_INSTANT = "instant", "printed-instant", "further-instant"
WAYS: Mapping[str, RunMode] = {
    CHOSEN: RunMode("public hops,\nload", "public-hops-mapping"),
    PRINTED: RunMode("as printed:\nload first", "load-balance-mapping"),
    FEWEST_LINKS: RunMode("public hops,\nlinks", "public-hops-links-mapping"),
    FIXED: RunMode("public hops,\nload", f"public-hops-mapping{NEVER}"),
    PRINTED_FIXED: RunMode("as printed:\nload first", f"load-balance-mapping{NEVER}"),
    INSTANT: RunMode("public hops,\nload", f"public-hops-mapping{AT_ONCE}"),
    PRINTED_INSTANT: RunMode("as printed:\nload first", f"load-balance-mapping{AT_ONCE}"),
    FURTHER: RunMode("public hops,\nlinks; 3 empty", "public-hops-links-mapping", {"max_empty_hops": 3}),
    FURTHER_FIXED: RunMode("public hops,\nlinks; 3 empty", f"public-hops-links-mapping{NEVER}", {"max_empty_hops": 3}),
    FURTHER_INSTANT: RunMode("public hops,\nlinks; 3 empty", f"public-hops-links-mapping{AT_ONCE}", {"max_empty_hops": 3}),
}
"""The first is that of all figures. `FIXED` is set next to it in Fig. 8, the others at the default point only."""

CHOICES = (PRINTED, CHOSEN, FEWEST_LINKS, FURTHER)
FIXED_CHOICES = (PRINTED_FIXED, FIXED, FURTHER_FIXED)
INSTANT_CHOICES = (PRINTED_INSTANT, INSTANT, FURTHER_INSTANT)
"""Ways that differ in which map they choose, the printed one first: with re-allocation, without, and with it where messages
take no time, on which the printed choice depends: which of many maps of low load come first."""


class Cell(NamedTuple):
    """One kind of run at one point, in a way of `WAYS`; there is one run of it for each network."""

    networks: str
    rate: float = DEFAULT_RATE
    links: int = SPANNING
    way: str = CHOSEN


Flow = Literal["drawn", "expected"]
"""Ways to simulate the flow over the public network."""


@dataclass(frozen=True, slots=True)
class Extent:
    """Extent of the experiments: numbers of networks, tasks and repetitions.

    Attributes
    ----------
    networks : random networks for each point, each with a trace of its own.
    rates, links : points of Figs. 8 and 9: all rates at the spanning tree, all numbers of links at the default rate.
    tasks : in a trace.
    flow : field of `BimodalScenario`: rates on the public network are drawn, or their expectation is taken.
    sizes, instances : servers of the networks of Fig. 7, and tasks to map for each.
    sensitive : networks on which constants are changed one at a time; 0 for none.

    >>> Extent(networks=3).folder
    '3-networks-500-tasks-drawn'
    """

    networks: int = 30
    rates: tuple[float, ...] = RATES
    links: tuple[int, ...] = LINKS
    tasks: int = 500
    flow: Flow = "drawn"
    sizes: tuple[int, ...] = SIZES
    instances: int = 100
    sensitive: int = 0

    @property
    def seeds(self) -> range:
        """Seeds of networks and traces."""
        return range(1, self.networks + 1)

    @property
    def folder(self) -> str:
        """Folder of the rows: other numbers make other instances, which a folder of results refuses."""
        return f"{self.networks}-networks-{self.tasks}-tasks-{self.flow}"


def quick_look(extent: Extent) -> Extent:
    """A look at every figure within a few minutes, which decides little.

    >>> quick_look(Extent()).networks
    3
    """
    return Extent(
        networks=min(extent.networks, 3),
        rates=(20.0, DEFAULT_RATE, 120.0),
        links=(50, SPANNING, 125, 200),
        tasks=min(extent.tasks, 200),
        flow=extent.flow,
        sizes=(30, 60, 120),
        instances=min(extent.instances, 20),
        sensitive=min(extent.sensitive, 1),
    )


class CellGroup(NamedTuple):
    """Runs that share instances, in ways of `WAYS` with equal fields: one call of the batch layer, one folder of results."""

    name: str
    networks: tuple[str, ...]
    rate: float
    links: int
    ways: tuple[str, ...]

    @property
    def cells(self) -> list[tuple[Cell, str]]:
        """Cells that the group fills, each with the method that does."""
        return [(Cell(networks, self.rate, self.links, way), WAYS[way].method) for networks in self.networks for way in self.ways]


def groups(extent: Extent) -> Iterator[CellGroup]:
    """Everything that Figs. 8 and 9 and the comparison of choices need, point by point."""
    points = dict.fromkeys([*((rate, SPANNING) for rate in extent.rates), *((DEFAULT_RATE, links) for links in extent.links)])
    for rate, links in points:
        folder = f"{rate:g}-per-hour-{links}-links"
        yield CellGroup(f"{folder}/alone", NETWORKS[1:], rate, links, (CHOSEN,))
        ways = WAYS if (rate, links) == (DEFAULT_RATE, SPANNING) else [CHOSEN, FIXED] if links == SPANNING else [CHOSEN]
        for index, (_, alike) in enumerate(groupby(ways, key=lambda way: sorted(WAYS[way].fields.items()))):
            yield CellGroup(f"{folder}/both" + (f"-{index}" if index else ""), NETWORKS[:1], rate, links, tuple(alike))
