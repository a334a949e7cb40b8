"""Brute force drops what cannot be optimal: it finds the same as the plain evaluation of every deployment."""

import json

import numpy as np
import pytest

from edrp.check_problems.placement.enumeration import brute_force, feasible_deployments
from edrp.core.errors import InvalidInstanceError
from edrp.core.instances import loads
from edrp.placement.metrics import NetworkUsage
from edrp.placement.problem import Term
from edrp.validation.fuzzing.features import DRAWS, FEATURES


def documents(kind, count):
    """Problems of a kind with two random features each."""
    of_kind = [write for write, kinds in FEATURES.values() if kind in kinds]
    for seed in range(count):
        document, random = json.loads(DRAWS[kind](seed).model_dump_json()), np.random.default_rng(seed)
        try:
            for index in random.permutation(len(of_kind))[:2]:
                of_kind[index](document, random)
            yield loads(json.dumps(document))
        except InvalidInstanceError:
            continue


def agrees(problem):
    """Whether all optima are found."""
    listed = [(entry.evaluation.objective, entry.deployment) for entry in feasible_deployments(problem)]
    best = min((objective for objective, _ in listed), default=None)
    optima = [deployment for objective, deployment in listed if objective <= best + 1e-9]
    found, deployments = brute_force(problem)
    return found == best and sorted(map(str, deployments)) == sorted(map(str, optima))


@pytest.mark.parametrize("kind", ["edrp", "latency-aware", "rescale"])
def test_brute_force_finds_all_optima_whatever_features_a_problem_has(kind):
    problems = list(documents(kind, 30))
    assert len(problems) > 20
    assert all(agrees(problem) for problem in problems)


class Surplus(NetworkUsage):
    """A metric that brute force does not know, and that falls as operators are added."""

    name = "surplus"

    def evaluate(self, problem, deployment):
        return -super().evaluate(problem, deployment) - sum(map(len, deployment.values()))


@pytest.mark.parametrize("seed", range(6))
def test_metrics_of_others_count(seed):
    problem, surplus = DRAWS["edrp"](seed), Surplus()
    metrics, terms = {**problem.metrics, "surplus": surplus}, (*problem.terms, Term.normalised(surplus, 0.5, None))
    vars(problem).update(metrics=metrics, terms=terms)
    assert agrees(problem)
