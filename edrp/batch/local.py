"""A batch on this machine: joblib's threads, each of which guards a process that solves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from queue import SimpleQueue

from joblib import Parallel, delayed, effective_n_jobs

from edrp.batch.solving import Row
from edrp.batch.tasks import BatchPlan, Task
from edrp.batch.worker import Worker


def jobs_for(tasks: Sequence[Task], n_jobs: int | None) -> int:
    """Processes at work at the same time, as joblib counts them: None is one per core, −2 all cores but one."""
    allowed: int = effective_n_jobs(-1 if n_jobs is None else n_jobs)
    return max(1, min(allowed, len(tasks)))


def solve_here(tasks: Sequence[Task], plan: BatchPlan, jobs: int) -> Iterator[Row]:
    """Rows of all tasks, as they come, from so many processes."""
    idle: SimpleQueue[Worker] = SimpleQueue()

    def solve(task: Task) -> Row:
        worker = idle.get()
        try:
            return worker.solve(task)
        finally:
            idle.put(worker)

    with ExitStack() as workers:
        # Whatever ends the loop, Ctrl-C too, kills the processes; their threads then end by themselves.
        for _ in range(jobs):
            idle.put(workers.enter_context(Worker(plan)))
        run = Parallel(n_jobs=jobs, backend="threading", batch_size=1, pre_dispatch="2 * n_jobs", return_as="generator_unordered")
        yield from run(delayed(solve)(task) for task in tasks)
