"""A benchmark on a user's own instances: files and folders as a suite, with methods that fit their kinds."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from edrp.batch.source import read_instances
from edrp.batch.tasks import Instance
from edrp.core.methods import methods
from edrp.validation.benchmark import suites
from edrp.validation.benchmark.suites import Suite

KIND_METHODS: dict[str, tuple[str, ...]] = {
    "edrp": suites.PLACEMENT,
    "edrp-sequence": ("auto", "myopic", "static-deployment"),
    "edrp-policy": ("auto", "pool-policy"),
    "latency-aware": suites.SCORED,
    "migration": suites.MIGRATION,
    "migration-sequence": suites.MIGRATION,
    "migration-policy": ("auto", "pmc", "fitted"),
    "rescale": suites.RESCALE,
    "enactment": suites.ENACTMENT,
    "leasing": ("auto", "highs"),
    "enactment-scenario": suites.POLICIES,
    "mapping": suites.MAPPING,
    "link-allocation": ("auto", "highs", "greedy-reallocation"),
    "bimodal-scenario": suites.MAP_CHOICES,
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
    chosen = dict.fromkeys(name for kind in kinds for name in KIND_METHODS.get(kind) or _methods(kind))
    pairs = [(instance.id, instance.text) for instance in instances]
    return Suite("own instances", f"instances from {origin}", lambda data: pairs, tuple(chosen) or ("auto",))


def _methods(kind: str) -> list[str]:
    """All methods that take problems of a kind; none of an unknown one, whose instances fail."""
    return [name for name, method in methods().items() if kind in method.kinds]


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
