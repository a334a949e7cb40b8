"""Advice that knows the key groups of a job, from the metadata of a checkpoint: even ranges with what each of them brings."""

import re

import pytest
from fake_flink import FakeFlink, serving, word_count
from test_flink_metadata import checkpoint
from test_flink_reading import observed

import edrp
from edrp.engines.advice import advise
from edrp.engines.fit import fit_job
from edrp.engines.goals import Goals
from edrp.engines.key_groups import group_work, held_groups

QUICK = ("--seconds", "0.02", "--every", "0.01")

FRONT_HEAVY = [3000] * 32 + [1000] * 96
"""Half of the state, and of the load, is in the first quarter of the key groups."""


def fitted(flink, sizes=None):
    return fit_job(observed(flink, 5), {} if sizes is None else {"counter": sizes})


def proposed(advice, name="counter"):
    return next(operator for operator in advice.operators if operator.name == name)


@pytest.fixture
def advised(run, tmp_path):
    def call(flink, sizes, *options, name="counter", number=3):
        (tmp_path / "_metadata").write_bytes(checkpoint(name, number, sizes, 1))
        with serving(flink) as address:
            return run("advise", "flink", "--rest", address, *QUICK, "--metadata", tmp_path / "_metadata", *options)

    return call


def test_the_busiest_of_even_ranges_decides_how_many_replicas_there_are():
    """By hand: the first of two even ranges has 128 of 192 parts of the load, the first of three 107."""
    flink = FakeFlink(rates=(180.0,))
    goals = Goals(busy_limit=0.55)
    blind, knowing = advise(fitted(flink), goals), advise(fitted(FakeFlink(rates=(180.0,)), FRONT_HEAVY), goals)
    assert proposed(blind).proposed == 2  # 90 % over two, as if both received the same
    counter = proposed(knowing)
    assert counter.proposed == 3
    assert counter.predicted_busy.value == pytest.approx(0.9 * 107 / 192, rel=1e-3)


def test_the_model_runs_what_flink_runs_and_no_replica_is_busier_than_the_goal():
    flink = FakeFlink(word_count(counter={"replicas": 3, "nodes": ("tm-b", "tm-a", "tm-b")}), rates=(300.0,))
    advice = advise(fitted(flink, FRONT_HEAVY))
    now = advice.keyed.current.ranges("counter")
    assert [(held.node, held.tasks) for held in now] == [("tm-b", (0, 43)), ("tm-a", (43, 86)), ("tm-b", (86, 128))]
    assert advice.keyed.ranges == "even"
    # Two of the three replicas, each with a third of 10 MB, restored their state on tm-b, in 0.2 s.
    assert [node.down_rate for node in advice.keyed.network.nodes] == pytest.approx([2 * 3333333 / 0.2] * 2)
    counter = advice.keyed.application.by_name["counter"]
    assert counter.latency.true_rate() == pytest.approx(200.0, rel=1e-2)  # of a replica, whatever the skew
    for replicas in (2, 3):
        shares = [counter.tasks.share(*held_groups(replica, replicas, 128)) for replica in range(replicas)]
        busy = 300.0 * max(shares) / 200.0
        even = [{"node": "tm-a", "tasks": held_groups(replica, replicas, 128)} for replica in range(replicas)]
        places = {name: list(nodes) for name, nodes in advice.plan.items()} | {"counter": even}
        overloaded = any("counter is overloaded" in sentence for sentence in advice.keyed.evaluate(places).broken)
        assert overloaded == (busy > 0.8)


def test_work_follows_state_within_a_replica_and_load_between_replicas():
    assert group_work([30, 10], 4, [1, 2, 0, 0]) == [10.0, 20.0, 5.0, 5.0]
    groups = fitted(FakeFlink(word_count(counter={"replicas": 2, "shares": (0.6, 0.4)})), FRONT_HEAVY).operators[2].groups
    assert groups.heaviest_share(2) == pytest.approx(0.6, rel=1e-3)
    assert groups.work[0] / groups.work[32] == pytest.approx(3.0)


def test_problems_are_written_that_solve_and_plan_take(run, advised, tmp_path):
    flink = FakeFlink(word_count(counter={"replicas": 2, "nodes": ("tm-a", "tm-b")}), rates=(370.0,))
    result = advised(flink, FRONT_HEAVY, "-o", tmp_path / "advice").ended(0)
    assert sorted(file.stem for file in (tmp_path / "advice").glob("*.json")) == [
        "edrp",
        "latency-aware",
        "migration-3",
        "rescale",
    ]
    file = tmp_path / "advice" / "rescale.json"
    degree = edrp.solve(edrp.load(file), "highs").deployment.degree("counter")
    counter = next(line.split() for line in result.out.splitlines() if line.startswith("counter"))
    assert int(counter[2]) == degree
    solution = tmp_path / "answer.json"
    assert run("solve", file, "--method", "highs", "--out", solution).code == 0
    assert "counter" in run("plan", file, solution).ended(0).out
    migration = edrp.load(tmp_path / "advice" / "migration-3.json")
    assert migration.state_size == tuple(map(float, FRONT_HEAVY))


def test_what_free_ranges_would_do_with_is_told(advised):
    result = advised(FakeFlink(word_count(counter={"replicas": 2, "shares": (0.6, 0.4)}), rates=(300.0,)), FRONT_HEAVY)
    words = " ".join(result.out.split())
    assert "which Flink cannot run: counter would do with 2 instead of 3" in words
    assert "work of the key groups of counter that a replica holds is taken to follow their state" in words
    even = advised(FakeFlink(rates=(180.0,)), [1000] * 128)
    assert "every operator would need as many" in " ".join(even.out.split())


def test_a_key_group_that_is_too_busy_alone_is_named():
    hot = [100_000] + [100] * 127
    advice = advise(fitted(FakeFlink(rates=(190.0,)), hot))
    assert re.match(r"its busiest key group alone .* split its keys", advice.short["counter"])
    assert proposed(advice).proposed == 3  # 88 % busy; with any number it would be 84 % at least


def test_metadata_of_another_job_or_of_other_key_groups_is_refused_in_one_line(advised):
    for options, why in (
        ({"name": "other", "number": 99}, "holds no keyed state of an operator of job words; give the metadata of one of its"),
        ({"sizes": [100] * 64}, "has 64 key groups of counter, which has 128 now; give the metadata of a checkpoint made since"),
    ):
        result = advised(FakeFlink(rates=(180.0,)), options.pop("sizes", FRONT_HEAVY), **options).ended(2)
        assert why in " ".join(result.err.split())
        assert len(result.err.strip().splitlines()) == 1
