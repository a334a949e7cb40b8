"""Answers of several methods are one answer: a proof, then the lower objective, with the better bound."""

from dataclasses import replace

import pytest

from edrp.core.claims import contradiction
from edrp.core.combining import combined
from edrp.core.solution import Answer


@pytest.mark.parametrize("status", ["optimal", "infeasible"])
def test_a_proof_is_better_than_anything(status):
    proof, other = Answer(status, "finished", objective=5.0), Answer("feasible", "time_limit", objective=4.0)
    assert combined(proof, other) is proof
    assert combined(other, proof) is proof


def test_of_two_answers_the_lower_objective_gets_the_higher_bound():
    low, tight = Answer("feasible", "finished", 7, 3.0, 1.0), Answer("none", "time_limit", bound=2.0)
    both = combined(low, tight)
    assert (both.decision, both.objective, both.bound, both.stopped_because) == (7, 3.0, 2.0, "time_limit")
    assert combined(tight, low).stopped_because == "finished"


def test_a_bound_that_meets_the_objective_proves_it():
    low, tight = Answer("feasible", "finished", 7, 3.0, 1.0), Answer("none", "time_limit", bound=3.0)
    assert (combined(low, tight).status, combined(low, tight).stopped_because) == ("optimal", "finished")
    assert combined(low, Answer("none", "time_limit", bound=2.9), gap=0.1).status == "optimal"
    assert combined(low, Answer("none", "time_limit", bound=2.9), gap=0.01).status == "feasible"


def test_a_rule_that_finds_nothing_has_not_finished_the_search_that_has_a_bound():
    stopped, rule = Answer("none", "time_limit", bound=2.0, proof="solver's word"), Answer("none", "finished")
    for both in (combined(stopped, rule), combined(rule, stopped)):
        assert (both.status, both.stopped_because, both.bound, both.proof) == ("none", "time_limit", 2.0, "solver's word")
        assert not contradiction(both)


def test_the_proof_is_that_of_the_bound():
    found, bounded = Answer("feasible", "finished", 7, 3.0), Answer("none", "time_limit", bound=2.0, proof="solver's word")
    assert combined(found, bounded).proof == combined(bounded, found).proof == "solver's word"
    assert not contradiction(combined(found, replace(bounded, bound=None, proof=None)))


def test_a_failure_after_an_answer_does_not_hide_why_that_one_stopped():
    low, failed = Answer("feasible", "time_limit", 7, 3.0), Answer("none", "error", notes=("why",))
    assert (combined(low, failed).stopped_because, combined(low, failed).notes) == ("time_limit", ("why",))
