"""Runs in the four objectives at once, with live progress on a terminal and none elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event, Thread

import numpy as np
from joblib import Parallel, cpu_count, delayed
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from edrp.placement.edrp import Weights
from edrp.validation.papers.edrp.experiments import WEIGHTINGS
from edrp.validation.simulation.placement.replay import Replay, StepProgress

Run = Callable[[Weights, StepProgress], Replay]

POLL_SECONDS = 0.2


def in_all_objectives(
    console: Console, title: str, steps: int, run: Run, *, names: Sequence[str] = tuple(WEIGHTINGS), jobs: int | None = None
) -> dict[str, Replay]:
    """Call `run` with the weights of every objective.

    Parameters
    ----------
    console
        Where progress is shown if it is a terminal.
    title
        Before the objective's name.
    steps
        That a run will report.
    run
        Takes weights and a progress callback. With several jobs it runs in other processes.
    names
        Of the objectives.
    jobs
        How many to run at once; None for one per processor.
    """
    jobs = min(len(names), cpu_count()) if jobs is None else jobs
    with TemporaryDirectory(prefix="edrp-") as folder:
        # Processes cannot call back into this one: they count in a file that all of them map.
        counts = Path(folder) / "steps-done"
        np.zeros(len(names), np.int64).tofile(counts)
        with _shown(console, [f"{title}: {name}" for name in names], steps, counts):
            found = Parallel(n_jobs=jobs)(
                delayed(_counted)(run, WEIGHTINGS[name], counts, index) for index, name in enumerate(names)
            )
    return dict(zip(names, found, strict=True))


def _counted(run: Run, weights: Weights, counts: Path, index: int) -> Replay:
    done = np.memmap(counts, np.int64, "r+")

    def count(steps_done: int, _: int) -> None:
        done[index] = steps_done

    return run(weights, count)


@contextmanager
def _shown(console: Console, titles: Sequence[str], steps: int, counts: Path) -> Iterator[None]:
    """Bars that follow the counts until the block ends."""
    if not console.is_terminal:
        yield
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console) as progress:
        bars = [progress.add_task(title, total=steps) for title in titles]
        ended = Event()

        def show() -> None:
            for bar, done in zip(bars, np.fromfile(counts, np.int64), strict=True):
                progress.update(bar, completed=int(done))

        def follow() -> None:
            while not ended.wait(POLL_SECONDS):
                show()

        follower = Thread(target=follow, daemon=True)
        follower.start()
        try:
            yield
        finally:
            ended.set()
            follower.join()
            show()
