"""The campaign of pairs of features: what it draws, what it notices, and a sample of it."""

import json
from itertools import combinations

import pytest

from edrp.core.kinds import kinds
from edrp.core.methods import methods
from edrp.core.solution import Answer
from edrp.validation.fuzzing.campaign import Campaign, alone, pair_case, pairs, run_chunk
from edrp.validation.fuzzing.features import FEATURES
from edrp.validation.fuzzing.oracle import WAYS, Case, Find, judge

STARTS_PROCESSES = ("n_jobs", "Spark")
SAMPLE = range(0, 596, 61)
"""Every 61st pair; the others are for `make fuzz`."""


def test_every_feature_meets_every_other_one_in_some_kind():
    assert {kind for kind, *_ in pairs()} == set(kinds())
    met = {frozenset(pair) for _, *pair in pairs()}
    rare = {"cyclic", "scenarios", "priorities", "changes", "front", "plan"}  # of kinds that have not all others
    parts = [*FEATURES, *WAYS]
    assert all(frozenset((a, b)) in met for a in parts for b in parts if a != b and not {a, b} & rare)


def test_a_number_always_draws_the_same_case():
    assert pair_case(7, 1, 1.0) == pair_case(7, 1, 1.0) != pair_case(7, 2, 1.0)


@pytest.mark.parametrize("feature", list(FEATURES))
def test_documents_have_their_features(feature):
    number = next(number for number, pair in enumerate(pairs()) if feature in pair)
    case = pair_case(number, 0, 1.0)
    document = json.loads(case.text)
    shown = {
        "one operator": lambda: len(document["application"]["operators"]) == 1,
        "one node": lambda: len(document["network"]["nodes"]) == 1,
        "zero rates": lambda: not any(operator["external_rate"] for operator in document["application"]["operators"]),
        "no resources": lambda: all(node["resources"] is None for node in document["network"]["nodes"]),
        "peak load": lambda: document["weights"]["peak_load"] > 0,
        "routed network": lambda: document["network"]["routed"],
        "current deployment": lambda: document["current"],
        "narrow capacity": lambda: _is_narrow(document),
        "hard rule": lambda: any(rule["penalty"] is None for rule in document["rules"]),
        "soft rule": lambda: any(rule["penalty"] for rule in document["rules"]),
    }
    assert feature in case.pair
    assert shown.get(feature, lambda: document[feature] if feature != "cyclic" else len(document["application"]["streams"]))()


def _is_narrow(document):
    """Whether some replicas together need what a node has, up to a part in 10^6."""
    needs = [operator["resources"] for operator in document["application"]["operators"]]
    sums = [sum(some) for size in (1, 2, 3) for some in combinations(needs, size)]
    rooms = [node["resources"] for node in document["network"]["nodes"] if node["resources"]]
    return any(abs(total / room - 1) < 1.1e-6 for total in sums for room in rooms)


@pytest.mark.parametrize("number", SAMPLE)
def test_a_sample_of_pairs_holds(number):
    without = pairs(STARTS_PROCESSES)
    verdict = judge(pair_case(number % len(without), 5, 0.5, without))
    assert verdict.codes
    assert not verdict.finds, verdict.finds[0].reason


@pytest.mark.parametrize("kind", [kind for kind, _ in alone("narrow capacity")])
def test_all_methods_mean_the_same_by_a_limit(kind):
    assert not judge(pair_case(0, 5, 0.05, ((kind, "narrow capacity"),))).finds


@pytest.mark.parametrize("feature", list(FEATURES))
def test_every_kind_that_has_a_feature_can_be_drawn_with_it(feature):
    assert all(pair_case(0, 0, 1.0, (one,)).pair == ": ".join(one) for one in alone(feature))


@pytest.mark.parametrize("rule", ["hard rule", "soft rule"])
def test_policies_with_rules_are_explained(rule):
    assert not judge(pair_case(1, 5, 0.2, (("edrp-policy", rule, "explain"),))).finds


@pytest.mark.slow
@pytest.mark.parametrize("way", STARTS_PROCESSES)
def test_batches_of_pairs_hold(way):
    number = next(number for number, pair in enumerate(pairs()) if pair[1:] == ("one node", way))
    assert not judge(pair_case(number, 5, 0.5)).finds


def test_a_wrong_optimum_is_found_among_all_decisions(monkeypatch, tmp_path):
    greedy = type(methods()["greedy"])

    monkeypatch.setattr(greedy, "run", lambda self, problem, options: Answer("infeasible", "finished"))
    number = next(n for n in range(40) if json.loads(pair_case(n, 0, 1.0).text)["kind"] == "edrp")
    drawn = pair_case(number, 0, 1.0)
    case = Case(drawn.text, ("greedy",), 1.0, pair=drawn.pair)
    (find,) = judge(case).finds
    assert find.signature.startswith("edrp: one operator × ")
    assert "of all decisions the best is" in find.signature
    assert Find.from_json(find.to_json()) == find


def test_a_campaign_of_pairs_writes_what_it_finds_as_others_do(monkeypatch, tmp_path):
    campaign = Campaign(tmp_path, work_limit=0.5, pairs=True)
    campaign.finds.mkdir()
    monkeypatch.setattr(type(methods()["greedy"]), "run", lambda self, problem, options: 1 / 0)
    monkeypatch.setattr("edrp.validation.fuzzing.campaign._methods", lambda kind, parts, random: ("greedy",))
    result = run_chunk(campaign, 0, 1)
    assert result["pairs"]
    assert result["cases"] == 1
    (find,) = campaign.finds.glob("pairs-0000-001.find")
    assert "ZeroDivisionError" in Find.from_json(find.read_text()).signature
    assert find.with_suffix(".json").exists()
