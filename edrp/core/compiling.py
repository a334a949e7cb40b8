"""Compilation of kernels: its seconds, and a process of its own for it where a time limit must hold.

A compiler cannot be interrupted. Under a time limit another process compiles a kernel into the user's cache while this one
waits, for half of the limit in all, and for no more seconds than its method has units of work left: where methods take turns,
the next one may need no compiler. That process then goes on at low priority, no longer than this one lives: with a limit shorter
than it takes to compile a kernel, every call would else begin again, and none would find it. All processes that share a cache
start at most one compiler per core of their machine: each compiler holds the lock of a file until it ends, however it ends.
"""

from __future__ import annotations

import atexit
import fcntl
import os
import pickle
import platform
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from math import inf
from pathlib import Path
from pkgutil import resolve_name
from subprocess import DEVNULL, PIPE, Popen, TimeoutExpired
from threading import Thread
from time import perf_counter, sleep
from typing import Any

from edrp.core.budget import clock, compiles_patiently, step_begins, units_left
from edrp.core.errors import OutOfTimeError

STILL_COMPILING = (
    "kernels were still being compiled when their share of the time was over; "
    "`edrp warm-up` compiles them once and keeps them in {}"
)
"""Note of an answer; with the folder."""

NOT_KEPT = (
    "kernels are compiled again in every process: no folder can be written that would keep them; NUMBA_CACHE_DIR may name one"
)
"""Note of an answer that waited for the compiler."""

INTERRUPT_POLL_SECONDS = 0.2
"""Seconds within which Ctrl-C ends waiting for the compiler."""


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
        """Report on the time since a copy of this was made.

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
        step_begins.get()("compiling kernels (once)")
        try:
            yield
        finally:
            self.seconds += (seconds := perf_counter() - began)
            if compiles_patiently():
                clock().extend(seconds)
            else:
                clock().wait(seconds)


compilation = Compilation()
COMPILER = (sys.executable, "-c", f"from {__name__} import main; main()")
"""The command that compiles a kernel."""

_children: dict[bytes, Popen[bytes]] = {}


def usable_cores() -> int:
    """Number of cores that this process may use.

    >>> usable_cores() >= 1
    True
    """
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def compiled_apart(function: Callable[..., Any], signature: Any, folder: str, locks: Path) -> bool:
    """Have another process compile a kernel within the time limit, or raise `OutOfTimeError`; false where there is no limit.

    `folder` says in words where it is kept then, and the folder `locks` holds a file for each compiler that may run.
    """
    if compiles_patiently() or clock().seconds_left() == inf:
        return False
    until = perf_counter() + min(units_left(), clock().compiler_seconds_left())
    task = pickle.dumps((f"{function.__module__}:{function.__qualname__}", signature))
    child = _children.get(task)
    if child is not None and child.poll() is not None:
        child = None  # it came too late for an earlier call, and what it made is not there: begin again
    with compilation.waiting():
        while child is None or child.poll() is None:
            child = child or _start_compiler(task, locks)  # even when time is up: a later call finds what it makes
            if (seconds := min(until - perf_counter(), clock().seconds_left())) <= 0:
                break
            if child is None:
                sleep(min(seconds, INTERRUPT_POLL_SECONDS))
            else:
                with suppress(TimeoutExpired):
                    child.wait(min(seconds, INTERRUPT_POLL_SECONDS))
    if child is None or child.poll() is None:
        compilation.given_up += 1
        compilation.folder = folder
        if child is not None:
            os.setpriority(os.PRIO_PROCESS, child.pid, 10)
        raise OutOfTimeError(STILL_COMPILING.format(folder))
    _children.pop(task).communicate()
    return True


def _start_compiler(task: bytes, locks: Path) -> Popen[bytes] | None:
    """Start a process that compiles a kernel, or return None while as many compile on this machine as it has cores."""
    locks.mkdir(parents=True, exist_ok=True)  # somebody may have cleaned up since
    for number in range(usable_cores()):
        lock = os.open(locks / f"compiler-{number}-{platform.node()}.lock", os.O_RDWR | os.O_CREAT, 0o666)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # The child has the lock with the open file, and keeps it when this process closes its own descriptor.
            _children[task] = child = Popen(COMPILER, bufsize=0, stdin=PIPE, stdout=DEVNULL, stderr=DEVNULL, pass_fds=[lock])
        except BlockingIOError:
            continue
        finally:
            os.close(lock)
        assert child.stdin is not None
        child.stdin.write(task)  # it ends when this process does, and its end of the pipe
        return child
    return None


@atexit.register
def _end_compilers() -> None:
    """End what still compiles at once: a compiler that is busy hears late that its pipe has closed."""
    for child in _children.values():
        child.kill()


def main() -> None:
    """Compile the kernel that standard input names, for a signature, while standard input stays open."""
    name, signature = pickle.load(sys.stdin.buffer)
    Thread(target=lambda: (sys.stdin.buffer.read(), os._exit(1)), daemon=True).start()
    resolve_name(name).dispatcher.compile(signature)
