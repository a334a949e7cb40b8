"""The runs behind Figs. 8 and 9 of bi-modal networks, and those with one constant changed at a time."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from edrp.core.arrays import Floats
from edrp.core.problem import Problem
from edrp.datasets.families.mapping.platforms import INSTANCES_PER_SERVICE, SHRINKAGE, bimodal_scenario
from edrp.mapping.bimodal_scenario import BimodalScenario
from edrp.report.formatting import Unit
from edrp.validation.papers.batches import DOCUMENTED, batch_rows, require_solved, vary
from edrp.validation.papers.bimodal.extent import CHOSEN, DEFAULT_RATE, NETWORKS, SPANNING, WAYS, Cell, CellGroup, Extent, groups

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
