"""Compilation of kernels: its seconds, and a process of its own for it where a time limit must hold.

A compiler cannot be interrupted. Under a time limit another process compiles a kernel into the user's cache while this one
waits, at most until time is up. That process then goes on at low priority, no longer than this one lives: with a limit shorter
than it takes to compile a kernel, every call would else begin again, and none would find it.
"""

from __future__ import annotations

import os
import pickle
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from math import inf
from pkgutil import resolve_name
from subprocess import DEVNULL, PIPE, Popen, TimeoutExpired
from threading import Thread
from time import perf_counter
from typing import Any

from edrp.core.budget import clock, compiles_patiently
from edrp.core.errors import OutOfTimeError

STILL_COMPILING = "kernels were still being compiled when time was up; `edrp warm-up` compiles them once and keeps them in {}"
"""Note of an answer; with the folder."""

NOT_KEPT = (
    "kernels are compiled again in every process: no folder can be written that would keep them; NUMBA_CACHE_DIR may name one"
)
"""Note of an answer that waited for the compiler."""

HEARD = 0.2
"""Seconds within which Ctrl-C ends waiting for the compiler."""

compiling_begins: ContextVar[Callable[[], object]] = ContextVar("compiling_begins", default=lambda: None)
"""Called whenever a kernel is to be waited for."""


@dataclass
class Compilation:
    """For how many seconds this process has waited for the compiler, how often in vain, and how much of it others repeat.

    Attributes
    ----------
    seconds : spent waiting.
    given_up : kernels that were not ready in time.
    lost : kernels whose machine code could not be kept.
    folder : where that of the last one given up is kept when it is ready, in words.
    """

    seconds: float = 0.0
    given_up: int = 0
    lost: int = 0
    folder: str = ""

    def notes_since(self, before: Compilation) -> Iterator[str]:
        """What there is to say of the time since a copy of this was made.

        >>> [note] = Compilation(given_up=1, folder="/cache/edrp").notes_since(Compilation())
        >>> note.endswith("`edrp warm-up` compiles them once and keeps them in /cache/edrp")
        True
        """
        if self.given_up > before.given_up:
            yield STILL_COMPILING.format(self.folder)
        if self.lost > before.lost:
            yield NOT_KEPT

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Count the seconds of the block; time limits that wait for the compiler move by them."""
        began = perf_counter()
        compiling_begins.get()()
        try:
            yield
        finally:
            self.seconds += (seconds := perf_counter() - began)
            if compiles_patiently():
                clock().extend(seconds)


compilation = Compilation()
_children: dict[bytes, Popen[bytes]] = {}


def compiled_apart(function: Callable[..., Any], signature: Any, folder: str) -> bool:
    """Have another process compile a kernel within the time limit, or raise `OutOfTimeError`; false where there is no limit.

    `folder` says in words where it is kept then.
    """
    seconds = clock().seconds_left()
    if compiles_patiently() or seconds == inf:
        return False
    task = pickle.dumps((f"{function.__module__}:{function.__qualname__}", signature))
    child = _children.get(task)
    if child is None or child.poll() is not None:
        command = [sys.executable, "-c", f"from {__name__} import main; main()"]
        _children[task] = child = Popen(command, bufsize=0, stdin=PIPE, stdout=DEVNULL, stderr=DEVNULL)
        assert child.stdin is not None
        child.stdin.write(task)  # it ends when this process does, and its end of the pipe
    with compilation.waiting():
        while child.poll() is None and (seconds := clock().seconds_left()) > 0:
            with suppress(TimeoutExpired):
                child.wait(min(seconds, HEARD))
    if child.poll() is None:
        compilation.given_up += 1
        compilation.folder = folder
        os.setpriority(os.PRIO_PROCESS, child.pid, 10)
        raise OutOfTimeError(STILL_COMPILING.format(folder))
    _children.pop(task).communicate()
    return True


def main() -> None:
    """Compile the kernel that standard input names, for a signature, while standard input stays open."""
    name, signature = pickle.load(sys.stdin.buffer)
    Thread(target=lambda: (sys.stdin.buffer.read(), os._exit(1)), daemon=True).start()
    resolve_name(name).dispatcher.compile(signature)
