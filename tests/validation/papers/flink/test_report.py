"""Rows of experiments on clusters of Flink become one report with verdicts."""

import json
from pathlib import Path
from typing import Any

import pytest

from edrp.core.errors import InvalidInstanceError
from edrp.validation.papers.flink.control import AUTOSCALER, HOURS, LARGE_STATE, RESCALES, STATIC, WATCH, difference, seeds
from edrp.validation.papers.flink.places import optimum_and_best, rank_correlation
from edrp.validation.papers.flink.predictions import coverage, errors, quantities
from edrp.validation.papers.flink.report import statements
from edrp.validation.papers.flink.rows import job_rows, read_rows


def day(seed: int, policy: str, job: str = "chain", **measured: float) -> dict[str, Any]:
    row = {"late": 100.0, "replica_hours": 130.0, "standstill": 2.0, "rescales": 4, **measured}
    row["late"] = {"0.5": 2 * row["late"], "1.0": row["late"]}
    load = {"min": 1.0, "mean": 1.5, "max": 2.0 + seed}
    plan = {"experiment": "control", "seed": seed, "policy": policy, "day": f"trips, day {seed}", "bound": 1.0, "seconds": 1200}
    plan |= {"peak": 180.0, "job": job}
    return {**plan, "tuples": 10000, "load": load, **row}


def rescale(job: str, **values: tuple[float, float, float, float]) -> dict[str, Any]:
    """A prediction: of each quantity value, low, high and what was measured."""
    found = [
        {"quantity": name, "name": name, "predicted": value, "low": low, "high": high, "measured": measured}
        for name, (value, low, high, measured) in values.items()
    ]
    return {"job": job, "rate": 100.0, "load": 3.0, "quantities": found}


def placement(predicted: float, measured: float, *, optimum: bool = False) -> dict[str, Any]:
    places = {"reader": "a", "writer": "b"}
    row = {"seed": 7, "kind": "placement", "placement": places, "optimum": optimum, "load": 2.0}
    return {**row, "predicted": predicted, "measured": measured}


ROWS = [
    *(day(seed, STATIC, late=0.0, replica_hours=192.0, standstill=0.0, rescales=0) for seed in range(5)),
    *(day(seed, AUTOSCALER, late=500.0 + seed, replica_hours=130.0 + seed) for seed in range(5)),
    *(day(seed, WATCH, late=100.0, replica_hours=131.0 + seed, rescales=9 + seed % 2) for seed in range(5)),
    *(day(seed, AUTOSCALER, LARGE_STATE, late=900.0 + seed, replica_hours=130.0) for seed in range(5)),
    *(day(seed, WATCH, LARGE_STATE, late=400.0, replica_hours=132.0, rescales=3 + seed % 2) for seed in range(5)),
    rescale("chain", busy=(0.5, 0.4, 0.6, 0.52), throughput=(100.0, 90.0, 110.0, 80.0), silence=(1.0, 0.5, 2.0, 1.5)),
    rescale("join", busy=(0.5, 0.4, 0.6, 0.7), throughput=(100.0, 90.0, 110.0, 100.0), silence=(1.0, 0.5, 2.0, 1.0)),
    {"seed": 7, "kind": "calibration", "load": 2.0, "delay_factor": 1.8, "status": "optimal"},
    *(placement(0.1 * n, 0.1 * n + 0.01, optimum=n == 1) for n in range(1, 6)),
]


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    """The rows in three files, as the three benchmarks write them."""
    parts = {"control": ROWS[:25], "predictions": ROWS[25:27], "places": ROWS[27:]}
    for name, rows in parts.items():
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return [tmp_path / f"{name}.jsonl" for name in parts]


def test_policies_are_compared_on_days_on_which_all_ran(files):
    rows = job_rows(read_rows(files).control)["chain"]
    assert seeds(rows) == [0, 1, 2, 3, 4]
    assert difference(rows, WATCH, AUTOSCALER, HOURS).mean == pytest.approx(1.0)
    assert difference(rows, WATCH, AUTOSCALER, RESCALES).low > 0
    fewer = [row for row in rows if (row["seed"], row["policy"]) != (3, WATCH)]
    assert seeds(fewer) == [0, 1, 2, 4]
    assert difference(fewer, WATCH, AUTOSCALER, HOURS).low is None  # an interval of four days would be too narrow


def test_claims_hold_or_do_not_by_differences_on_the_same_days(files):
    found = {statement.sentence: statement.verdict for statement in statements(read_rows(files))}
    assert found["chain: no more tuples are late under `watch` than under the autoscaler's rule"] == "holds"
    assert found["chain: `watch` takes at least 5 % fewer replica-hours than the autoscaler's rule"] == "does not hold"
    assert found["chain: `watch` takes fewer replica-hours than the static peak"] == "holds"
    half = "at most 2 % more replica-hours and half of the late tuples of the autoscaler's rule under `watch`"
    assert found[f"large-state: {half}"] == "holds"
    assert found["large-state: `watch` rescales no more often than the autoscaler's rule"] == "holds"
    assert found["run 7: the proven optimum is the best that was measured"] == "holds"
    assert found["at least 100 rescales were predicted"] == "does not hold"


def test_errors_are_relative_where_the_quantity_is(files):
    rows = read_rows(files).predictions
    assert errors(quantities(rows, "throughput")) == pytest.approx([0.25, 0.0])
    assert errors(quantities(rows, "silence")) == pytest.approx([0.5, 0.0])
    assert coverage(quantities(rows, "busy")) == 0.5
    assert coverage(quantities(rows, "busy", "chain")) == 1.0


def test_placements_are_ranked_and_the_optimum_is_compared(files):
    rows = read_rows(files).placements
    assert rank_correlation(rows) == pytest.approx(1.0)
    assert optimum_and_best(rows) == pytest.approx((0.11, 0.21))


def test_one_command_makes_them_a_report(run, files, tmp_path):
    result = run("reproduce", "flink", *files, "-o", tmp_path / "out").ended(0)
    assert "Load of the machine while days were measured: 1.0 to 6.0." in result.out
    page = (tmp_path / "out" / "report.html").read_text()
    assert all(heading in page for heading in ("Predictions", "Control", "Places"))
    assert "watch less autoscaler" in (tmp_path / "out" / "tables.md").read_text()
    assert (tmp_path / "out" / "control.csv").read_text().count("\n") == 26
    assert str(files[0]) in page


def test_experiments_without_rows_are_left_out(run, files):
    result = run("reproduce", "flink", files[2]).ended(0)
    assert "Placements over three sites" in result.out
    assert "autoscaler" not in result.out


def test_lines_that_are_no_rows_are_named(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(ROWS[0]) + '\n{"experiment": "con\n{"a": 1}\n{"experiment": "control", "seed": 1}\n')
    with pytest.raises(InvalidInstanceError) as raised:
        read_rows([path])
    assert [fault.place for fault in raised.value.faults] == ["line 2", "line 3", "line 4"]
    assert "has no policy, day" in raised.value.faults[2].why
    path.write_text(json.dumps(next(row for row in ROWS if row.get("kind") == "calibration")))
    with pytest.raises(InvalidInstanceError, match="there are none"):
        read_rows([path])


def test_days_that_differ_or_stand_there_twice_are_not_compared(files, tmp_path):
    other = tmp_path / "other.jsonl"
    assert len(read_rows(files).control) == 25  # a day of another job is another day
    other.write_text(json.dumps({**day(9, WATCH), "seconds": 40.0}))
    with pytest.raises(InvalidInstanceError, match="seconds: must be the same on all days"):
        read_rows([*files, other])
    with pytest.raises(InvalidInstanceError, match="seed 0: stands there twice"):
        read_rows([*files, files[0]])
