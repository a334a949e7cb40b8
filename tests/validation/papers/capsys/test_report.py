"""CAPSys side by side: queries and plans of a small folder of the same form, placed, judged and written."""

import csv
import json
import re
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from edrp.core.errors import EdrpError, InvalidInstanceError
from edrp.datasets.placement.capsys import PLANS_FILE, QUERIES_FILE, capsys_plans, capsys_queries, inference_problem
from edrp.placement.fixed_tasks import read_fixed_tasks
from edrp.validation.papers.capsys import report
from edrp.validation.papers.capsys.placements import (
    ALONE,
    CAPS,
    DEFAULT,
    EVENLY,
    FEWEST,
    LEAST,
    OPTIMUM,
    WITHIN,
    flink_counts,
    flink_peaks,
)
from edrp.validation.papers.capsys.report import CapsysResults, improvable, investigate

pytestmark = pytest.mark.xdist_group("caps")  # results are computed once
TIMED = re.compile(r"in [\d.]+ s( together)?$")  # sentences that judge the machine as well


def operator(name: str, parallelism: int, compute: float, network: float, to: str = "", ships: str = "HASH") -> dict[str, Any]:
    return {
        "name": name,
        "parallelism": parallelism,
        "compute_ms_per_s": compute,
        "state_bytes_per_s": 100.0 if name == "Q2_Window" else 0.0,
        "network_mb_per_s": network,
        "ships": ships if to else "",
        "to": [to] if to else [],
    }


def tasks(**counts: str) -> dict[str, Any]:
    """A plan of 570 records/s whose operators have these numbers of tasks on tm0, tm1, …, one figure each."""
    entries = [
        {"operator": f"Q3_{name}", "node": f"tm{u}", "count": int(count)}
        for name, figures in counts.items()
        for u, count in enumerate(figures)
        if int(count)
    ]
    return {"input_rate": 570.0, "slots": 8, "tasks": entries}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two queries. Of the third four sources, eight transforming tasks of 900 ms/s and a sink; one plan of it lacks tasks."""
    made = tmp_path_factory.mktemp("data")
    (made / "capsys").mkdir()
    queries = {
        "Q2": [
            operator("Q2_Sink", 1, 30.0, 0.0),
            operator("Q2_Window", 5, 600.0, 0.2, "Q2_Sink", "FORWARD"),
            operator("Q2_Source", 3, 200.0, 8.0, "Q2_Window"),
        ],
        "Q3": [
            operator("Q3_Sink", 1, 20.0, 0.0),
            operator("Q3_Transform", 8, 900.0, 1.0, "Q3_Sink"),
            operator("Q3_Source", 4, 500.0, 40.0, "Q3_Transform", "REBALANCE"),
        ],
    }
    plans = {
        "q3-odrp-def": tasks(Source="4000", Transform="1000", Sink="1000"),
        "q3-odrp-copy": tasks(Source="4000", Transform="1000", Sink="1000"),
        "q3-odrp-caps": tasks(Source="2200", Transform="4400", Sink="1000"),
    }
    (made / QUERIES_FILE).write_text(json.dumps(queries))
    (made / PLANS_FILE).write_text(json.dumps(plans))
    return made


@pytest.fixture(scope="module")
def results(folder: Path) -> CapsysResults:
    return investigate(folder, speedup=1.0)


def test_scaled_queries_have_the_number_of_tasks_in_proportion(folder: Path) -> None:
    """Nine tasks times 2.5 are 22: of 12.5, 7.5 and 2.5 the remainders are the same, and none may be lost."""
    problem = capsys_queries(folder, scale=2.5, slots=6)["Q2"]
    counts = {item.name: item.min_replicas for item in problem.application.operators}
    assert sum(counts.values()) == 22
    assert counts == pytest.approx({"Q2_Sink": 2.5, "Q2_Window": 12.5, "Q2_Source": 7.5}, abs=0.5)


def test_a_task_serves_as_many_records_as_its_compute_allows(folder: Path) -> None:
    """Eight tasks need 900 ms/s each for 570 records/s: a task serves 570 / 7.2 of them, a faster worker more."""
    measured, faster = inference_problem(folder), inference_problem(folder, speedup=2.0)
    rates = [
        problem.application.by_name["Q3_Transform"].latency.true_rate(1)
        for problem in (inference_problem(folder, speedup=1.0), faster)
    ]
    assert rates == pytest.approx([570 / 7.2, 2 * 570 / 7.2])
    assert measured.application.load("Q3_Sink") == 710.0


def test_every_way_of_placing_a_query_is_there_and_none_is_below_what_is_proven(results: CapsysResults) -> None:
    rows = {(row.query, row.placement): row for row in results.measured}
    for query in ("Q2", "Q3"):
        assert rows[query, OPTIMUM].proven
        assert rows[query, WITHIN].proven
        least = rows[query, ALONE].peaks
        for way in (OPTIMUM, CAPS, WITHIN, EVENLY, DEFAULT):
            assert all(peak >= least[resource] * (1 - 1e-9) for resource, peak in rows[query, way].peaks.items())
        for resource, peak in rows[query, WITHIN].peaks.items():
            assert peak <= rows[query, CAPS].peaks[resource] * (1 + 1e-6)
    assert set(rows["Q2", OPTIMUM].peaks) == {"compute", "state", "network"}
    assert set(rows["Q3", OPTIMUM].peaks) == {"compute", "network"}
    assert rows["Q2", OPTIMUM].peaks["state"] == pytest.approx(200.0)  # five tasks of 100 bytes/s on four workers
    assert {(row.query, row.tasks) for row in results.scaled} == {("Q2", 256)}


def test_flink_fills_workers_or_deals_tasks_out(folder: Path) -> None:
    problem = capsys_queries(folder)["Q3"]
    order = np.repeat(np.arange(3), read_fixed_tasks(problem).arrays.totals)
    default, evenly = (flink_counts(order, (4, 3), 8, spread) for spread in (False, True))
    assert default.sum(axis=1).tolist() == [8, 5, 0, 0]
    assert evenly.sum(axis=1).tolist() == [4, 3, 3, 3]
    means = [flink_peaks(problem, spread, seed=0)["compute"].mean() for spread in (True, False)]
    assert means[0] < means[1]


def test_plans_that_are_the_same_stand_once_and_say_what_holds_them_back(results: CapsysResults) -> None:
    rows = {row.name: row for row in results.plans}
    lacking, whole = rows["q3-odrp-def\nq3-odrp-copy"], rows["q3-odrp-caps"]
    assert (lacking.slots, whole.slots) == (6, 13)
    assert lacking.rate == pytest.approx(570 / 7.2)
    assert "Q3_Transform" in lacking.bottleneck
    assert lacking.latency == float("inf")
    assert whole.rate == pytest.approx(570.0)
    assert whole.latency < float("inf")
    assert whole.peaks["compute"] == pytest.approx((2 * 500 + 4 * 900 + 20) / 8000)


def test_joint_optima_are_proven_and_keep_to_slots_and_capacity(results: CapsysResults) -> None:
    """2 s/s of sources, 7.2 of transforming: three and eight tasks are the fewest that are stable, and a sink."""
    rows = {row.name: row for row in results.plans if row.ours}
    assert list(rows) == [FEWEST, "least latency, 13 slots", LEAST]
    assert rows[FEWEST].slots == 12
    assert rows["least latency, 13 slots"].slots <= 13
    latencies = [row.latency for row in rows.values()]
    assert latencies == sorted(latencies, reverse=True)
    measured = next(row for row in results.plans if row.name == "q3-odrp-caps")
    assert rows["least latency, 13 slots"].latency <= measured.latency * 1.01
    for row in rows.values():
        assert row.proven
        assert row.reaches
        assert not row.broken
        assert max(row.peaks.values()) <= 1


def test_statements_say_what_was_found(results: CapsysResults) -> None:
    judged = {statement.sentence: statement for statement in results.statements}
    missing = judged["ODRP's plans miss the target or take more slots than CAPSys's"]
    assert missing.holds
    assert missing.reason == "of 1 plans 1 fall short, 0 take more slots"
    times = judged["CAPSys's plan carries at least 5 times as much as one of ODRP's (the paper: up to 6)"]
    assert times.reason == "570 against 79 records/s, 7.2 times"
    assert judged["no peak of CAPS's rule is below its proven least"].holds


def test_the_report_is_printed_and_written(results: CapsysResults, tmp_path: Path) -> None:
    made = report.report(results)
    made.print(Console(width=200, file=(printed := StringIO())))
    text = printed.getvalue()
    assert "ours: fewest slots" in text
    assert "What the model cannot know" in text
    made.write(tmp_path / "out", "edrp reproduce capsys")
    tables = json.loads((tmp_path / "out" / "tables.json").read_text())
    assert len(tables["unknown"]) == 7
    with (tmp_path / "out" / "plans.csv").open() as file:
        plans = list(csv.DictReader(file))
    assert [plan["latency"] == "" for plan in plans] == [True, False, False, False, False]
    assert "Q3_Transform=8" in plans[1]["tasks"]
    assert "Q2, 256 tasks" in (tmp_path / "out" / "tables.md").read_text()
    assert "<code>fixed-tasks</code>" in (tmp_path / "out" / "report.html").read_text()


def test_without_data_the_folder_to_name_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("EDRP_DATA", raising=False)
    with pytest.raises(InvalidInstanceError, match=r"name the folder that holds capsys/queries_4x8\.json"):
        investigate()
    with pytest.raises(EdrpError, match=r"queries_4x8\.json: there is no such file or folder"):
        investigate(tmp_path)


def test_plans_of_different_rates_are_not_compared(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "capsys").mkdir()
    (tmp_path / QUERIES_FILE).write_text((folder / QUERIES_FILE).read_text())
    plans = json.loads((folder / PLANS_FILE).read_text())
    plans["q3-odrp-def"]["input_rate"] = 100.0
    (tmp_path / PLANS_FILE).write_text(json.dumps(plans))
    assert len(capsys_plans(tmp_path)) == 3
    with pytest.raises(InvalidInstanceError, match=r"must be the same in all plans.*100, 570"):
        investigate(tmp_path)


def test_a_folder_without_the_third_query_is_refused(tmp_path: Path) -> None:
    (tmp_path / "capsys").mkdir()
    (tmp_path / QUERIES_FILE).write_text(json.dumps({"Q1": []}))
    with pytest.raises(InvalidInstanceError, match=r"must hold query Q3 \(got Q1\)"):
        inference_problem(tmp_path)


def test_on_capsys_own_data_all_is_proven_and_every_statement_holds_but_for_times(shared_data: Path) -> None:
    found = investigate(shared_data)
    broken = [statement.sentence for statement in found.statements if not statement.holds]
    assert [sentence for sentence in broken if not TIMED.search(sentence)] == []
    assert all(row.proven for row in [*found.measured, *found.scaled] if row.placement == OPTIMUM)
    assert improvable(found.measured) == []
    assert improvable(found.scaled) == ["Q2 with 256 tasks"]
    rows = {row.name.split("\n")[0]: row for row in found.plans}
    assert [row.slots for row in found.plans if row.ours] == [23, 27, 32]
    rates = {name: rows[f"q3-inf-odrp-{name}"].rate for name in ("def", "opt", "wr", "caps")}
    assert rates == pytest.approx({"def": 99.94, "opt": 572.7, "wr": 710.0, "caps": 703.0}, rel=1e-3)
    assert rows["least latency, 27 slots"].latency == pytest.approx(0.1409, rel=1e-3)
