"""State by key group from the metadata of a checkpoint, in files that are written here byte by byte."""

from __future__ import annotations

import struct

import pytest

from edrp.engines.errors import EngineError
from edrp.engines.flink.metadata import read_key_groups


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
