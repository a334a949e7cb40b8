"""Resources in equal units: what fits, what is refused, and optima of all exact methods against enumeration."""

import json
import re
from contextlib import nullcontext

import numpy as np
import pytest
from unit_resources import drawn, problem

import edrp
from edrp.certificates import checker
from edrp.check_problems.placement.enumeration import brute_force, deployments, feasible_deployments
from edrp.datasets.families.migration.rescale import random_rescale
from edrp.errors import EdrpError, InvalidInstanceError, ProblemTooLargeError, UnsupportedProblemError
from edrp.formulations.methods import formulate
from edrp.placement.devices import fits, least_units, units_needed


def plan(units):
    """Models of a pipeline: 14, 10 and 8 replicas on the devices of one host."""
    return problem([{"units": units}], [(0.2, 14, 14), (0.25, 10, 10), (0.29, 8, 8)])


def test_what_sums_to_less_than_eight_devices_needs_eight():
    everything = {"o0": ["n0"] * 14, "o1": ["n0"] * 10, "o2": ["n0"] * 8}
    assert plan(8).evaluate(everything).feasible
    assert plan(7).evaluate(everything).broken == ("gpu of node n0: 8 units needed against 7",)
    assert edrp.solve(plan(8)).status == "optimal"
    assert (found := edrp.solve(plan(7))).status == "infeasible"
    assert "the nodes offer 7 units in all, o0, o1 and o2 need at least 8" in found.clashes[-1]


def least_bins(sizes, *bins):
    """Fewest bins of 1000 by trying each bin for each item."""
    if not sizes:
        return len(bins)
    size, *rest = sizes
    roomy = [k for k, held in enumerate(bins) if held + size <= 1000]
    return min([least_bins(rest, *bins, size), *(least_bins(rest, *bins[:k], bins[k] + size, *bins[k + 1 :]) for k in roomy)])


@pytest.mark.parametrize("seed", range(12))
def test_packing_is_exact(seed):
    random = np.random.default_rng(seed)
    sizes = random.choice(random.integers(80, 700, 4), 8).tolist()
    demands = {size / 1000: sizes.count(size) for size in sizes} | {2.0: 1, 0.0: 5}
    assert units_needed(demands) == 2 + least_bins(sizes)
    assert least_units(demands) <= units_needed(demands)


def test_fractions_that_fill_a_unit_but_for_rounding_fit():
    for share in (0.1, 0.2, 1 / 3, 1 / 7, 0.05):
        assert units_needed({share: round(1 / share)}) == 1
    assert units_needed({0.1: 3, 0.7: 1}) == 1
    assert units_needed({0.1001: 10}) == 2


@pytest.mark.parametrize("seed", range(24))
def test_exact_methods_find_what_enumeration_finds(seed):
    made = drawn(seed)
    best, _ = brute_force(made)
    for method, program in (("highs", "compact"), ("highs", "literal"), ("scip", None), ("scipy", None), ("auto", None)):
        found = edrp.solve(made, method, program=program)
        assert found.status == ("infeasible" if best is None else "optimal"), (method, program)
        assert best is None or found.objective == pytest.approx(best, rel=1e-6)


@pytest.mark.parametrize("seed", range(8))
def test_the_checker_packs_by_itself(seed):
    made = drawn(seed)
    stated, feasible = checker.parse(made.model_dump_json()), {str(one.deployment) for one in feasible_deployments(made)}
    for operators in deployments(made):
        refused = nullcontext() if str(operators) in feasible else pytest.raises(checker.Refused)
        with refused:
            checker.evaluate_deployment(stated, {name: list(nodes) for name, nodes in operators.items()})
    assert edrp.solve(made, "highs", certify=True).proof == "checked certificate"


@pytest.mark.parametrize("units", [0, -1, 2.5, "8", True, None, 10**7])
def test_units_are_whole_numbers(units):
    words = r"network.nodes\[0\].resources.gpu: must be a number, or equal units.*" + re.escape(json.dumps({"units": units}))
    with pytest.raises(InvalidInstanceError, match=words):
        problem([{"units": units}], [(1, 1, 1)])


def test_demands_are_fractions_or_whole():
    words = r"application.operators\[1\].resources.gpu: is neither a fraction nor whole.*1.5"
    with pytest.raises(InvalidInstanceError, match=words):
        problem([{"units": 2}], [(1, 1, 1), (1.5, 1, 1)])
    assert problem([4.0], [(1.5, 1, 1)]).parts.keys() == {"costs and traffic"}


def test_documents_keep_their_units():
    made = plan(8)
    assert edrp.loads(made.model_dump_json()) == made
    assert made.parts["devices"] == "units of gpu"
    renamed = edrp.EdrpProblem(**made.model_dump())
    assert json.loads(renamed.model_dump_json())["network"]["nodes"][0]["resources"] == {"gpu": {"units": 8}}


KNOW_NO_DEVICES = ("eliminate", "equal-nodes", "annealing", "iterated-local-search", "greedy", "first-fit", "caps")


@pytest.mark.parametrize("method", KNOW_NO_DEVICES)
def test_methods_that_know_no_devices_refuse_them(method):
    with pytest.raises(UnsupportedProblemError, match=r"units of gpu into account; use highs"):
        edrp.solve(plan(8), method)


def test_too_many_patterns_are_refused_with_their_number():
    shares = np.linspace(0.05, 0.12, 30).tolist()
    with pytest.raises(ProblemTooLargeError, match="30 different fractions share a unit of gpu of n0 in more than 2000 ways"):
        formulate(problem([{"units": 4}], [(share, 1, 20) for share in shares]))


def test_other_kinds_pack_devices_too():
    operators = [{"name": name, "resources": {"gpu": 0.4}, "instances": 3} for name in ("a", "b")]
    nodes = [{"name": name, "resources": {"gpu": {"units": 2}}} for name in ("x", "y")]
    network = {"nodes": nodes, "between_zones": {"delay": 0.01}}
    aware = edrp.LatencyAwareProblem(application={"operators": operators}, network=network)
    best, _ = brute_force(aware)
    assert edrp.solve(aware).objective == pytest.approx(best)
    tight = aware.replace(network=aware.network.replace(nodes=aware.network.nodes[:1]))
    assert edrp.solve(tight).status == "infeasible"
    with pytest.raises(UnsupportedProblemError, match="units of gpu"):
        edrp.solve(aware, "column-generation")


@pytest.mark.parametrize("seed", range(4))
def test_ranges_of_tasks_are_placed_on_devices(seed):
    made, random = random_rescale(seed, keyed=(1, 2), tasks=(2, 3), nodes=(2, 2)), np.random.default_rng(seed)
    document = {**made.model_dump(mode="json"), "current": None}
    for node in document["network"]["nodes"]:
        node["resources"] = {"gpu": {"units": 1}}
    for operator in document["application"]["operators"]:
        operator["resources"] = {"gpu": float(random.choice([0.25, 0.4, 0.6, 1.0]))}
    made = edrp.RescaleProblem(**document)
    best, _ = brute_force(made)
    found = edrp.solve(made)
    assert found.objective == pytest.approx(best) if best is not None else found.status == "infeasible"


@pytest.mark.slow
def test_a_packing_is_found_where_the_fewest_units_are_hard_to_prove():
    demands = dict.fromkeys(np.random.default_rng(3).uniform(0.2, 0.35, 40).tolist(), 1)
    assert fits(demands, 12)
    assert not fits(demands, 10)
    with pytest.raises(EdrpError, match="40 different fractions fit into 11 units takes too long to say"):
        units_needed(demands)
