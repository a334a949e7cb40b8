"""The runs behind Figs. 7 to 9 of bi-modal networks: points, the runs at each, and folders of their results.

Figs. 8 and 9 simulate traces, also with one constant changed at a time; Fig. 7 compares three heuristics with the true optimum
and the relaxed bound of the paper.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from joblib import Parallel, delayed

from edrp.core.arrays import Bools, Floats
from edrp.core.errors import EdrpError
from edrp.core.problem import Problem
from edrp.datasets.families.mapping.platforms import INSTANCES_PER_SERVICE, SHRINKAGE, bimodal_scenario, mapping_problem
from edrp.formulations.mapping.lagrangian import relaxed_bound
from edrp.mapping.bimodal_scenario import BimodalScenario
from edrp.mapping.path_mapping import MappingProblem
from edrp.report.formatting import Unit
from edrp.validation.papers.batches import DOCUMENTED, batch_rows, require_solved, vary

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


COLUMNS = ("id", "method", "outcome", "status", "objective", "metrics", "size", "solve_seconds", "error_message")
"""Columns of the result rows that reports read."""

COARSE = 25
"""Smallest distance between numbers of links whose values are compared: closer points differ by less than networks do."""

PERCENT, RATE_SHOWN, COUNT, SECONDS = Unit(100, ".1f"), Unit(1, ".1f"), Unit(1, ".0f"), Unit(1, ".2f")

Samples = Mapping[Cell, Mapping[str, Floats]]
"""Values of each metric over the networks, in the order of their seeds, by cell."""

ScenarioMaker = Callable[..., Problem]
"""Makes a scenario as `bimodal_scenario` does."""

VARIANTS: Mapping[str, Mapping[str, Any]] = {
    DOCUMENTED: {},
    "flow: its expectation": {"flow": "expected"},
    "variation: base e": {"variation_base": math.e},
    "buffer: 1 s": {"buffer": 1.0},
    "window: 1 s": {"window": 1.0},
    "window: 60 s": {"window": 60.0},
    "no empty hop": {"max_empty_hops": 0},
    "2 empty hops": {"max_empty_hops": 2},
    "3 empty hops": {"max_empty_hops": 3},
    "re-allocation: every second": {"reallocation_interval": 1.0},
    "re-allocation: every minute": {"reallocation_interval": 60.0},
    "re-allocation: never": {"reallocation_interval": 0.0},
    "k = 1": {"instances_per_service": 1.0},
    "k = 3": {"instances_per_service": 3.0},
    "no shrinkage": {"shrinkage": 1.0},
}
"""Changed constants by what is different; the paper does not print them, or not why they have their values."""


class ShownMetric(NamedTuple):
    """A metric as it is shown: a title that names the unit, and what writes a value."""

    title: str
    unit: Unit


MEASURES = {
    "throughput": ShownMetric("throughput [tasks/h]", RATE_SHOWN),
    "acceptance": ShownMetric("acceptance [%]", PERCENT),
    "server_utilisation": ShownMetric("servers, reserved [%]", PERCENT),
    "server_work": ShownMetric("servers, work done [%]", PERCENT),
    "link_utilisation": ShownMetric("dedicated links [%]", PERCENT),
    "deviation": ShownMetric("deviation [%]", PERCENT),
    "elongation": ShownMetric("elongation [%]", PERCENT),
    "public_share": ShownMetric("public hops [%]", PERCENT),
    "messages": ShownMetric("messages per task", COUNT),
    "reallocations": ShownMetric("re-allocated hops", COUNT),
    "seconds": ShownMetric("seconds to simulate", SECONDS),
}
"""Titles and units of the metrics of a run, by their names."""


class SampleSweep(NamedTuple):
    """Samples of all cells by the quantity that is varied."""

    samples: Samples

    @property
    def rates(self) -> list[float]:
        """Rates at which both networks were run, at the spanning tree."""
        return sorted({cell.rate for cell in self.samples if cell.networks == "both" and cell.links == SPANNING})

    @property
    def links(self) -> list[int]:
        """Numbers of links with which both networks were run, at the default rate."""
        return sorted({cell.links for cell in self.samples if cell.networks == "both" and cell.rate == DEFAULT_RATE})

    @property
    def coarse_links(self) -> list[int]:
        """Numbers of links at which both networks were run, without those close to the one before."""
        coarse: list[int] = []
        for links in self.links:
            if not coarse or links - coarse[-1] >= COARSE - 1:
                coarse.append(links)
        return coarse

    def at(
        self, metric: str, networks: str = "both", *, rate: float = DEFAULT_RATE, links: int = SPANNING, way: str = CHOSEN
    ) -> Floats:
        """A metric over the networks."""
        return self.samples[Cell(networks, rate, links, way)][metric]

    def has(self, way: str) -> bool:
        """Whether runs were made in that way at the default point."""
        return Cell("both", way=way) in self.samples

    def by_links(self, metric: str, networks: str) -> dict[float, Floats]:
        """A metric over the networks, by number of links."""
        return {links: self.at(metric, networks, links=links) for links in self.links}

    def by_rate(self, metric: str, networks: str = "both", way: str = CHOSEN) -> dict[float, Floats]:
        """A metric over the networks, by rate."""
        return {rate: self.at(metric, networks, rate=rate, way=way) for rate in self.rates}


def observe(extent: Extent, *, out: Path | None = None, **how: Any) -> Samples:
    """Run everything that Figs. 8 and 9 and the comparison of choices need; the first run that fails is named.

    Rows are kept in a folder, if any, where the same call again runs only what is missing; `how` is as in `batch_rows`.
    """
    samples: dict[Cell, Mapping[str, Floats]] = {}
    for group in groups(extent):
        where = None if out is None else out / extent.folder / group.name
        samples |= run_group(group, extent, out=where, **how)
    return samples


def sensitivity(
    extent: Extent, variants: Mapping[str, Mapping[str, Any]] = VARIANTS, *, out: Path | None = None, **how: Any
) -> dict[str, Samples]:
    """Samples of each variant at the default point, for both networks and each alone; arguments are those of `observe`."""
    few = replace(extent, networks=extent.sensitive)

    def run(folder: str, constants: Mapping[str, Any]) -> Samples:
        group = CellGroup(folder, NETWORKS, DEFAULT_RATE, SPANNING, (CHOSEN,))
        where = None if out is None else out / few.folder / "sensitivity" / folder
        return run_group(group, few, make=varied_scenario, constants=constants, out=where, **how)

    return vary(variants, run) if extent.sensitive else {}


def run_group(
    group: CellGroup,
    extent: Extent,
    *,
    make: ScenarioMaker = bimodal_scenario,
    constants: Mapping[str, Any] | None = None,
    out: Path | None = None,
    **how: Any,
) -> dict[Cell, Mapping[str, Floats]]:
    """Samples of the cells of one group, of scenarios that are made with these constants; other arguments as in `observe`."""
    fields = {"rate": group.rate, "links": group.links, "tasks": extent.tasks, "flow": extent.flow, **WAYS[group.ways[0]].fields}
    fields |= constants or {}
    instances = {
        f"{networks}/{seed}": make(networks=networks, seed=seed, **fields) for networks in group.networks for seed in extent.seeds
    }
    methods = list(dict.fromkeys(method for _, method in group.cells))
    rows = {(row["id"], row["method"]): row for row in batch_rows(instances, methods, COLUMNS, out=out, **how)}
    samples: dict[Cell, Mapping[str, Floats]] = {}
    for cell, method in group.cells:
        solved = [require_solved(rows[f"{cell.networks}/{seed}", method]) for seed in extent.seeds]
        metrics = [{**dict(row["metrics"]), "seconds": row["solve_seconds"]} for row in solved]  # that simulating it took
        samples[cell] = {name: np.array([run[name] for run in metrics]) for name in metrics[0]}
    return samples


def varied_scenario(
    *, instances_per_service: float = INSTANCES_PER_SERVICE, shrinkage: float = SHRINKAGE, **fields: Any
) -> BimodalScenario:
    """A `bimodal_scenario` of these fields with another k of the paper, to which capacities are proportional, or shrinkage.

    >>> one, two = (varied_scenario(instances_per_service=k, servers=5, links=4, tasks=1) for k in (1, 2))
    >>> [node.capacity for node in two.network.nodes] == [2 * node.capacity for node in one.network.nodes]
    True
    """
    scenario = bimodal_scenario(**fields)
    factor = instances_per_service / INSTANCES_PER_SERVICE
    nodes = tuple(node.replace(capacity=factor * node.capacity) for node in scenario.network.nodes)
    services = tuple(service.replace(shrinkage=shrinkage) for service in scenario.services)
    return scenario.replace(network=scenario.network.replace(nodes=nodes), services=services)


EXACT = "label-setting"
LEAST, ANNEALED, RANDOM_1, RANDOM_2 = "LeastCostMap", "AnnealedLeastCostMap", "RandomNeighbor, k = 1", "RandomNeighbor, k = 2"
MAX_MESSAGES = 50_000
"""Limit of RandomNeighbor with k = 2, which otherwise doubles its maps at every server."""

HEURISTICS: Mapping[str, str] = {
    LEAST: "least-cost-map",
    ANNEALED: "annealed-least-cost-map",
    RANDOM_1: "random-neighbor:neighbours=1",
    RANDOM_2: f"random-neighbor:neighbours=2,max_messages={MAX_MESSAGES}",
}
"""Heuristics by the paper's name, as names of this package with parameters."""

MESSAGES = "map_messages"
"""Count of an answer: the maps sent between servers, as in Fig. 7(b)."""


class Mapped(NamedTuple):
    """Tasks on networks of one size that can be mapped, in the order of their seeds.

    Proven least costs and the paper's bound, in which bandwidths do not matter; by heuristic its costs, NaN where it finds no
    map, and the maps that it sends.
    """

    optimum: Floats
    bound: Floats
    costs: Mapping[str, Floats]
    messages: Mapping[str, Floats]

    def ratio(self, heuristic: str, to: Floats) -> Floats:
        """Costs as multiples of others, where the heuristic found a map."""
        is_mapped = self.found(heuristic)
        return self.costs[heuristic][is_mapped] / to[is_mapped]

    def found(self, heuristic: str) -> Bools:
        """Return for each task whether the heuristic maps it."""
        return ~np.isnan(self.costs[heuristic])


MappedBySize = Mapping[int, Mapped]


def map_all(extent: Extent, *, out: Path | None = None, **how: Any) -> dict[int, Mapped]:
    """Map tasks of ten components on networks of every size, exactly and by every heuristic; arguments are those of `observe`.

    The first method that fails is named, and so is the first optimum that is not proven.
    """
    mapped = {}
    for servers in extent.sizes:
        problems = {str(seed): mapping_problem(servers, seed=seed) for seed in range(1, extent.instances + 1)}
        where = None if out is None else out / f"{extent.instances}-tasks-to-map" / f"{servers}-servers"
        rows = {
            (row["id"], row["method"]): row
            for row in batch_rows(problems, [EXACT, *HEURISTICS.values()], COLUMNS, out=where, **how)
        }
        for row in rows.values():
            # Finding nothing is an answer of a heuristic, and being infeasible one of the exact method.
            expected = {"optimal", "infeasible"} if row["method"] == EXACT else {"feasible", "optimal", "infeasible", "none"}
            if row["outcome"] in ("failed", "refused") or row["status"] not in expected:
                raise EdrpError(f"{row['method']} on {row['id']}: {row['outcome']}, {row['status']}: {row['error_message']}")
        mapped[servers] = _mapped(problems, rows, how.get("n_jobs"))
    return mapped


def _mapped(problems: Mapping[str, MappingProblem], rows: Mapping[tuple[str, str], Any], n_jobs: int | None) -> Mapped:
    feasible = [name for name in problems if rows[name, EXACT]["status"] == "optimal"]
    bounds = Parallel(n_jobs=-1 if n_jobs is None else n_jobs)(delayed(relaxed_bound)(problems[name]) for name in feasible)
    rows_of = {title: [rows[name, method] for name in feasible] for title, method in HEURISTICS.items()}
    return Mapped(
        optimum=_costs(rows[name, EXACT] for name in feasible),
        bound=np.array(bounds, dtype=np.float64),
        costs={name: _costs(answers) for name, answers in rows_of.items()},
        messages={
            name: np.array([dict(row["size"])[MESSAGES] for row in answers], np.float64) for name, answers in rows_of.items()
        },
    )


def _costs(rows: Iterable[Mapping[str, Any]]) -> Floats:
    return np.array([np.nan if row["objective"] is None else row["objective"] for row in rows], dtype=np.float64)
