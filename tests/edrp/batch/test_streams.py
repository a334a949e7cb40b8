"""Nothing in a batch grows with its rows: keys are digests, sources are read again, rows stay in their folder."""

import os
from datetime import UTC, datetime
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edrp.batch import StoredRows, read_rows
from edrp.batch import tasks as module
from edrp.batch.cluster import _sizes, _task_files, _tasks_of_file
from edrp.batch.folder import ResultFolder
from edrp.batch.journal import Journal, RollingJournal
from edrp.batch.source import Fingerprint, fingerprint, open_instances, read_instances
from edrp.batch.tasks import BatchPlan, Choice, Instance, Keys, Task, Tasks
from edrp.batch.worker import BatchFolder, Worker, _Queue
from edrp.core.errors import EdrpError, RecoveryWarning
from edrp.core.spark import map_in_arrow, settings

GREEDY = Choice("greedy", "greedy", {})


def tasks_of(names):
    return [Task(Instance(name, "{}"), GREEDY, 0) for name in names]


def row_of(task, outcome="solved"):
    return {**task.identity, "outcome": outcome, "finished_at": datetime.now(UTC)}


@pytest.mark.slow
@given(st.lists(st.lists(st.text(max_size=2), max_size=8), max_size=8), st.integers(0, 6))
def test_keys_are_a_set(chunks, merged):
    keys, known = Keys(), set()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "MIN_MERGED", merged)
        for chunk in chunks:
            assert keys.contains(chunk) == [key in known for key in chunk]
            fresh = keys.add(chunk)
            assert [key for key, is_fresh in zip(chunk, fresh, strict=True) if is_fresh] == list(
                dict.fromkeys(key for key in chunk if key not in known)
            )
            known |= set(chunk)
            assert keys == known
            assert "longer" not in keys


def test_a_source_that_can_be_gone_through_once_is_read_as_often_as_needed(word_count):
    text = word_count.model_dump_json()
    instances = open_instances(("x" * count, text) for count in range(1, 5))
    assert [instance.id for instance in instances] == ["x", "xx", "xxx", "xxxx"]
    first, second = iter(instances), iter(instances)
    assert next(first) == next(second) == Instance("x", text)
    assert next(first).id == next(second).id == "xx"
    assert open_instances(instances) is instances
    assert instances.fingerprint == fingerprint(instances)


def test_a_large_table_is_numbered_through(tmp_path):
    table = pa.table({"id": ["a", *[None] * 150], "instance": ["{}"] * 151})
    pq.write_table(table, tmp_path / "t.parquet")
    for source in (table, tmp_path / "t.parquet"):
        assert [instance.id for instance in read_instances(source)] == ["a", *(f"row {number}" for number in range(1, 151))]


def test_instances_that_change_while_they_are_solved_are_noticed(tmp_path):
    (tmp_path / "a.json").write_text("{}")
    instances = open_instances(tmp_path)
    assert len(list(instances)) == 1
    (tmp_path / "a.json").write_text("[]")
    with pytest.raises(EdrpError, match="have changed since the batch began"):
        list(instances)


def test_room_is_made_for_failed_rows_of_these_tasks_alone(tmp_path):
    folder = ResultFolder(tmp_path / "out", Fingerprint(3, 3))
    outcomes = {"done": "solved", "again": "failed", "of another call": "failed"}
    with RollingJournal(folder.path, folder.batch) as journal:
        for task in tasks_of(outcomes):
            journal.write(row_of(task, outcomes[task.instance.id]))
    tasks = Tasks([Instance(name, "{}") for name in ("done", "again", "new")], [GREEDY], [0])
    done, count = folder.make_room(tasks)
    assert [task.instance.id for task in tasks.without(done)] == ["again", "new"]
    assert count == 2
    assert folder.rows()["id"].to_pylist() == ["done", "of another call"]
    assert folder.make_room(tasks)[1] == 2


def test_tasks_for_spark_that_a_killed_batch_left_are_removed_and_ours_are_not(tmp_path):
    folder = ResultFolder(tmp_path / "out", Fingerprint(1, 1))
    (folder.path / "_tasks-old").mkdir()
    with folder.exclusive(), _task_files(folder.path, tasks_of("abc"), [GREEDY], [2, 1]) as files:
        assert not (folder.path / "_tasks-old").exists()
        folder.recover()
        assert [list(_tasks_of_file(file, [GREEDY])) for file in files] == [tasks_of("ab"), tasks_of("c")]
    assert not list(folder.path.glob("_tasks*"))


class Child:
    """Stands in for the process of a worker."""

    pid = 0

    def kill(self):
        """Do nothing."""

    def wait(self):
        """Do nothing."""


@pytest.mark.parametrize("written", [0, 1, 2, 3])
def test_rows_that_a_dead_child_has_written_without_saying_so_stay_and_the_next_one_fails(tmp_path, written):
    folder = ResultFolder(tmp_path / "out", Fingerprint(3, 3))
    worker, tasks = Worker(BatchPlan((GREEDY,), b"", None), BatchFolder(folder.path, folder.batch)), tasks_of("abc")
    worker._process, worker._run = Child(), "run"
    worker.pending.extend(tasks)
    journal = Journal(folder.path, "run-000000", folder.batch)
    for task in tasks[:written]:
        journal.write(row_of(task))
    os.close(journal._file)
    received = worker._without_child("WorkerDied", "it died")
    assert received.answers == (["solved"] * written + ["failed"])[:3]
    assert list(received.returned) == tasks[written + 1 :]
    worker.close()
    found = {row["id"]: (row["outcome"], row["error_type"]) for row in folder.rows().to_pylist()}
    expected = {task.instance.id: ("solved", None) for task in tasks[:written]}
    assert found == expected | {task.instance.id: ("failed", "WorkerDied") for task in tasks[written : written + 1]}


def test_tasks_that_come_back_are_given_away_first_and_large_ones_alone():
    small = tasks_of("abcd")
    queue = _Queue([small[0], *small], 5)
    assert queue.take(1) == [small[0]]
    queue.put_back(small[2:])
    assert (queue.take(3), queue.count) == ([small[2], small[3], small[0]], 3)
    large = [Task(Instance(str(number), "x" * 2**20), GREEDY, 0) for number in range(3)]
    assert len(_Queue(large, 3).take(3)) == 1
    assert _Queue([], 0).take(3) == []


@given(st.integers(0, 300), st.integers(1, 9))
def test_partitions_hold_all_tasks_and_grow_smaller(count, slots):
    sizes = list(_sizes(count, slots))
    assert sum(sizes) == count
    assert sizes == sorted(sizes, reverse=True)
    assert count < slots or 1 in sizes
    assert max(_sizes(10**6, slots)) <= 1000


def test_rows_of_a_folder_are_read_when_they_are_used(tmp_path):
    folder = ResultFolder(tmp_path / "out", Fingerprint(3, 3))
    for names in ("bd", "ac"):
        with RollingJournal(folder.path, folder.batch) as journal:
            for task in tasks_of(names):
                journal.write(row_of(task))
    rows = StoredRows(folder.path)
    assert (len(rows), rows.num_rows, rows.column_names) == (4, 4, read_rows(folder.path).column_names)
    assert rows["id"].to_pylist() == rows.select(["id"])["id"].to_pylist() == list("abcd")
    assert rows.table().equals(read_rows(folder.path))
    assert pa.table(rows).equals(rows.table())
    assert rows.to_pandas()["outcome"].tolist() == ["solved"] * 4
    assert [(part.column_names, part.num_rows) for part in rows.parts(("outcome", "id"))] == [(["outcome", "id"], 2)] * 2
    with Journal(folder.path, "another", folder.batch) as journal:
        journal.write(row_of(tasks_of("a")[0]))
    with pytest.warns(RecoveryWarning, match="1 rows are there twice"):
        assert rows.num_rows == 4
    with pytest.raises(AttributeError):
        rows.nothing  # noqa: B018 - the access is what fails


@pytest.mark.parametrize(
    ("master", "named", "used"),
    [("local[2]", None, "ours"), ("local[2]", "mine", "python3"), ("spark://host:7077", None, "python3")],
)
def test_workers_on_this_machine_run_this_interpreter_unless_the_user_names_one(monkeypatch, master, named, used):
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    if named is not None:
        monkeypatch.setenv("PYSPARK_PYTHON", named)
    monkeypatch.setattr("edrp.core.spark.sys.executable", "ours")
    context = SimpleNamespace(master=master, pythonExec="python3")
    frame = SimpleNamespace(sparkSession=SimpleNamespace(sparkContext=context))
    frame.mapInArrow = lambda function, schema: context.pythonExec
    assert map_in_arrow(frame, print, "") == used
    assert context.pythonExec == "python3"


def test_only_workers_on_this_machine_are_forked_from_a_daemon_of_ours():
    daemon = "spark.python.daemon.module"
    assert settings("local[2]", in_python=True)[daemon] == "edrp.core.spark_daemon"
    assert daemon not in settings("yarn", in_python=True)
    assert daemon not in settings("local[2]")
