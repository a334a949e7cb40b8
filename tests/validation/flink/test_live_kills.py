"""Processes of live jobs are killed, on real clusters: `make test-flink`."""

import pytest
from real_flink import ON_REAL_FLINK

from edrp.validation.flink.live.kills import KillSettings, kill_run

pytestmark = ON_REAL_FLINK


@pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])
def test_kills_in_the_middle_of_plans_lose_double_and_reorder_nothing(backend):
    row = kill_run(KillSettings(backend, kills=4, plans=6, seed=2))
    assert row["kills"] == {"TaskManager": 2, "JobManager": 1, "command": 1}
    assert row["plans"] == 6
    assert row.get("plans sent twice", 0) == 0
    assert row.get("commands that failed", 0) == 0
    assert row["exactly_once"], row
