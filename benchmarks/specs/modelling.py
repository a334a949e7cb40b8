"""The literal program through other libraries' expressions; `python benchmarks/modelling.py` is the full comparison."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

from registry import BenchSpec, register
from rivals.tables import Tables, tables_of
from specs.programs import PLACEMENTS, placement


def tables(size: tuple[int, int]) -> Tables:
    """Finished tables of a placement of a size, nodes and replicas, which all modelling libraries start from."""
    return tables_of(placement(size))


def formulated(module: str, data: Tables) -> Callable[[], object]:
    """Build the literal program in a modelling library."""
    return partial(import_module(f"rivals.{module}").build, data)


def handed_over(module: str, data: Tables) -> Callable[[], object]:
    """Build it and turn it into the arrays that a solver takes."""
    library: Any = import_module(f"rivals.{module}")
    # A new model every time: CVXPY keeps the arrays of one that it has compiled.
    return lambda: library.to_arrays(library.build(data))


for name, package in (("Pyomo", "pyomo"), ("CVXPY", "cvxpy"), ("linopy", "linopy")):
    phases = {"formulate": partial(formulated, f"{package}_model"), "hand over": partial(handed_over, f"{package}_model")}
    register(BenchSpec(f"literal program, {name}", tables, PLACEMENTS, phases, package))
