"""One change in each way, one order and one burst on real clusters of Flink: `make test-flink`."""

import sys
from functools import partial
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2] / "edrp" / "engines"))

import pytest
from real_flink import ON_REAL_FLINK

from edrp.engines.flink.local import LocalFlink
from edrp.validation.flink.live.against_flink import AgainstSettings, against_flink
from edrp.validation.flink.live.order_runs import PACE, Setting, ordered_plan, started
from edrp.validation.flink.live.orders import even_ranges
from edrp.validation.flink.live.running import COUNTER, Windows, live_change, measured_change
from edrp.validation.flink.live.throughput import burst_throughput

pytestmark = ON_REAL_FLINK


def test_each_way_to_change_is_measured_and_loses_nothing():
    rows = {row["method"]: row for row in against_flink(AgainstSettings((2,), 1, windows=Windows(1.0, 0.5, 0.5)), ())}
    assert set(rows) == {"live", "rescale", "savepoint"}
    for row in rows.values():
        assert row["missing"] == 0
        assert min(row["before"]["tuples"], row["during"]["tuples"]) > 100
        assert row["seconds"] > 0
    live = rows["live"]
    assert 0 < live["bytes"] < 2_400_000
    assert live["planned_bytes"] == pytest.approx(live["bytes"], rel=0.05)
    assert live["moves"] >= live["steps"] >= 1


def test_an_order_leads_to_even_ranges_and_a_burst_arrives():
    weights = tuple(1 + key % 7 for key in range(64))
    chosen = Setting((2, 3), 24, rate=300.0, micros=100.0, keys=64, weights=weights)
    with LocalFlink({"tm-a": 3}) as flink:
        run = started(flink, chosen)
        row = measured_change(
            run, chosen.rate, partial(live_change, run, PACE, partial(ordered_plan, "batched", chosen)), Windows(1.0)
        )
        assert (row["steps"], row["missing"]) == (2, 0)
        assert list(run.reader().discover().operator(COUNTER, "job").workers) == even_ranges(24, 3)
        assert burst_throughput(run, 2000) > 0
