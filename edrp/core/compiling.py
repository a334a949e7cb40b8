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

STILL_COMPILING = "kernels were still being compiled when time was up; `edrp warm-up` compiles them, once and for all"

HEARD = 0.2
"""Seconds within which Ctrl-C ends waiting for the compiler."""


compiling_begins: ContextVar[Callable[[], object]] = ContextVar("compiling_begins", default=lambda: None)
"""Called whenever a kernel is to be waited for."""


@dataclass
class Compilation:
    """For how many seconds this process has waited for the compiler, and how often in vain."""

    seconds: float = 0.0
    given_up: int = 0

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


def compiled_apart(function: Callable[..., Any], signature: Any) -> bool:
    """Have another process compile a kernel within the time limit, or raise `OutOfTimeError`; false where there is no limit."""
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
        os.setpriority(os.PRIO_PROCESS, child.pid, 10)
        raise OutOfTimeError(STILL_COMPILING)
    _children.pop(task).communicate()
    return True


def main() -> None:
    """Compile the kernel that standard input names, for a signature, while standard input stays open."""
    name, signature = pickle.load(sys.stdin.buffer)
    Thread(target=lambda: (sys.stdin.buffer.read(), os._exit(1)), daemon=True).start()
    resolve_name(name).dispatcher.compile(signature)
