"""Subjects of measurement: specs by name, each with its sizes and the phases that are timed.

A file in `specs/` is one subject; what it registers is measured by `test_speed.py`, and run once at its smallest size with
every run of the tests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

PHASES = {
    "read": "an instance document read and checked",
    "compile": "documents to flat arrays",
    "formulate": "problem to program; for other libraries, tables to their model",
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
    package
        Without it the spec is skipped.
    """

    name: str
    build: Callable[[Any], Any]
    sweep: Mapping[str, Any]
    phases: Mapping[str, Callable[[Any], Callable[[], object]]]
    package: str = "edrp"

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


def load_specs() -> dict[str, BenchSpec]:
    """Import all files of `specs/`, which register themselves."""
    for path in sorted((Path(__file__).resolve().parent / "specs").glob("*.py")):
        import_module(f"specs.{path.stem}")
    return SPECS


def cases(smoke: bool) -> Iterator[Case]:
    """Every phase of every spec whose package is installed, at every size or at the smallest."""
    for spec in load_specs().values():
        if find_spec(spec.package) is not None:
            for size in list(spec.sweep)[: 1 if smoke else None]:
                yield from (Case(spec, size, phase) for phase in spec.phases)
