"""Compilation of kernels: its seconds, and a process of its own for it where a time limit must hold.

A compiler cannot be interrupted. Under a time limit another process compiles a kernel into the user's cache while this one
waits, at most until time is up. That process goes on at low priority, no longer than this one lives, so that a later call finds
the kernel: with a limit shorter than it takes to compile one, every call would begin again, and none would find it compiled.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pkgutil import resolve_name
from threading import Thread
from time import perf_counter
from typing import Any

from edrp.core.budget import clock, compiles_patiently
from edrp.core.errors import OutOfTimeError

STILL_COMPILING = "kernels were still being compiled when time was up; `edrp warm-up` compiles them, once and for all"


@dataclass
class Compilation:
    """For how many seconds this process has waited for the compiler, how often it gave up, and whom it tells when it begins."""

    seconds: float = 0.0
    given_up: int = 0
    listeners: list[Callable[[], None]] = field(default_factory=list)

    @contextmanager
    def told(self, listener: Callable[[], None]) -> Iterator[None]:
        """Call a function whenever waiting begins, as long as the block lasts."""
        self.listeners.append(listener)
        try:
            yield
        finally:
            self.listeners.remove(listener)

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Count the seconds of the block; time limits that wait for the compiler move by them."""
        began = perf_counter()
        for listener in self.listeners:
            listener()
        try:
            yield
        finally:
            self.seconds += (seconds := perf_counter() - began)
            if compiles_patiently():
                clock().extend(seconds)


compilation = Compilation()

_children: dict[bytes, subprocess.Popen[bytes]] = {}


def compile_apart(function: Callable[..., Any], signature: Any, seconds: float) -> None:
    """Have another process compile a kernel into the cache; raises `OutOfTimeError` when that takes more than some seconds."""
    task = pickle.dumps((f"{function.__module__}:{function.__qualname__}", signature))
    child = _children.get(task)
    if child is None or child.poll() is not None:
        command = [sys.executable, "-c", f"from {__name__} import main; main()"]
        child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _children[task] = child
        assert child.stdin is not None
        child.stdin.write(task)
        child.stdin.flush()  # it ends when this process does
    try:
        with compilation.waiting():
            child.wait(max(0.0, seconds))
    except subprocess.TimeoutExpired:
        compilation.given_up += 1
        os.setpriority(os.PRIO_PROCESS, child.pid, 10)
        raise OutOfTimeError(STILL_COMPILING) from None
    _children.pop(task).communicate()


def main() -> None:
    """Compile the kernel that standard input names, for a signature, while standard input stays open."""
    name, signature = pickle.load(sys.stdin.buffer)
    Thread(target=lambda: (sys.stdin.buffer.read(), os._exit(1)), daemon=True).start()
    resolve_name(name).dispatcher.compile(signature)
