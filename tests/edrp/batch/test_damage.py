"""Checksums of files that are kept for later: whatever has changed is noticed, named, set aside and computed again."""

import shutil

import pytest

import edrp
from edrp.batch import read_rows
from edrp.core.errors import InvalidInstanceError, RecoveryWarning
from edrp.core.files import DamagedFileError, read_sealed, sealed
from edrp.validation.oracles.bit_flips import flip_bits

pytestmark = pytest.mark.xdist_group("damage")  # solved once, not once per worker


def test_no_flipped_bit_is_silent(tmp_path):
    """A thousand are flipped by `python -m edrp.validation.fuzzing bits`."""
    flips = list(flip_bits(16, 0, tmp_path))
    assert [flip for flip in flips if flip.fault] == []
    assert {flip.what for flip in flips} == {"results", "journal", "policy", "checkpoint"}


@pytest.fixture(scope="module")
def solved(examples, tmp_path_factory):
    """Instances, and a folder of their results in two parts."""
    text = (examples / "migration.json").read_text()
    instances = {"a": text, "b": text, "c": '{"kind": "edrp"}'}
    folder = tmp_path_factory.mktemp("solved") / "out"
    edrp.solve_batch(instances, "ssm", out=folder, n_jobs=1)
    edrp.solve_batch(instances, "greedy", out=folder, n_jobs=1)
    return instances, folder


def part_with(folder, method: str):
    (path,) = [path for path in folder.glob("part-*") if method in read_methods(path)]
    return path


def read_methods(path) -> list[str]:
    import pyarrow.parquet as pq

    return pq.read_table(path, columns=["method"])["method"].to_pylist()


@pytest.mark.parametrize("damage", ["flipped", *(pytest.param(damage, marks=pytest.mark.slow) for damage in ("foreign", "pipe"))])
def test_rows_of_a_damaged_part_are_solved_again_and_the_others_are_kept(solved, tmp_path, damage):
    instances, sound = solved
    out = tmp_path / "out"
    shutil.copytree(sound, out)
    part = part_with(out, "ssm")
    content = bytearray(part.read_bytes())
    if damage == "flipped":
        content[len(content) // 2] ^= 4
        part.write_bytes(content)
    elif damage == "foreign":
        edrp.solve_batch({"a": instances["a"]}, "ssm", out=tmp_path / "other", n_jobs=1)
        (other,) = (tmp_path / "other").glob("part-*")
        part.unlink()
        part = other.replace(out / other.name)
    else:
        part.unlink()
        part.symlink_to(tmp_path / "nowhere")
    for _ in range(2):
        with pytest.warns(RecoveryWarning, match=f"{part.name} .*its rows are left out"):
            left = read_rows(out)
        assert set(left["method"].to_pylist()) == {"greedy"}
    with pytest.warns(RecoveryWarning, match=f"{part.name} .*it is set aside as .*_damaged/{part.name}"):
        again = edrp.solve_batch(instances, "ssm", out=out, n_jobs=1)
    columns = ["key", "objective", "outcome"]
    assert again.select(columns).to_pylist() == read_rows(sound, columns).select(columns).to_pylist()
    before = {row["key"]: row["finished_at"] for row in read_rows(sound).to_pylist() if row["method"] == "greedy"}
    assert all(row["finished_at"] == before[row["key"]] for row in again.to_pylist() if row["key"] in before)


def test_rows_of_a_part_that_was_copied_are_read_once(solved, tmp_path):
    instances, sound = solved
    out = tmp_path / "out"
    shutil.copytree(sound, out)
    part = part_with(out, "ssm")
    shutil.copy(part, out / f"part-copy-{part.stem.rpartition('-')[2]}.parquet")
    with pytest.warns(RecoveryWarning, match="3 rows are there twice and left out once"):
        assert read_rows(out).equals(read_rows(sound))
    edrp.solve_batch(instances, "ssm", out=out, n_jobs=1)
    assert read_rows(out)["key"].to_pylist() == read_rows(sound)["key"].to_pylist()


def test_a_damaged_description_of_a_folder_is_written_again(solved, tmp_path):
    instances, sound = solved
    out = tmp_path / "out"
    shutil.copytree(sound, out)
    (out / "_batch.json").write_text("{")
    seen: list[object] = []
    with pytest.warns(RecoveryWarning, match=r"_batch\.json is damaged"):
        rows = edrp.solve_batch(instances, ["ssm", "greedy"], out=out, n_jobs=1, progress=seen.append)
    assert rows.num_rows == 6
    assert seen[-1].total == 2, "only the broken instance is tried again"
    assert read_sealed(out / "_batch.json")["instances"] == 3


def test_a_sealed_document_is_read_byte_for_byte(tmp_path):
    path = tmp_path / "head.json"
    path.write_text(sealed({"sweeps": 3, "seconds": [0.1, 1e300]}) + "\n")
    assert read_sealed(path) == {"sweeps": 3, "seconds": [0.1, 1e300]}
    text = path.read_text()
    for changed in (text[:-1], text + "\n", text.replace("3", "4"), text.replace(" ", "  "), "{}", "", "[]", "{" * 100_000):
        path.write_text(changed)
        with pytest.raises(DamagedFileError, match=r"head\.json is damaged"):
            read_sealed(path)
    with pytest.raises(InvalidInstanceError, match=r"there is no such file"):
        read_sealed(tmp_path / "none.json")


def test_what_arrow_reads_is_no_memory_of_python(solved, monkeypatch):
    """Its threads let go of it later, and abort a Python that is about to end: `edrp batch` ended with −6 on a busy machine."""
    import pyarrow as pa

    _, folder = solved
    read, python = [], []
    reader = pa.BufferReader

    def told(source):
        read.append(pa.py_buffer(source).address)
        return reader(source)

    def seen(path):
        content = path.read_bytes()
        python.append((content, pa.py_buffer(content).address))
        return content

    monkeypatch.setattr("edrp.batch.stored.pa.BufferReader", told)
    monkeypatch.setattr("edrp.batch.stored.files.read_regular", seen)
    assert read_rows(folder).num_rows == 6
    assert read
    assert set(read).isdisjoint(address for _, address in python)
