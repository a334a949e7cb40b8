"""Policies in folders: nothing is lost when a job dies, and nothing wrong is ever opened."""

import json
from pathlib import Path

import numpy as np
import pytest

import edrp
from edrp.core.errors import InvalidInstanceError, RecoveryWarning, VerificationError
from edrp.core.files import read_sealed, sealed
from edrp.mdp.partitions import Tasks
from edrp.mdp.policy.pmc import Threads, iterate
from edrp.mdp.policy.process import MigrationPolicy, PolicyModel
from edrp.mdp.policy.store import Checkpoints, load_policy, precompute_policy, save_policy

TRANSITIONS = np.array([[0.0, 0.7, 0.3], [0.5, 0.0, 0.5], [0.2, 0.8, 0.0]])


def model_with(tasks: int = 14, discount: float = 0.8, seed: int = 5) -> PolicyModel:
    generator = np.random.default_rng(seed)
    work, state = generator.lognormal(0, 0.3, tasks), generator.lognormal(0, 1, tasks) * 1e6
    return PolicyModel(Tasks.of(work, state), (2, 3, 5), 0.6, False, TRANSITIONS, discount)


@pytest.fixture(scope="module")
def model():
    return model_with()


@pytest.fixture(scope="module")
def found(model):
    result = iterate(model, Threads(1))
    assert result.sweeps >= 5
    return result


class Dying:
    """An engine whose process ends before a sweep."""

    def __init__(self, before: int) -> None:
        self.left = before - 1

    def sweep(self, model, values, actions):
        if not self.left:
            raise KeyboardInterrupt
        self.left -= 1
        return Threads(1).sweep(model, values, actions)


@pytest.fixture
def folder(model, found, tmp_path):
    save_policy(model, found, tmp_path / "policy")
    return tmp_path / "policy"


def test_a_policy_survives_its_folder(model, found, folder):
    policy = load_policy(folder)
    assert sorted(path.name for path in folder.iterdir()) == ["costs.parquet", "manifest.json", "parameters.json"]
    assert policy.costs.error_bound == found.error_bound
    for count, partitions, values in zip(model.counts, model.partitions, found.values, strict=True):
        np.testing.assert_array_equal(policy.costs.boundaries[count], partitions)
        np.testing.assert_array_equal(policy.costs.values[count], values)
    intervals = [(0, 6), (6, 14)]
    expected = MigrationPolicy(model, found.to_costs(model)).decide(intervals, 5)
    assert policy.decide(intervals, 5).intervals == expected.intervals


def test_killed_after_its_third_sweep_a_job_goes_on_there_with_the_same_numbers(model, found, tmp_path):
    done = []
    with pytest.raises(KeyboardInterrupt):
        precompute_policy(model, Dying(before=4), tmp_path, after_sweep=lambda now: done.append(now.sweeps))
    assert done == [1, 2, 3]
    with pytest.raises(InvalidInstanceError, match="half written; run `edrp policy precompute` again"):
        load_policy(tmp_path)
    assert sorted(path.name for path in (tmp_path / "sweeps").iterdir()) == ["sweep-0003.json", "sweep-0003.parquet"]
    result = precompute_policy(model, Threads(1), tmp_path, after_sweep=lambda now: done.append(now.sweeps))
    assert done == list(range(1, found.sweeps + 1))
    assert len(result.seconds) == found.sweeps
    for before, after in zip(found.values, load_policy(tmp_path).costs.values.values(), strict=True):
        np.testing.assert_array_equal(before, after)
    assert not (tmp_path / "sweeps").exists()


def test_a_checkpoint_half_written_or_damaged_or_of_another_model_is_passed_over(model, tmp_path):
    kept = []
    iterate(model, Threads(1), max_sweeps=3, after_sweep=kept.append)
    checkpoints = Checkpoints(tmp_path, model)
    assert checkpoints.latest() is None
    checkpoints.save(kept[1])
    (tmp_path / "sweep-0003.parquet").write_bytes(b"PAR1 half of a table")
    assert checkpoints.latest().sweeps == 2
    (tmp_path / "sweep-0003.json").write_text((tmp_path / "sweep-0002.json").read_text())
    with pytest.warns(RecoveryWarning, match=r"sweep-0003\.json: .*sweep-0003\.parquet is damaged"):
        assert checkpoints.latest().sweeps == 2
    checkpoints.save(kept[2])
    again = checkpoints.latest()
    assert (again.sweeps, again.error_bound, again.seconds) == (3, kept[2].error_bound, kept[2].seconds)
    for one, other in zip(again.actions, kept[2].actions, strict=True):
        np.testing.assert_array_equal(one, other)
    with pytest.warns(RecoveryWarning, match="it is of other parameters"):
        assert Checkpoints(tmp_path, model_with(seed=6)).latest() is None
    assert checkpoints.latest() is None, "what is of another model was set aside, too"
    assert sorted(path.name for path in (tmp_path / "_damaged").iterdir()) == [
        "1-sweep-0003.json",
        "1-sweep-0003.parquet",
        "sweep-0003.json",
        "sweep-0003.parquet",
    ]


def test_a_finished_policy_is_not_computed_again_but_a_damaged_one_is(model, found, folder):
    assert precompute_policy(model, Dying(before=1), folder).sweeps == found.sweeps
    (folder / "costs.parquet").unlink()
    with pytest.warns(RecoveryWarning, match=r"computed again: .*costs\.parquet is missing"):
        assert precompute_policy(model, Threads(1), folder).sweeps == found.sweeps
    assert load_policy(folder).costs.states == sum(model.size.states)


def test_a_limit_leaves_a_checkpoint_and_no_policy(model, tmp_path):
    assert precompute_policy(model, Threads(1), tmp_path, max_sweeps=2).sweeps == 2
    assert not (tmp_path / "manifest.json").exists()
    assert precompute_policy(model, Threads(1), tmp_path, accuracy=1.0).sweeps == 2
    assert load_policy(tmp_path).costs.error_bound <= model.total_state


class Spoiling:
    """An engine whose second sweep loses a number."""

    def __init__(self):
        self.sweeps = 0

    def sweep(self, model, values, actions):
        swept = Threads(1).sweep(model, values, actions)
        self.sweeps += 1
        if self.sweeps == 2:
            swept.costs[1][0, 0] = np.nan
        return swept


def test_a_cost_that_is_no_number_is_an_error_and_never_written(model, tmp_path):
    with pytest.raises(VerificationError, match="projected costs are no finite numbers after sweep 2"):
        precompute_policy(model, Spoiling(), tmp_path)
    assert not (tmp_path / "manifest.json").exists()
    assert Checkpoints(tmp_path / "sweeps", model).latest().sweeps == 1


def changed(path, **entries):
    path.write_text(sealed({**read_sealed(path), **entries}) + "\n")


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda folder: (folder / "manifest.json").unlink(), "half written"),
        (lambda folder: changed(folder / "manifest.json", format=9), "must be 2"),
        (lambda folder: (folder / "manifest.json").write_text("{"), "manifest.json is damaged"),
        (lambda folder: (folder / "manifest.json").write_text("[]"), "manifest.json is damaged"),
        (lambda folder: changed(folder / "parameters.json", discount=0.9), "do not belong to the costs"),
        (lambda folder: (folder / "costs.parquet").unlink(), "is missing"),
        (lambda folder: (folder / "costs.parquet").write_bytes((folder / "costs.parquet").read_bytes()[:-9]), "is damaged"),
    ],
)
def test_damaged_folders_are_refused(folder, damage, message):
    damage(folder)
    with pytest.raises(InvalidInstanceError, match=message):
        load_policy(folder)


def test_a_table_of_other_partitions_is_refused_even_with_the_right_checksum(model, found, folder, tmp_path):
    other = model_with(seed=6)
    save_policy(other, iterate(other, Threads(1)), tmp_path / "other")
    (folder / "costs.parquet").write_bytes((tmp_path / "other" / "costs.parquet").read_bytes())
    changed(folder / "manifest.json", sha256=json.loads((tmp_path / "other" / "manifest.json").read_text())["sha256"])
    with pytest.raises(InvalidInstanceError, match="cannot be used"):
        load_policy(folder)


def test_a_folder_of_other_parameters_is_refused_and_the_difference_named(model, found, folder):
    with pytest.raises(InvalidInstanceError, match=r"belongs to a policy of other discount; name another folder"):
        precompute_policy(model_with(discount=0.7), Threads(1), folder)
    problem = edrp.MigrationPolicyProblem(
        work=model.tasks.work.tolist(),
        state_size=[1.0] * 14,
        intervals=[[0, 14]],
        nodes=2,
        tolerance=0.5,
        node_counts=model.counts,
        transitions=TRANSITIONS.tolist(),
        discount=0.8,
    )
    with pytest.raises(InvalidInstanceError, match="other allow_empty, state_size, tolerance"):
        load_policy(folder, problem)
    assert load_policy(folder, problem.replace(state_size=model.tasks.state_size, tolerance=0.6, allow_empty=False))


def test_a_limit_shorter_than_a_sweep_is_said_to_lose_it(run, examples, tmp_path):
    result = run("policy", "precompute", examples / "migration_policy.json", "--out", tmp_path / "p", "--work-limit", "1e-9")
    assert result.code == 4, result.err
    assert "the limit is shorter than a sweep, and what was done of it is lost" in result.out


def test_precompute_and_decide_on_the_command_line(run, examples, tmp_path):
    source, folder = examples / "migration_policy.json", tmp_path / "policy"
    done = run("policy", "precompute", source, "--out", folder, "--threads", "1").ended(0)
    assert "sweep 2: costs known to" in done.err
    again = run("policy", "precompute", source, "--out", folder, "--engine", "local")
    assert (again.code, "sweep" in again.err.split("\n", 1)[1]) == (0, False)
    (tmp_path / "now.json").write_text("[[0, 8], [8, 16]]")
    decided = run("policy", "decide", folder, "--from", tmp_path / "now.json", "--nodes", "4", "--out", tmp_path / "plan.json")
    assert decided.code == 0, decided.err
    assert "optimal: nothing better exists" in decided.out
    plan = edrp.load_solution(tmp_path / "plan.json")
    assert plan.method == "stored-policy"
    problem = edrp.load(source).replace(intervals=[[0, 8], [8, 16]], nodes=4)
    assert plan.objective == pytest.approx(edrp.solve(problem, "pmc").objective, rel=1e-9)


@pytest.fixture
def example_policy(examples, tmp_path):
    """The example of kind migration-policy, and the folder of a policy for it."""
    problem = edrp.load(examples / "migration_policy.json")
    precompute_policy(PolicyModel.of(problem), Threads(1), tmp_path / "policy")
    return problem, tmp_path / "policy"


def test_a_stored_policy_is_a_method(example_policy):
    problem, folder = example_policy
    for changes in ({}, {"intervals": [[0, 8], [8, 16]], "nodes": 4}, {"intervals": [[5, 16], [0, 5]], "nodes": 2}):
        current = problem.replace(**changes)
        stored, computed = edrp.solve(current, "stored-policy", policy=folder), edrp.solve(current, "pmc")
        assert (stored.status, stored.method) == ("optimal", "stored-policy")
        assert stored.intervals == computed.intervals
        assert stored.objective == pytest.approx(computed.objective, rel=1e-9)
        assert stored.objective - stored.bound == pytest.approx(0, abs=1e-9 * stored.objective)


def test_a_policy_that_knows_more_node_counts_than_can_follow_is_used(example_policy):
    problem, _ = example_policy
    split = problem.replace(node_counts=[2, 3, 4], transitions=[[0.5, 0.5, 0.0], [1.0, 0.0, 0.0], [0.5, 0.0, 0.5]], nodes=4)
    folder = example_policy[1].with_name("split")
    precompute_policy(PolicyModel.of(split), Threads(1), folder)
    fewer = split.replace(nodes=3)
    assert fewer.reachable_counts == (2, 3)
    assert edrp.solve(fewer, "stored-policy", policy=folder).intervals == edrp.solve(fewer, "pmc").intervals
    other = fewer.replace(transitions=[[0.6, 0.4, 0.0], [1.0, 0.0, 0.0], [0.5, 0.0, 0.5]])
    with pytest.raises(InvalidInstanceError, match="belongs to a policy of other transitions"):
        edrp.solve(other, "stored-policy", policy=folder)


def test_a_stored_policy_without_a_sound_folder_of_its_own_is_refused(example_policy, tmp_path):
    problem, folder = example_policy
    with pytest.raises(InvalidInstanceError, match="policy must name the folder of a policy"):
        edrp.solve(problem, "stored-policy")
    with pytest.raises(
        InvalidInstanceError, match="nowhere: there is no such file or folder; make it with `edrp policy precompute`"
    ):
        edrp.solve(problem, "stored-policy", policy=tmp_path / "nowhere")
    with pytest.raises(InvalidInstanceError, match="holds no policy"):
        edrp.solve(problem, "stored-policy", policy=Path(__file__).parent)
    assert edrp.solve(problem, "stored-policy", policy=str(folder)).status == "optimal"
    with pytest.raises(InvalidInstanceError, match="other discount"):
        edrp.solve(problem.replace(discount=0.1), "stored-policy", policy=folder)
    changed(folder / "manifest.json", sha256="0")
    with pytest.raises(InvalidInstanceError, match="is damaged"):
        edrp.solve(problem, "stored-policy", policy=folder)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--from", "[[0,8],[9,16]]", "--nodes", "4"], "task 8 is held by no node"),
        (["--from", "[[0,8],[8,16]", "--nodes", "4"], "is no JSON"),
        (["--from", "[[0,8],[8,16]]", "--nodes", "7"], "not among node_counts"),
        (["--from", "nowhere.json", "--nodes", "4"], "nowhere.json: there is no such file"),
    ],
)
def test_decide_refuses_bad_input(run, examples, tmp_path, arguments, message):
    problem = edrp.load(examples / "migration_policy.json")
    model = PolicyModel.of(problem)
    save_policy(model, iterate(model, Threads(1)), tmp_path)
    assert message in run("policy", "decide", tmp_path, *arguments).ended(2).err


def test_precompute_refuses_what_it_cannot_do(run, examples, tmp_path, write, monkeypatch):
    source = examples / "migration_policy.json"
    for arguments, code, message in (
        ([source, "--spark", "local[1]", "--engine", "local"], 2, "runs no Spark"),
        ([examples / "migration.json"], 2, "must be migration-policy"),
        ([write({**json.loads(source.read_text()), "tolerance": 0.0}, "tight.json")], 3, "tolerance"),
    ):
        done = run("policy", "precompute", *arguments, "--out", tmp_path / "out")
        assert (done.code, message in done.err) == (code, True), done.err
    stopped = run("policy", "precompute", source, "--out", tmp_path / "out", "--time-limit", "0")
    assert (stopped.code, "run the same command again" in stopped.out) == (4, True)
    monkeypatch.setattr("edrp.cli.policy.memory_limit", lambda: 10.0)
    done = run("policy", "precompute", source, "--out", tmp_path / "other")
    assert (done.code, "fitted" in done.err) == (2, True)
