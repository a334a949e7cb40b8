"""Rules of one deployment by all that judges them: their evaluation, their rows as arrays, and the checker of certificates."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import numpy as np

from edrp.certificates import checker
from edrp.core.errors import InvalidInstanceError
from edrp.core.tolerances import LIMIT_SLACK
from edrp.datasets.families.placement.rules import with_rules
from edrp.placement.deployment import Deployment
from edrp.placement.problem import PlacementProblem
from edrp.placement.rules.arrays import record_rules


def ruled_problem(problem: PlacementProblem, seed: int) -> PlacementProblem:
    """The problem with random rules, and where these still make sense without zones and labels on some of its nodes."""
    ruled = with_rules(problem, seed)
    random = np.random.default_rng([seed, 38])
    nodes = [
        node.replace(
            zone=None if random.random() < 0.25 else node.zone, labels={} if random.random() < 0.25 else dict(node.labels)
        )
        for node in ruled.network.nodes
    ]
    with suppress(InvalidInstanceError):
        return ruled.replace(network=ruled.network.replace(nodes=nodes))
    return ruled


def random_deployment(problem: PlacementProblem, random: np.random.Generator) -> Deployment:
    """Replicas on random nodes, candidates or not."""
    nodes = list(problem.network.by_name)
    numbers = {name: int(random.integers(1, 4)) for name in problem.application.by_name}
    return Deployment({name: random.choice(nodes, count).tolist() for name, count in numbers.items()})


def rule_disagreements(problem: PlacementProblem, deployment: Deployment) -> Iterator[str]:
    """Rules of which the evaluation, the rows and the checker say different violations."""
    operators, nodes = list(problem.application.by_name), list(problem.network.by_name)
    document = checker.parse(problem.model_dump_json())
    arrays = record_rules(problem.rules, problem, operators, nodes)
    counts = np.array([[deployment.replicas(name)[node] for node in nodes] for name in operators])
    by_rows = np.bincount(arrays.group_rule, arrays.violations(counts), len(problem.rules))
    decision: Any = json.loads(json.dumps({name: list(deployment[name]) for name in operators}))
    for rule, rows, checked in zip(problem.rules, by_rows, checker.read_rules(document), strict=True):
        said = rule.evaluate(problem, deployment), float(rows), float(checked.violation(decision))
        if max(said) - min(said) > LIMIT_SLACK * max(1.0, *said):
            yield f"{rule.name} ({rule.sentence}): evaluation, rows and checker say {said} of {dict(decision)}"
