"""A `solve` takes the straight road: it asks each method at most once whether it takes the problem, and chooses once."""

from collections import Counter
from time import perf_counter

import pytest

import edrp
from edrp.auto import choices as auto
from edrp.core.methods import methods
from edrp.datasets.families.placement.layered import layered


@pytest.fixture
def counts(monkeypatch):
    """Calls of `refusal` by method, and of the choice."""
    counted: Counter[str] = Counter()

    def watched(refusal):
        def ask(self, problem):
            counted[self.name] += 1
            return refusal(self, problem)

        return ask

    for kind in {class_ for method in methods().values() for class_ in type(method).__mro__ if "refusal" in vars(class_)}:
        monkeypatch.setattr(kind, "refusal", watched(kind.refusal))
    choose = auto.choose
    monkeypatch.setattr(auto, "choose", lambda problem: (counted.update(["choose"]), choose(problem))[1])
    return counted


@pytest.mark.parametrize(
    ("example", "expected"),
    [
        ("word_count", {"choose": 1, "highs": 1}),
        ("edge_to_cloud", {"choose": 1, "highs": 1}),
        ("migration", {"choose": 1, "ssm": 1}),
        ("mapping", {"choose": 1, "label-setting": 1}),
    ],
)
def test_auto_chooses_once_and_each_method_is_asked_once(examples, counts, example, expected):
    edrp.solve(edrp.load(examples / f"{example}.json"))
    assert counts == expected


def test_every_method_of_a_portfolio_is_asked_once(counts):
    edrp.solve(layered(6, 0))
    assert counts == {"choose": 1, "fixed-tasks": 1, "equal-nodes": 1, "eliminate": 1}  # no search before it is needed


@pytest.mark.parametrize("method", ["highs", "annealing", "iterated-local-search"])
def test_a_method_asked_for_by_name_is_asked_once(word_count, counts, method):
    edrp.solve(word_count, method)
    assert counts == {method: 1}


def test_a_refused_problem_is_refused_once_and_says_why(word_count, counts):
    with pytest.raises(edrp.errors.UnsupportedProblemError, match="use highs"):
        edrp.solve(word_count.replace(limits={**word_count.limits.model_dump(), "availability": 0.5}), "eliminate")
    assert counts == {"eliminate": 1, "highs": 1}, "those that are named are asked"


def test_the_seconds_of_an_answer_are_those_that_passed(word_count):
    began = perf_counter()
    seconds = edrp.solve(word_count, "greedy").seconds
    assert 0.0 < sum(seconds.values()) <= perf_counter() - began
    assert min(seconds.values()) >= 0.0
