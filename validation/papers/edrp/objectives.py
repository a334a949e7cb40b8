"""Runs in the four objectives at once, with progress."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from joblib import Parallel, cpu_count, delayed
from joblib.externals.loky import get_reusable_executor
from rich.console import Console

from edrp.placement.metric_values import Weights
from edrp.report.progress import counting_several
from edrp.validation.papers.edrp.experiments import WEIGHTINGS
from edrp.validation.simulation.placement.replay import Replay, StepProgress

Run = Callable[[Weights, StepProgress], Replay]

STARTED_FIRST = ("Cost", "Baseline")
"""Objectives whose optima take longest to prove; begun last, one of them would run on alone."""


def in_all_objectives(console: Console, title: str, steps: int, run: Run, *, jobs: int | None = None) -> dict[str, Replay]:
    """Call `run`, which reports so many steps, with the weights of every objective; `jobs` of them at once in other processes.

    Progress is shown on a terminal by the title and the objective's name; elsewhere lines on standard error tell it.
    """
    names = list(WEIGHTINGS)
    jobs = min(len(names), cpu_count()) if jobs is None else jobs
    order = sorted(names, key=lambda name: name not in STARTED_FIRST)
    with TemporaryDirectory(prefix="edrp-") as folder:
        # Processes cannot call back into this one: they count in a file that all of them map.
        counts = Path(folder) / "steps-done"
        np.zeros(len(names), np.int64).tofile(counts)
        bars = [f"{title}: {name}" for name in names]
        text = f"{title}, {steps} decisions with each of {len(names)} sets of weights"
        with counting_several(console, text, bars, steps, lambda: np.fromfile(counts, np.int64).tolist()):
            runs = (delayed(_counted)(run, WEIGHTINGS[name], counts, names.index(name)) for name in order)
            results = dict(zip(order, Parallel(n_jobs=jobs)(runs), strict=True))
    return {name: results[name] for name in names}


def end_workers() -> None:
    """End the processes that runs have left for the next run; the program that ends would wait for them."""
    get_reusable_executor(reuse=True).shutdown(wait=True)


def _counted(run: Run, weights: Weights, counts: Path, index: int) -> Replay:
    counter = np.memmap(counts, np.int64, "r+")

    def count(steps_done: int, _: int) -> None:
        counter[index] = steps_done

    return run(weights, count)
