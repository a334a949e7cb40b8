"""State by key group from the metadata of a checkpoint, in files that are written here byte by byte."""

import json
import random
import struct
import subprocess
from importlib.util import find_spec
from pathlib import Path
from shutil import which

import pytest

from edrp.engines.errors import EngineError
from edrp.engines.flink.metadata import read_key_groups
from edrp.engines.key_groups import held_groups

REFERENCE = Path(__file__).parent / "key_groups"
"""Savepoints of Flink 2.3.0, and what its own classes read from them, and from a checkpoint, by a program in Java."""

SAVEPOINTS = ("savepoint_canonical", "savepoint_native")


def sizes_by_operator(path):
    return {
        key: {"parallelism": state.parallelism, "sizes": list(state.sizes) or [0] * state.max_parallelism}
        for key, state in read_key_groups(path).items()
    }


def expected(name):
    return json.loads((REFERENCE / f"{name}.json").read_text())


def text(word):
    return struct.pack(">H", len(word)) + word.encode()


def keyed(first, offsets, size, kind=12):
    """Keyed state of one subtask in a file of its own; without an offset a key group is empty."""
    handle = struct.pack(f">bii{len(offsets)}q", kind, first, len(offsets), *offsets)
    return handle + b"\x06" + text("file") + struct.pack(">q", size) + (text("id") if kind == 12 else b"")


def subtask(index, state):
    return struct.pack(">iii", index, 0, 0) + state + b"\x00" + struct.pack(">ii", 0, 0)


def metadata(*subtasks, version=6, groups=4):
    names = text("counter") + text("uid") if version >= 5 else b""
    operator = names + bytes(16) + struct.pack(">iib", len(subtasks), groups, 0)
    operator += struct.pack(">i", len(subtasks)) + b"".join(subtasks)
    return struct.pack(">iiqii", 0x4960672D, version, 7, 0, 1) + operator


def checkpoint(name, number, sizes, replicas):
    """Metadata of a checkpoint of the operator with that number, whose replicas stored `sizes` bytes of the key groups."""
    stored = []
    for replica in range(replicas):
        first, end = held_groups(replica, replicas, len(sizes))
        offsets = [40 + sum(sizes[first:group]) for group in range(first, end)]
        stored.append(subtask(replica, keyed(first, offsets, 40 + sum(sizes[first:end]))))
    content = metadata(*stored, groups=len(sizes))
    return content.replace(text("counter") + text("uid") + bytes(16), text(name) + text("uid") + number.to_bytes(16))


@pytest.fixture
def sizes(tmp_path):
    def read(content):
        file = tmp_path / "_metadata"
        file.write_bytes(content)
        (state,) = read_key_groups(file).values()
        return state.sizes

    return read


@pytest.mark.parametrize(("version", "kind"), [(3, 3), (4, 3), (5, 12), (6, 12), (6, 7)])
def test_sizes_are_differences_of_offsets(sizes, version, kind):
    first, second = keyed(0, (10, 110), 150, kind), keyed(2, (10, -1), 30, kind)
    assert sizes(metadata(subtask(0, first), subtask(1, second), version=version)) == (100, 40, 20, 0)


def test_finished_subtasks_have_no_state(sizes):
    assert sizes(metadata(struct.pack(">i", -1), subtask(1, keyed(2, (10, 20), 50)))) == (0, 0, 10, 30)


def test_incremental_checkpoints_are_refused(sizes):
    with pytest.raises(EngineError, match="kind 5, in which key groups have no sizes"):
        sizes(metadata(subtask(0, b"\x05")))


def test_other_files_and_versions_are_refused(sizes):
    whole = metadata(subtask(0, keyed(0, (10, 110), 150)))
    with pytest.raises(EngineError, match="is no metadata of a checkpoint"):
        sizes(b"PK\x03\x04" + whole)
    with pytest.raises(EngineError, match="version 9; versions 3 to 6"):
        sizes(metadata(version=9))
    for length in (3, 20, len(whole) - 5):
        with pytest.raises(EngineError, match="cut off or damaged"):
            sizes(whole[:length])


def test_empty_key_groups_of_canonical_savepoints_have_offset_0(sizes):
    assert sizes(metadata(subtask(0, keyed(0, (10, 0, 110, 0), 150)))) == (100, 0, 40, 0)


@pytest.mark.parametrize("name", SAVEPOINTS)
def test_flinks_own_classes_read_the_same(name):
    assert sizes_by_operator(REFERENCE / name) == expected(name)


def test_flinks_own_classes_read_the_same_of_a_large_checkpoint(shared_data):
    assert sizes_by_operator(shared_data / "flink" / "checkpoint-metadata-400MB") == expected("checkpoint_400MB")


@pytest.mark.slow
@pytest.mark.skipif(which("java") is None or find_spec("pyflink") is None, reason="needs Java and apache-flink-libraries")
@pytest.mark.parametrize("name", SAVEPOINTS)
def test_the_reference_is_what_flink_says_today(name):
    libraries = Path(find_spec("pyflink").submodule_search_locations[0], "lib")
    command = ["java", "-cp", f"{libraries}/*", str(REFERENCE / "KeyGroups.java"), str(REFERENCE / name)]
    assert json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout) == expected(name)


@pytest.mark.parametrize("name", SAVEPOINTS)
def test_cut_off_savepoints_are_refused_wherever_they_are_cut(sizes, name):
    whole = (REFERENCE / name).read_bytes()
    for length in [*range(1, 200), *range(200, len(whole) * 9 // 10, 997)]:
        with pytest.raises(EngineError) as refused:
            sizes(whole[:length])
        assert "\n" not in str(refused.value)


def test_damaged_savepoints_are_refused_or_read(tmp_path):
    """A byte that has changed may be one of a name or of an offset; whatever it is, no other error comes of it."""
    whole, draw = (REFERENCE / SAVEPOINTS[0]).read_bytes(), random.Random(4)
    refused = 0
    for _ in range(300):
        damaged = bytearray(whole)
        damaged[draw.randrange(2000)] = draw.randrange(256)
        (tmp_path / "_metadata").write_bytes(damaged)
        try:
            states = read_key_groups(tmp_path / "_metadata")
        except EngineError:
            refused += 1
        else:
            assert all(min(state.sizes, default=0) >= 0 for state in states.values())
    assert refused > 0
