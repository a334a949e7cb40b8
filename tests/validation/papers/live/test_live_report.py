"""Rows of live migrations become one report with verdicts."""

import json
from pathlib import Path
from typing import Any

import pytest

from edrp.core.errors import InvalidInstanceError
from edrp.validation.papers.live.against import slowdown, within_prediction
from edrp.validation.papers.live.at_rest import cost, minutes
from edrp.validation.papers.live.report import report, statements
from edrp.validation.papers.live.rows import LiveRows, read_rows

SILENCE = {"live": 0.03, "rescale": 0.4, "savepoint": 1.0}


def latencies(p99: float, peak: float = 0.0) -> dict[str, float]:
    return {"tuples": 500, "mean": p99 / 2, "p50": p99 / 2, "p99": p99, "max": peak or p99}


def changed(silence: float, during: float, peak: float = 0.0) -> dict[str, Any]:
    """What is measured of every change."""
    row = {"load": 1.0 + silence, "seconds": 1.0, "before": latencies(0.01), "during": latencies(during, peak)}
    return row | {"silence": silence, "stable": 0.5, "missing": 0}


MOVED = {"steps": 4, "moves": 80, "planned": 0.9, "bytes": 3_000_000, "held": 7, "wait": 0.1}


def against(megabytes: int, number: int, method: str, **other: Any) -> dict[str, Any]:
    silence = SILENCE[method] + 5.0 * (number == 0)  # the first is a warm-up
    row = {"experiment": "against", "megabytes": megabytes, "backend": "hashmap", "round": number, "service": "compute"}
    row |= {"method": method, "change": number} | changed(silence, 2 * silence / 3)
    return row | (MOVED if method == "live" else {}) | other


def order(name: str, number: int, peak: float, seconds: float) -> dict[str, Any]:
    row = {"experiment": "orders", "workload": "zipf", "round": number, "order": name, "workers": [25, 30], "direction": "out"}
    return row | changed(0.02, 0.1, peak) | MOVED | {"seconds": seconds}


def burst(number: int, mode: str, rate: float, micros: float = 150.0) -> dict[str, Any]:
    return {"experiment": "throughput", "round": number, "micros": micros, "mode": mode, "load": 2.0, "rate": rate}


def response(method: str, slow: float) -> dict[str, Any]:
    by_minute = {str(number): latencies(2 * slow if number == 7 else 0.02) for number in range(1, 13)}
    by_minute["8"]["tuples"] = 0
    row = {"experiment": "response", "round": 0, "method": method, "load": 1.0, "minute": 8.0, "workers": [10, 8]}
    return row | {"missing": 0, "minutes": by_minute}


ROWS = [
    *(against(10, number, method) for number in range(3) for method in SILENCE),
    *(against(400, number, method) for number in range(3) for method in SILENCE),
    *(order("planned", number, 0.1, 1.5) for number in range(2)),
    *(order("greedy", number, 0.5, 1.2) for number in range(2)),
    *(order("fluid", number, 0.08, 6.0) for number in range(2)),
    *(
        burst(number, mode, rate)
        for number in range(4)
        for mode, rate in (("live", 9800.0 + 9000 * (number == 0)), ("plain", 1e4))
    ),
    *(burst(number, mode, rate, 0.0) for number in range(2) for mode, rate in (("live", 6e4), ("plain", 1e5))),
    *(response(method, slow) for method, slow in (("live", 0.01), ("rescale", 0.2), ("savepoint", 2.0))),
]


def rows_of(*listed: dict[str, Any]) -> LiveRows:
    rows = LiveRows()
    for row in listed:
        getattr(rows, row["experiment"]).append(row)
    return rows


def verdicts(*listed: dict[str, Any]) -> dict[str, str]:
    return {statement.sentence: statement.verdict for statement in statements(rows_of(*listed))}


def verdict(start: str, *listed: dict[str, Any]) -> str:
    """The verdict on the only sentence that begins so."""
    (found,) = [verdict for sentence, verdict in verdicts(*listed).items() if sentence.startswith(start)]
    return found


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "live.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return path


def test_the_first_change_of_a_job_is_a_warm_up():
    assert verdict("the median silence of live moves is at most 0.1", *ROWS) == "holds"
    assert verdict("the median silence of live moves is at most a quarter", *ROWS) == "holds"
    assert verdict("the 99th percentile", *ROWS) == "holds"


def test_the_worst_job_decides():
    slow = [against(100, number, "live", silence=0.15, during=latencies(0.06)) for number in range(3)]
    rescales = [against(100, number, "rescale", silence=0.5) for number in range(3)]
    assert verdict("the median silence of live moves is at most 0.1", *ROWS, *slow) == "does not hold"
    assert verdict("the median silence of live moves is at most a quarter", *ROWS, *slow, *rescales) == "does not hold"
    assert verdict("the 99th percentile", *ROWS, *slow) == "does not hold"
    assert slowdown(slow[0]) == pytest.approx(6.0)


def test_plans_that_take_too_long_or_too_short_miss_their_prediction():
    rows = [{"seconds": seconds, "planned": 1.0} for seconds in (0.6, 0.7, 1.5, 1.6)]
    assert within_prediction(rows) == (2, 4)
    late = [against(100, number, "live", seconds=2.0) for number in range(2)]
    assert verdict("85 % of plans", *ROWS) == "holds"
    assert verdict("85 % of plans", *ROWS, *late) == "does not hold"


def test_a_tuple_that_is_missing_is_told():
    assert verdict("no tuple is missing", *ROWS) == "holds"
    assert verdict("no tuple is missing", *ROWS, against(100, 1, "rescale", missing=2)) == "does not hold"


def test_mini_migrations_are_compared_by_peak_duration_and_bytes():
    assert verdict("zipf: mini-migrations have a lower peak", *ROWS) == "holds"
    assert verdict("zipf: mini-migrations take less time", *ROWS) == "holds"
    assert verdict("zipf: all orders move the same", *ROWS) == "holds"
    better = [order("sudden", number, 0.05, 9.0) | {"bytes": 2_000_000} for number in range(2)]
    assert verdict("zipf: mini-migrations have a lower peak", *ROWS, *better) == "does not hold"
    assert (
        verdict("zipf: mini-migrations take less", *ROWS, *(order("batched", i, 0.2, 1.4) for i in range(2))) == "does not hold"
    )
    assert verdict("zipf: all orders move the same", *ROWS, *better) == "does not hold"


def test_the_cost_at_rest_is_that_of_rounds_with_both_modes_without_the_first():
    bursts = [row for row in ROWS if row["experiment"] == "throughput"]
    assert cost(bursts, 150.0) == pytest.approx(0.02)
    assert cost(bursts, 0.0) == pytest.approx(0.4)
    assert cost([burst(1, "live", 1.0)], 150.0) is None
    judged = [found for sentence, found in verdicts(*ROWS).items() if sentence.startswith("live operators cost")]
    assert judged == ["holds", "does not hold"]


def test_orders_of_magnitude_are_judged_in_the_minute_of_the_change():
    found = [found for sentence, found in verdicts(*ROWS).items() if "orders of magnitude" in sentence]
    assert found == ["holds", "does not hold"]  # a factor of 200 against the restart, 20 against the rescale
    assert 8.0 not in minutes([response("live", 0.01)], "live")


def test_one_command_makes_them_a_report(run, file, tmp_path):
    assert "Of 12 statements" in run("reproduce", "live", file, "-o", tmp_path / "out").ended(0).out
    page = (tmp_path / "out" / "report.html").read_text()
    assert all(heading in page for heading in ("Against Flink", "What the plan is worth", "At rest", "Fig. 15"))
    assert (tmp_path / "out" / "fig15-live-migration.svg").exists()
    assert (tmp_path / "out" / "against.csv").read_text().count("\n") == 19
    assert "minute_7" in (tmp_path / "out" / "response.csv").read_text().splitlines()[0]


def test_experiments_without_rows_are_left_out():
    found = report(rows_of(*(row for row in ROWS if row["experiment"] == "orders")))
    assert [table.caption for table in found.shown] == ["The same moves in five orders"]
    assert len(found.statements) == 3


def test_lines_that_are_no_rows_are_named(file):
    file.write_text(
        json.dumps(ROWS[0]) + '\n{"experiment": "ag\n{"experiment": "control"}\n{"experiment": "orders", "order": "fluid"}\n'
    )
    with pytest.raises(InvalidInstanceError) as raised:
        read_rows([file])
    assert [fault.place for fault in raised.value.faults] == ["line 2", "line 3", "line 4"]
    assert "has no workload, round" in raised.value.faults[2].why


def test_rows_that_stand_there_twice_or_have_other_minutes_are_not_compared(file, tmp_path):
    with pytest.raises(InvalidInstanceError, match="stands there twice"):
        read_rows([file, file])
    other = tmp_path / "other.jsonl"
    other.write_text(json.dumps(response("live", 0.01) | {"round": 1, "minute": 20.0}))
    with pytest.raises(InvalidInstanceError, match="minute: must be the same"):
        read_rows([file, other])
    with pytest.raises(InvalidInstanceError, match="there are none"):
        read_rows([])
