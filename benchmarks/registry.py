"""The registry of benchmarks: scripts, which `run.py` lists and runs, and specs, whose steps are timed.

A spec is a step (a kernel, a program, a method) with its sizes and phases, registered by a file in `specs/`. `test_speed.py`
measures it, and runs it once at its smallest size with the slow tests.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

SUBJECTS = ("speed", "robustness", "real systems", "code")
BENCHMARKS = {
    "answers": ("code", "the answers of a fixed set of problems, to be compared between two versions"),
    "evidence": ("code", "the documented table of claims and their proofs, against what is certified"),
    "flink_response_times": (
        "real systems",
        "response times of migrations by window, method and minute (state migration, Figs. 13, 15)",
    ),
    "growth": ("speed", "the default method of every kind while sizes double, to a minute or 4 GiB"),
    "house": ("code", "lines, files, kernels, tolerances, circular imports and words of one or two checkouts"),
    "peers": ("speed", "edrp against the programs, solvers and commands that would be used instead"),
    "work": ("robustness", "processor seconds per unit of work, by kind and method"),
}
"""Subject and purpose of each script, by the name of its file."""

PHASES = {
    "read": "an instance document read and checked",
    "compile": "documents to flat arrays",
    "formulate": "problem to program",
    "hand over": "program to the arrays that a solver is given",
    "solve": "a kernel, a method or a solver at work",
    "evaluate": "a decision evaluated by plain code",
}
"""The phases, with a description of each."""


@dataclass(frozen=True, slots=True)
class BenchSpec:
    """One subject.

    Attributes
    ----------
    name
        Name of the subject that is measured.
    build
        Makes the subject of a size; not timed.
    sweep
        Sizes by label, the smallest first: the only one of the smoke run.
    phases
        By phase, what prepares the call that is timed from the subject; preparing is not timed.
    """

    name: str
    build: Callable[[Any], Any]
    sweep: Mapping[str, Any]
    phases: Mapping[str, Callable[[Any], Callable[[], object]]]

    def __post_init__(self) -> None:
        unknown = self.phases.keys() - PHASES.keys()
        if unknown or not self.phases or not self.sweep:
            raise ValueError(f"{self.name}: needs sizes, and phases among {', '.join(PHASES)}, not {sorted(unknown)}")


@dataclass(frozen=True, slots=True)
class Case:
    """One phase of a spec at one size."""

    spec: BenchSpec
    size: str
    phase: str

    def prepared(self) -> Callable[[], object]:
        """The call to be timed."""
        return self.spec.phases[self.phase](self.spec.build(self.spec.sweep[self.size]))

    def __str__(self) -> str:
        return f"{self.spec.name} - {self.phase} - {self.size}"


SPECS: dict[str, BenchSpec] = {}


def register(spec: BenchSpec) -> None:
    """Add a spec, under a name that is free."""
    if spec.name in SPECS:
        raise ValueError(f"there is a spec named {spec.name!r} already")
    SPECS[spec.name] = spec


def add_row(file: Path, row: dict[str, Any]) -> None:
    """Append a row to a file of results."""
    with file.open("a", encoding="utf-8") as rows:
        rows.write(json.dumps(row, ensure_ascii=False) + "\n")


def import_folder(name: str) -> None:
    """Import all files of a folder beside this one, which register themselves."""
    for path in sorted((Path(__file__).resolve().parent / name).glob("*.py")):
        import_module(f"{name}.{path.stem}")


def cases(smoke: bool) -> Iterator[Case]:
    """Every phase of every spec, at every size or at the smallest."""
    import_folder("specs")
    for spec in SPECS.values():
        for size in list(spec.sweep)[: 1 if smoke else None]:
            yield from (Case(spec, size, phase) for phase in spec.phases)
