"""Workers side by side: chunks of tasks go to any that is idle, and answers come back as they are found."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from multiprocessing.connection import wait
from time import perf_counter
from typing import Any

from edrp.batch.tasks import BatchPlan, Task
from edrp.batch.worker import Place, Received, Worker

CHUNK_SECONDS = 0.1
"""Seconds of work that a worker gets at once: long enough to hide the way there, too short for others to wait for."""

CHUNK_TASKS, CHUNK_CHARACTERS = 256, 2**20
"""Tasks, and characters of their instances, that a worker gets at once, at most."""


class _Queue:
    """Tasks that nobody has yet, of which so many are left; those that come back are given away first."""

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


def solve_here(tasks: Iterable[Task], count: int, plan: BatchPlan, jobs: int, place: Place) -> Iterator[str]:
    """Outcomes of so many tasks as they come, from so many processes, which write the rows to the place."""
    with ExitStack() as stack:
        # Whatever ends the loop, Ctrl-C too, kills the processes; what they have written stays.
        workers = [stack.enter_context(Worker(plan, place)) for _ in range(jobs)]
        yield from solved(tasks, count, workers)
        for worker in workers:
            worker.say_enough()
        for worker in workers:
            worker.wait_until_done()


def solved(tasks: Iterable[Task], count: int, workers: Sequence[Worker]) -> Iterator[Any]:
    """Answers for so many tasks as they come (`Received`), from workers without tasks, which stay as they are.

    Chunks grow while rows are fast, and shrink with what is left, so that the last rows do not queue for one worker.

    >>> from edrp.batch.additions import packed_additions
    >>> from edrp.batch.tasks import Choice, Instance
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
