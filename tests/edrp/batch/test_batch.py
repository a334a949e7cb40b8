"""Batches on one machine: what becomes of every instance, what survives, what is refused."""

import json
import os
import re
import subprocess
import sys
from datetime import UTC, datetime

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import edrp
from edrp.batch import RESULT_SCHEMA, read_rows
from edrp.batch.folder import ResultFolder
from edrp.batch.journal import Journal
from edrp.batch.source import Fingerprint, fingerprint, read_instances
from edrp.batch.tasks import Choice, Instance, Keys, Task, instance_seed, read_choices
from edrp.core.errors import EdrpError, InvalidInstanceError, RecoveryWarning


def coin(side: str) -> str:
    """An instance of the plug-in's kind."""
    return json.dumps({"kind": "coin", "side": side})


@pytest.fixture(scope="module")
def mixed(examples) -> dict[str, str]:
    """Instances of three kinds, a broken one and an infeasible one."""
    names = ("word_count", "reconfigure", "migration", "migration_sequence", "infeasible")
    return {**{name: (examples / f"{name}.json").read_text() for name in names}, "broken": '{"kind": '}


def row_of(task: Task, outcome: str = "solved") -> dict[str, object]:
    """A row of a task."""
    return {**task.identity, "outcome": outcome, "finished_at": datetime.now(UTC)}


def a_task(name: str) -> Task:
    """A task of an empty instance."""
    return Task(Instance(name, "{}"), Choice("greedy", "greedy", {}), 0)


# What becomes of the instances


def test_every_pair_of_instance_and_method_has_one_row_that_agrees_with_solve(mixed):
    rows = edrp.solve_batch(mixed, ["highs", "ssm", "highs:program=literal,gap=0.5"], n_jobs=2, seed=3)
    assert rows.schema.equals(RESULT_SCHEMA)
    found = {(row["id"], row["method"], "literal" in row["parameters"]): row for row in rows.to_pylist()}
    assert len(found) == rows.num_rows == 3 * len(mixed)
    (literal,) = [row for (name, _, is_literal), row in found.items() if is_literal and name == "word_count"]
    found = {key[:2]: row for key, row in found.items() if not key[2]}
    assert json.loads(literal["parameters"]) == {"gap": 0.5, "program": "literal"}
    assert dict(literal["size"])["columns"] > dict(found["word_count", "highs"]["size"])["columns"]
    assert found["migration", "ssm"]["outcome"] == "solved"
    assert found["word_count", "ssm"]["outcome"] == "refused"
    assert "migration" in found["word_count", "ssm"]["error_message"]
    assert found["migration_sequence", "highs"]["outcome"] == "refused"
    assert found["broken", "highs"]["error_place"].startswith("line 1")
    assert found["infeasible", "highs"]["outcome"] == "infeasible"
    assert found["infeasible", "highs"]["clashes"]
    for name in ("word_count", "reconfigure", "migration"):
        alone = edrp.solve(edrp.loads(mixed[name]), "highs", seed=instance_seed(3, name))
        row = found[name, "highs"]
        assert row["objective"] == alone.objective
        assert dict(row["metrics"]) == alone.metrics
        assert row["seed"] == alone.seed
        document = json.loads(row["solution"])
        assert {**document, "seconds": None} == {**alone.to_document(), "seconds": None}


@pytest.mark.slow
def test_a_seed_is_the_instances_own_and_several_seeds_give_several_rows(mixed):
    both = edrp.solve_batch({name: mixed[name] for name in ("word_count", "reconfigure")}, "random", seed=[1, 2], n_jobs=1)
    alone = edrp.solve_batch({"reconfigure": mixed["reconfigure"]}, "random", seed=2, n_jobs=1)
    rows = {(row["id"], row["run_seed"]): row for row in both.to_pylist()}
    assert len(rows) == 4
    assert len({row["seed"] for row in rows.values()}) == 4
    assert rows["reconfigure", 2]["objective"] == alone["objective"][0].as_py()


def test_poison_costs_its_own_rows_and_says_why(coin_batch, mixed, tmp_path):
    poison = {
        "broken": mixed["broken"],
        "not-finite": json.dumps({**json.loads(mixed["word_count"]), "synchronisation_time": float("nan")}),
        "unknown-field": json.dumps({**json.loads(mixed["word_count"]), "colour": "red"}),
        "infeasible": mixed["infeasible"],
        "kills": "kill",
        "fails": "fail",
        "kills-early": "read and kill",
        "lies": "lie",
    }
    job = coin_batch({"good": "x", **poison, "better": "heads"}, "-m", "scipy", "-j", 2, out=tmp_path / "out")
    out, err = job.communicate(timeout=300)
    assert job.returncode == 1, err
    assert "claimed objective 0.0, evaluated 1.0" in out
    found = {(row["id"], row["method"]): row for row in read_rows(tmp_path / "out").to_pylist()}
    assert len(found) == 2 * 10
    for good in ("good", "better"):
        assert found[good, "throw"]["outcome"] == "solved"
    why = {
        ("broken", "throw"): ("failed", "InvalidInstanceError", "is not JSON"),
        ("not-finite", "scipy"): ("failed", "InvalidInstanceError", "finite"),
        ("unknown-field", "scipy"): ("failed", "InvalidInstanceError", "colour"),
        ("infeasible", "scipy"): ("infeasible", "Infeasible", "limits.response_time"),
        ("kills", "throw"): ("failed", "WorkerDied", "SIGKILL"),
        ("kills-early", "scipy"): ("failed", "WorkerDied", "SIGKILL"),
        ("fails", "throw"): ("failed", "ZeroDivisionError", "fell off the table"),
    }
    for pair, (outcome, error_type, message) in why.items():
        row = found[pair]
        assert (row["outcome"], row["error_type"]) == (outcome, error_type), row
        assert message in row["error_message"]
        assert pair[0] in out
    assert "coins.py" in found["fails", "throw"]["error_place"]


def test_workers_use_one_thread_where_a_method_would_take_all_cores(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert edrp.Options().many_threads == 1
    assert edrp.Options(threads=3).many_threads == 3
    monkeypatch.delenv("OMP_NUM_THREADS")
    assert edrp.Options().many_threads == os.cpu_count()


# What survives


def test_the_same_call_solves_only_what_is_missing_or_failed(mixed, tmp_path):
    chosen = {name: mixed[name] for name in ("word_count", "infeasible", "broken")}
    first = edrp.solve_batch(chosen, ["greedy"], out=tmp_path / "out", n_jobs=1).table()
    seen = []
    second = edrp.solve_batch(chosen, ["greedy", "first-fit"], out=tmp_path / "out", n_jobs=1, progress=seen.append).table()
    assert (first.num_rows, second.num_rows, seen[-1].total) == (3, 6, 4)
    assert (seen[-1].done, seen[-1].failed, seen[-1].remaining_seconds) == (4, 2, 0.0)
    times = dict(zip(first["key"].to_pylist(), first["finished_at"].to_pylist(), strict=True))
    again = dict(zip(second["key"].to_pylist(), second["finished_at"].to_pylist(), strict=True))
    kept = {row["key"] for row in first.to_pylist() if row["outcome"] != "failed"}
    assert all(again[key] == times[key] for key in kept)
    assert all(again[key] != times[key] for key in set(times) - kept)
    other = edrp.solve_batch(chosen, ["greedy"], out=tmp_path / "out", n_jobs=1, gap=0.5)
    assert other.num_rows == 9, "other parameters are other rows"
    read = pq.read_table(tmp_path / "out").select(RESULT_SCHEMA.names)
    assert sorted(read["key"].to_pylist()) == sorted(other["key"].to_pylist()), "any reader finds one table"


def test_a_torn_line_is_dropped_and_a_row_never_appears_twice(tmp_path):
    folder = ResultFolder(tmp_path / "out", Fingerprint(3, 3))
    tasks = [a_task(name) for name in "abc"]
    with Journal(folder.path, "one", folder.batch) as journal:
        journal.write(row_of(tasks[0]))
        journal.write(row_of(tasks[1], "failed"))
    left = Journal(folder.path, "two", folder.batch)  # its writer dies
    left.write(row_of(tasks[0]))
    left.write(row_of(tasks[2]))
    with (folder.path / "_journal-two.jsonl").open("ab") as file:
        file.write(b'{"key": "torn')
    with pytest.warns(RecoveryWarning, match="its last line was cut off"):
        again = Journal(folder.path, "two", folder.batch)  # the cluster runs the partition again
    assert again.keys == {tasks[0].identity["key"], tasks[2].identity["key"]}
    assert folder.recover().done == {tasks[0].identity["key"], tasks[2].identity["key"]}
    assert folder.rows()["id"].to_pylist() == ["a", "b", "c"]
    folder.forget(Keys(task.key for task in tasks))
    assert folder.rows()["id"].to_pylist() == ["a", "c"], "only what failed is forgotten"


# What is refused


def test_results_of_other_instances_or_another_schema_are_not_mixed(mixed, tmp_path):
    out = tmp_path / "out"
    edrp.solve_batch({"a": mixed["word_count"]}, "greedy", out=out, n_jobs=1)
    with pytest.raises(InvalidInstanceError, match="results of 1 other instances"):
        edrp.solve_batch({"a": mixed["reconfigure"]}, "greedy", out=out, n_jobs=1)
    (out / "_batch.json").write_text('{"results": 0, "instances": 1, "digest": "0"}\n')
    with pytest.raises(InvalidInstanceError, match="schema version 0"):
        edrp.solve_batch({"a": mixed["word_count"]}, "greedy", out=out, n_jobs=1)
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "mine.txt").write_text("keep me")
    with pytest.raises(InvalidInstanceError, match="holds other files"):
        edrp.solve_batch({"a": mixed["word_count"]}, "greedy", out=tmp_path / "notes", n_jobs=1)
    with pytest.raises(InvalidInstanceError, match="no readable _batch"):
        read_rows(tmp_path / "notes")


def test_two_batches_do_not_write_to_one_folder_at_once(tmp_path):
    folder = ResultFolder(tmp_path, Fingerprint(1, 1))
    second = ResultFolder(tmp_path, Fingerprint(1, 1))
    with folder.exclusive(), pytest.raises(EdrpError, match="another batch"), second.exclusive():
        pass


@pytest.mark.parametrize(
    ("content", "name", "named"),
    [
        ('{"id": "a"}\n', "x.jsonl", "line 1"),
        ('["a"]\nno\n', "x.jsonl", "line 2"),
        ('{"id": "a", "instance": {}}\n{"id": "a", "instance": {}}\n', "x.jsonl", "ids must be unique"),
        ("\n", "x.jsonl", "is empty"),
        ("no parquet", "x.parquet", "cannot be read as Parquet"),
        ("a,b", "x.csv", "ends with .json, .parquet or .jsonl"),
    ],
)
def test_an_unreadable_source_is_refused_before_any_work(run, write, tmp_path, content, name, named):
    assert named in run("batch", write(content, name), "-m", "greedy", "--out", tmp_path / "out").ended(2).err
    assert not (tmp_path / "out").exists()


def test_a_column_of_problems_in_place_of_their_texts_is_explained(word_count):
    frame = pd.DataFrame({"id": ["a"], "instance": [word_count]})
    with pytest.raises(InvalidInstanceError, match=r"column instance .*JSON text \(problem.model_dump_json\(\)\)"):
        read_instances(frame)
    frame["instance"] = [word_count.model_dump_json()]
    assert [instance.fault for instance in read_instances(frame)] == [""]


def test_missing_columns_methods_and_folders_are_named(run, write, examples, tmp_path):
    table = tmp_path / "table.parquet"
    pq.write_table(pa.table({"id": ["a"], "problem": ["{}"]}), table)
    out = tmp_path / "out"
    assert re.search("column instance +is missing; there are id, problem", run("batch", table, "--out", out).err)
    assert "greedy" in run("batch", examples, "-m", "gredy", "--out", out).err
    assert "key=value" in run("batch", examples, "-m", "greedy:fast", "--out", out).err
    assert "speed" in run("batch", examples, "-m", "greedy:speed=1", "--out", out).err
    assert "must be a number" in run("batch", examples, "-m", "highs:time_limit=soon", "--out", out).err
    assert "is given twice" in run("batch", examples, "-m", "greedy", "-m", "greedy", "--out", out).err
    assert "there is no such file or folder" in run("batch", tmp_path / "none", "--out", out).err
    assert "--spark" in run("batch", examples, "--spark", "local[2]", "-j", "2", "--out", out).err
    assert not out.exists()
    with pytest.raises(InvalidInstanceError, match="kill_after"):
        edrp.solve_batch({"a": "{}"}, "greedy", kill_after=-1.0)
    with pytest.raises(InvalidInstanceError, match="different integers"):
        edrp.solve_batch({"a": "{}"}, "greedy", seed=[1, 1])


# Small parts


def test_instances_come_in_many_forms(word_count, tmp_path):
    text = word_count.model_dump_json()
    edrp.save(word_count, tmp_path / "a.json")
    (tmp_path / "b.json").write_bytes(b"\xff\xfe")
    assert [instance.id for instance in read_instances(tmp_path)] == ["a", "b"]
    table = pa.table({"instance": [text, None], "id": [1, 2], "more": [0, 0]})
    assert read_instances(table) == [Instance("1", text), Instance("2", "")]
    assert read_instances(table.to_pandas())[0] == Instance("1", text)
    assert read_instances([word_count, ("x", word_count), text]) == [
        Instance("000000", text),
        Instance("x", text),
        Instance("000002", text),
    ]
    path = tmp_path / "t.jsonl"
    path.write_text(json.dumps({"id": 7, "instance": {"kind": "edrp"}}) + "\n")
    assert read_instances(path) == [Instance("7", '{"kind": "edrp"}')]


@pytest.mark.slow
@given(st.lists(st.tuples(st.text(max_size=5), st.text(max_size=5)), unique_by=lambda pair: pair[0], max_size=6), st.randoms())
def test_a_fingerprint_knows_the_set_of_instances_whatever_their_order(pairs, random):
    instances = [Instance(*pair) for pair in pairs]
    shuffled = list(instances)
    random.shuffle(shuffled)
    assert fingerprint(instances) == fingerprint(shuffled)
    if instances:
        assert fingerprint(instances) != fingerprint(instances[1:])
        changed = [instances[0]._replace(text=instances[0].text + "x"), *instances[1:]]
        assert fingerprint(instances) != fingerprint(changed)


def test_keys_depend_on_everything_that_decides_a_row():
    base = Task(Instance("a", "{}"), Choice.read("greedy"), 0)
    others = [
        Task(Instance("b", "{}"), base.choice, 0),
        Task(Instance("a", "{ }"), base.choice, 0),
        Task(base.instance, Choice.read("first-fit"), 0),
        Task(base.instance, Choice.read("greedy", time_limit=1.0), 0),
        Task(base.instance, base.choice, 1),
    ]
    assert len({task.identity["key"] for task in [base, *others]}) == 6
    assert read_choices("greedy")[0] == base.choice


def test_a_batch_is_planned_without_the_modules_of_other_methods():
    code = """
import sys
from edrp.batch.tasks import packed_additions, read_choices
packed_additions(read_choices("greedy"))
print(*sorted(name for name in sys.modules if name.startswith(("edrp.mdp", "edrp.formulations"))))
"""
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split() == []
