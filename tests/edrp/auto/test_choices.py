"""Choices of `auto`."""

from __future__ import annotations

from pathlib import Path

import pytest

import edrp
from edrp.auto.choices import choose
from edrp.core.kinds import get_kind
from edrp.core.methods import methods

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"


def test_a_run_is_that_of_the_policy_that_does_best():
    scenario = edrp.load(EXAMPLES / "enactment_scenario.json")
    others = {name: edrp.solve(scenario, name).objective for name in methods(scenario.kind) if name != "auto"}
    found = edrp.solve(scenario)
    assert found.objective == min(others.values()) < max(others.values())
    assert found.method == f"auto: {min(others, key=others.get)}"


@pytest.mark.parametrize(
    ("kind", "policy"), [("enactment-scenario", "predictive-policy"), ("bimodal-scenario", "public-hops-links-mapping")]
)
def test_the_policy_that_is_mostly_best_runs_first(kind, policy):
    """A limit may end the others' runs."""
    scenario = next(iter(get_kind(kind).check_problems().feasible().values()))
    chosen = choose(scenario)
    assert chosen.stages[0].method.name == policy
    assert {stage.method.name for stage in chosen.stages} == methods(kind).keys() - {"auto"}
