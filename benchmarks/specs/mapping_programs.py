"""Mapping tasks exactly: the program "walks", and label setting for comparison."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from registry import BenchSpec, register
from specs.programs import program_phases

import edrp
from edrp.datasets.families.mapping.platforms import mapping_problem
from edrp.mapping.path_mapping import MappingProblem


def task(size: tuple[int, int]) -> MappingProblem:
    """By servers and components."""
    servers, components = size
    return mapping_problem(servers, components=components, seed=2)


def labelled(problem: MappingProblem) -> Callable[[], object]:
    """The whole solution, checked."""
    return partial(edrp.solve, problem, "label-setting")


SMALL = {"12 servers, 4 components": (12, 4), "30 servers, 6 components": (30, 6)}
LARGE = {"120 servers, 10 components": (120, 10), "1,000 servers": (1000, 10), "120 servers, 20 components": (120, 20)}
register(BenchSpec("walks program", task, SMALL, program_phases("walks", solve=True)))
register(BenchSpec("label setting", task, SMALL | LARGE, {"solve": labelled}))
