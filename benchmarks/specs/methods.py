"""Compiled kernels by themselves, methods of our own at work, and the costs of every row of a batch: reading and evaluating."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from registry import BenchSpec, register
from specs.programs import LARGER, PLACEMENTS, migration, placement

import edrp
from edrp import _native
from edrp.core.instances import loads
from edrp.datasets.families.placement.layered import layered
from edrp.datasets.families.registry import generate
from edrp.mdp.best_response import best_responses, colexicographic
from edrp.mdp.partitions import Tasks, enumerate_partitions
from edrp.mdp.single_step.ssm import STORED_CELLS
from edrp.mdp.trie import Trie, prepare_values
from edrp.migration.intervals import load_limit

TOLERANCE, STEPS = 0.2, 100_000
MIGRATIONS = {"64 tasks": (64, 8), "1,024 tasks": (1024, 60)}

Call = Callable[[], object]


def tasks(count: int) -> Tasks:
    """Random work and state sizes."""
    generator = np.random.default_rng(0)
    return Tasks.of(generator.uniform(0.5, 1.5, count), generator.exponential(1.0, count))


def single_step(size: tuple[int, int]) -> Call:
    """SSM from an even assignment to one node more: layers, way back, matching."""
    count, nodes = size
    drawn, old = tasks(count), np.arange(nodes + 1) * count // nodes
    limit = load_limit(drawn.work_before[-1], nodes + 1, TOLERANCE)
    sums = drawn.work_before, drawn.state_before
    call = partial(_native.best_single_step, *sums, old, nodes + 1, limit, True, False, STORED_CELLS)
    call()
    return call


def responses(size: tuple[int, int, int]) -> Call:
    """Best responses of all partitions into some nodes to all partitions into others, all values 0."""
    count, before, after = size
    drawn = tasks(count)
    limits = [load_limit(float(drawn.work_before[-1]), nodes, TOLERANCE) for nodes in (before, after)]
    partitions = enumerate_partitions(drawn.work_before, before, limits[0], False)
    trie = Trie.of(drawn.work_before, after, limits[1], False)
    values = np.zeros(len(enumerate_partitions(drawn.work_before, after, limits[1], False)))
    prepared, order = prepare_values(trie, values), colexicographic(partitions)
    known, best = np.full(len(partitions), -1), np.empty(len(partitions))
    call = partial(best_responses, trie, prepared, drawn.state_before, partitions, order, known, best, known.copy())
    call()
    return call


def itself(call: Call) -> Call:
    """The call that is timed, where preparing an instance has made it already."""
    return call


register(BenchSpec("single-step kernel", single_step, MIGRATIONS | {"16,384 tasks": (16384, 250)}, {"solve": itself}))
register(BenchSpec("best replies", responses, {"24 tasks": (24, 4, 5), "64 tasks": (64, 9, 10)}, {"solve": itself}))


def solved(method: str, options: dict[str, Any], problem: Any) -> Call:
    """After one call that imports what the method needs."""
    call = partial(edrp.solve, problem, method, **options)
    call()
    return call


def method_phases(method: str, **options: object) -> dict[str, Callable[[Any], Call]]:
    """The one phase of a method, with options of `edrp.solve`."""
    return {"solve": partial(solved, method, options)}


def drawn(kind: str, size: int) -> Any:
    """The first instance of a kind's families in a size."""
    return next(iter(generate(kind, 1, 1, size=size)))[1]


PROOFS = PLACEMENTS | LARGER | {"200 nodes, 3 replicas": (200, 3)}
SIZES = {"16 tasks": 16, "24 tasks": 24}
LAYERED = {"6 operators": 6, "10 operators": 10}
register(BenchSpec("eliminate", placement, PROOFS, method_phases("eliminate")))
register(BenchSpec("greedy", placement, PLACEMENTS | LARGER, method_phases("greedy")))
annealing = method_phases("annealing", anneals=1, steps=STEPS)
register(BenchSpec(f"annealing, {STEPS:,} steps", lambda operators: layered(operators, 0, nodes=24), LAYERED, annealing))
register(BenchSpec("ssm", migration, MIGRATIONS, method_phases("ssm")))
register(BenchSpec("oms", partial(drawn, "migration-sequence"), SIZES, method_phases("oms")))
register(BenchSpec("pmc", partial(drawn, "migration-policy"), SIZES, method_phases("pmc")))


def evaluated(method: str, attribute: str, problem: Any) -> Call:
    """Evaluate the answer of a method."""
    return partial(problem.evaluate, getattr(edrp.solve(problem, method), attribute))


def read(problem: Any) -> Call:
    """Read the instance from its text."""
    return partial(loads, problem.model_dump_json())


placed, moved = partial(evaluated, "greedy", "deployment"), partial(evaluated, "ssm", "intervals")
register(BenchSpec("placement", placement, PLACEMENTS | LARGER, {"read": read, "evaluate": placed}))
register(BenchSpec("migration", migration, MIGRATIONS, {"read": read, "evaluate": moved}))
