"""Methods of our own at work: elimination, annealing, greedy, single migrations."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from registry import BenchSpec, register
from specs.programs import LARGER, PLACEMENTS, migration, placement

import edrp
from edrp.datasets.families.placement.layered import layered

STEPS = 100_000


def solved(method: str, options: dict[str, Any], problem: Any) -> Callable[[], object]:
    """After one call that compiles or loads the kernels."""
    call = partial(edrp.solve, problem, method, **options)
    call()
    return call


def method_phases(method: str, **options: object) -> dict[str, Callable[[Any], Callable[[], object]]]:
    """The one phase of a method, with options of `edrp.solve`."""
    return {"solve": partial(solved, method, options)}


LAYERED = {"6 operators": 6, "10 operators": 10}
register(BenchSpec("eliminate", placement, PLACEMENTS | LARGER, method_phases("eliminate")))
register(BenchSpec("greedy", placement, PLACEMENTS | LARGER, method_phases("greedy")))
register(
    BenchSpec(
        f"annealing, {STEPS:,} steps",
        lambda operators: layered(operators, 0, nodes=24),
        LAYERED,
        method_phases("annealing", anneals=1, steps=STEPS),
    )
)
register(BenchSpec("ssm", migration, {"64 tasks": (64, 8), "1,024 tasks": (1024, 60)}, method_phases("ssm")))
