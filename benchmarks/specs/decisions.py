"""Costs of every row of a batch: reading the instance, and evaluating the decision by plain code."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from registry import BenchSpec, register
from specs.programs import LARGER, PLACEMENTS, migration, placement

import edrp
from edrp.core.instances import loads


def evaluated(method: str, attribute: str, problem: Any) -> Callable[[], object]:
    """Evaluate the answer of a method."""
    return partial(problem.evaluate, getattr(edrp.solve(problem, method), attribute))


def read(problem: Any) -> Callable[[], object]:
    """Read the instance from its text."""
    return partial(loads, problem.model_dump_json())


register(
    BenchSpec("placement", placement, PLACEMENTS | LARGER, {"read": read, "evaluate": partial(evaluated, "greedy", "deployment")})
)
register(
    BenchSpec(
        "migration",
        migration,
        {"64 tasks": (64, 8), "1,024 tasks": (1024, 60)},
        {"read": read, "evaluate": partial(evaluated, "ssm", "intervals")},
    )
)
