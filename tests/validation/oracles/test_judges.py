"""Leased hosts, maps and shared links: every method against judges that read the documents alone."""

import json
from contextlib import suppress
from fractions import Fraction

import numpy as np
import pytest

import edrp
from edrp.certificates import checker
from edrp.core.kinds import get_kind
from edrp.validation.oracles.judges import JUDGES, disagreements, misjudged, tiny_problems
from edrp.validation.oracles.judging import read


def optimum(document):
    text = json.dumps(document)
    kind = document["kind"]
    return min(JUDGES[kind][1](read(text)), default=None)


LINK = {"source": "a", "target": "b", "bandwidth": 4, "cost": 1}
SERVERS = [{"name": "a", "capacity": 0, "uplink": 3}, {"name": "b", "capacity": 5}]
TASK = {"source": "a", "delivery": "b", "components": [{"name": "c", "capacity": 5}], "bandwidths": [4, 1]}
HOSTED = {
    "application": {"operators": [{"name": "f", "processing_duration": 1, "external_rate": 3, "resources": 2}]},
    "host_types": [{"name": "x", "resources": 4, "price": 5, "billing_time": 60, "start_up": [0, 0], "limit": 2}],
}


@pytest.mark.parametrize(
    ("document", "value"),
    [
        ({"kind": "mapping", "network": {"nodes": SERVERS, "links": [LINK]}, "task": TASK}, 1),
        ({"kind": "mapping", "network": {"nodes": SERVERS, "links": [LINK]}, "task": {**TASK, "bandwidths": [5, 1]}}, None),
        (
            {
                "kind": "link-allocation",
                "network": {"nodes": SERVERS, "links": [LINK]},
                "flows": [
                    {"name": n, "source": "a", "target": "b", "rate": r, "price": p} for n, r, p in [("f", 4, 1), ("g", 3, 2)]
                ],
                "public_share": 0.5,
            },
            Fraction(5, 2),
        ),
        ({"kind": "enactment", **HOSTED}, 10),
        ({"kind": "enactment", **HOSTED, "weights": {"host_cost": 0.1, "free_resources": 0}}, 1),
        ({"kind": "leasing", **HOSTED, "period": 60, "forecast": [1, 0]}, 15),
        ({"kind": "leasing", **HOSTED, "period": 60, "forecast": [1, 2]}, None),
    ],
)
def test_judges_know_the_optima_of_problems_solved_by_hand(document, value):
    assert optimum(document) == value


@pytest.mark.parametrize("kind", JUDGES)
def test_all_methods_agree_with_the_judges(kind):
    """`python benchmarks/agreement.py judges` does the same with hundreds, and all backends."""
    methods = tuple(name for name in edrp.methods(kind) if name not in ("cvxpy", "gurobi", "pyomo", "scip", "scipy"))
    found = {seed: list(disagreements(text, methods)) for seed, text in tiny_problems(kind, 1000, 20)}
    assert {seed: said for seed, said in found.items() if said} == {}


FAMILIES = [(kind, family.name) for kind in JUDGES for family in get_kind(kind).families if family.kind == kind]


@pytest.mark.parametrize(("kind", "name"), FAMILIES)
def test_decisions_of_families_are_worth_what_judges_and_checker_say(kind, name):
    family = next(family for family in get_kind(kind).families if family.kind == kind and family.name == name)
    rule = {"mapping": "auto", "link-allocation": "greedy-reallocation", "enactment": "first-fit-decreasing"}
    problems = (family.make(family.least_size, np.random.default_rng(seed)) for seed in range(10))
    solved = ((problem, edrp.solve(problem, rule.get(kind, "highs"), work_limit=0.5)) for problem in problems)
    problem, solution = next((problem, solution) for problem, solution in solved if solution.holds_decision)
    text, answer = problem.model_dump_json(), json.dumps(solution.to_document())
    assert list(misjudged(read(text), read(answer))) == []
    found = checker.parse(answer)
    with suppress(checker.Unknown):  # costs of maps that are not additive
        value = checker.EVALUATE[kind](checker.parse(text), found.get(checker.DECISION.get(kind), found))
        assert float(value) == pytest.approx(solution.objective, rel=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("kind", JUDGES)
def test_all_methods_agree_with_the_judges_on_many(kind):
    found = {seed: list(disagreements(text, tuple(edrp.methods(kind)))) for seed, text in tiny_problems(kind, 2000, 100)}
    assert {seed: said for seed, said in found.items() if said} == {}
