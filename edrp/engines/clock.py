"""The time of day and waiting, which a request to stop cuts short; tests give a clock of their own."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Protocol


class Clock(Protocol):
    """The time of day, and waiting."""

    def time(self) -> float:
        """Seconds since 1970."""

    def sleep(self, seconds: float) -> None:
        """Wait, less long where a stop is asked for."""

    def pause(self, seconds: float) -> None:
        """Wait in full, for steps that have to be finished."""

    @property
    def stopping(self) -> str | None:
        """The reason to stop, such as "SIGTERM"; None where there is none."""


class SystemClock:
    """The clock of the machine; `stop` may be called by a handler of signals."""

    def __init__(self) -> None:
        self._stop = threading.Event()
        self._why: str | None = None

    def time(self) -> float:
        """Seconds since 1970."""
        return time.time()

    def sleep(self, seconds: float) -> None:
        """Wait, less long where a stop is asked for."""
        self._stop.wait(seconds)

    def pause(self, seconds: float) -> None:
        """Wait for the whole time, whatever is asked to stop."""
        time.sleep(seconds)

    @property
    def stopping(self) -> str | None:
        """The reason to stop."""
        return self._why

    def stop(self, why: str) -> None:
        """Ask for a stop at the next step at which nothing is half done."""
        self._why = self._why or why
        self._stop.set()


@contextmanager
def stopping_on_signals(clock: SystemClock) -> Iterator[None]:
    """SIGINT and SIGTERM ask the clock for a stop while the block runs; in other threads than the first they stay as they are."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def handle(number: int, frame: FrameType | None) -> None:
        clock.stop(signal.Signals(number).name)

    before = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
