"""A short day under every policy on real clusters of Flink: `make test-flink`."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2] / "edrp" / "engines"))

from real_flink import ON_REAL_FLINK
from taxi_stream import write_taxi_stream

from edrp.validation.flink.control import JOBS
from edrp.validation.flink.control_silence import rescale_silences
from edrp.validation.papers.flink.rows import read_rows

pytestmark = ON_REAL_FLINK


def test_a_short_day_is_run_and_reported(run, tmp_path):
    write_taxi_stream(tmp_path, days=12)  # with days before the one that is drawn
    run("reproduce", "flink", "--data", tmp_path, "--seconds", "40", "-o", tmp_path / "out").ended(0)
    rows = {row["policy"]: row for row in read_rows([tmp_path / "out" / "rows.jsonl"]).control}
    assert set(rows) == {"static peak", "autoscaler", "watch"}
    assert rows["static peak"]["rescales"] == 0
    assert rows["static peak"]["replica_hours"] == 24 * 8
    assert rows["static peak"]["arrived"] >= 0.95 * rows["static peak"]["tuples"]
    late = {policy: row["late"]["5.0"] for policy, row in rows.items()}
    assert late["static peak"] <= min(late.values()) + 0.01 * rows["static peak"]["tuples"]  # a busy machine delays some
    for row in rows.values():
        assert row["arrived"] > 0
        assert 0 <= row["late"]["5.0"] <= row["late"]["1.0"] <= row["late"]["0.5"]
    assert any("tuples/s; busy: parser" in note for note in rows["watch"]["notes"])  # the command observes


def test_silences_of_rescales_are_measured():
    silences = rescale_silences(JOBS["chain"])
    assert next(iter(silences)) == "1. parser 2, counter 4"
    assert len(silences) == 4
    assert all(0 < seconds < 30 for seconds in silences.values())
