"""Compilation of kernels: its seconds, and a process of its own for it where a time limit must hold.

A compiler cannot be interrupted. Under a time limit another process compiles a kernel into the user's cache while this one
waits, at most until time is up. That process goes on at low priority, no longer than this one lives, so that a later call finds
the kernel: with a limit shorter than it takes to compile one, every call would begin again, and none would find it compiled.
"""

from __future__ import annotations

import importlib
import os
import pickle
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Any

from edrp.core.budget import clock, compiles_patiently
from edrp.core.errors import OutOfTimeError

STILL_COMPILING = "kernels were still being compiled when time was up; `edrp warm-up` compiles them, once and for all"

FOR_WHEEL = "EDRP_KERNELS_FOR_WHEEL"
"""Environment variable: folder to which machine code for a wheel is written, too."""

LOW_PRIORITY = 10
"""Niceness of a process that goes on compiling when the answer has been given."""


class Compilation:
    """The compiler as this process has waited for it.

    Attributes
    ----------
    seconds : waited for so far.
    listeners : called whenever a kernel begins to be compiled.
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        self.listeners: list[Callable[[], None]] = []
        self._depth = 0
        self._began = 0.0

    def begin(self) -> None:
        """Count from here, unless it is a part of what is being compiled already."""
        if not self._depth:
            self._began = perf_counter()
            for listener in self.listeners:
                listener()
        self._depth += 1

    def end(self) -> None:
        """Count up to here."""
        self._depth -= 1
        if not self._depth:
            seconds = perf_counter() - self._began
            self.seconds += seconds
            if compiles_patiently():
                clock().extend(seconds)

    @contextmanager
    def told(self, listener: Callable[[], None]) -> Iterator[None]:
        """Call a function whenever compiling begins, as long as the block lasts.

        >>> with Compilation().told(print):
        ...     pass
        """
        self.listeners.append(listener)
        try:
            yield
        finally:
            self.listeners.remove(listener)


compilation = Compilation()
"""That of this process."""

_children: dict[tuple[str, str, str], subprocess.Popen[bytes]] = {}


def compile_apart(function: Callable[..., Any], signature: Any, seconds: float) -> None:
    """Have another process compile a kernel into the cache, and wait for it for some seconds.

    Raises
    ------
    OutOfTimeError
        When it is not done by then.
    """
    key = (function.__module__, function.__qualname__, str(signature))
    child = _children.get(key) or _started(key, signature)
    _children[key] = child
    try:
        child.wait(max(0.0, seconds))
    except subprocess.TimeoutExpired:
        os.setpriority(os.PRIO_PROCESS, child.pid, LOW_PRIORITY)
        raise OutOfTimeError(STILL_COMPILING) from None
    except BaseException:
        child.kill()
        raise
    finally:
        if child.poll() is not None:
            del _children[key]


def _started(key: tuple[str, str, str], signature: Any) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "edrp.core.compiling", str(os.getpid())]
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    assert child.stdin is not None
    with child.stdin as task:
        task.write(pickle.dumps((*key[:2], signature)))
    return child


def _end_with(parent: int) -> None:
    """End at once when the parent has."""
    while os.getppid() == parent:
        time.sleep(0.2)
    os._exit(1)


def main() -> None:
    """Compile the kernel that standard input names, for a signature."""
    threading.Thread(target=_end_with, args=(int(sys.argv[1]),), daemon=True).start()
    module, name, signature = pickle.loads(sys.stdin.buffer.read())
    getattr(importlib.import_module(module), name).dispatcher.compile(signature)


if __name__ == "__main__":
    main()
