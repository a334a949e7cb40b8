"""What makes an infeasible problem feasible is tested on the whole problem, not on one set of demands that clash."""

from itertools import combinations

import numpy as np
import pytest

import edrp
from edrp.core.clash_search import ClashSearch, find_clash, outward
from edrp.placement.edrp import EdrpProblem


def one_operator(rules, *, nodes=("a", "b", "c"), delay=0.02, **limits):
    """Three replicas of an operator, and where they may run."""
    operators = [{"name": "read", "external_rate": 5.0, "candidates": ["a"]}, {"name": "work", "cost": 1.0, "max_replicas": 4}]
    return EdrpProblem(
        application={"operators": operators, "streams": [{"source": "read", "target": "work"}]},
        network={"nodes": [{"name": name, "zone": name} for name in nodes], "between_zones": {"delay": delay}},
        weights={"cost": 1.0},
        limits={"cost": 9.0, **limits},
        rules=[{"name": name, **rule} for name, rule in rules.items()],
    )


AT_LEAST_TWO = {"rule": "at_least_zones", "operators": ["work"], "zones": 2}
AT_LEAST_THREE = {"rule": "linear", "terms": [{"operator": "work"}], "lower": 3}
AT_MOST_ONE = {"rule": "linear", "terms": [{"operator": "work"}], "upper": 1}


@pytest.mark.parametrize("seed", range(40))
def test_the_smallest_change_is_the_smallest_that_meets_every_set_that_clashes(seed):
    """Random sets of demands that clash, against all sets of demands that could go."""
    rng = np.random.default_rng(seed)
    clashes = [frozenset(rng.choice(9, size=rng.integers(1, 4), replace=False).tolist()) for _ in range(rng.integers(1, 6))]
    search = ClashSearch(9, lambda kept: "infeasible" if any(clash <= kept for clash in clashes) else "feasible")
    clash, settled = search.minimal(search.everything)
    assert settled
    assert any(known == frozenset(clash) for known in clashes)
    sizes = (len(gone) for n in range(1, 9) for gone in combinations(range(9), n) if not any(c.isdisjoint(gone) for c in clashes))
    change = search.least_change(clash)
    assert len(change) == next(sizes)
    assert not any(known.isdisjoint(change) for known in clashes)


@pytest.mark.parametrize("seed", range(10))
def test_halves_are_left_out_as_single_demands_would_be(seed):
    rng = np.random.default_rng(seed)
    clashes = [frozenset(rng.choice(9, size=3, replace=False).tolist()) for _ in range(3)]
    kept = set(range(9))
    for number in range(9):
        kept -= {number} if any(clash <= kept - {number} for clash in clashes) else set()
    search = ClashSearch(9, lambda kept: "infeasible" if any(clash <= kept for clash in clashes) else "feasible")
    assert search.minimal(range(9)) == (sorted(kept), True)


def test_what_was_not_found_out_is_said():
    unknown = find_clash(["a", "b"], lambda kept: "unknown")
    assert unknown.clash == (0, 1)
    assert unknown.remedies[0].endswith("not found out within the limit")


def test_a_rule_that_would_not_help_is_told_from_one_that_does():
    """Two sets clash, and one rule is in both."""
    problem = one_operator({"zones": AT_LEAST_TWO, "many": AT_LEAST_THREE, "licences": AT_MOST_ONE})
    solution = edrp.solve(problem)
    assert solution.status == "infeasible"
    assert solution.clashes[-1].startswith("rule 'licences'")
    assert solution.remedies[0] == "without rule 'licences' the whole problem is feasible"
    assert solution.remedies[1].endswith("alone it is not: other demands clash as well")
    assert solution.seconds["explain"] > 0
    assert type(solution).model_validate(solution.to_document()).remedies == solution.remedies


def test_where_no_single_demand_is_enough_the_smallest_set_is_named():
    """One pair of rules about each operator clashes."""
    two_readers = {"rule": "linear", "terms": [{"operator": "read"}], "lower": 2}
    solution = edrp.solve(one_operator({"few": AT_MOST_ONE, "zones": AT_LEAST_TWO, "readers": two_readers}))
    assert solution.remedies[-1].endswith("the whole problem is feasible, and fewer than 2 changes do not suffice")


def test_a_limit_is_raised_to_what_the_whole_problem_needs():
    """A replica in another zone is 1/90 s away, which no number of six digits states."""
    problem = one_operator({"zones": AT_LEAST_TWO}, delay=1 / 90, response_time=0.001)
    solution = edrp.solve(problem)
    (sentence,) = [text for text in solution.remedies if text.startswith("with limits.response_time of ")]
    assert sentence == "with limits.response_time of 0.0111112 s the whole problem is feasible"
    assert edrp.solve(problem.replace(limits={"cost": 9.0, "response_time": 0.0111112})).status == "optimal"
    assert edrp.solve(problem.replace(limits={"cost": 9.0, "response_time": 0.0111110})).status == "infeasible"


@pytest.mark.parametrize("value", [1e-9, 0.1, 1 / 3, 28.03957, 123456.7, 8.1e11])
def test_a_value_that_is_rounded_outward_suffices(value):
    assert outward(value, up=False) <= value * (1 + 1e-12)
    assert outward(value, up=True) >= value * (1 - 1e-12)
    assert outward(value, up=True) == pytest.approx(value, rel=1e-5)
