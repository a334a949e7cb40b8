"""Benchmark suites: our own, those of a user's files, and those that other packages add by the entry point `edrp.suites`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, pairwise, product
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from edrp.batch.source import read_instances
from edrp.batch.tasks import Instance
from edrp.certified.library import library
from edrp.certified.records import SIZE_NAMES, Row
from edrp.core.errors import Fault, InvalidInstanceError
from edrp.core.methods import methods
from edrp.core.plugins import added
from edrp.core.problem import Problem
from edrp.core.wording import suggestion
from edrp.datasets.enactment.arrival_patterns import PATTERNS
from edrp.datasets.enactment.manufacturing import manufacturing_scenario
from edrp.datasets.families.enactment.enactment_families import BILLING_TIMES
from edrp.datasets.families.mapping.platforms import TASKS_PER_HOUR as TASK_RATE
from edrp.datasets.families.mapping.platforms import Networks, bimodal_scenario
from edrp.datasets.families.mapping.power_law_networks import mapping_problem
from edrp.datasets.families.placement.geometric import geometric
from edrp.datasets.families.placement.layered import layered
from edrp.datasets.families.placement.sequence import elastic_sequence
from edrp.datasets.families.registry import generate
from edrp.datasets.placement.debs2015 import debs2015
from edrp.datasets.placement.latency_aware_test_bed import LOADS, OPERATIONS, paper_problem
from edrp.datasets.placement.production import production_instances
from edrp.datasets.placement.topologies import ansnet
from edrp.heuristics.migration.node_change import BalancedPacking
from edrp.migration.single_step import MigrationProblem
from edrp.validation.papers.edrp.experiments import WEIGHTINGS, first_deployment
from edrp.validation.papers.edrp.table_iv import MAX_REPLICAS, NODES, PROGRAM_RATE, TABLE_NETWORK_SEED
from edrp.validation.papers.state_migration.task_loads import departures
from edrp.validation.simulation.enactment.simulator import METHODS as POLICY_METHODS
from edrp.validation.simulation.mapping.bimodal_simulator import METHODS as CHOICE_METHODS

RATES = (70.0, 107.5, 145.0, 182.5, 220.0)
"""Tuples/s, from the least to the greatest of EDRP, section 7.2."""

TOLERANCES = (0.2, 0.4, 0.6, 0.8, 1.0, 1.2)
MIGRATIONS = 10
"""Consecutive migrations for each tolerance (state migration, section 6)."""

TASKS = 64


def paper_instances(data: Path | None = None) -> Iterator[tuple[str, Problem]]:
    """Identifiers and problems: EDRP, sections 7.2 (Tables II and III) and 7.4 (Table IV); state migration, section 6.

    `data` is not needed.
    """
    network = ansnet()
    for replicas, rate in product(MAX_REPLICAS, RATES):
        yield f"edrp-place-ansnet-{replicas}-{rate:g}", debs2015(rate, network, max_replicas=replicas)
    start = first_deployment(RATES[0], network)
    for name, rate in product(WEIGHTINGS, RATES[1:]):
        yield (
            f"edrp-reconfigure-{name.lower().replace(' ', '-')}-{rate:g}",
            debs2015(rate, network, weights=WEIGHTINGS[name], current=start),
        )
    for nodes, replicas in product(NODES, MAX_REPLICAS):
        yield (
            f"edrp-table-iv-{nodes}-{replicas}",
            debs2015(PROGRAM_RATE, geometric(nodes, TABLE_NETWORK_SEED), max_replicas=replicas),
        )
    yield from paper_migrations()


def paper_migrations() -> Iterator[tuple[str, Problem]]:
    """Consecutive migrations of the departures of 2013 in 64 tasks (state migration, section 6), for each tolerance."""
    series = departures()
    tasks = series.tasks(TASKS)
    counts = series.migrations(MIGRATIONS).tolist()
    for tolerance, (step, (before, after)) in product(TOLERANCES, enumerate(pairwise(counts))):
        node_of_task = BalancedPacking(allow_empty=False).initial(tasks.work, before)
        ends = np.searchsorted(node_of_task, np.arange(before + 1)).tolist()
        yield (
            f"migration-tolerance {tolerance:g}-{step}",
            MigrationProblem(
                work=tuple(tasks.work.tolist()),
                state_size=tuple(tasks.state_size.tolist()),
                intervals=tuple(pairwise(ends)),
                nodes=after,
                tolerance=tolerance,
            ),
        )


Instances = Iterable[tuple[str, Problem | str]]
"""Pairs of an id and a problem, or its JSON text. Ids that differ only in numbers are of one family: "diamond-000017"."""

PLACEMENT = ("auto", "eliminate", "highs", "annealing", "greedy", "random", "first-fit", "largest-node", "even", "ds2")
"""Methods for deployments: proofs, searches, and what a user would pick instead."""

SEARCHES = (
    "auto", "hill-climbing", "ant-system:iterations=1e6,stagnation=1e6", "hybrid:iterations=1e6,stagnation=1e6",
    "iterated-local-search:kicks=1e9", "annealing:anneals=1e6", "eliminate:time_limit=20", "highs:program=restricted",
    "greedy", "random", "first-fit", "largest-node", "even", "ds2",
)  # fmt: skip
"""Searches until their time is over, the proof (or bound) that they are measured against, restricted EDRP, and the baselines."""

SCORED = (
    "auto", "column-generation", "highs", "iterated-local-search", "hybrid", "ant-system", "hill-climbing", "annealing",
    "resource-aware", "greedy", "first-fit", "largest-node", "even", "random",
)  # fmt: skip
"""Methods for latency-aware placement."""

MIGRATION = ("auto", "ssm", "oms", "highs", "balanced", "even-split", "consistent-hashing")
"""Methods for single migrations and sequences of them."""

BASELINES = ("even-ranges", "edrp-then-ssm", "ds2-even-ranges", "sticky-ranges", "keep")
"""Rules that users follow today for replicas and key ranges."""

RESCALE = ("auto", "range-decomposition", "range-annealing", *BASELINES)
"""Methods for replicas, key ranges and nodes together: the automatic choice, the bound, the search, and baselines."""

ENACTMENT = ("auto", "highs", "first-fit-decreasing", "host-selection")
"""Methods for snapshots of enactment."""

POLICIES = ("auto", *(method.name for method in POLICY_METHODS))
"""Methods for runs of enactment: the automatic choice and all policies of this package, each simulated."""

MAPPING = ("auto", "label-setting", "highs", "process-map", "least-cost-map", "annealed-least-cost-map", "random-neighbor")
"""Methods for tasks to be mapped: proofs, and the decentralised algorithms of the paper, of which process-map enumerates."""

MAP_CHOICES = ("auto", *(method.name for method in CHOICE_METHODS))
"""Methods for runs on bi-modal networks: the automatic choice and all ways to choose among maps, each simulated."""

PAPER_SERVERS, PAPER_TASKS = (30, 60, 90, 120), 10
"""Sizes of the paper's networks (Fig. 7), and tasks on each."""

TRACE = 60
"""Tasks of a trace."""

LAYERED = 8
"""Layered applications of each size."""


@dataclass(frozen=True, slots=True)
class Suite:
    """Instances and methods of a benchmark.

    Attributes
    ----------
    name
        As given to `edrp benchmark --suite`.
    summary
        One sentence: what it is for.
    instances
        Makes them, given the folder of data (or None). Kinds may be mixed.
    methods
        Names in the registry, with arguments as in "highs:program=literal". Methods of other kinds than an instance's are
        left out for it.
    seeds
        How many seeds each method gets on each instance, 0, 1, ….
    time_limit
        Seconds for each run; None for none.
    needs_data
        Whether a folder of data must be given.
    known
        Records of the library by id, where its instances are those of the library.

    Examples
    --------
    >>> from edrp.datasets import layered
    >>> Suite("two", "layered applications", lambda data: [(f"layered-{i}", layered(6, i)) for i in (0, 1)], ("greedy",)).seeds
    1
    """

    name: str
    summary: str
    instances: Callable[[Path | None], Instances]
    methods: tuple[str, ...]
    seeds: int = 1
    time_limit: float | None = 10.0
    needs_data: bool = False
    known: Mapping[str, Row] = field(default_factory=dict)


def _of_kinds(
    data: Path | None, kinds: Iterable[tuple[str, int, int]], seed: int, families: Sequence[str] | None = None
) -> Iterator[tuple[str, Problem]]:
    """Problems of several kinds, each with their number and size."""
    for kind, count, size in kinds:
        yield from generate(kind, count, seed, families=families, size=size)


def _in_sizes(
    kind: str, count: int, sizes: Mapping[str, int], families: Sequence[str] | None = None
) -> Iterator[tuple[str, Problem]]:
    """Problems of every family of a kind, or of some, whose ids begin with the name of their size."""
    for name, size in sizes.items():
        for identifier, problem in generate(kind, count, 11, families=families, size=size):
            yield f"{name}-{identifier.removeprefix(f'{kind}-')}", problem


EVERY_FAMILY: dict[str, Callable[[Path | None], Instances]] = {
    "edrp": lambda data: _in_sizes("edrp", 36, {"small": 8, "medium": 14, "large": 20}),
    "rescale": lambda data: _in_sizes("rescale", 30, {"small": 16, "large": 128}),
    "enactment": lambda data: _in_sizes("enactment", 42, {"small": 6, "large": 16}),
}
"""Every family of some kinds, in several sizes."""

PROGRAM_SIZES = {
    "edrp": (5, 8),
    "edrp-sequence": (3, 4),
    "latency-aware": (4, 6),
    "migration": (20, 100),
    "rescale": (5, 8),
    "enactment": (6, 12),
    "leasing": (4, 10),
    "mapping": (8, 16),
    "link-allocation": (15, 40),
}
"""Sizes of instances of every kind that has programs, in what its families count."""


def _programs(data: Path | None) -> Iterator[tuple[str, Problem]]:
    """Four problems of every kind and size, of its families in turn."""
    for kind, (small, large) in PROGRAM_SIZES.items():
        yield from _in_sizes(kind, 4, {f"small-{kind}": small, f"large-{kind}": large})


def _sequences(data: Path | None) -> Iterator[tuple[str, Problem]]:
    for operators, nodes, seeds in ((6, 8, 6), (6, 10, 4), (10, 12, 1)):
        for seed in range(seeds):
            problem = elastic_sequence(seed, operators=operators, nodes=nodes, periods=24)
            yield f"elastic-{operators}x{nodes}-{seed}", problem


def _migration(data: Path | None) -> Iterator[tuple[str, Problem]]:
    for kind, count, sizes in (("migration", 120, (64, 128)), ("migration-sequence", 30, (20, 40))):
        for name, tasks in zip(("small", "large"), sizes, strict=True):
            for identifier, problem in generate(kind, count, 11, size=tasks):
                yield f"{name}-{identifier}", problem


def _heuristics(data: Path | None) -> Iterator[tuple[str, Problem]]:
    """DEBS 2015 on 24 nodes with up to three replicas, first and from what runs, and layered applications of 10 and 20."""
    network = geometric(24, TABLE_NETWORK_SEED)
    for rate in RATES:
        yield f"debs-first-{rate:g}", debs2015(rate, network, max_replicas=3)
    running = first_deployment(RATES[0], network)
    for rate in RATES[1:]:
        weights = WEIGHTINGS["Balanced"]
        yield f"debs-again-{rate:g}", debs2015(rate, network, max_replicas=3, weights=weights, current=running)
    for (name, operators), seed in product({"ten": 10, "twenty": 20}.items(), range(LAYERED)):
        yield f"{name}-operators-{seed}", layered(operators, seed)


def _latency_aware(data: Path | None) -> Iterator[tuple[str, Problem]]:
    for name, load in product((topology for topology in OPERATIONS if topology.startswith("T-R")), LOADS):
        yield f"{name.lower()}-{round(100 * load)}", paper_problem(name, load)
    yield from _in_sizes("latency-aware", 28, {"small": 8, "large": 20})


def _policies(data: Path | None) -> Iterator[tuple[str, Problem]]:
    for pattern, billing_time in product(PATTERNS, BILLING_TIMES):
        yield f"{pattern}-{billing_time:g}", manufacturing_scenario(pattern, billing_time=billing_time)
    yield from generate("enactment-scenario", 12, 11, families=["containers"], size=12)


def _mapping(data: Path | None) -> Iterator[tuple[str, Problem]]:
    for servers, seed in product(PAPER_SERVERS, range(PAPER_TASKS)):
        yield f"paper-{servers}-{seed}", mapping_problem(servers, seed=seed)
    yield from _in_sizes("mapping", 42, {"small": 6, "large": 12})


def _bimodal(data: Path | None) -> Iterator[tuple[str, Problem]]:
    for networks, rate, seed in product(get_args(Networks), (TASK_RATE, 2 * TASK_RATE), range(2)):
        yield f"{networks}-{rate:g}-{seed}", bimodal_scenario(networks=networks, rate=rate, tasks=TRACE, seed=seed)
    yield from generate("bimodal-scenario", 12, 11, size=TRACE)


def _production(data: Path | None, kind: Literal["edrp", "latency-aware"] = "edrp") -> Iterator[tuple[str, str]]:
    assert data is not None, "suites that need data are not run without"
    return production_instances(data, kind=kind)


SUITES = (
    Suite(
        "smoke",
        "a few small instances of each kind: does everything work together?",
        partial(_of_kinds, kinds=(("edrp", 8, 6), ("migration", 8, 24), ("migration-sequence", 2, 16)), seed=1),
        tuple(dict.fromkeys(PLACEMENT + MIGRATION)),
        seeds=2,
        time_limit=5.0,
    ),
    Suite(
        "placement",
        "random applications of the shapes of the literature on real and random networks",
        EVERY_FAMILY["edrp"],
        PLACEMENT,
    ),
    Suite(
        "clusters",
        "applications of 5 to 20 operators on clusters of equal nodes",
        lambda data: _in_sizes("edrp", 16, {str(size): size for size in (5, 10, 15, 20)}, ["*-cluster*"]),
        ("auto", "equal-nodes"),
        time_limit=30.0,
    ),
    Suite(
        "sequences",
        "deployments over elastic days: certified courses against a deployment that stays and one that follows the load",
        _sequences,
        ("auto", "priced-course", "static-deployment", "myopic"),
        time_limit=60.0,
    ),
    Suite(
        "backends",
        "programs of every kind that has some, in two sizes: which solver when",
        _programs,
        ("auto", "highs", "scipy", "scip", "gurobi"),
        time_limit=20.0,
    ),
    Suite("migration", "random tasks and node counts, single migrations and sequences", _migration, MIGRATION),
    Suite(
        "rescale",
        "replicas, key ranges and nodes together when the load changes: Zipf tasks, hashed keys, routes, airports and carriers",
        EVERY_FAMILY["rescale"],
        RESCALE,
        time_limit=5.0,
    ),
    Suite(
        "rules",
        "random placements and rescalings with one to four rules each: apart, together, spread, forbidden and others",
        partial(_of_kinds, kinds=(("edrp", 36, 6), ("latency-aware", 28, 6), ("rescale", 15, 8)), seed=11, families=["*-rules"]),
        tuple(dict.fromkeys((*PLACEMENT, *SCORED, *RESCALE))),
    ),
    Suite(
        "paper",
        "the sizes of the papers' tables: DEBS 2015 on ANSNET and random networks, 64 tasks of real flights on 8 to 16 nodes",
        paper_instances,
        tuple(dict.fromkeys(PLACEMENT + MIGRATION)),
        time_limit=20.0,
    ),
    Suite(
        "production",
        "136 Storm topologies that were in production, from the folder given",
        _production,
        tuple(name for name in PLACEMENT if name != "highs"),  # programs for hundreds of hosts are hopeless
        needs_data=True,
    ),
    Suite(
        "heuristics",
        "searches for deployments with replicas at equal time: DEBS 2015 on 24 nodes, layered applications of two sizes",
        _heuristics,
        SEARCHES,
        seeds=3,
        time_limit=1.0,
    ),
    Suite(
        "latency-aware",
        "latency-aware placement: the topologies of its paper at three loads, random ones on real and random networks",
        _latency_aware,
        SCORED,
        time_limit=10.0,
    ),
    Suite(
        "enactment",
        "snapshots of enactment: the factory at random states, random applications on one to three types of hosts",
        EVERY_FAMILY["enactment"],
        ENACTMENT,
    ),
    Suite(
        "enactment-policies",
        "runs of enactment: the paper's arrival patterns under its billing time units, random applications under random walks",
        _policies,
        POLICIES,
        seeds=3,
        time_limit=60.0,
    ),
    Suite(
        "mapping",
        "tasks on bi-modal networks: the paper's networks of 30 to 120 servers, regular, tight and busy ones",
        _mapping,
        MAPPING,
    ),
    Suite(
        "bimodal",
        "runs on bi-modal networks: the paper's platform and small ones, with links, the public network and both",
        _bimodal,
        MAP_CHOICES,
        seeds=3,
        time_limit=60.0,
    ),
    Suite(
        "production-latency-aware",
        "136 Storm topologies that were in production, as latency-aware placement, from the folder given",
        partial(_production, kind="latency-aware"),
        tuple(name for name in SCORED if name not in ("highs", "column-generation", "annealing", "random")),
        time_limit=1.0,
        needs_data=True,
    ),
)
"""Our own."""


def all_suites() -> dict[str, Suite]:
    """All suites by name, those of other packages (entry point `edrp.suites`) included.

    An entry point gives a `Suite` or a list of them; one whose name is taken is left out.

    >>> list(all_suites())[:5]
    ['smoke', 'placement', 'clusters', 'sequences', 'backends']
    """
    suites = {suite.name: suite for suite in SUITES}
    for suite in added("edrp.suites"):
        suites.setdefault(suite.name, suite)
    return suites


def library_suite(name: str) -> Suite:
    """A suite of rows of the library: "library", "library/KIND" or "library/KIND/SIZE"; KIND may be "all".

    Raises
    ------
    EdrpError
        For an unknown kind or size, and where there are no such rows.

    Examples
    --------
    >>> suite = library_suite("library/migration/second")
    >>> [name for name, _ in suite.instances(None)] == list(suite.known)
    True
    """
    kind, _, size = name.partition("/")[2].partition("/")
    if size and size not in SIZE_NAMES:
        raise InvalidInstanceError([Fault("suite", repr(name), f"has no size {size!r}{suggestion(size, SIZE_NAMES)}")])
    chosen = library.select(None if kind in ("", "all") else kind, size or None)  # type: ignore[arg-type]
    if not chosen:
        raise InvalidInstanceError([Fault("suite", repr(name), "the library has no such rows")])
    kinds = dict.fromkeys(row.name.partition("/")[0] for row in chosen)
    return Suite(
        name,
        "rows of the library, compared with the best decisions and bounds that are known",
        lambda data: [(row.name, row.instance.text) for row in chosen],
        _methods(kinds),
        known={row.name: row.record for row in chosen},
    )


def get_suite(name: str) -> Suite:
    """The suite of that name; those of the library have names as in `library_suite`.

    Raises
    ------
    InvalidInstanceError
        When there is none; it lists those there are.

    Examples
    --------
    >>> get_suite("placements")
    Traceback (most recent call last):
    edrp.core.errors.InvalidInstanceError: 1 fault in the input
      suite: is no suite; did you mean 'placement'? (got 'placements')
    """
    known = all_suites()
    if name.partition("/")[0] == "library" and name not in known:
        return library_suite(name)
    if name not in known:
        raise InvalidInstanceError([Fault("suite", repr(name), f"is no suite{suggestion(name, known)}")])
    return known[name]


KIND_METHODS: dict[str, tuple[str, ...]] = {
    "edrp": PLACEMENT,
    "edrp-sequence": ("auto", "myopic", "static-deployment"),
    "edrp-policy": ("auto", "pool-policy"),
    "latency-aware": SCORED,
    "migration": MIGRATION,
    "migration-sequence": MIGRATION,
    "migration-policy": ("auto", "pmc", "fitted"),
    "rescale": RESCALE,
    "enactment": ENACTMENT,
    "leasing": ("auto", "highs"),
    "enactment-scenario": POLICIES,
    "mapping": MAPPING,
    "link-allocation": ("auto", "highs", "greedy-reallocation"),
    "bimodal-scenario": MAP_CHOICES,
}
"""Methods that are compared on instances of each kind; of a kind that is not named, all that take it."""


def own_suite(paths: Sequence[str | Path]) -> Suite:
    """A suite of the instances in files and folders, of any kinds.

    Parameters
    ----------
    paths
        Instance files, folders of them, and tables of instances (Parquet or JSON lines), as `read_instances` takes them.
        Instances of the same name in several places are told apart by the name of the place.

    Raises
    ------
    InvalidInstanceError
        When a path does not exist, cannot be read or holds no instance, or when names are repeated.
    """
    named = _named_apart([(Path(path), read_instances(path)) for path in paths])
    return instances_suite(named, ", ".join(str(path) for path in paths))


def instances_suite(source: Any, origin: str) -> Suite:
    """A suite of the instances of anything that `read_instances` takes; the origin is part of its summary."""
    instances = read_instances(source)
    kinds = dict.fromkeys(stated_kind(instance.text) for instance in instances)  # unreadable instances have none
    pairs = [(instance.id, instance.text) for instance in instances]
    return Suite("own instances", f"instances from {origin}", lambda data: pairs, _methods(kinds) or ("auto",))


def _methods(kinds: Iterable[str]) -> tuple[str, ...]:
    """`KIND_METHODS`, or all methods that take problems of a kind; none of an unknown one, whose instances fail."""
    known = methods().items()
    chosen = (KIND_METHODS.get(kind) or [name for name, method in known if kind in method.kinds] for kind in kinds)
    return tuple(dict.fromkeys(chain.from_iterable(chosen)))


def _named_apart(sources: Iterable[tuple[Path, list[Instance]]]) -> list[Instance]:
    sources = list(sources)
    counts = Counter(instance.id for _, instances in sources for instance in instances)
    return [
        instance._replace(id=f"{_place(path)}/{instance.id}") if counts[instance.id] > 1 else instance
        for path, instances in sources
        for instance in instances
    ]


def _place(path: Path) -> str:
    """The name of a folder or of a table; of an instance file that of its folder."""
    return path.resolve().parent.name if path.suffix == ".json" and not path.is_dir() else path.resolve().stem


def stated_kind(text: str) -> str:
    """Kind of a problem that is given as JSON text, of which only as much is read as is needed."""
    match = re.search(r'"kind"\s*:\s*"([^"]+)"', text)
    return match[1] if match else ""
