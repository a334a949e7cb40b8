"""A journal keeps each row as it comes, whatever happens to its writer, and becomes a Parquet file."""

import errno
import os
from datetime import UTC, datetime

import pyarrow.parquet as pq
import pytest

from edrp.batch import journal as module
from edrp.batch.journal import Journal, RollingJournal, result_table, settle
from edrp.batch.rows import RESULT_SCHEMA
from edrp.batch.stored import part_name, part_paths, read_part, sound_parts, write_part
from edrp.core.errors import EdrpError, RecoveryWarning
from edrp.core.files import DamagedFileError, content_digest

BATCH = "fingerprint"
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def row(key: str, **fields):
    """A row of a solved instance."""
    return {"key": key, "outcome": "solved", "objective": 1.5, "finished_at": NOON, **fields}


def held(folder, name="w"):
    """Keys and objectives of the rows in the Parquet files of a writer."""
    rows = [row for part in part_paths(folder, name) for row in read_part(part, ["key", "objective"], BATCH).to_pylist()]
    return {row["key"]: row["objective"] for row in rows}


def with_checksum(line: bytes, digit: str) -> bytes:
    """A line whose checksum is all of one digit."""
    right = line[-19:-3]
    assert line[-3:] == b'"}\n'
    return line.replace(right, digit.encode() * len(right))


def killed(folder, *keys, name="w"):
    """The journal of a writer that died before it was done."""
    writer = Journal(folder, name, BATCH)
    for key in keys:
        writer.write(row(key))
    os.close(writer._file)
    return folder / f"_journal-{name}.jsonl"


def test_rows_become_a_parquet_file_when_the_writer_is_done(tmp_path):
    with Journal(tmp_path, "w", BATCH) as writer:
        writer.write(row("a"))
        writer.write(row("b", objective=None, outcome="failed"))
        assert (len(writer), writer.keys) == (2, {"a", "b"})
        assert (tmp_path / "_journal-w.jsonl").read_bytes().count(b"\n") == 2
    assert held(tmp_path) == {"a": 1.5, "b": None}
    assert not (tmp_path / "_journal-w.jsonl").exists()
    (part,) = part_paths(tmp_path, "w")
    assert read_part(part, ["finished_at"], BATCH)["finished_at"].to_pylist() == [NOON, NOON]


def test_a_writer_goes_on_where_one_of_its_name_was_killed_or_has_finished(tmp_path):
    killed(tmp_path, "a", "b")
    for keys, new in (("ab", "c"), ("abc", "d")):
        with Journal(tmp_path, "w", BATCH) as writer:
            assert writer.keys == set(keys)
            writer.write(row(new))
    assert set(held(tmp_path)) == set("abcd")


@pytest.mark.parametrize(
    ("damage", "said", "left"),
    [
        (lambda lines: [*lines[:2], lines[2][:-9]], "its last line was cut off", {"a", "b"}),
        (lambda lines: [lines[0], lines[1].replace(b"1.5", b"1.6"), lines[2]], "1 of its 3 lines are damaged", {"a", "c"}),
        (lambda lines: [b"[]\n", b"\n", *lines[1:]], "2 of its 4 lines are damaged", {"b", "c"}),
        (lambda lines: [with_checksum(lines[0], "0"), *lines[1:]], "1 of its 3 lines are damaged", {"b", "c"}),
        (lambda lines: [with_checksum(lines[0], "f"), *lines[1:]], "1 of its 3 lines are damaged", {"b", "c"}),
    ],
    ids=["cut", "changed", "no rows", "least checksum", "largest checksum"],
)
def test_what_is_damaged_is_set_aside_and_the_rest_is_kept(tmp_path, damage, said, left):
    path = killed(tmp_path, "a", "b", "c")
    content = b"".join(damage(path.read_bytes().splitlines(keepends=True)))
    path.write_bytes(content)
    with pytest.warns(RecoveryWarning, match=f"{said}; it is set aside as .*; {len(left)} sound rows of it are kept"):
        writer = Journal(tmp_path, "w", BATCH)
    assert writer.keys == left
    writer.write(row("d"))
    writer.close()
    assert [file.read_bytes() for file in (tmp_path / "_damaged").iterdir()] == [content]
    assert set(held(tmp_path)) == {*left, "d"}


def test_a_writer_holds_the_rows_of_its_parts_and_of_the_journal_that_it_was_writing(tmp_path):
    with Journal(tmp_path, "w", BATCH) as writer:
        writer.write(row("a"))
    killed(tmp_path, "b")
    with Journal(tmp_path, "w", BATCH) as writer:
        assert (len(writer), writer.keys) == (2, {"a", "b"})


def test_rows_of_another_batch_do_not_count(tmp_path):
    killed(tmp_path, "a")
    with pytest.warns(RecoveryWarning, match="1 of its 1 lines are damaged"):
        writer = Journal(tmp_path, "w", "another")
    assert writer.keys == set()
    writer.close()


def test_what_a_killed_writer_left_is_settled_once(tmp_path):
    path = killed(tmp_path, "a", "b", "b", "c")
    assert settle(path, "w", BATCH, {"c"}) == {"a": "solved", "b": "solved"}
    assert set(held(tmp_path)) == {"a", "b"}
    assert not path.exists()
    assert settle(path, "w", BATCH, set()) == {}


def test_where_all_rows_are_elsewhere_no_file_is_written(tmp_path):
    path = killed(tmp_path, "a")
    assert settle(path, "w", BATCH, {"a"}) == {}
    assert list(tmp_path.iterdir()) == []


def test_a_rolling_journal_becomes_a_file_every_so_many_rows(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "ROWS_PER_PART", 2)
    with RollingJournal(tmp_path, BATCH) as writer:
        for key in "abcde":
            writer.write(row(key))
            assert len(list(tmp_path.glob("part-*"))) == "abcde".index(key) // 2 + ("abcde".index(key) % 2)
    parts = sorted(tmp_path.glob("part-*"))
    assert [read_part(part, ["key"], BATCH)["key"].to_pylist() for part in parts] == [["a", "b"], ["c", "d"], ["e"]]
    assert not list(tmp_path.glob("_journal*"))


def test_a_rolling_journal_without_rows_leaves_nothing(tmp_path):
    with RollingJournal(tmp_path, BATCH):
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_named_and_rows_before_it_are_kept(tmp_path, monkeypatch):
    writer = Journal(tmp_path, "w", BATCH)
    writer.write(row("a"))
    write = os.write
    with monkeypatch.context() as full:
        full.setattr(os, "write", lambda file, line: write(file, line[:10]))
        with pytest.raises(EdrpError, match="cannot be written: the disk is full; rows solved before are kept"):
            writer.write(row("b"))
    with monkeypatch.context() as broken:

        def refuse(file, line):
            raise OSError(errno.EIO, "Input/output error")

        broken.setattr(os, "write", refuse)
        with pytest.raises(EdrpError, match="cannot be written: Input/output error; rows solved before are kept"):
            writer.write(row("b"))
    assert writer.keys == {"a"}
    with pytest.warns(RecoveryWarning, match="its last line was cut off"):
        writer.close()
    assert held(tmp_path) == {"a": 1.5}


@pytest.fixture
def part(tmp_path):
    """A part of one row."""
    return write_part(tmp_path, "w", result_table([row("a", outcome="failed")]), BATCH)


def test_a_part_names_its_writer_and_says_how_many_rows_failed(part):
    assert part_name(part) == "w"
    assert part_paths(part.parent) == part_paths(part.parent, "w") == [part]
    assert part_paths(part.parent, "v") == []
    assert read_part(part).column_names == RESULT_SCHEMA.names
    assert read_part(part, ["key"]).column_names == ["key"]
    metadata = pq.read_metadata(part).metadata
    assert metadata[b"edrp.failed"] == b"1"
    assert metadata.items() >= RESULT_SCHEMA.metadata.items()


def test_a_part_of_other_instances_is_refused_where_it_matters(part):
    assert read_part(part, ["key"]).num_rows == read_part(part, ["key"], BATCH).num_rows == 1
    with pytest.raises(DamagedFileError, match="belongs to other instances"):
        read_part(part, ["key"], "another")


@pytest.mark.parametrize("place", [4, 204, 396])
def test_a_part_that_has_changed_is_refused(part, place):
    content = bytearray(part.read_bytes())
    content[place] ^= 1
    part.write_bytes(content)
    with pytest.raises(DamagedFileError, match="is damaged: its checksum is another"):
        read_part(part)


@pytest.mark.parametrize("content", [b"PAR1", b"", b"PAR1 and more PAR1"])
def test_a_file_under_its_own_checksum_that_is_no_part_is_refused(tmp_path, content):
    path = tmp_path / f"part-w-{content_digest(content)}.parquet"
    path.write_bytes(content)
    with pytest.raises(DamagedFileError, match="holds no rows of results: "):
        read_part(path)


def test_damaged_parts_are_set_aside_and_the_others_are_read(tmp_path, part):
    other = write_part(tmp_path, "v", result_table([row("b")]), BATCH)
    part.write_bytes(b"PAR1")
    with pytest.warns(RecoveryWarning, match=part.name):
        sound = dict(sound_parts(tmp_path, ["key"], BATCH))
    assert {path: table["key"].to_pylist() for path, table in sound.items()} == {other: ["b"]}
    assert [file.name for file in (tmp_path / "_damaged").iterdir()] == [part.name]


def test_a_folder_in_the_place_of_a_part_is_none(tmp_path, part):
    part.unlink()
    part.mkdir()
    with pytest.raises(DamagedFileError, match=r"regular file|folder|directory"):
        read_part(part)


def test_a_writer_reads_the_sound_parts_of_its_name_only(tmp_path):
    paths = [write_part(tmp_path, "w", result_table([row(key)]), BATCH) for key in "abc"]
    first, *others = sorted(paths)
    keys = dict(zip(paths, "abc", strict=True))
    first.write_bytes(b"PAR1")
    with Journal(tmp_path, "w", BATCH) as writer:
        assert writer.keys == {keys[path] for path in others}


def test_a_folder_in_the_place_of_a_journal_is_set_aside(tmp_path):
    path = tmp_path / "_journal-w.jsonl"
    path.mkdir()
    with pytest.warns(RecoveryWarning, match="is a folder, not a regular file"):
        assert settle(path, "w", BATCH, set()) == {}
    assert not path.exists()


def test_what_no_file_can_hold_is_refused(tmp_path):
    with Journal(tmp_path, "w", BATCH) as writer, pytest.raises(TypeError, match="has no place in a row of results"):
        writer.write(row("a", objective=1j))
