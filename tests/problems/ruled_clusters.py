"""Finished deployments on small clusters, judged by both faces of every rule and by the checker of certificates."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import edrp
from edrp.certificates import checker
from edrp.placement.rules.arrays import record_rules

MAX_REPLICAS = 8


def placed(
    nodes: Sequence[Mapping[str, Any]], rules: Sequence[Mapping[str, Any]], operators: Mapping[str, Mapping[str, Any]]
) -> edrp.EdrpProblem:
    """Operators without streams, by name with their own fields, on some nodes."""
    return edrp.EdrpProblem(
        application=edrp.Application(
            operators=[{"name": name, "max_replicas": MAX_REPLICAS, **fields} for name, fields in operators.items()], streams=[]
        ),
        network=edrp.Network(nodes=nodes, links=[]),
        rules=[{"name": f"rule {number}", **rule} for number, rule in enumerate(rules)],
        weights=edrp.Weights(response_time=1.0),
        limits=edrp.Limits(response_time=1.0),
    )


def violations(problem: edrp.EdrpProblem, deployment: Mapping[str, Sequence[str]]) -> list[float]:
    """Violation of each rule in plain code, which its rows and the checker must confirm."""
    given = edrp.Deployment(deployment)
    plain = [rule.evaluate(problem, given) for rule in problem.rules]
    operators, nodes = list(problem.application.by_name), list(problem.network.by_name)
    counts = np.array([[given.replicas(operator)[node] for node in nodes] for operator in operators])
    arrays = record_rules(problem.rules, problem, operators, nodes)
    by_rows = np.bincount(arrays.group_rule, arrays.violations(counts), minlength=len(plain))
    np.testing.assert_allclose(by_rows, plain, atol=1e-9)
    decision = {operator: list(given[operator]) for operator in operators}
    checked = [float(rule.violation(decision)) for rule in checker.read_rules(checker.parse(problem.model_dump_json()))]
    np.testing.assert_allclose(checked, plain, atol=1e-9)
    return plain


def is_allowed(problem: edrp.EdrpProblem, deployment: Mapping[str, Sequence[str]]) -> bool:
    """Whether the evaluation finds nothing broken; rules decide that alone here, and both faces agree."""
    broken = problem.evaluate(deployment).broken
    hard = [violation for rule, violation in zip(problem.rules, violations(problem, deployment), strict=True) if rule.hard]
    assert len(broken) == sum(violation > 0 for violation in hard)
    return not broken
