"""A bar that shows how far a batch or a long solve is, in a notebook as on a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console

from edrp.batch.progress import BatchProgress
from edrp.report.progress import Count, counting


@contextmanager
def progress_bar(text: str = "solving", *, console: Console | None = None) -> Iterator[Callable[..., None]]:
    """Show how far batches or solves are until the block ends; yields what they take as `progress`.

    A bar in notebooks (with the extra `notebook`, which brings ipywidgets) and on terminals; elsewhere a plain line on standard
    error now and then.

    Parameters
    ----------
    text
        Before the bar.
    console
        Where it is drawn; None for where Python runs.

    Examples
    --------
    >>> import edrp
    >>> problem = edrp.MigrationProblem(work=[1, 1], state_size=[5, 5], intervals=[(0, 2)], nodes=2, tolerance=0.5)
    >>> with edrp.progress_bar("migrating") as progress:  # the same for edrp.solve_batch
    ...     solution = edrp.solve(problem, progress=progress)
    """
    with counting(Console(stderr=True) if console is None else console, text) as report:

        def update(*state: Any) -> None:
            report(batch_count(state[0]) if len(state) == 1 else solve_count(*state))

        yield update


def batch_count(now: BatchProgress) -> Count:
    """How far a batch is; before the first row, what may keep it waiting.

    >>> batch_count(BatchProgress(total=40, done=12, failed=1, running=2, seconds=3.0)).note
    '1 failed, 2 running'
    >>> batch_count(BatchProgress(total=40, done=0, failed=0, running=2, seconds=3.0)).note
    '2 running; kernels that are not compiled yet come first'
    """
    if not now.done:
        return Count(0, now.total, f"{now.running} running; kernels that are not compiled yet come first")
    return Count(now.done, now.total, f"{now.failed} failed, {now.running} running")


def solve_count(seconds: float, objective: float | None, bound: float | None) -> Count:
    """How far a solve is, whose end nobody knows: the best objective yet, and what is proven.

    >>> solve_count(3.0, 5.25, 5.0).note, solve_count(1.0, None, None).note
    ('best 5.25, bound 5', 'nothing found yet')
    """
    found = "nothing found yet" if objective is None else f"best {objective:.6g}"
    return Count(0, None, found if bound is None else f"{found}, bound {bound:.6g}")
