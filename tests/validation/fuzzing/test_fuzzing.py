"""The fuzzer: what it draws, what it notices, and that a campaign can be stopped and continued."""

import json
import random
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings

from edrp.backends import OWN_BACKENDS
from edrp.core.kinds import kinds
from edrp.core.methods import Method, methods
from edrp.core.problem import EVERYTHING
from edrp.core.solution import Answer
from edrp.validation.fuzzing.campaign import Campaign, run_campaign, run_chunk
from edrp.validation.fuzzing.mutations import base_documents, cases, methods_for, mutated, places
from edrp.validation.fuzzing.oracle import Case, Find, judge

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
FILES = tuple(sorted(EXAMPLES.glob("*.json")))
CASES, CHUNKS, QUICK = 300, 15, 1
"""Documents, and parts of them; those from `QUICK` on are for `make test-slow`."""


@pytest.mark.parametrize("chunk", [pytest.param(chunk, marks=[pytest.mark.slow] * (chunk >= QUICK)) for chunk in range(CHUNKS)])
def test_nothing_breaks_the_package(chunk, tmp_path):
    campaign = Campaign(tmp_path, seed=16, files=FILES)
    campaign.finds.mkdir()
    result = run_chunk(campaign, chunk, CASES // CHUNKS)
    found = [Find.from_json(file.read_text()).reason for file in campaign.finds.glob("*.find")]
    assert not found, found[0]
    assert result["cases"] == CASES // CHUNKS


@pytest.mark.slow
def test_every_kind_has_documents_to_begin_with_and_methods_to_try():
    assert all(methods_for(kind) for kind in kinds())
    drawn = set()

    @settings(max_examples=200, database=None, derandomize=True)
    @given(base_documents(tuple(kinds()), FILES))
    def draw(document):
        drawn.add(document["kind"])

    draw()
    assert drawn == set(kinds())


@given(cases(("migration",)))
@settings(max_examples=10, database=None)
def test_every_exact_method_solves_every_case_by_name(case):
    exact = [name for name, method in methods("migration").items() if method.exact]
    assert exact == sorted({"auto", "ssm", *OWN_BACKENDS})
    assert list(case.methods[:-1]) == exact
    assert case.methods[-1] in methods_for("migration", exact=False)


@given(mutated(base_documents(("migration", "edrp"))))
@settings(max_examples=50, database=None)
def test_mutations_keep_the_kind_and_leave_a_tree(document):
    assert document["kind"] in ("migration", "edrp")
    json.dumps(document)
    assert all(place for place, _ in places(document))


class Fake(Method):
    takes = EVERYTHING
    name, kinds, exact, summary = "fake", ("migration",), True, "for tests"

    def __init__(self, answer):
        self.answer = answer

    def run(self, problem, options):
        return self.answer(problem, options)


@pytest.fixture
def fake_method(monkeypatch):
    def register(answer):
        methods()
        monkeypatch.setitem(sys.modules["edrp.core.methods"]._registry(), "fake", Fake(answer))

    return register


def crash(problem, options):
    raise IndexError("no such node")


def crash_of_a_package(problem, options):
    exec(compile("raise IndexError('no such state')", "/opt/python/site-packages/quantecon/mdp/utilities.py", "exec"))


def worse_optimum(problem, options):
    answer = methods()["balanced"].run(problem, options)
    return Answer("optimal", "finished", answer.decision, answer.objective, answer.objective)


def infeasible(problem, options):
    return Answer("infeasible", "finished")


def warning(problem, options):
    import numpy as np

    np.array([1e300]) * 1e300
    return methods()["ssm"].run(problem, options)


@pytest.mark.parametrize(
    ("answer", "signature"),
    [
        (crash, "IndexError at test_fuzzing.py"),
        (worse_optimum, "bounds by"),
        (infeasible, "says infeasible, auto: ssm holds a decision"),
        (warning, "RuntimeWarning"),
    ],
)
def test_the_oracle_notices_what_does_not_hold(answer, signature, fake_method):
    fake_method(answer)
    verdict = judge(Case((EXAMPLES / "migration.json").read_text(), ("auto", "fake")))
    assert [find for find in verdict.finds if signature in find.signature], verdict.finds


def test_a_find_can_be_written_and_judged_again(fake_method):
    fake_method(crash)
    (find,) = judge(Case((EXAMPLES / "migration.json").read_text(), ("fake",))).finds
    assert Find.from_json(find.to_json()) == find
    assert judge(Find.from_json(find.to_json()).case).finds[0].signature == find.signature


def test_a_find_tells_other_packages_from_the_sources_and_names_no_folder_of_either(fake_method):
    fake_method(crash_of_a_package)
    (find,) = judge(Case((EXAMPLES / "migration.json").read_text(), ("fake",))).finds
    assert find.signature == "IndexError at test_fuzzing.py in crash_of_a_package"
    assert 'File "site-packages/quantecon/mdp/utilities.py"' in find.reason
    assert 'File "edrp/core/solve.py"' in find.reason


def test_the_same_seed_draws_the_same_cases(tmp_path):
    drawn: list[list[Case]] = []
    for _ in range(2):
        drawn.append([])
        random.seed(len(drawn))  # of no effect
        campaign = Campaign(tmp_path, seed=3, kinds=("migration",))
        campaign.finds.mkdir(exist_ok=True)
        run_chunk(campaign, 5, 5, lambda _, case: drawn[-1].append(case))
    assert drawn[0] == drawn[1]
    assert len(drawn[0]) == 5


@pytest.mark.slow
def test_a_campaign_goes_on_where_it_was_stopped(tmp_path):
    campaign = Campaign(tmp_path, kinds=("migration",), chunk=2)
    steps = run_campaign(campaign, 4)
    assert next(steps).cases == 0
    assert next(steps).cases == 2
    steps.close()  # as Ctrl-C does, in the midst of the second chunk
    with campaign.chunks.open("a") as file:
        file.write('{"seed": 0, "chu')  # a line that was being written when everything stopped
    again = [summary.cases for summary in run_campaign(campaign, 4)]
    assert (again[0], again[-1]) == (2, 4)


@pytest.mark.slow
def test_chunks_of_another_size_are_not_taken_for_finished_ones(tmp_path):
    *_, finished = run_campaign(Campaign(tmp_path, kinds=("migration",), chunk=1), 2)
    assert finished.cases == 2
    assert next(run_campaign(Campaign(tmp_path, kinds=("migration",), chunk=2), 2)).cases == 0
