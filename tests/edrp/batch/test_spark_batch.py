"""Batches on Spark give the rows of batches on one machine, and leave the session as it was."""

import json
import os
import subprocess
import sys

import pytest

import edrp
from edrp.batch import RESULT_SCHEMA, read_rows
from edrp.batch.rows import TIMING
from edrp.core.errors import InvalidInstanceError
from edrp.core.spark import spark_session
from edrp.datasets.families.placement.random_sequence import random_policy
from edrp.placement.metrics.own import registered_metrics

pytestmark = pytest.mark.xdist_group("spark")  # one session for all, in one worker


@pytest.fixture(scope="module")
def instances(examples) -> dict[str, str]:
    """Two kinds, an infeasible and a broken one."""
    names = ("word_count", "reconfigure", "migration", "infeasible")
    return {**{name: (examples / f"{name}.json").read_text() for name in names}, "broken": '{"kind": "edrp"'}


def comparable(table) -> list[dict[str, object]]:
    """Rows without what differs from run to run."""
    rows = table.drop_columns(list(TIMING)).to_pylist()
    for row in rows:
        if row["solution"]:
            row["solution"] = {**json.loads(row["solution"]), "seconds": None}
    return rows


def test_spark_gives_the_rows_of_the_local_batch(instances, tmp_path):
    """The one test of `make test` that starts Spark."""
    local = edrp.solve_batch(instances, ["highs", "ssm"], seed=5, n_jobs=1)
    with spark_session("local[2]", memory="1g", in_python=True) as session:
        edrp.solve_batch(instances, ["highs", "ssm"], seed=5, spark=session, out=tmp_path / "out")
    assert comparable(read_rows(tmp_path / "out")) == comparable(local)


def test_rows_of_a_frame_that_have_no_name_are_failed_rows_and_the_batch_goes_on(spark, instances, tmp_path):
    good = instances["migration"]
    rows = [("a", good), (None, good), (None, good), ("row", good), (None, "no JSON")]
    for partitions in (5, 1):  # however the rows are spread, they are the same batch
        frame = spark.createDataFrame(rows, "id string, instance string").repartition(partitions)
        edrp.solve_batch(frame, "ssm", spark=spark, out=tmp_path / "out")
    found = {row["id"]: row["outcome"] for row in read_rows(tmp_path / "out").to_pylist()}
    assert found == {"a": "solved", "row": "solved", **dict.fromkeys(("row (2)", "row (3)", "row (4)"), "failed")}


def test_spark_gives_all_rows_of_the_local_batch_errors_and_seeds_included(spark, instances, tmp_path):
    methods = ["highs", "random", "ssm"]
    seen = []
    local = edrp.solve_batch(instances, methods, seed=[5, 6], n_jobs=1)
    frame = edrp.solve_batch(instances, methods, seed=[5, 6], spark=spark, out=tmp_path / "out", progress=seen.append)
    written = read_rows(tmp_path / "out")
    assert len(comparable(local)) == 5 * 3 * 2
    assert comparable(written) == comparable(local)
    assert frame.toArrow().select(RESULT_SCHEMA.names).num_rows == local.num_rows
    assert {row["outcome"] for row in local.to_pylist()} == {"solved", "infeasible", "nothing found", "refused", "failed"}
    assert (seen[-1].total, seen[-1].done, seen[-1].failed) == (30, 30, 6)
    assert spark.range(3).count() == 3, "the session is left running"

    # The same folder goes on under either engine: only what failed is tried again.
    again = []
    rows = edrp.solve_batch(instances, methods, seed=[5, 6], out=tmp_path / "out", n_jobs=1, progress=again.append)
    assert again[-1].total == 6
    assert comparable(rows) == comparable(local)
    once_more = []
    edrp.solve_batch(instances, methods, seed=[5, 6], spark=spark, out=tmp_path / "out", progress=once_more.append)
    assert (once_more[-1].total, read_rows(tmp_path / "out").num_rows) == (6, 30)


def test_a_dataframe_is_solved_when_it_is_used_or_into_a_folder(spark, instances, tmp_path):
    frame = spark.createDataFrame(list(instances.items()), "id string, instance string")
    solved = edrp.solve_batch(frame, "greedy", spark=spark).toArrow().sort_by("id")
    local = edrp.solve_batch(instances, "greedy", n_jobs=1, out=tmp_path / "out")
    assert comparable(solved) == comparable(local)
    # Whoever computes it, the fingerprint of the instances is the same.
    edrp.solve_batch(frame, "greedy", spark=spark, out=tmp_path / "out")
    with pytest.raises(InvalidInstanceError, match="results of 5 other instances"):
        edrp.solve_batch(frame.limit(4), "greedy", spark=spark, out=tmp_path / "out")


def test_broken_entries_cost_their_own_rows_as_on_one_machine(spark, instances, tmp_path):
    good = instances["migration"]
    texts = {"a": good, "half": good.replace("migration", "\ud800"), "object": {"x": object()}}
    local = edrp.solve_batch(texts, "ssm", n_jobs=1)
    edrp.solve_batch(texts, "ssm", spark=spark, out=tmp_path / "out")
    assert comparable(read_rows(tmp_path / "out")) == comparable(local)
    assert [row["outcome"] for row in local.to_pylist()] == ["solved", "failed", "failed"]
    frame = spark.createDataFrame([("a", bytearray(good.encode())), ("b", bytearray(b"\xff"))], "id string, instance binary")
    solved = edrp.solve_batch(frame, "ssm", spark=spark).toArrow().sort_by("id").to_pylist()
    assert [row["outcome"] for row in solved] == ["solved", "failed"]
    assert "byte 0 is not UTF-8 text" in solved[1]["error_message"]


def test_a_dataframe_without_what_is_needed_is_refused(spark):
    with pytest.raises(InvalidInstanceError, match="column instance: is missing; there are id, text"):
        edrp.solve_batch(spark.createDataFrame([("a", "b")], "id string, text string"), spark=spark)
    with pytest.raises(InvalidInstanceError, match="names 2 instances"):
        edrp.solve_batch(spark.createDataFrame([("a", "1"), ("a", "2")], "id string, instance string"), spark=spark)


@pytest.mark.slow
def test_poison_on_spark_costs_its_own_rows(coins, tmp_path):
    """In a process of its own, where the workers of Spark find the package of coins."""
    sides = ["x", "kill", "hang", "fail", "heads", "tails"]
    source = tmp_path / "coins.jsonl"
    source.write_text("".join(json.dumps({"id": side, "instance": {"kind": "coin", "side": side}}) + "\n" for side in sides))
    arguments = ["batch", source, "-m", "throw", "--spark", "local[2]", "--out", tmp_path / "out", "--kill-after", "3"]
    done = subprocess.run(
        [sys.executable, "-m", "edrp", *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": str(coins)},
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 2, done.stderr
    rows = {row["id"]: row["error_type"] for row in read_rows(tmp_path / "out").to_pylist()}
    failed = {"kill": "WorkerDied", "hang": "TimeOut", "fail": "ZeroDivisionError"}
    assert rows == {**dict.fromkeys(["x", "heads", "tails"]), **failed}


class CounterInCloud:
    """The operator runs nowhere but in the cloud."""

    def evaluate(self, problem, deployment):
        return sum(count for node, count in deployment.replicas("counter").items() if node != "cloud")

    def linearise(self, model):
        return model.replicas["counter", ["edge", "fog"]].sum() <= 0


class OutsideTheCloud:
    """Replicas that run elsewhere."""

    name, unit = "outside_the_cloud", "replicas"

    def evaluate(self, problem, deployment):
        return sum(node != "cloud" for nodes in deployment.values() for node in nodes)

    def linearise(self, model):
        return model.replicas[:, ["edge", "fog"]].sum()


def test_rules_in_python_and_metrics_travel_to_the_workers_of_spark(spark, word_count, tmp_path, monkeypatch):
    edrp.register_rule("counter in the cloud", CounterInCloud, replace=True)
    monkeypatch.setitem(registered_metrics(), OutsideTheCloud.name, None)  # so that it is taken out again
    edrp.register_metric(OutsideTheCloud, replace=True)
    weights = {"response_time": 0.7, "outside_the_cloud": 0.3}
    ruled = word_count.replace(weights=weights, rules=[{"rule": "python", "name": "cloud", "type": "counter in the cloud"}])
    edrp.solve_batch({"ruled": ruled}, "highs", spark=spark, out=tmp_path / "out")
    (row,) = read_rows(tmp_path / "out").to_pylist()
    assert (row["outcome"], row["objective"]) == ("solved", edrp.solve(ruled, "highs").objective)


@pytest.mark.slow
def test_policies_of_many_jobs_are_computed_on_spark(spark, tmp_path):
    jobs = {f"job {seed}": random_policy(seed).model_dump_json() for seed in range(4)}
    local = edrp.solve_batch(jobs, "pool-policy", n_jobs=1)
    edrp.solve_batch(jobs, "pool-policy", spark=spark, out=tmp_path / "out")
    assert comparable(read_rows(tmp_path / "out")) == comparable(local)
    assert set(local["outcome"].to_pylist()) == {"solved", "infeasible"}
