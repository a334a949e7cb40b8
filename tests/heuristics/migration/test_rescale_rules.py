"""Rules in the search over key ranges and in its baselines: none returns a deployment that breaks one."""

import numpy as np
import pytest

import edrp
from edrp.check_problems.placement.enumeration import brute_force
from edrp.datasets.families.migration.rescale import random_rescale, rescaled, zipf_tasks
from edrp.datasets.families.placement.rules import with_rules
from edrp.heuristics.migration.rescale.range_starts import meet_rules, packed_start
from edrp.migration.rescale.arrays import compile_rescale

BINDING, CLASHING = (10, 15, 30, 32, 39, 43, 48, 54, 67, 79, 99), (12, 17)
"""Seeds of problems that are feasible without rules, of which the rules raise the optimum, or leave none."""


def ruled(seed):
    return with_rules(random_rescale(seed, tasks=(3, 5)), seed)


@pytest.mark.parametrize("seed", [*BINDING, *CLASHING])
def test_the_search_finds_the_optima_of_tiny_problems_with_rules(seed):
    problem = ruled(seed)
    optimum, _ = brute_force(problem)
    solution = edrp.solve(problem, "range-annealing", seed=3, runs=4, steps=2000)
    assert solution.status == ("none" if seed in CLASHING else "feasible")
    if seed in BINDING:
        assert solution.objective == pytest.approx(optimum, abs=1e-7)


@pytest.fixture(scope="module")
def on_the_first_node():
    """One operator may run on the first node only; it runs on the two others."""
    rule = {"rule": "required", "name": "licences", "operators": ["keyed1"], "nodes": ["node0"]}
    return rescaled(24, np.random.default_rng(5), zipf_tasks, 1.0).replace(rules=[rule])


@pytest.mark.parametrize("method", ["repair-ranges", "ds2-even-ranges", "even-ranges"])
def test_baselines_that_choose_nodes_meet_rules(method, on_the_first_node):
    assert set(edrp.solve(on_the_first_node, method).deployment.nodes("keyed1")) == {"node0"}


def test_a_baseline_that_keeps_what_breaks_a_rule_names_it(on_the_first_node):
    solution = edrp.solve(on_the_first_node, "keep")
    assert solution.status == "none"
    assert "rule 'licences' (replicas of keyed1 only on node node0): violated by 2" in solution.notes[0]


@pytest.mark.parametrize("method", ["repair-ranges", "edrp-then-ssm", "even-ranges"])
def test_baselines_find_what_meets_the_rules_of_tiny_problems(method):
    """Where they find nothing, other limits are tight, too; an answer that breaks a rule would be an error."""
    statuses = [edrp.solve(ruled(seed), method).status for seed in BINDING[:6]]
    assert statuses.count("feasible") >= 5


def test_what_runs_is_repaired_for_rules_without_kernels():
    problem = rescaled(24, np.random.default_rng(5), zipf_tasks, 1.0)
    rules = [
        {"rule": "forbidden", "name": "tenant", "operators": ["keyed0"], "nodes": ["node0"]},
        {"rule": "at_least_zones", "name": "sites", "operators": ["keyed2"], "zones": 2, "per": "node"},
    ]
    problem = problem.replace(rules=rules)
    assert len(problem.evaluate(problem.current).broken) == 2
    assert edrp.solve(problem, "repair-ranges").status == "feasible"


def test_a_repair_adds_a_replica_where_a_rule_needs_one():
    rule = {"rule": "at_least_zones", "name": "two", "operators": ["keyed0"], "zones": 2, "per": "node"}
    problem = rescaled(24, np.random.default_rng(5), zipf_tasks, 0.5).replace(rules=[rule])
    arrays = compile_rescale(problem)
    start = packed_start(arrays, 0.0)
    keyed = arrays.compiled.operators.index("keyed0")
    start[keyed] = [(0, 0, arrays.tasks[keyed].count)]
    assert arrays.compiled.rules.breach(counts_of(arrays, start)) == 1
    repaired = meet_rules(arrays, start)
    assert len({node for node, _, _ in repaired[keyed]}) == 2
    assert [ranges for i, ranges in enumerate(repaired) if i != keyed] == [r for i, r in enumerate(start) if i != keyed]


def counts_of(arrays, replicas):
    counts = np.zeros(arrays.compiled.candidate.shape, np.int64)
    for i, ranges in enumerate(replicas):
        np.add.at(counts[i], [node for node, _, _ in ranges], 1)
    return counts
