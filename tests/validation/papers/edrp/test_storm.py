"""S-EDRP on a small cluster: EDRP, section 7.3."""

import io
import re

import pytest
from rich.console import Console

from edrp import datasets
from edrp.validation.papers.edrp import report
from edrp.validation.papers.edrp.experiments import DECISION_SECONDS, WEIGHTINGS, run_storm_day, storm_outcome

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("storm")]  # computed once, not once per worker

RATES = [60.0, 20.0, 60.0, 160.0, 240.0, 300.0, 300.0, 150.0]


@pytest.fixture(scope="module")
def rounds():
    """Eight rounds through the paper's range, in the four objectives."""
    return {name: run_storm_day(RATES, weights) for name, weights in WEIGHTINGS.items()}


def test_weighing_downtime_lowers_it_and_storm_stops_for_at_least_its_rebalance(rounds):
    assert rounds["Baseline"].downtime > 1.5 * rounds["Balanced"].downtime > 0
    for day in rounds.values():
        stops = [step.metrics["downtime"] for step in day.reconfigurations]
        assert min(stops) > datasets.debs2015_storm().synchronisation_time
        assert sum(stops) == day.downtime


def test_downtime_is_given_as_a_share_of_the_time_replayed(rounds):
    day = rounds["Baseline"]
    assert storm_outcome(day).downtime == pytest.approx(day.downtime / (7 * DECISION_SECONDS))


def test_the_same_seed_gives_the_same_day():
    once, again = (run_storm_day(RATES[:3], WEIGHTINGS["Balanced"], method="highs") for _ in range(2))
    assert [step.deployment for step in once.steps] == [step.deployment for step in again.steps]
    other = run_storm_day(RATES[:2], WEIGHTINGS["Balanced"], method="greedy", seed=1)
    assert other.steps[0].problem.network != once.steps[0].problem.network


def test_the_report_prints_table_v_beside_the_paper(monkeypatch, tmp_path, rounds):
    def shortened(console, title, steps, run):
        assert steps == 24
        return rounds

    monkeypatch.setattr(report, "in_all_objectives", shortened)
    text = io.StringIO()
    report.run_storm(Console(file=text, width=80), out=tmp_path / "new")
    row = next(line for line in text.getvalue().splitlines() if "Baseline" in line)
    assert re.findall(r"\d+\.\d+", row)[1::2] == ["103.6", "9.3", "10.18"]
    assert "holds: the cost objective is the cheapest (Cost)" in text.getvalue()
    assert (tmp_path / "new" / report.STORM_FIGURE).read_bytes()[:4] == b"\x89PNG"
