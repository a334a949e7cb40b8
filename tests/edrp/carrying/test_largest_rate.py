"""The largest multiple of a load: reference cases, enumeration, both sides by plain evaluation, and what is refused."""

import json
from pathlib import Path

import pytest

import edrp
from edrp.placement.throughput import largest_multiple, scaled

CASES = Path(__file__).parent / "cases"
EXPECTED = {case["name"]: case for case in json.loads((CASES / "expected.json").read_text())["cases"]}


@pytest.mark.parametrize("name", EXPECTED)
def test_reference_cases(name):
    case, problem = EXPECTED[name], edrp.load(CASES / f"{name}.json")
    largest = edrp.largest_rate(problem)
    assert largest.status == "optimal"
    assert largest.multiple == pytest.approx(case["multiple"], rel=1e-9)
    assert largest.attained == case["attained"]
    assert largest.multiple <= largest.bound <= largest.multiple * (1 + 2e-6)
    carried = largest_multiple(problem, case["deployment"])
    assert (carried.multiple, carried.attained) == (pytest.approx(case["multiple"], rel=1e-12), case["attained"])
    assert scaled(problem, largest.multiple * (1 - 1e-6)).evaluate(largest.deployment).feasible
