"""A batch is never stopped by one of its entries: a broken one costs its own row, and all others are solved."""

import json
import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import edrp
from edrp.batch import read_rows
from edrp.batch.source import read_instances

NESTED = "[" * 100_000


@pytest.fixture(scope="module")
def good(examples) -> str:
    return (examples / "migration.json").read_text(encoding="utf-8")


def outcomes(source: object, **options: object) -> dict[str, tuple[str, str | None]]:
    """Outcome and reason of each row by id."""
    rows = edrp.solve_batch(source, "ssm", n_jobs=1, **options)
    return {row["id"]: (row["outcome"], row["error_message"]) for row in rows.to_pylist()}


def assert_faults(found: dict[str, tuple[str, str | None]], why: dict[str, str]) -> None:
    for name, reason in why.items():
        outcome, message = found.pop(name)
        assert (outcome, reason in message) == ("failed", True), (name, message)
    assert {outcome for outcome, _ in found.values()} == {"solved"}
    assert len(found) >= 2


def test_what_is_no_readable_file_of_a_folder_has_a_row_of_its_own(run, good, tmp_path):
    source = tmp_path / "instances"
    source.mkdir()
    for name in ("a", "b"):
        (source / f"{name}.json").write_text(good)
    (source / "folder.json").mkdir()
    (source / "link.json").symlink_to(tmp_path / "nowhere")
    (source / "loop.json").symlink_to("loop.json")
    os.mkfifo(source / "pipe.json")
    (source / "bytes.json").write_bytes(good.encode().replace(b"migration", b"migr\xff"))
    (source / "half.json").write_text(good.replace('"migration"', '"\\ud800"'))
    (source / "mark.json").write_bytes(b"\xef\xbb\xbf" + good.encode())
    (source / "separator.json").write_text(good.replace('"migration"', '"\u2028"'))
    (source / "nested.json").write_text(NESTED)
    (source / "empty.json").write_text("")
    Path(os.fsdecode(os.fsencode(source) + b"/named-\xff.json")).write_text(good)
    assert "Traceback" not in run("batch", source, "-m", "ssm", "-j", 1, "-o", tmp_path / "out").ended(2).err
    rows = {row["id"]: (row["outcome"], row["error_message"]) for row in read_rows(tmp_path / "out").to_pylist()}
    assert len(rows) == 13
    why = {
        "folder": "is a folder, not a regular file",
        "link": "is a link to nothing",
        "loop": "Too many levels of symbolic links",
        "pipe": "is a named pipe, not a regular file",
        "bytes": "is not UTF-8 text",
        "half": "is no",
        "separator": "is no kind of document",
        "nested": "nested too deeply",
        "empty": "is empty",
    }
    assert_faults(rows, why)
    assert set(rows) == {"a", "b", "mark", "named-\\xff"}, "a mark at the beginning of the file is taken as by edrp solve"


def test_a_broken_line_has_a_row_of_its_own(good, tmp_path):
    entry = json.dumps({"id": "ID", "instance": json.loads(good)})
    lines = {
        "a": entry,
        "b": entry.replace("}}", '}, "note": "\u2028\x85"}'),  # ends a line for Python, not for JSON
        "half": entry.replace('"migration"', '"\\ud800"'),
        "number": '{"id": "ID", "instance": 3}',
        "without": '{"id": "ID"}',
        "twice": entry.replace('"kind"', '"kind": "edrp", "kind"'),  # as in a file
    }
    parts = [line.replace('"ID"', f'"{name}"').encode() for name, line in lines.items()]
    parts += [b'{"id": "bytes\xff"}', b"no", NESTED.encode(), b'["a"]', b"", b'{"id": "huge", "instance": ' + b"9" * 5000 + b"}"]
    path = tmp_path / "instances.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + b"\n".join(parts))
    why = {
        "half": "lone surrogate",
        "number": "must be a JSON object",
        "without": "must be an object with the fields id and instance",
        "twice": "line 6: instance.kind is given twice in one object; keep one of them",
        "line 7": "line 7: byte 14 of the line is not UTF-8 text",
        "line 8": "is not JSON",
        "line 9": "is nested too deeply",
        "line 10": "must be an object with the fields id and instance",
        "line 12": "4300 digits",
    }
    assert_faults(outcomes(path), why)


def test_an_entry_without_a_name_may_be_called_as_another_one_is(good, tmp_path):
    entry = f'"instance": {json.dumps(json.loads(good))}}}'
    lines = [f'{{"id": "line 3", {entry}', f'{{"id": "b", {entry}', "no", '{"id": null, ' + entry, '{"id": null, ' + entry]
    path = tmp_path / "instances.jsonl"
    path.write_text("\n".join(lines))
    why = {"line 3 (2)": "is not JSON", "line 4": "needs a name in the field id", "line 5": "needs a name in the field id"}
    assert_faults(outcomes(path), why)
    table = pa.table({"id": ["row 2", "row 2 (2)", None], "instance": [good] * 3})
    assert_faults(outcomes(table), {"row 2 (3)": "needs a name in the column id"})


def test_structs_bytes_and_missing_values_in_a_table_have_rows_of_their_own(good, tmp_path):
    texts = [good.encode(), b"\xff" + good.encode(), None, good.encode()]
    table = pa.table({"id": ["a", "bytes", "null", None], "instance": pa.array(texts)})
    found = outcomes(table.append_column("more", pa.array(range(4))).slice(0, 4))
    assert_faults({**found, "b": found["a"]}, {"bytes": "byte 0 is not UTF-8", "null": "is not JSON", "row 3": "needs a name"})
    structs = pa.table({"id": ["a", "b"], "instance": pa.array([{"kind": "migration"}, None])})
    pq.write_table(structs, tmp_path / "structs.parquet")
    assert [instance.fault for instance in read_instances(tmp_path / "structs.parquet")] == [
        "must be JSON text, not struct<kind: string>"
    ] * 2
    coded = pa.DictionaryArray.from_arrays([0], pa.array([{"kind": "migration"}]))
    assert read_instances(pa.table({"id": ["a"], "instance": coded}))[0].fault.startswith("must be JSON text, not dictionary")
    named = pa.table({"id": pa.array([{"x": 1}]), "instance": [good]})
    assert read_instances(named)[0].fault.startswith("needs a name in the column id, whose type is struct")


def test_texts_that_are_no_unicode_have_rows_of_their_own(good):
    found = outcomes(
        {"a": good, "b": good, "half": good.replace("migration", "\ud800"), "c\ud800": good, "object": {"x": object()}}
    )
    assert_faults(
        found, {"half": "is half of a character (a lone surrogate)", "object": "is no problem that can be written as JSON"}
    )
    assert set(found) == {"a", "b", "c\\ud800"}
