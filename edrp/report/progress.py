"""How far a job is: a bar on a terminal or in a notebook; elsewhere, as in a log, a plain line on standard error now and then."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from threading import Event, Lock, Thread
from time import perf_counter
from typing import Any

from rich.console import Console
from rich.markup import escape

from edrp.core.errors import visible

PAUSE = 5.0
"""Least seconds from one line to the next, and before the first."""

SHARE = 0.05
"""Share of the time so far that passes from one line to the next: the longer a job, the rarer its lines."""

STALLED = 30.0
"""Least seconds without a finished part after which no time left is estimated."""

POLL_SECONDS = 0.5
LINE_WIDTH = 1000

Tell = Callable[[str], object]
"""Called with what is being done."""


@dataclass(frozen=True, slots=True)
class Count:
    """How far a job is that can be counted.

    Attributes
    ----------
    done, total : parts of the job; the total is None before it is known.
    note : what else there is to say, such as how many parts have failed.
    """

    done: int
    total: int | None
    note: str = ""

    def text(self, seconds: float, unchanged: float = 0.0) -> str:
        """The count in words, `seconds` after the start; no estimate where it has been unchanged for too long.

        >>> Count(120, 400).text(30.0)
        '120 of 400 done, 30 s, about 70 s left'
        >>> Count(36, 50).text(240.0, unchanged=180.0)
        '36 of 50 done, 4.0 min, none finished for 3.0 min'
        """
        parts = [self.note or "starting"] if self.total is None else [f"{self.done} of {self.total} done"]
        parts += [self.note] if self.note and self.total is not None else []
        parts.append(duration(seconds))
        if self.total is not None and 0 < self.done < self.total and unchanged > max(STALLED, seconds / 2):
            parts.append(f"none finished for {duration(unchanged)}")
        elif self.total is not None and 0 < self.done < self.total:
            parts.append(f"about {duration(seconds / self.done * (self.total - self.done))} left")
        return ", ".join(parts)


@dataclass(frozen=True, slots=True)
class Step:
    """The activity of a job, where nothing can be counted."""

    name: str

    def text(self, seconds: float) -> str:
        """The step and how long the job takes already.

        >>> Step("starting Spark").text(12.3)
        'starting Spark, 12 s'
        """
        return ", ".join(filter(None, (self.name, duration(seconds))))


def duration(seconds: float) -> str:
    """Seconds for a reader.

    >>> duration(70.2), duration(400.0), duration(9000.0)
    ('70 s', '6.7 min', '2.5 h')
    """
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.1f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


class ProgressLines:
    """Lines about a job: at most one every few seconds, rarer the longer it takes, and a last one if there was any.

    Parameters
    ----------
    clock
        Seconds that have passed since any moment.
    """

    def __init__(self, console: Console, text: str, clock: Callable[[], float] = perf_counter) -> None:
        self._console, self._text, self._clock = console, text, clock
        self._begin = self._last = self._changed = clock()
        self._state: Count | Step = Count(0, None)
        self._printed: Count | Step | None = None
        self._lock = Lock()

    def update(self, state: Count | Step) -> None:
        """Take note of how far the job is, and say so if a line is due."""
        if isinstance(state, Count) and (not isinstance(self._state, Count) or state.done != self._state.done):
            self._changed = self._clock()
        self._state = state
        self.tick()

    def tick(self) -> None:
        """Say how far the job is if a line is due."""
        with self._lock:
            now = self._clock()
            if now - self._last >= max(PAUSE, SHARE * (now - self._begin)):
                self._print(now)

    def finish(self) -> None:
        """Say how far the job came, unless that was said or it was too short for any line."""
        with self._lock:
            if self._printed not in (None, self._state):
                self._print(self._clock())

    def _print(self, now: float) -> None:
        self._last, self._printed = now, self._state
        state, seconds = self._state, now - self._begin
        words = state.text(seconds, now - self._changed) if isinstance(state, Count) else state.text(seconds)
        line = visible(f"{self._text}: {words}")
        self._console.print(line, markup=False, highlight=False, soft_wrap=True)


@contextmanager
def counting(console: Console, text: str) -> Iterator[Callable[[Count], None]]:
    """Show how far a job is until the block ends; yields what is called with the count."""
    # Bars can be drawn on a terminal, and in a notebook that has ipywidgets, with which rich draws them.
    if not (console.is_terminal or (console.is_jupyter and find_spec("ipywidgets") is not None)):
        with _lines(text) as lines:
            yield lines.update
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    description, note = TextColumn("{task.description}"), TextColumn("{task.fields[note]}")
    columns = (description, BarColumn(), MofNCompleteColumn(), note, TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console) as progress:
        bar = progress.add_task(escape(text), total=None, note="")
        yield lambda now: progress.update(bar, completed=now.done, total=now.total, note=escape(now.note))
        progress.refresh()  # which a notebook would not see otherwise


@contextmanager
def counting_several(
    console: Console, text: str, names: Sequence[str], total: int, look: Callable[[], list[int]]
) -> Iterator[None]:
    """Show how far several jobs of the same length are until the block ends: a bar for each, or lines about all together.

    Parameters
    ----------
    text
        What they are together; the bars have their names.
    look
        Says how many parts of each are done; it is called now and then by a thread.
    """
    if not console.is_terminal:
        with _lines(text) as lines, _repeated(lambda: lines.update(Count(sum(look()), total * len(names)))):
            yield
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console) as progress:
        bars = [progress.add_task(escape(name), total=total) for name in names]

        def show() -> None:
            for bar, done in zip(bars, look(), strict=True):
                progress.update(bar, completed=done)

        with _repeated(show):
            yield


@contextmanager
def working(console: Console, text: str) -> Iterator[Tell]:
    """Show what is being done until the block ends; yields what is called with the name of each step."""
    if not console.is_terminal:
        with _lines(text) as lines:
            lines.update(Step(""))
            yield lambda step: lines.update(Step(step))
        return
    began = perf_counter()
    with console.status(escape(text)) as status:
        yield lambda step: status.update(escape(f"{text}: {Step(step).text(perf_counter() - began)}"))


@contextmanager
def _lines(text: str) -> Iterator[ProgressLines]:
    """Lines on standard error about a job until the block ends, also while it says nothing."""
    lines = ProgressLines(Console(stderr=True, width=LINE_WIDTH), text)
    with _repeated(lines.tick):
        yield lines
    lines.finish()


@contextmanager
def _repeated(look: Callable[[], None]) -> Iterator[None]:
    """Call a function twice a second in a thread until the block ends, and once more then."""
    ended = Event()

    def follow() -> None:
        while not ended.wait(POLL_SECONDS):
            look()

    follower = Thread(target=follow, daemon=True)
    follower.start()
    try:
        yield
    finally:
        ended.set()
        follower.join()
        look()


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
            batch = state[0]
            report(Count(batch.done, batch.total, batch.note) if len(state) == 1 else solve_count(*state))

        yield update


def solve_count(seconds: float, objective: float | None, bound: float | None) -> Count:
    """How far a solve is, whose end nobody knows: the best objective yet, and what is proven.

    >>> solve_count(3.0, 5.25, 5.0).note, solve_count(1.0, None, None).note
    ('best 5.25, bound 5', 'nothing found yet')
    """
    found = "nothing found yet" if objective is None else f"best {objective:.6g}"
    return Count(0, None, found if bound is None else f"{found}, bound {bound:.6g}")
