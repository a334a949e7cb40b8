"""Tables 3 to 6 of cost-efficient enactment: the paper's figures, ours beside them, and the verdicts."""

import csv
import json
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest

import edrp
from edrp.datasets.enactment.manufacturing import manufacturing_scenario
from edrp.heuristics.enactment import POLICIES
from edrp.report.publication import PAGE
from edrp.validation.oracles.enactment.queueing_theory import QueueingCheck
from edrp.validation.papers.claims import judged
from edrp.validation.papers.enactment import report
from edrp.validation.papers.enactment import runs as enactment_runs
from edrp.validation.papers.enactment.claims import CLAIMS
from edrp.validation.papers.enactment.report import against_btu, side_by_side
from edrp.validation.papers.enactment.runs import (
    BTU,
    COLUMNS,
    PATTERNS,
    QUANTITIES,
    THRESHOLD,
    UNITS,
    Bounds,
    Column,
    Setting,
    enact,
    measured_cells,
    paper_samples,
    samples_by_cell,
    setting_error,
    settled,
    timeline,
)
from edrp.validation.papers.enactment.runs import POLICIES as POLICIES_OF_PAPER
from edrp.validation.simulation.enactment.simulator import simulate

pytestmark = pytest.mark.xdist_group("enactment-report")  # runs are simulated once, not once per worker

SEEDS = (1, 2)
SHORT = Setting({"duration": 720.0})


@cache
def follow(policy, pattern, unit, seed):
    made, parameters = POLICIES[policy]
    return simulate(SHORT.scenario(pattern, unit, seed), made(parameters()), seed)


@pytest.fixture(scope="module")
def enacted():
    """Twelve minutes of every cell, two seeds; the threshold policy does not look at the unit."""
    return [
        settled(
            SHORT.scenario(pattern, column.unit, seed),
            pattern,
            column,
            seed,
            follow(column.policy, pattern, UNITS[0] if column.policy == THRESHOLD else column.unit, seed),
        )
        for pattern in PATTERNS
        for column in COLUMNS
        for seed in SEEDS
    ]


def test_the_paper_has_no_error_against_itself_and_one_changed_cell_counts_as_such():
    samples = {cell: dict(values) for cell, values in paper_samples().items()}
    assert setting_error(samples)[:5] == (0, 0, 0, 0, 0)
    samples["stepwise", Column(BTU, 30)]["relaxed_compliance"] = np.array([0.93 - 0.048])
    samples["two-level", Column(THRESHOLD, 60)]["resource_cost"] = np.array([122.0 * 1.24])
    error = setting_error(samples)
    assert error.compliance == pytest.approx(0.001)  # of 48 cells
    assert error.worst_btu == pytest.approx(0.048)
    assert error.worst_threshold == 0
    assert error.resource_cost == pytest.approx(0.01)  # of 24 cells
    assert error.totals == 0


def test_statements_hold_where_the_papers_own_tables_say_so():
    generator = np.random.default_rng(1)
    extra = {"scalings": 500.0, "late_scalings": 200.0, "following": 0.5}
    samples = {
        cell: {name: value * (1 + generator.normal(0, 1e-4, 10)) for name, value in {**values, **extra}.items()}
        for cell, values in paper_samples().items()
    }
    by_sentence = {statement.sentence: statement for statement in judged(CLAIMS, samples)}
    with_figures = [each for each in by_sentence.values() if each.paper_agrees[1]]
    assert len(with_figures) == 14
    contradicted = {
        statement.sentence: statement.paper_agrees
        for statement in with_figures
        if statement.paper_agrees[0] < statement.paper_agrees[1]
    }
    assert contradicted == {
        "compliance is about the same under all patterns, within 3 points": (10, 12),
        "real-time totals of BTU30 and BTU60 are lower": (7, 8),
        "the real-time total of BTU10 is higher": (3, 4),
    }
    for statement in with_figures:
        clear = [one for one in statement.findings if abs(one.printed) > 1e-3]
        assert all(one.verdict == ("holds" if one.printed > 0 else "does not hold") for one in clear), statement.sentence
    assert by_sentence["BTU has the higher compliance in all configurations and at all levels"].verdict == "holds"
    assert by_sentence["the real-time total of BTU10 is higher"].verdict == "does not hold"
    assert len(by_sentence["BTU has the higher compliance in all configurations and at all levels"].findings) == 36
    assert len(by_sentence["near-real-time and relaxed totals of BTU are lower"].findings) == 24


def test_one_threshold_run_is_billed_by_every_unit_as_if_it_had_been_made_with_it():
    runs = {unit: follow(THRESHOLD, "stepwise", unit, 1) for unit in UNITS}
    for unit in UNITS:
        assert SHORT.scenario("stepwise", unit, 1).bill(runs[10]) == runs[unit]
    assert len({sum(lease.units for lease in run.leases) for run in runs.values()}) > 1


def test_cells_are_means_over_the_seeds_of_what_the_scenario_evaluates(enacted):
    own = [run for run in enacted if run.pattern == "two-level" and run.column == Column(BTU, 30)]
    evaluations = [SHORT.scenario("two-level", 30, run.seed).evaluate(run.run) for run in own]
    assert all(evaluation.feasible for evaluation in evaluations)
    for cell in measured_cells(samples_by_cell(enacted)):
        if (cell.pattern, cell.column) == ("two-level", Column(BTU, 30)):
            values = [evaluation.metrics[cell.quantity] for evaluation in evaluations]
            assert cell.ours == pytest.approx((np.mean(values), np.std(values, ddof=1)))


def test_samples_with_a_seed_missing_are_refused(enacted):
    with pytest.raises(ValueError, match="seeds differ"):
        samples_by_cell(enacted[1:])


@pytest.mark.slow
def test_the_command_writes_a_report_that_holds_everything_and_fetches_nothing(enacted, tmp_path, monkeypatch, capsys, links_of):
    from edrp.cli import main

    monkeypatch.setattr(enactment_runs, "enact", lambda *arguments, **how: enacted)
    monkeypatch.setattr(enactment_runs, "mean_bounds", lambda *arguments, **how: {("stepwise", 10): Bounds(35.0, 41.25)})
    monkeypatch.setattr(report, "queueing_check", lambda: (QueueingCheck("M/M/1", 2.0, 2.01),))
    with pytest.raises(SystemExit) as ended:
        main(["reproduce", "enactment", "--seeds", "2", "--quick", "--sensitivity", "--out", str(tmp_path)])
    assert not ended.value.code
    printed = capsys.readouterr().out
    assert all(words in printed for words in ("Table 3, stepwise", "undecided: ", "Compliance is off by", "report: "))
    page = (tmp_path / PAGE).read_text(encoding="utf-8")
    links = links_of(page)
    assert links.fetched == []
    assert links.images == 4
    command = f"edrp reproduce enactment --seeds 2 --out {tmp_path} --quick --sensitivity"
    for words in (
        "Table 6, random-walk-2",
        "exponential service",
        command,
        "155.43",
        "+0.50 %",
        "fitted on stepwise and two-level",
    ):
        assert words in page
    assert len(list(tmp_path.glob("fig*.svg"))) == 4
    with (tmp_path / "tables.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(PATTERNS) * len(COLUMNS) * len(QUANTITIES)
    document = json.loads((tmp_path / "tables.json").read_text(encoding="utf-8"))
    assert float(rows[0]["mean"]) == document["tables"][0]["mean"]
    assert document["bounds"] == [{"pattern": "stepwise", "unit_minutes": 10, "least": 35.0, "in_time": 41.25}]
    assert document["error"] == setting_error(samples_by_cell(enacted))._asdict()
    assert "| real-time % |" in (tmp_path / "tables.md").read_text(encoding="utf-8")


def test_bounds_are_means_over_different_walks(monkeypatch):
    asked = []

    def bound(scenario, level, *, all_in_time, time_limit):
        asked.append(scenario)
        return SimpleNamespace(total=scenario.load[1] + 10 * all_in_time)

    monkeypatch.setattr(enactment_runs, "clairvoyant_bound", bound)
    found = enactment_runs.mean_bounds(SHORT, (1, 2, 3), patterns=["two-level", "random-walk-1"], units=[30], n_jobs=1)
    walks = [SHORT.scenario("random-walk-1", 30, seed) for seed in (1, 2, 3)]
    assert len(asked) == 2 * (1 + len(walks))  # of all policies, and of those that are in time
    assert found["two-level", 30].least == SHORT.scenario("two-level", 30, 1).load[1]
    mean = np.mean([walk.load[1] for walk in walks])
    assert found["random-walk-1", 30] == pytest.approx((mean, mean + 10))


def test_savings_against_the_btu_policy_count_only_where_compliance_is_as_high():
    btu = {"near_real_time_total": [100.0, 100.0], "near_real_time_compliance": [0.9, 0.9], "relaxed_compliance": [0.95, 0.95]}
    other = {"near_real_time_total": [90.0, 80.0], "near_real_time_compliance": [0.9, 0.89], "relaxed_compliance": [0.95, 0.99]}
    samples = {
        ("stepwise", Column(policy, 10)): {name: np.array(values) for name, values in metrics.items()}
        for policy, metrics in ((BTU, btu), ("other", other))
    }
    ((policy, saving, cheap, compliant),) = against_btu(samples).rows
    assert (policy, cheap, compliant) == ("other", "100", "50")
    assert saving.startswith("+15.0 ")
    assert side_by_side(samples, {("stepwise", 10): Bounds(35.0, 41.25)}).rows[0][-1] == "35.0\n41.2"


@pytest.mark.slow
def test_runs_go_through_the_batch_layer_and_are_not_repeated(tmp_path):
    def run():
        return enact(POLICIES_OF_PAPER, [1], setting=SHORT, patterns=["stepwise"], units=[10, 60], out=tmp_path, n_jobs=1)

    first = run()
    written = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.parquet")}
    assert run() == first
    assert written == {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.parquet")}
    assert [each.column for each in first] == [Column(policy, unit) for policy in POLICIES_OF_PAPER for unit in (10, 60)]


def test_a_timeline_counts_what_there_was():
    scenario = manufacturing_scenario("two-level", duration=1200.0)
    solution = edrp.solve(scenario, "threshold-policy", seed=3)
    line = timeline(scenario, solution.run)
    lease_seconds = sum((scenario.duration if lease.end is None else lease.end) - lease.start for lease in solution.run.leases)
    # Samples every 15 s against exact times: each lease and instance is at most one sample off.
    assert line.hosts[:-1].sum() * 15 == pytest.approx(lease_seconds, abs=15 * len(solution.run.leases))
    mean = solution.metrics["mean_instances"]
    assert line.instances[:-1].mean() == pytest.approx(mean, abs=len(solution.run.instances) / 80)
    assert set(line.machines.tolist()) == {2.0, 8.0}
    assert line.instances.min() >= 9, "one of each type at least"
