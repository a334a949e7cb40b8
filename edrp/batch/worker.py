"""Processes that solve tasks, guarded: the death or the silence of one costs one row; chunks of tasks go to any that is idle."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from multiprocessing.connection import Connection, wait
from pathlib import Path
from time import perf_counter
from typing import IO, Any, NamedTuple

from edrp.batch.journal import RollingJournal, new_run, settle_run
from edrp.batch.rows import Row, lost
from edrp.batch.tasks import BatchPlan, Task
from edrp.core.errors import EdrpError
from edrp.core.spark import THREAD_COUNTS

READY = "ready"
"""The first word of a child."""

DONE = "done"
"""The last word of a child, whose rows are all in files."""

START_SECONDS = 300.0
"""Seconds that a worker process may take to import everything on a busy machine."""

START_ATTEMPTS = 3
"""Attempts to start a worker process that dies before it is ready, as when it is killed because memory runs out."""

SETTLE_SECONDS = 300.0
"""Seconds that a worker process may take to turn its last rows into a file."""


class BatchFolder(NamedTuple):
    """Folder to which workers write their rows, and the fingerprint that these carry."""

    folder: Path
    batch: str


class Received(NamedTuple):
    """Answers for the first of a worker's tasks, in their order, and the tasks that it does not come to.

    An answer is the row of the task, or its outcome where the row is in the folder.
    """

    answers: list[Any]
    returned: Sequence[Task] = ()


class Worker:
    """Solves chunks of tasks in a child process, which is started when it is needed; see `edrp.batch.worker.solved`.

    Parameters
    ----------
    place
        Where the child writes its rows, of which only the outcomes come back; None: the rows come back.

    Attributes
    ----------
    pending : tasks that it has and of which there is no answer yet, in the order in which they are solved.
    """

    def __init__(self, plan: BatchPlan, place: BatchFolder | None = None) -> None:
        self._plan, self._place = plan, place
        self._run = ""
        self._process: subprocess.Popen[bytes] | None = None
        self._last_words: IO[bytes] | None = None
        self._lost = None if place is None else RollingJournal(*place)
        self._ready, self._starts, self._since = False, 0, 0.0
        self.connection: Connection | None = None
        self.pending: deque[Task] = deque()

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def patience(self) -> float | None:
        """Seconds that it may go on without a word; None for ever."""
        limit = self._plan.kill_after if self._ready else START_SECONDS
        return None if limit is None else max(0.0, limit - (perf_counter() - self._since))

    def assign(self, tasks: Sequence[Task]) -> None:
        """Give tasks to the child, which has none; one that does not run, or died since its last task, is started."""
        self.pending.extend(tasks)
        if self._process is not None and self._process.poll() is not None:
            self._end()
        if self._process is None:
            self._starts = 0
            self._start()
        elif self._ready:
            self._send()

    def receive(self) -> Received:
        """Read a message of the child, which may be its death.

        Raises
        ------
        EdrpError
            When the child dies while it starts, several times, or cannot write its rows.
        """
        assert self.connection is not None
        try:
            message = self.connection.recv()
        except (EOFError, OSError):
            return self._bury()
        if isinstance(message, EdrpError):
            raise message
        self._since = perf_counter()
        if message == READY:
            self._ready = True
            self._send()
            return Received([])
        for _ in message:
            self.pending.popleft()
        return Received(message)

    def kill(self) -> Received:
        """Kill the child, which has been silent for too long."""
        if not self._ready:
            self.close()
            raise EdrpError(f"a worker does not start within {START_SECONDS:g} s")
        return self._without_child("TimeOut", f"killed: no answer within {self._plan.kill_after:g} s")

    def close(self) -> None:
        """Kill the child, whatever it is doing; what it has written stays."""
        self._end()
        self.pending.clear()
        if self._lost is not None:
            self._lost.close()

    def say_enough(self) -> None:
        """Ask the child, which has no task, to turn its last rows into a file; `close` after `wait_until_done`."""
        if self.connection is not None and self._ready:
            with suppress(OSError):
                self.connection.send([])

    def wait_until_done(self) -> None:
        """Wait for the child that was asked to end; where it has died instead, its rows are put into a file here.

        Raises
        ------
        EdrpError
            When it cannot write its rows.
        """
        if self.connection is None or not self._ready:
            return
        try:
            message = self.connection.recv() if self.connection.poll(SETTLE_SECONDS) else None
        except (EOFError, OSError):
            return
        if isinstance(message, EdrpError):
            raise message

    def _send(self) -> None:
        assert self.connection is not None
        self._since = perf_counter()
        with suppress(OSError):  # if it is dead, the next look at the connection tells
            self.connection.send(list(self.pending))

    def _start(self) -> None:
        parent_end, child_end = socket.socketpair()
        self._starts, self._since, self._run = self._starts + 1, perf_counter(), new_run()
        self._last_words = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the child
        import_paths = os.pathsep.join(str(Path(entry).resolve()) for entry in sys.path)  # the same packages within reach
        self._process = subprocess.Popen(
            [sys.executable, "-m", "edrp.batch.child", str(child_end.fileno()), str(os.getpid())],
            pass_fds=[child_end.fileno()],
            env={**os.environ, **dict.fromkeys(THREAD_COUNTS, "1"), "PYTHONPATH": import_paths},
            cwd=tempfile.gettempdir(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=self._last_words,
            start_new_session=True,  # Ctrl-C is for us: we decide what becomes of the child
        )
        child_end.close()
        self.connection = Connection(parent_end.detach())
        with suppress(OSError):  # as in `_send`
            self.connection.send((self._plan.additions, None if self._place is None else (*self._place, self._run)))

    def _bury(self) -> Received:
        """Account for a child that died: its task fails, or it is started again if it has not begun with one."""
        was_ready, cause = self._ready, self._cause_of_death()
        if was_ready:
            return self._without_child("WorkerDied", cause)
        self._end()
        if self._starts >= START_ATTEMPTS:
            raise EdrpError(f"a worker does not start: {cause}")
        self._start()
        return Received([])

    def _without_child(self, error_type: str, why: str) -> Received:
        """The answers that the child has written without saying so, a failed row, and the tasks that are left."""
        seconds, written = perf_counter() - self._since, self._end()
        keys = [task.key for task in self.pending] if written else []
        count = next((index for index, key in enumerate(keys) if key not in written), len(keys))
        answers: list[Any] = [written[key] for key in keys[:count]]
        tasks = list(self.pending)[count:]
        self.pending.clear()
        if tasks:
            answers.append(self._keep(lost(tasks[0], error_type, why, seconds)))
        return Received(answers, tasks[1:])

    def _keep(self, row: Row) -> Any:
        if self._lost is None:
            return row
        self._lost.write(row)
        return row["outcome"]

    def _end(self) -> dict[str, str]:
        """Kill the child and return the outcomes of the rows of its journal, which becomes a file, by key."""
        process, self._process, self._ready = self._process, None, False
        if process is not None:
            process.kill()
            process.wait()
        if self.connection is not None:
            self.connection.close()
            self.connection = None
        if self._last_words is not None:
            self._last_words.close()
            self._last_words = None
        return {} if process is None or self._place is None else settle_run(*self._place, self._run)

    def _cause_of_death(self) -> str:
        """The cause of the child's death, with the end of what it printed."""
        assert self._process is not None
        assert self._last_words is not None
        try:
            code = self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            code = 0
        self._last_words.seek(0)
        printed = self._last_words.read()[-500:].decode(errors="replace").strip()
        ending = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
        cause = f"the worker {ending}"
        if code == -signal.SIGKILL:
            cause += ", as happens when memory runs out"
        return f"{cause}: {printed}" if printed else cause


CHUNK_SECONDS = 0.1
"""Seconds of work that a worker gets at once: long enough to hide the way there, too short for others to wait for."""

CHUNK_TASKS, CHUNK_CHARACTERS = 256, 2**20
"""Tasks, and characters of their instances, that a worker gets at once, at most."""


class _Queue:
    """Tasks that no worker has yet, and how many are left; those that come back are given away first."""

    def __init__(self, tasks: Iterable[Task], count: int) -> None:
        self._tasks, self._returned, self.count = iter(tasks), deque[Task](), count

    def put_back(self, tasks: Iterable[Task]) -> None:
        returned = list(tasks)
        self._returned.extend(returned)
        self.count += len(returned)

    def take(self, max_tasks: int) -> list[Task]:
        chunk: list[Task] = []
        characters = 0
        while len(chunk) < max_tasks and characters < CHUNK_CHARACTERS:
            task = self._returned.popleft() if self._returned else next(self._tasks, None)
            if task is None:
                break
            chunk.append(task)
            characters += len(task.instance.text)
        self.count -= len(chunk)
        return chunk


def solve_here(tasks: Iterable[Task], count: int, plan: BatchPlan, jobs: int, place: BatchFolder) -> Iterator[str]:
    """Outcomes of `count` tasks as they come, from `jobs` processes, which write the rows to the place."""
    with ExitStack() as stack:
        # Whatever ends the loop, Ctrl-C too, kills the processes; what they have written stays.
        workers = [stack.enter_context(Worker(plan, place)) for _ in range(jobs)]
        yield from solved(tasks, count, workers)
        for worker in workers:
            worker.say_enough()
        for worker in workers:
            worker.wait_until_done()


def solved(tasks: Iterable[Task], count: int, workers: Sequence[Worker]) -> Iterator[Any]:
    """Answers for `count` tasks as they come (`Received`), from workers without tasks, which stay as they are.

    Chunks grow while rows are fast, and shrink with what is left, so that the last rows do not queue for one worker.

    >>> from edrp.batch.tasks import Choice, Instance, packed_additions
    >>> greedy = Choice.read("greedy")
    >>> with Worker(BatchPlan((greedy,), packed_additions([greedy]), kill_after=None)) as worker:
    ...     (row,) = solved([Task(Instance("a", "no JSON"), greedy, 0)], 1, [worker])
    >>> row["outcome"], row["error_type"]
    ('failed', 'InvalidInstanceError')
    """
    queue, paces = _Queue(tasks, count), {worker: _Pace() for worker in workers}
    try:
        while True:
            for worker, pace in paces.items():
                size = min(pace.next_size(), max(1, queue.count // (2 * len(workers))))
                if not worker.pending and (chunk := queue.take(size)):
                    pace.begin(len(chunk))
                    worker.assign(chunk)
            busy = [worker for worker in workers if worker.pending]
            if not busy:
                return
            for received in _heard(busy):
                queue.put_back(received.returned)
                yield from received.answers
    finally:
        for worker in workers:
            if worker.pending:  # nobody waits for its answers any more
                worker.close()


def _heard(workers: Sequence[Worker]) -> Iterator[Received]:
    """Wait until a worker says something or has been silent for too long, and yield what comes of it."""
    limits = [limit for limit in (worker.patience for worker in workers) if limit is not None]
    ready = wait([worker.connection for worker in workers if worker.connection is not None], min(limits, default=None))
    for worker in workers:
        if worker.connection in ready:
            yield worker.receive()
        elif worker.patience == 0:
            yield worker.kill()


class _Pace:
    """Chooses how many tasks a worker gets at once, by the time that its last chunk took."""

    def __init__(self) -> None:
        self._size, self._since = 0, 0.0

    def begin(self, size: int) -> None:
        self._size, self._since = size, perf_counter()

    def next_size(self) -> int:
        if not self._size:
            return 1
        seconds = max(perf_counter() - self._since, CHUNK_SECONDS / CHUNK_TASKS)
        return max(1, min(CHUNK_TASKS, 2 * self._size, int(self._size * CHUNK_SECONDS / seconds)))
