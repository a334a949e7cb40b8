"""Run something in the four objectives, with live progress on a terminal and none elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from edrp.problem import Weights
from edrp.validation.replay import Replay, StepProgress
from edrp.validation.scenario import WEIGHTINGS

Run = Callable[[Weights, StepProgress], Replay]


def in_all_objectives(console: Console, title: str, steps: int, run: Run, names: Iterable[str] = WEIGHTINGS) -> dict[str, Replay]:
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
        Takes weights and a progress callback.
    names
        Of the objectives.
    """
    names = list(names)
    found = {}
    with _progress(console) as progress:
        bars = {name: progress.add_task(f"{title}: {name}", total=steps) for name in names}
        for name in names:
            found[name] = run(WEIGHTINGS[name], _advance(progress, bars[name]))
    return found


def _advance(progress: Progress, bar: TaskID) -> StepProgress:
    return lambda done, _: progress.update(bar, completed=done)


def _progress(console: Console) -> Progress:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    return Progress(*columns, console=console, disable=not console.is_terminal)
