"""Suites: which instances, which methods, how long. Other packages add theirs by the entry point `edrp.suites`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from edrp.datasets.families import generate
from edrp.datasets.production import production_instances
from edrp.errors import Fault, InvalidInstanceError
from edrp.plugins import added
from edrp.problems.base import Problem
from edrp.validation.benchmark.paper import paper_instances
from edrp.wording import suggestion

Instances = Iterable[tuple[str, Problem | str]]
"""Pairs of an id and a problem, or its JSON text. Ids that differ only in numbers are of one family: "diamond-000017"."""

PLACEMENT = ("eliminate", "highs", "annealing", "greedy", "random", "first-fit", "largest-node", "even", "ds2")
"""Methods for deployments: proofs, searches, and what a user would pick instead."""

MIGRATION = ("ssm", "oms", "highs", "balanced", "even-split", "consistent-hashing")
"""Methods for single migrations and sequences of them."""


@dataclass(frozen=True, slots=True)
class Suite:
    """What a benchmark runs.

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


def _smoke(data: Path | None) -> Iterator[tuple[str, Problem]]:
    return chain(
        generate("edrp", 8, 1, size=6), generate("migration", 8, 1, size=24), generate("migration-sequence", 2, 1, size=16)
    )


def _placement(data: Path | None) -> Iterator[tuple[str, Problem]]:
    """Every family in three sizes."""
    for name, operators in {"small": 8, "medium": 14, "large": 20}.items():
        for identifier, problem in generate("edrp", 36, 11, size=operators):
            yield f"{name}-{identifier.removeprefix('edrp-')}", problem


def _migration(data: Path | None) -> Iterator[tuple[str, Problem]]:
    """Single migrations of 64 and 128 tasks, sequences of 20 and 40."""
    for kind, count, sizes in (("migration", 120, (64, 128)), ("migration-sequence", 30, (20, 40))):
        for name, tasks in zip(("small", "large"), sizes, strict=True):
            for identifier, problem in generate(kind, count, 11, size=tasks):
                yield f"{name}-{identifier}", problem


def _production(data: Path | None) -> Iterator[tuple[str, str]]:
    assert data is not None, "suites that need data are not run without"
    return production_instances(data)


SUITES = (
    Suite(
        "smoke",
        "a few small instances of each kind: does everything work together?",
        _smoke,
        tuple(dict.fromkeys(PLACEMENT + MIGRATION)),
        seeds=2,
        time_limit=5.0,
    ),
    Suite("placement", "random applications of the shapes of the literature on real and random networks", _placement, PLACEMENT),
    Suite("migration", "random tasks and node counts, single migrations and sequences", _migration, MIGRATION),
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
)
"""Our own."""


def all_suites() -> dict[str, Suite]:
    """All suites by name, those of other packages (entry point `edrp.suites`) included.

    An entry point gives a `Suite` or a list of them; one whose name is taken is left out.

    >>> list(all_suites())[:5]
    ['smoke', 'placement', 'migration', 'paper', 'production']
    """
    found = {suite.name: suite for suite in SUITES}
    for suite in added("edrp.suites"):
        found.setdefault(suite.name, suite)
    return found


def get_suite(name: str) -> Suite:
    """The suite of that name.

    Raises
    ------
    InvalidInstanceError
        When there is none; it lists those there are.

    Examples
    --------
    >>> get_suite("placements")
    Traceback (most recent call last):
    edrp.errors.InvalidInstanceError: 1 fault in the input
      suite: is no suite; did you mean 'placement'? (got 'placements')
    """
    known = all_suites()
    if name not in known:
        raise InvalidInstanceError([Fault("suite", repr(name), f"is no suite{suggestion(name, known)}")])
    return known[name]
