"""Every program of every kind: compiled, formulated, handed over, the smaller ones solved."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from registry import BenchSpec, register

import edrp
from edrp.backends.base import SolverOptions
from edrp.backends.highs import HighsBackend
from edrp.datasets.families.migration.rescale import rescaled, zipf_tasks
from edrp.datasets.families.placement.geometric import geometric
from edrp.datasets.placement.debs2015 import debs2015
from edrp.migration.rescale.problem import RescaleProblem
from edrp.migration.single_step import MigrationProblem
from edrp.placement.compilation import compile_problem
from edrp.placement.edrp import EdrpProblem
from edrp.placement.sequence import EdrpSequence


def placement(size: tuple[int, int]) -> EdrpProblem:
    """The DEBS 2015 application on a geometric network, by nodes and replicas."""
    nodes, replicas = size
    return debs2015(145.0, network=geometric(nodes, 0), max_replicas=replicas)


def grown(size: tuple[int, int]) -> EdrpProblem:
    """The same after its load has grown, from the deployment that was best before."""
    problem = placement(size)
    nodes, replicas = size
    current = edrp.solve(problem, "eliminate").deployment
    return debs2015(180.0, network=geometric(nodes, 0), max_replicas=replicas, current=current)


def over_time(size: tuple[int, int]) -> EdrpSequence:
    """The DEBS 2015 application on four nodes whose load rises and falls, by periods and replicas."""
    periods, replicas = size
    problem = debs2015(145.0, network=geometric(4, 0), max_replicas=replicas)
    rates = {
        operator.name: [operator.external_rate * (0.8 + 0.2 * (period % 2)) for period in range(periods)]
        for operator in problem.application.operators
        if operator.external_rate
    }
    return EdrpSequence.of(problem, rates, 3600.0, {"started_replicas": 100.0})


def migration(size: tuple[int, int]) -> MigrationProblem:
    """Work and state drawn anew on an old assignment of even counts, to one node more."""
    tasks, nodes = size
    generator = np.random.default_rng(0)
    boundaries = (np.arange(nodes + 1) * tasks // nodes).tolist()
    return MigrationProblem(
        work=generator.uniform(0.5, 1.5, tasks).tolist(),
        state_size=generator.exponential(1.0, tasks).tolist(),
        intervals=tuple(pairwise(boundaries)),
        nodes=nodes + 1,
        tolerance=0.2,
    )


def rescaling(tasks: int) -> RescaleProblem:
    """A scale-out to one and a half times the load with `tasks` skewed tasks in each keyed operator."""
    return rescaled(tasks, np.random.default_rng(0), zipf_tasks, 1.5)


def formulated(program: str, problem: Any) -> Callable[[], object]:
    """Formulate a program."""
    return partial(edrp.formulate, problem, program)


def handed_over(program: str, problem: Any) -> Callable[[], object]:
    """Turn a program that is formulated already into the arrays that a solver takes."""
    return edrp.formulate(problem, program).program.arrays


def solved(program: str, problem: Any) -> Callable[[], object]:
    """Solve the arrays of a program with HiGHS."""
    arrays = edrp.formulate(problem, program).program.arrays()
    return partial(HighsBackend().solve, arrays, SolverOptions())


def program_phases(program: str, solve: bool) -> dict[str, Callable[[Any], Callable[[], object]]]:
    """The phases of a program, with or without that of solving it."""
    phases = {"formulate": partial(formulated, program), "hand over": partial(handed_over, program)}
    return phases | ({"solve": partial(solved, program)} if solve else {})


PLACEMENTS = {"6 nodes": (6, 2), "24 nodes": (24, 2)}
LARGER = {"24 nodes, 4 replicas": (24, 4), "50 nodes, 3 replicas": (50, 3)}

register(BenchSpec("compiled placement", placement, PLACEMENTS | LARGER, {"compile": lambda p: partial(compile_problem, p)}))
register(BenchSpec("compact program", placement, PLACEMENTS, program_phases("compact", solve=True)))
# Solving it at 24 nodes takes minutes.
register(BenchSpec("literal program", placement, PLACEMENTS, program_phases("literal", solve=False)))
register(BenchSpec("restricted program", grown, PLACEMENTS, program_phases("restricted", solve=True)))
register(
    BenchSpec("periods program", over_time, {"2 periods": (2, 2), "8 periods": (8, 2)}, program_phases("periods", solve=False))
)
register(
    BenchSpec("intervals program", migration, {"16 tasks": (16, 3), "64 tasks": (64, 8)}, program_phases("intervals", solve=True))
)
register(BenchSpec("ranges program", rescaling, {"6 tasks": 6, "12 tasks": 12}, program_phases("ranges", solve=True)))
