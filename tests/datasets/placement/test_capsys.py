"""CAPSys's queries and plans: read as they are, and proven in all stages."""

from pathlib import Path

import pytest

import edrp
from edrp.core.errors import InvalidInstanceError
from edrp.datasets.placement.capsys import capsys_plans, capsys_queries


def test_all_six_queries_are_proven_in_all_stages(shared_data: Path) -> None:
    peaks = {}
    for name, problem in capsys_queries(shared_data).items():
        solution = edrp.solve(problem, "fixed-tasks")
        assert solution.status == "optimal"
        assert all(outcome.proven for outcome in solution.stages)
        compute = problem.network.nodes[0].capacity["compute"]
        peaks[name] = solution.stages[0].value * compute
    assert peaks == pytest.approx(
        {"Q1": 3721.593, "Q2": 5415.9464, "Q3": 4790.1654, "Q4": 3665.9777, "Q5": 2842.1961, "Q6": 3753.2114}, rel=1e-6
    )


def test_plans_have_as_many_slots_as_published(shared_data: Path) -> None:
    plans = capsys_plans(shared_data)
    slots = {name: plans[f"q3-inf-{name}"].slots for name in ("odrp-def", "odrp-wr", "odrp-opt", "odrp-caps")}
    assert slots == {"odrp-def": 13, "odrp-wr": 32, "odrp-opt": 26, "odrp-caps": 27}


@pytest.mark.parametrize(
    "text", ["no", "[]", '{"Q1": 3}', '{"Q1": [{"name": "a"}]}', '{"Q1": [{"name": "a", "parallelism": "b"}]}']
)
def test_queries_of_another_form_are_refused_in_one_line(tmp_path: Path, text: str) -> None:
    (tmp_path / "capsys").mkdir()
    (tmp_path / "capsys" / "queries_4x8.json").write_text(text)
    why = "be JSON" if text == "no" else "hold queries by name, each a list of"
    with pytest.raises(InvalidInstanceError, match=rf"queries_4x8\.json.*must {why}"):
        capsys_queries(tmp_path)


def test_plans_of_another_form_are_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "capsys").mkdir()
    (tmp_path / "capsys" / "q3_inf_plans.json").write_text('{"a": {"tasks": []}}')
    with pytest.raises(InvalidInstanceError, match=r"q3_inf_plans\.json.*must hold plans by name, each with input_rate"):
        capsys_plans(tmp_path)
