"""Compiled kernels run without Numba, and do the same as with it."""

import math
import sys
from typing import NamedTuple

import numpy as np
import pytest

from edrp.core import kernel_store
from edrp.core.kernel_store import ENTRY, compiled_before, types_of
from edrp.core.kernels import Kernel, interpreting
from edrp.core.machine_code import RUNS_HERE, Entry, UnlinkableError, linked

pytestmark = pytest.mark.skipif(not RUNS_HERE, reason="machine code is placed by Numba on this system")


class Pair(NamedTuple):
    """Arrays by name."""

    first: np.ndarray
    second: np.ndarray


def mixed(pair, factor):
    if factor < 0:
        raise ValueError("negative")
    longer = np.empty(pair.first.size + 1)
    longer[0] = math.log(factor)
    for k in range(pair.first.size):
        longer[k + 1] = factor * pair.first[k] + pair.second[k, 0]
    return longer, pair.second, factor > 2.0


ARGUMENTS = Pair(np.arange(3.0), np.asfortranarray(np.arange(6).reshape(3, 2))), 2.5


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """The kernel, compiled by a process that keeps it, and the folder; environments are read at each look for a kernel."""
    folder = tmp_path_factory.mktemp("kernels")
    with pytest.MonkeyPatch.context() as patch, interpreting(False):
        patch.setenv("NUMBA_CACHE_DIR", str(folder))
        compiled = Kernel(mixed)
        compiled.dispatcher(*ARGUMENTS)
        yield compiled, folder


def same(one, other):
    return all(np.array_equal(a, b) and type(a) is type(b) for a, b in zip(one, other, strict=True))


def test_a_kept_kernel_gives_what_python_and_numba_give(kept):
    compiled, _ = kept
    again = Kernel(mixed)
    found = again(*ARGUMENTS)
    assert "dispatcher" not in vars(again)
    assert same(found, mixed(*ARGUMENTS))
    assert same(found, compiled.dispatcher(*ARGUMENTS))
    assert found[1] is ARGUMENTS[0].second
    with pytest.raises(ValueError, match="negative"):
        again(ARGUMENTS[0], -1.0)
    with pytest.raises(ValueError, match="negative"):
        again(ARGUMENTS[0], -1.0)


def test_results_own_their_memory_and_arguments_are_let_go(kept):
    again = Kernel(mixed)
    arrays = Pair(np.ones(1000), np.ones((1000, 2), np.int64, order="F"))
    before = sys.getrefcount(arrays.first), sys.getrefcount(arrays.second)
    for _ in range(50):
        longer, _, _ = again(arrays, 1.0)
    assert longer[-1] == 2.0
    assert (sys.getrefcount(arrays.first), sys.getrefcount(arrays.second)) == before


def test_types_are_named_as_numba_names_them():
    from numba import typeof

    from edrp.core.kernel_cache import numba_types_of

    read_only = np.zeros(2)
    read_only.flags.writeable = False
    matrix = np.zeros((4, 4))
    values = (
        1,
        1.5,
        True,
        np.int32(3),
        np.bool_(1),
        (1, (2.0, ARGUMENTS[0])),
        read_only,
        matrix[::2],
        matrix.T,
        matrix[0],
        np.zeros(0, bool),
    )
    assert types_of(values) == numba_types_of([typeof(value) for value in values])
    assert types_of(("text",)) is None
    assert numba_types_of([typeof("text")]) is None


def test_code_of_another_kernel_or_a_broken_file_is_not_run(kept, monkeypatch):
    compiled, folder = kept
    types = types_of(ARGUMENTS)
    assert compiled_before(mixed, compiled.options, types)
    assert compiled_before(mixed, {**compiled.options, "forceinline": True}, types) is None
    monkeypatch.setenv("NUMBA_OPT", "0")
    assert compiled_before(mixed, compiled.options, types) is None
    monkeypatch.delenv("NUMBA_OPT")
    [file] = folder.rglob(f"*{ENTRY}")
    whole = file.read_bytes()
    flipped = [whole[:at] + bytes([whole[at] ^ 1 << at % 8]) + whole[at + 1 :] for at in range(0, len(whole), 997)]
    for broken in (whole[:100], whole[:-1], whole + b"x", b"", b"nothing of ours", *flipped):
        file.write_bytes(broken)
        assert compiled_before(mixed, compiled.options, types) is None
    file.write_bytes(whole)
    assert compiled_before(mixed, compiled.options, types)


def test_code_for_another_python_numba_or_processor_is_not_run(kept, monkeypatch):
    compiled, _ = kept
    types = types_of(ARGUMENTS)
    for name, value in (
        ("EXTENSION_SUFFIXES", [".cpython-313t-x86_64-linux-gnu.so"]),
        ("_numba_version", lambda: b"version = 1"),
        ("this_processor", lambda: "another"),
        ("_processor", dict),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(kernel_store, name, value)
            assert compiled_before(mixed, compiled.options, types) is None
    assert compiled_before(mixed, compiled.options, types)


def test_an_object_of_another_kind_is_refused():
    for code in (b"", b"\x7fELF" + bytes(60)):
        with pytest.raises(UnlinkableError):
            linked(Entry(code, "kernel", []))
