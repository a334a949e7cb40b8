"""Fig. 15 in minutes of two seconds on real clusters of Flink: `make test-flink`."""

from real_flink import ON_REAL_FLINK

from edrp.validation.flink.live.response_times import METHODS, response_times

pytestmark = ON_REAL_FLINK


def test_each_way_to_change_is_measured_and_loses_nothing():
    rows = {row["method"]: row for row in response_times(minute=2.0)}
    assert set(rows) == set(METHODS)
    for row in rows.values():
        assert row["missing"] == 0
        assert row["seconds"] > 0
        assert all(row["minutes"][str(number)]["tuples"] > 500 for number in range(1, 13))
    live = rows["live"]
    assert live["moves"] >= live["steps"] >= 1
    assert 0 < live["bytes"] < 100_000_000
