"""Every exact way to solve a problem gives what brute force gives, on random instances that use every feature."""

from functools import cache

import pytest
from _pytest.mark import ParameterSet

import edrp
from edrp.check_problems.placement.enumeration import brute_force
from edrp.core.methods import Options
from edrp.core.solve import checked
from edrp.datasets.families.placement.random_edrp import random_problem
from edrp.placement.edrp import EdrpProblem

INSTANCES, QUICK = 300, 40
"""Random instances; those from `QUICK` on are for `pytest -m slow`."""

BLOCK = 20

EXACT = {"compact": ("highs", "compact"), "literal": ("highs", "literal"), "eliminate": ("eliminate", "")}
"""Method and program of each exact way; a new one is one line."""


@cache
def instance(seed: int) -> tuple[EdrpProblem, float | None]:
    problem = random_problem(seed, combinations_limit=5e4)
    return problem, brute_force(problem)[0]


def blocks() -> list[ParameterSet]:
    """First seeds; all ways to solve a block share a worker, and with it what brute force found."""
    group, slow = pytest.mark.xdist_group, pytest.mark.slow
    return [
        pytest.param(first, marks=[group(f"seeds from {first}"), *([slow] if first >= QUICK else [])])
        for first in range(0, INSTANCES, BLOCK)
    ]


@pytest.mark.parametrize("way", EXACT)
@pytest.mark.parametrize("block", blocks())
def test_equals_brute_force(block: int, way: str) -> None:
    name, program = EXACT[way]
    method = edrp.methods()[name]
    answered = infeasible = 0
    for seed in range(block, block + BLOCK):
        problem, best = instance(seed)
        infeasible += best is None
        if method.refusal(problem) is not None:
            continue
        answered += 1
        answer = method.run(problem, Options(program=program))
        assert answer.status == ("infeasible" if best is None else "optimal"), seed
        evaluation, disagreement = checked(problem, answer)
        assert disagreement == "", seed
        assert evaluation is None or evaluation.objective == pytest.approx(best, rel=1e-9, abs=1e-9), seed
    assert answered >= (BLOCK // 4 if name == "eliminate" else BLOCK)
    assert 0 < infeasible <= BLOCK // 2
