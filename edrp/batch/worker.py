"""A process of its own that solves tasks, guarded: its death or its silence costs one row."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
from multiprocessing.connection import Connection
from pathlib import Path
from time import perf_counter
from typing import IO

from edrp.batch.solving import Row, lost
from edrp.batch.tasks import BatchPlan, Task
from edrp.core.errors import EdrpError
from edrp.core.spark import THREAD_COUNTS

READY = "ready"
"""The first word of a child."""

START_SECONDS = 300.0
"""Seconds that a worker process may take to import everything on a busy machine."""

START_ATTEMPTS = 3
"""Attempts to start a worker process that dies before it is ready, as when it is killed because memory runs out."""


class Worker:
    """Solves tasks one after the other in a child process, which is started when it is needed.

    >>> from edrp.batch.additions import packed_additions
    >>> from edrp.batch.tasks import Choice, Instance, Task
    >>> greedy = Choice.read("greedy")
    >>> with Worker(BatchPlan((greedy,), packed_additions([greedy]), kill_after=None)) as worker:
    ...     row = worker.solve(Task(Instance("a", "no JSON"), greedy, 0))
    >>> row["outcome"], row["error_type"]
    ('failed', 'InvalidInstanceError')
    """

    def __init__(self, plan: BatchPlan) -> None:
        self._plan = plan
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: Connection | None = None
        self._last_words: IO[bytes] | None = None

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def solve(self, task: Task) -> Row:
        """The row of the task, whatever happens to the child.

        Raises
        ------
        EdrpError
            When the child dies while it starts, several times.
        """
        connection = self._started()
        begin = perf_counter()
        try:
            connection.send(task)
            if not connection.poll(self._plan.kill_after):
                self.close()
                return lost(task, "TimeOut", f"killed: no answer within {self._plan.kill_after:g} s", perf_counter() - begin)
            row: Row = connection.recv()
        except (EOFError, OSError):
            return lost(task, "WorkerDied", self._cause_of_death(), perf_counter() - begin)
        return row

    def close(self) -> None:
        """Kill the child, whatever it is doing."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        if self._last_words is not None:
            self._last_words.close()
            self._last_words = None

    def _started(self) -> Connection:
        """The connection to a child that is ready; one that died since its last task is replaced."""
        if self._process is not None and self._process.poll() is not None:
            self.close()
        for attempt in range(1, START_ATTEMPTS + 1):
            if self._connection is not None:
                break
            try:
                self._start()
            except (EOFError, OSError):
                cause = self._cause_of_death()
                if attempt == START_ATTEMPTS:
                    raise EdrpError(f"a worker does not start: {cause}") from None
        assert self._connection is not None
        return self._connection

    def _start(self) -> None:
        parent_end, child_end = socket.socketpair()
        self._last_words = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the child
        self._process = subprocess.Popen(
            [sys.executable, "-m", "edrp.batch.child", str(child_end.fileno()), str(os.getpid())],
            pass_fds=[child_end.fileno()],
            env=_environment(),
            cwd=tempfile.gettempdir(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=self._last_words,
            start_new_session=True,  # Ctrl-C is for us: we decide what becomes of the child
        )
        child_end.close()
        self._connection = Connection(parent_end.detach())
        self._connection.send_bytes(self._plan.additions)
        if not self._connection.poll(START_SECONDS):
            self.close()
            raise EdrpError(f"a worker does not start within {START_SECONDS:g} s")
        if self._connection.recv() != READY:
            raise EOFError

    def _cause_of_death(self) -> str:
        """The cause of the child's death, with the end of what it printed; the next task gets a new child."""
        assert self._process is not None
        assert self._last_words is not None
        try:
            code = self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            code = 0
        self._last_words.seek(0)
        printed = self._last_words.read()[-500:].decode(errors="replace").strip()
        self.close()
        ending = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
        cause = f"the worker {ending}"
        if code == -signal.SIGKILL:
            cause += ", as happens when memory runs out"
        return f"{cause}: {printed}" if printed else cause


def _environment() -> dict[str, str]:
    """Ours, with one thread per library and the same packages within reach."""
    import_paths = [str(Path(entry).resolve()) for entry in sys.path]
    return {**os.environ, **dict.fromkeys(THREAD_COUNTS, "1"), "PYTHONPATH": os.pathsep.join(import_paths)}
