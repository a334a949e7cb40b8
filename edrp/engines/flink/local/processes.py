"""Processes that end with the one that started them."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from edrp.engines.flink.local import watchdog

LOOPBACK = "127.0.0.1"

SECONDS_TO_STOP = 5.0
"""Seconds between the request to end and the moment when a process is killed."""


def free_ports(count: int) -> list[int]:
    """Ports of the loopback address that nobody listens on now, all different."""
    with ExitStack() as stack:
        listeners = [stack.enter_context(socket.socket()) for _ in range(count)]
        for listener in listeners:
            listener.bind((LOOPBACK, 0))
        return [int(listener.getsockname()[1]) for listener in listeners]


class ProcessGroup:
    """Starts processes and stops them, each by its identifier; a watchdog kills them should this process die before.

    Each has a session of its own: Ctrl-C reaches this process only, which then stops them in order.
    """

    def __init__(self) -> None:
        command = [sys.executable, "-I", "-S", str(Path(watchdog.__file__))]
        self._watchdog = subprocess.Popen(command, stdin=subprocess.PIPE, text=True, start_new_session=True)
        self._running: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, name: str, command: Sequence[str], output: Path, environment: Mapping[str, str]) -> int:
        """Start a process, whose output goes to a file, and return its identifier."""
        with output.open("ab") as target:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=target,
                stderr=subprocess.STDOUT,
                env=dict(environment),
                cwd=output.parent,
                start_new_session=True,
            )
        self._running[name] = process
        self._send(f"+{process.pid}")
        return process.pid

    def identifier(self, name: str) -> int | None:
        """Identifier of a process that was started and not stopped."""
        process = self._running.get(name)
        return None if process is None else process.pid

    def ended(self) -> list[str]:
        """Names of processes that have ended by themselves."""
        return [name for name, process in self._running.items() if process.poll() is not None]

    def stop(self, *names: str) -> None:
        """Ask processes to end, all at once, and kill those that do not."""
        processes = [self._running.pop(name) for name in names if name in self._running]
        for process in processes:
            process.terminate()
        for process in processes:
            try:
                process.wait(SECONDS_TO_STOP)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            self._send(f"-{process.pid}")

    def kill(self, name: str) -> None:
        """End a process by SIGKILL, as a crash does: it closes and says nothing."""
        process = self._running.pop(name)
        process.kill()
        process.wait()
        self._send(f"-{process.pid}")

    def close(self) -> None:
        """Stop all processes, whatever happens in between, and the watchdog."""
        try:
            self.stop(*self._running)
        finally:
            for process in self._running.values():
                process.kill()
            assert self._watchdog.stdin is not None
            with contextlib.suppress(BrokenPipeError):
                self._watchdog.stdin.close()
            self._watchdog.wait()

    def _send(self, line: str) -> None:
        assert self._watchdog.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # a watchdog that somebody has killed is not needed to stop in order
            self._watchdog.stdin.write(f"{line}\n")
            self._watchdog.stdin.flush()
