"""Policies of several operators: from a job and its load to folders that decide, whoever computes them."""

import json
import shutil
from itertools import combinations, pairwise

import numpy as np
import pytest

import edrp
from edrp.core.errors import InvalidInstanceError
from edrp.mdp import PolicyModel, load_policy, operator_policies, precompute_policies
from edrp.mdp.partitions import Tasks
from edrp.mdp.policy.pmc import Threads, iterate

SWAP = np.array([[0.0, 1.0], [1.0, 0.0]])
LOADS = [4, 9, 16, 12, 6, 4, 10, 18, 14, 7, 3, 9, 17, 13, 6, 18]


def model_of(tasks: int, discount: float = 0.7) -> PolicyModel:
    """A process of tasks with random work and state, on two or three nodes."""
    generator = np.random.default_rng(tasks)
    work, state = generator.lognormal(0, 0.3, tasks), generator.lognormal(0, 1, tasks) * 1e6
    return PolicyModel(Tasks.of(work, state), (2, 3), 0.6, False, SWAP, discount)


@pytest.fixture
def models():
    return {f"op {tasks}": model_of(tasks) for tasks in (7, 14, 10)}


@pytest.fixture
def job():
    """Two keyed operators, one that has none, and one that a single replica always serves."""
    generator = np.random.default_rng(5)
    tasks = {"work": generator.lognormal(0, 0.6, 9).tolist(), "state_size": [1e6] * 9}
    queue = {"model": "mm1", "service_rate": 6.0}
    fast = {"model": "mm1", "service_rate": 600.0}
    operators = [
        {"name": "source", "latency": fast},
        {"name": "count", "latency": queue, "max_replicas": 6, "tasks": tasks},
        {"name": "join", "latency": queue, "max_replicas": 3, "tasks": tasks},
        {"name": "seldom", "latency": fast, "max_replicas": 3, "tasks": tasks},
    ]
    return edrp.RescaleProblem(
        application={"operators": [{**operator, "external_rate": 10.0} for operator in operators]},
        network={"nodes": [{"name": f"n{u}", "resources": 8.0} for u in range(3)]},
        weights={"response_time": 1.0},
        limits={"response_time": 9.0},
        utilisation=0.9,
    )


def test_each_policy_is_what_it_is_alone_and_is_computed_once(models, tmp_path):
    seen: list[int] = []
    done = precompute_policies(models, Threads(1), tmp_path / "all", watch=seen.append)
    assert [one.name for one in done] == list(models)
    assert all(one.finished and not one.fault for one in done)
    assert seen == [1, 2, 3]
    for name, model in models.items():
        alone = iterate(model, Threads(1))
        for one, other in zip(load_policy(tmp_path / "all" / name).costs.values.values(), alone.values, strict=True):
            np.testing.assert_array_equal(one, other)
    written = {path: path.stat().st_mtime_ns for path in (tmp_path / "all").rglob("*") if path.is_file()}
    again = precompute_policies(models, Threads(1), tmp_path / "all")
    assert [(one.states, one.sweeps, one.error_bound) for one in again] == [(o.states, o.sweeps, o.error_bound) for o in done]
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "all").rglob("*") if path.is_file()} == written


def test_one_that_cannot_be_computed_is_said_and_stops_no_other(models, tmp_path, monkeypatch):
    tight = PolicyModel(Tasks.of([5.0, 1.0], [1.0, 1.0]), (2,), 0.1, False, np.array([[1.0]]), 0.5)
    (tmp_path / "op 7").mkdir()
    (tmp_path / "op 7" / "notes.txt").write_text("mine")
    large = model_of(18)
    monkeypatch.setattr("edrp.mdp.policy.many_policies.memory_limit", lambda: models["op 14"].size.memory * 1.01)
    done = {one.name: one for one in precompute_policies({**models, "tight": tight, "large": large}, Threads(1), tmp_path)}
    assert "no partition keeps a tolerance of 0.1 for 2 nodes" in done["tight"].fault
    assert "holds notes.txt and no policy" in done["op 7"].fault
    assert "lower the tolerance" in done["large"].fault
    assert [name for name, one in done.items() if one.finished] == ["op 14", "op 10"]
    assert not any(one.finished for one in done.values() if one.fault)


def test_out_of_time_nothing_is_finished_and_the_same_call_goes_on(models, tmp_path):
    assert not any(one.finished or one.fault for one in precompute_policies(models, Threads(1), tmp_path, time_limit=0.0))
    assert all(one.finished for one in precompute_policies(models, Threads(1), tmp_path))


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "a\0b"])
def test_names_that_are_none_of_a_folder_are_refused(name, models, tmp_path):
    with pytest.raises(InvalidInstanceError, match="must be the name of a folder"):
        precompute_policies({**models, name: model_of(6)}, Threads(1), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_on_the_command_line_a_folder_of_problems_becomes_a_folder_of_policies(run, examples, tmp_path):
    problems, out = tmp_path / "problems", tmp_path / "policies"
    problems.mkdir()
    text = json.loads((examples / "migration_policy.json").read_text())
    for name, discount in (("count", 0.5), ("join", 0.6)):
        (problems / f"{name}.json").write_text(json.dumps({**text, "discount": discount}))
    done = run("policy", "precompute", problems, "--out", out, "--threads", "1")
    assert (done.code, "2 of 2 policies" in done.out) == (0, True), done.err
    decided = run("policy", "decide", out / "join", "--from", "[[0, 8], [8, 16]]", "--nodes", "3")
    assert (decided.code, "optimal: nothing better exists" in decided.out) == (0, True), decided.err
    (problems / "broken.json").write_text('{"kind": "migration-policy"}')
    shutil.copy(problems / "count.json", tmp_path / "more.json")
    done = run("policy", "precompute", problems, tmp_path / "more.json", "--out", out, "--threads", "1")
    assert (done.code, "3 of 4 policies" in done.out, "broken.json" in done.err) == (2, True, True), done.err
    late = run("policy", "precompute", tmp_path / "more.json", problems, "--out", tmp_path / "late", "--time-limit", "0")
    assert (late.code, "0 of 4 policies" in late.out) == (2, True)
    (problems / "broken.json").unlink()
    late = run("policy", "precompute", problems, "--out", tmp_path / "late", "--time-limit", "0")
    assert (late.code, "run the same command again" in late.out) == (4, True)


def test_problems_of_one_name_and_folders_without_any_are_refused(run, examples, tmp_path):
    source = examples / "migration_policy.json"
    shutil.copy(source, tmp_path)
    same = run("policy", "precompute", source, tmp_path, "--out", tmp_path / "out")
    assert (same.code, "migration_policy" in same.err, "needs a name of its own" in same.err) == (2, True, True)
    (tmp_path / "empty").mkdir()
    empty = run("policy", "precompute", tmp_path / "empty", "--out", tmp_path / "out")
    assert (empty.code, "holds no file *.json" in empty.err) == (2, True)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(("tolerance", "slowest"), [(0.3, 1.0), (0.7, 1.0), (0.3, 0.8)])
def test_at_every_level_the_fewest_replicas_all_of_whose_splits_are_stable(job, tolerance, slowest):
    first, *others = job.network.nodes
    job = job.replace(network=job.network.replace(nodes=[first.replace(speedup=slowest), *others]))
    policies = operator_policies(job, LOADS, 10.0, tolerance=tolerance, levels=4)
    assert policies.keys() <= {"count", "join"}
    order = np.array(LOADS)
    level = np.searchsorted(np.unique(np.quantile(order, [0.25, 0.5, 0.75], method="higher")), order)
    for operator in job.application.operators[1:3]:
        work, most, policy = operator.tasks.work, operator.max_replicas, policies.get(operator.name)
        needed = [fewest(work, float(order[level == at].max()), tolerance, most, slowest) for at in range(4)]
        if policy is None:
            assert len(set(needed)) == 1
            continue
        assert set(policy.node_counts) == set(needed)
        assert policy.nodes == needed[level[-1]]
        for before, after in pairwise(needed[at] for at in level.tolist()):
            if before != after:
                assert policy.row(before)[after] > 0


def fewest(work: tuple[float, ...], load: float, tolerance: float, most: int, slowest: float) -> int:
    """By trying all splits: the least number of which all are stable below 0.9 · 6 tuples/s times `slowest`; else the largest."""
    total, least = sum(work), 3.0
    known = []
    for replicas in range(1, most + 1):
        ends = ([0, *inner, len(work)] for inner in combinations(range(1, len(work)), replicas - 1))
        heaviest = [max(sum(work[a:b]) for a, b in pairwise(split)) / total for split in ends]
        within = [share for share in heaviest if share <= (1 + tolerance) / replicas and share * least < 5.4]
        if within:
            known.append(replicas)
            if load * min(1.0, (1 + tolerance) / replicas) < 5.4 * slowest:
                return replicas
    return known[-1]


def test_what_runs_now_can_be_told_apart_and_is_decided_for(job):
    current = {
        "source": ["n0"],
        "count": [{"node": "n0", "tasks": [0, 2]}, {"node": "n1", "tasks": [2, 9]}],
        "join": [{"node": "n0", "tasks": [0, 9]}],
        "seldom": [{"node": "n2", "tasks": [0, 9]}],
    }
    running = job.replace(current=current)
    policy = operator_policies(running, LOADS, 10.0, tolerance=0.7, max_tasks=3)["count"]
    described = job.application.by_name["count"].tasks
    assert 3 <= len(policy.work) <= 4
    assert sum(policy.state_size) == pytest.approx(described.total_state)
    first, second = policy.intervals
    assert sum(policy.work[slice(*first)]) == pytest.approx(sum(described.work[:2]))
    assert second == (first[1], len(policy.work))
    assert edrp.solve(policy, "pmc").status == "optimal"


def test_an_operator_without_any_split_within_the_tolerance_is_refused(job):
    hot = {"work": [100.0, 1.0, 1.0], "state_size": [1.0] * 3}
    operators = [o.replace(tasks=hot, min_replicas=2) if o.name == "join" else o for o in job.application.operators]
    with pytest.raises(InvalidInstanceError, match=r"operators\[2\]\.tasks: join has no split within the tolerance"):
        operator_policies(job.replace(application=job.application.replace(operators=operators)), LOADS, 10.0, tolerance=0.1)
    with pytest.raises(InvalidInstanceError, match="at least two loads"):
        operator_policies(job, [1.0], 10.0, tolerance=0.1)
    with pytest.raises(InvalidInstanceError, match="must be above 0"):
        operator_policies(job, LOADS, 0.0, tolerance=0.1)


def test_hours_without_load_need_what_the_least_load_needs(job):
    loads = [0.0, *LOADS, 0.0]
    with_idle = operator_policies(job, loads, 10.0, tolerance=0.7, levels=4)["count"]
    assert with_idle.nodes == min(with_idle.node_counts)
