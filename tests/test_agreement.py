"""Every exact way to solve a problem gives what brute force gives, on random instances that use every feature."""

from functools import cache

import pytest

import edrp
from edrp.methods import Options
from edrp.problems.edrp import EdrpProblem
from edrp.solve import checked
from edrp.validation.brute_force import brute_force
from edrp.validation.random_problems import random_problem

INSTANCES = 300
BLOCK = 20

EXACT = {
    "compact": ("highs", "compact"),
    "literal": ("highs", "literal"),
    "eliminate": ("eliminate", ""),
}
"""Method and program of each exact way; a new one is one line."""


@cache
def instance(seed: int) -> tuple[EdrpProblem, float | None]:
    problem = random_problem(seed, combinations_limit=5e4)
    return problem, brute_force(problem)[0]


@pytest.mark.parametrize("way", EXACT)
@pytest.mark.parametrize("block", range(0, INSTANCES, BLOCK))
def test_equals_brute_force(block: int, way: str) -> None:
    name, program = EXACT[way]
    method = edrp.methods()[name]
    answered = 0
    for seed in range(block, block + BLOCK):
        problem, best = instance(seed)
        if method.refusal(problem) is not None:
            continue
        answered += 1
        answer = method.run(problem, Options(program=program))
        assert answer.status == ("infeasible" if best is None else "optimal"), seed
        evaluation, disagreement = checked(problem, answer)
        assert disagreement == "", seed
        assert evaluation is None or evaluation.objective == pytest.approx(best, rel=1e-9, abs=1e-9), seed
    assert answered >= (BLOCK // 4 if name == "eliminate" else BLOCK)


def test_the_instances_use_every_feature() -> None:
    problems = [instance(seed)[0] for seed in range(INSTANCES)]
    infeasible = sum(instance(seed)[1] is None for seed in range(INSTANCES))
    assert 0.1 * INSTANCES < infeasible < 0.3 * INSTANCES
    for feature in (
        lambda p: p.current is not None and not p.evaluate(p.current).feasible,
        lambda p: p.reconfiguration == "storm" and p.current is not None and p.weights.downtime > 0,
        lambda p: p.weights.response_time == 0 and p.limits.response_time is not None,
        lambda p: p.weights.cost == 0,
        lambda p: p.weights.downtime > 0 and p.current is not None,
        lambda p: p.limits.availability is not None,
        lambda p: p.limits.network_usage is not None,
        lambda p: len({node.speedup for node in p.network.nodes}) > 1,
        lambda p: len({link.cost for link in p.network.links}) > 1,
        lambda p: any(isinstance(operator.resources, dict) for operator in p.application.operators),
        lambda p: any(operator.candidates is not None for operator in p.application.operators),
        lambda p: not p.network.symmetric,
    ):
        assert sum(feature(problem) for problem in problems) >= 10
