"""PMC on Spark gives what threads give, to the last bit, and goes on after it was killed."""

import numpy as np
import pytest

from edrp.core.errors import BackendUnavailableError
from edrp.core.spark import spark_session
from edrp.mdp.partitions import Tasks
from edrp.mdp.policy import many_policies
from edrp.mdp.policy import spark_engine as engine
from edrp.mdp.policy.many_policies import precompute_policies
from edrp.mdp.policy.pmc import Threads, iterate
from edrp.mdp.policy.process import PolicyModel
from edrp.mdp.policy.spark_engine import Spark
from edrp.mdp.policy.store import load_policy, precompute_policy

pytestmark = pytest.mark.xdist_group("spark")  # one session for all, in one worker

TRANSITIONS = np.array([[0.1, 0.6, 0.3], [0.5, 0.0, 0.5], [0.0, 1.0, 0.0]])


@pytest.fixture(scope="module")
def model():
    """Some thousand states in classes of different sizes, with different numbers of successors."""
    generator = np.random.default_rng(1)
    work, state = generator.lognormal(0, 0.3, 24), generator.lognormal(0, 1, 24) * 1e6
    return PolicyModel(Tasks.of(work, state), (3, 4, 5), 0.6, False, TRANSITIONS, 0.7)


def small_model(tasks):
    generator = np.random.default_rng(tasks)
    work, state = generator.lognormal(0, 0.3, tasks), generator.lognormal(0, 1, tasks) * 1e6
    return PolicyModel(Tasks.of(work, state), (3, 4, 5), 0.6, False, TRANSITIONS, 0.7)


@pytest.fixture(scope="module")
def expected(model):
    return iterate(model, Threads(2))


def test_a_killed_job_resumes_on_spark_and_agrees_with_threads_to_the_last_bit(spark, model, expected, tmp_path):
    done = []

    def after(now):
        done.append(now.sweeps)
        if now.sweeps == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        precompute_policy(model, Spark(spark), tmp_path, after_sweep=after)
    found = precompute_policy(model, Spark(spark, tasks=5), tmp_path, after_sweep=lambda now: done.append(now.sweeps))
    assert done == list(range(1, expected.sweeps + 1))
    assert found.error_bound == expected.error_bound
    for one, other in zip(load_policy(tmp_path).costs.values.values(), expected.values, strict=True):
        np.testing.assert_array_equal(one, other)
    table = spark.read.parquet(str(tmp_path / "costs.parquet"))
    assert table.where("nodes = 4").count() == model.size.states[1]


def test_answers_too_many_for_one_job_come_in_several(spark, model, expected, monkeypatch):
    monkeypatch.setattr(engine, "MAX_COLLECTED_BYTES", model.size.pairs * 12 // 3)
    found = Spark(spark).sweep(model, expected.values, None)
    whole = Threads(1).sweep(model, expected.values, None)
    for one, other in zip(found.costs, whole.costs, strict=True):
        np.testing.assert_array_equal(one, other)


def test_workers_answer_run_by_run_and_keep_their_tables(model, expected):
    values = [np.zeros(count) for count in model.size.states]
    whole = Threads(1).sweep(model, values, None)
    chunks = [engine._chunk(model, *chunk, None) for chunk in engine._chunks(model)]
    job = engine.SweepJob(model, values, "sweep of this test", chunks)
    for chunk in chunks:
        (answer,) = engine.solve_chunk(job, chunk).to_pylist()
        rows = model.orders[chunk.source][chunk.first : chunk.first + len(chunk.before)]
        np.testing.assert_array_equal(np.frombuffer(answer["costs"]), whole.costs[chunk.source][rows].ravel())
        np.testing.assert_array_equal(np.frombuffer(answer["actions"], np.int32), whole.actions[chunk.source][rows].ravel())
    kept = engine._cache.discounted
    engine._prepared(job)
    assert engine._cache.discounted is kept
    engine._prepared(job._replace(values=expected.values, sweep="next"))
    assert engine._cache.discounted is not kept


def test_a_failed_job_says_what_the_workers_lack(spark, model, expected, monkeypatch):
    def search(batches):
        import module_of_the_driver_alone  # noqa: F401

        return batches

    monkeypatch.setattr(engine, "_search", lambda *_: search)
    with pytest.raises(BackendUnavailableError, match=r"a sweep failed on Spark: .*No module named"):
        Spark(spark).sweep(model, expected.values, None)


def test_precompute_on_the_command_line(spark, run, examples, tmp_path):
    run("policy", "precompute", examples / "migration_policy.json", "--spark", "local[2]", "--out", tmp_path / "policy").ended(0)
    assert load_policy(tmp_path / "policy").costs.states == 58


def test_a_master_that_is_none_is_bad_input(spark, run, examples, tmp_path, monkeypatch):
    from pyspark.sql import SparkSession

    monkeypatch.setattr(SparkSession, "getActiveSession", lambda: None)
    monkeypatch.setattr(SparkSession.Builder, "getOrCreate", lambda self: (_ for _ in ()).throw(RuntimeError("no such master")))
    with pytest.raises(BackendUnavailableError, match="does not start on 'nowhere'\n  no such master"), spark_session("nowhere"):
        pass
    done = run("policy", "precompute", examples / "migration_policy.json", "--spark", "nowhere", "--out", tmp_path / "policy")
    assert (done.code, "does not start on 'nowhere'" in done.err) == (2, True)


def test_hundreds_of_small_policies_are_a_task_each_and_the_same_as_by_threads(spark, tmp_path):
    models = {f"operator {tasks}": small_model(tasks) for tasks in range(6, 16)}
    done = precompute_policies(models, Spark(spark), tmp_path / "spark")
    here = precompute_policies(models, Threads(1), tmp_path / "threads")
    assert [one.name for one in done] == list(models)
    assert [one._replace(seconds=0.0) for one in done] == [one._replace(seconds=0.0) for one in here]
    for name in models:
        ours, theirs = (load_policy(tmp_path / engine / name).costs.values for engine in ("threads", "spark"))
        for one, other in zip(ours.values(), theirs.values(), strict=True):
            np.testing.assert_array_equal(one, other)
    assert [one.finished for one in precompute_policies(models, Spark(spark), tmp_path / "none", time_limit=0.0)] == [False] * 10


def test_a_failed_job_of_policies_says_what_the_workers_lack(spark, tmp_path, monkeypatch):
    def computed(batches):
        import module_of_the_driver_alone  # noqa: F401

        return batches

    monkeypatch.setattr(many_policies, "_worker_function", lambda _: computed)
    with pytest.raises(BackendUnavailableError, match=r"the policies failed on Spark: .*No module named"):
        precompute_policies({"a": small_model(6)}, Spark(spark), tmp_path)
