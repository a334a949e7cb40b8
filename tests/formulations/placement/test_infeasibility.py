"""Clashing demands are named: a minimal set of them, with numbers."""

import pytest

import edrp
from edrp.auto.choices import proofs
from edrp.check_problems.placement.enumeration import brute_force
from edrp.core.budget import deadline, now
from edrp.core.clash_search import UNEXAMINED
from edrp.datasets.families.placement.random_edrp import random_problem
from edrp.formulations.placement.infeasibility import (
    Prover,
    clashing_demands,
    demands,
    explain_infeasibility,
    feasibility_problem,
    without,
)
from edrp.placement.edrp import EdrpProblem
from edrp.placement.shortage import homeless_operators, shortages

CLASHING = (3, 12, 14, 19, 24, 46, 47, 51)
"""Seeds of random problems that no deployment solves."""


READER = {"name": "reader", "external_rate": 900.0, "candidates": ["edge"]}
PARSER = {"name": "parser", "latency": {"model": "mm1", "service_rate": 500.0}, "max_replicas": 2, "cost": 3.0}
STREAM = [{"source": "reader", "target": "parser"}]


def two_operators(**changes: object) -> EdrpProblem:
    """A reader on the edge and a parser that needs two replicas, on two nodes 20 ms apart."""
    fields: dict[str, object] = {
        "application": {"operators": [READER, PARSER], "streams": STREAM},
        "network": joined(*ROOM),
        "weights": {"cost": 1.0},
        "limits": {"cost": 10.0},
    }
    return EdrpProblem(**{**fields, **changes})


@pytest.mark.parametrize("seed", [3, 12, 46, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (14, 19, 24, 47, 51))])
def test_every_demand_named_is_needed(seed):
    """Together infeasible, feasible without any one of them: checked by brute force."""
    problem = random_problem(seed, combinations_limit=5e3)
    known = demands(problem)
    clash = clashing_demands(feasibility_problem(problem), known, Prover(proofs)).clash
    relaxed = without(feasibility_problem(problem), [demand for k, demand in enumerate(known) if k not in clash])
    assert clash
    assert brute_force(relaxed)[0] is None
    for k in clash:
        assert brute_force(known[k].drop(relaxed))[0] is not None, known[k].text


def joined(*nodes: dict[str, object]) -> dict[str, object]:
    """Nodes of which edge and cloud are 20 ms apart."""
    return {"nodes": nodes, "links": [{"source": "edge", "target": "cloud", "delay": 0.02}]}


ROOM = ({"name": "edge", "resources": 2}, {"name": "cloud", "resources": 2})
TWO_PARSERS = "parser: its load of 900 tuples/s needs at least 2 replicas"

EXPLAINED = {
    "nothing to explain": ({}, ()),
    "a single limit says how far it is out of reach": (
        {"limits": {"cost": 5.5}},
        (TWO_PARSERS, "limits.cost: 5.5 money/h; it is at least 6 money/h"),
    ),
    # Two replicas do not fit next to the reader, so one is 20 ms away: 20 ms of delay and 20 ms of work.
    "clashing limits are named together": (
        {"limits": {"cost": 10.0, "response_time": 0.03}},
        (
            TWO_PARSERS,
            "resources of the nodes: edge 2 and cloud 2; the operators need at least 3 (reader 1 and parser 2)",
            "limits.response_time: 0.03 s; it is at least 0.04 s",
        ),
    ),
    "an overloaded operator is reported alone": (
        {"application": {"operators": [READER, {**PARSER, "max_replicas": 1}], "streams": STREAM}},
        ("parser: with a single replica it cannot serve its load of 900 tuples/s; that takes max_replicas of at least 2",),
    ),
    "an operator that fits nowhere is reported alone": (
        {"network": joined({"name": "edge", "resources": 0.5}, {"name": "cloud", "resources": 9})},
        ("resources of reader: a replica needs 1, no candidate offers more than the 0.5 of edge (0.5 short)",),
    ),
    "least availability is a limit from below": (
        {
            "network": joined({"name": "edge", "availability": 0.9}, {"name": "cloud", "availability": 0.99}),
            "limits": {"cost": 10.0, "availability": 0.95},
        },
        ("candidates of reader: edge", "limits.availability: 0.95; it is at most 0.9"),
    ),
    # Without a link to the third node the reader can only be where it is allowed.
    "candidates that cannot be widened are not blamed": (
        {
            "network": joined(*ROOM, {"name": "far"}),
            "application": {
                "operators": [
                    {"name": "reader", "external_rate": 9.0, "candidates": ["edge"], "cost": 7.0},
                    {"name": "parser", "candidates": ["edge", "cloud"], "cost": 4.0},
                ],
                "streams": STREAM,
            },
        },
        ("limits.cost: 10 money/h; it is at least 11 money/h",),
    ),
}


@pytest.mark.parametrize("case", EXPLAINED)
def test_clashing_demands_are_named_with_numbers(case):
    changes, told = EXPLAINED[case]
    assert explain_infeasibility(two_operators(**changes), proofs).clashes == told


@pytest.mark.parametrize(
    ("amounts", "ingest", "told"),
    [
        ((1, 1, 9), {"min_replicas": 4}, "resources of gw1 and gw2: they offer 2 in all, ingest needs 4 (4 replicas of 1)"),
        ((3, 1, 9), {"min_replicas": 2, "resources": 2}, "resources of gw1 and gw2: they have room for 1 replica of at least 2"),
        ((9, 9, 1), {}, "resources of cloud: it offers 1 in all, parser and writer need 3 (parser 2 and writer 1)"),
        ((1, 1, 2), {}, "resources of cloud: it offers 2 in all, parser and writer need 3 (parser 2 and writer 1)"),
        (({"cpu": 2, "ram": 1}, {"cpu": 1, "ram": 2}, {"cpu": 9, "ram": 9}), {"resources": {"cpu": 2, "ram": 2}},
         "ingest: a replica needs cpu 2 and ram 2, which no candidate offers together (gw1 has 1 ram and gw2 has 1 cpu)"),
    ],
)  # fmt: skip
def test_nodes_with_too_little_room_are_named_with_amounts(amounts, ingest, told):
    """Together with the reason for the number of replicas."""
    operators = [
        {"name": "ingest", "external_rate": 900.0, "max_replicas": 4, "candidates": ["gw1", "gw2"], **ingest},
        {"name": "parser", "latency": {"model": "mm1", "service_rate": 500.0}, "max_replicas": 2, "candidates": ["cloud"]},
        {"name": "writer", "candidates": ["cloud"]},
    ]
    named = isinstance(ingest.get("resources"), dict)
    operators = [{"resources": {"cpu": 1} if named else 1, **operator} for operator in operators]
    nodes = [{"name": name, "resources": amount} for name, amount in zip(("gw1", "gw2", "cloud"), amounts, strict=True)]
    problem = two_operators(
        application={"operators": operators, "streams": [{"source": "ingest", "target": "parser"}]},
        network={"nodes": nodes, "between_zones": {"delay": 0.01}},
    )
    clashes = explain_infeasibility(problem, proofs).clashes
    assert clashes[-1].startswith(told)
    if "parser" in told:
        assert clashes[0] == "parser: its load of 900 tuples/s needs at least 2 replicas"
    if "min_replicas" in ingest:
        assert clashes[0] == f"min_replicas of ingest: {ingest['min_replicas']}"


@pytest.mark.parametrize("seed", [seed for seed in range(12) if seed not in CLASHING])
def test_no_room_is_missed_where_a_deployment_fits(seed):
    problem = random_problem(seed, combinations_limit=5e3)
    fewest = {operator.name: operator.min_replicas for operator in problem.application.operators}
    assert brute_force(problem)[0] is not None
    assert not [*homeless_operators(problem), *shortages(problem, fewest)]


def test_a_solution_carries_the_explanation():
    solution = edrp.solve(two_operators(limits={"cost": 5.5}), "highs")
    assert (solution.status, len(solution.clashes)) == ("infeasible", 2)


def test_out_of_time_nothing_is_left_out():
    """Demands that were not examined stay, and a remedy says so."""
    problem = two_operators(limits={"cost": 5.5, "response_time": 9.0})
    found = explain_infeasibility(problem, proofs, units=0.0)
    assert len(found.clashes) == 5
    assert found.remedies == (UNEXAMINED,)


def test_the_explanation_ends_with_the_time_limit_of_all_that_is_done():
    """Twenty units would be its own, but the limit of `edrp.solve` has passed."""
    problem = two_operators(limits={"cost": 5.5, "response_time": 9.0})
    with deadline(now()):
        assert explain_infeasibility(problem, proofs, units=20.0).remedies == (UNEXAMINED,)
