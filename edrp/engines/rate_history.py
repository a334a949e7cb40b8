"""Histories of the rate that is offered to a job: a file of past rates, and what is observed from then on."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np

from edrp.core.arrays import Floats
from edrp.core.errors import Fault, InvalidInstanceError
from edrp.core.files import read_whole

DAY = 86400.0
"""Seconds of the usual season."""

HEADER = ["time", "rate"]
"""Columns of a file: the second since 1970 at which a step begins, and mean tuples/s during the step."""

MAX_FAULTS = 20
"""Faults of a file that are listed at most."""

STEP_SLACK = 0.01
"""Share of a step by which times in a file may be rounded."""


@dataclass(frozen=True, slots=True)
class RateHistory:
    """Mean rates of equal steps, the oldest first.

    Attributes
    ----------
    step : seconds of a step.
    season : seconds after which the load is expected to repeat itself, usually a day.
    rates : (steps,) tuples/s that were offered; NaN where a step was not observed.
    end : when the last step ends, in seconds since 1970.

    Examples
    --------
    >>> history = RateHistory(600.0, 86400.0, np.full(288, 5.0))
    >>> history.season_steps, history.seasons
    (144, 2.0)
    """

    step: float
    season: float
    rates: Floats
    end: float = 0.0

    @property
    def season_steps(self) -> int:
        """Steps of a season."""
        return max(1, round(self.season / self.step))

    @property
    def seasons(self) -> float:
        """Number of seasons that it covers."""
        return len(self.rates) / self.season_steps

    def extended(self, observed: Sequence[tuple[float, float, float]], now: float) -> RateHistory:
        """The history up to the last whole step before `now`, with rates that were observed after its end.

        Parameters
        ----------
        observed
            Observations as (when it began, when it ended, tuples/s), by the same clock. A step gets their mean, weighted by
            the seconds that they share with it, and NaN where there are none.
        now
            Time in seconds since 1970.
        """
        steps = max(0, math.floor((now - self.end) / self.step + STEP_SLACK))
        seconds, tuples = np.zeros(steps), np.zeros(steps)
        for begin, end, rate in observed:
            first, last = (begin - self.end) / self.step, (end - self.end) / self.step
            for index in range(max(0, math.floor(first)), min(steps, math.ceil(last))):
                shared = (min(last, index + 1) - max(first, index)) * self.step
                seconds[index] += shared
                tuples[index] += shared * rate
        with np.errstate(invalid="ignore"):
            later = tuples / seconds
        return replace(self, rates=np.concatenate([self.rates, later]), end=self.end + steps * self.step)


def read_history(path: str | Path, season: float = DAY, step: float | None = None) -> RateHistory:
    """Read a history from a CSV file with the header `time,rate`, one row per step.

    Parameters
    ----------
    season
        Seconds after which the load is expected to repeat itself.
    step
        Seconds of a step that are expected; None for those of the first two rows.

    Raises
    ------
    InvalidInstanceError
        All faults, each with its row: no such columns, fewer than two rows, what is no number, a negative rate, times that do
        not rise or leave a hole, another step than is expected, or a season that is no multiple of the step.
    NoSuchFileError
        There is no such file.
    """
    rows = list(csv.reader(io.StringIO(read_whole(Path(path)))))
    if not rows or [name.strip() for name in rows[0]] != HEADER:
        header = ",".join(rows[0]) if rows else ""
        raise InvalidInstanceError([Fault("line 1", header, f"must be the header {','.join(HEADER)}")], str(path))
    numbers, faults = _numbers(rows[1:])
    if not faults and len(numbers) < 2:
        faults = [Fault("rows", len(numbers), "are too few; a history needs two or more")]
    if not faults:
        faults = list(_faults(numbers, season, step))
    if faults:
        raise InvalidInstanceError(faults[:MAX_FAULTS], str(path))
    width = step or numbers[1][1] - numbers[0][1]
    return RateHistory(width, season, np.array([rate for _, _, rate in numbers]), numbers[-1][1] + width)


def _numbers(rows: Sequence[Sequence[str]]) -> tuple[list[tuple[int, float, float]], list[Fault]]:
    """Line, time and rate of each row, and the faults of rows that are none; lines without text are skipped."""
    numbers: list[tuple[int, float, float]] = []
    faults: list[Fault] = []
    for line, row in enumerate(rows, 2):
        if not row:
            continue
        try:
            time, rate = map(float, row)
        except ValueError:
            faults.append(Fault(f"line {line}", ",".join(row), "must be two numbers: a time and a rate"))
            continue
        if not math.isfinite(time) or not math.isfinite(rate):
            faults.append(Fault(f"line {line}", ",".join(row), "must be finite"))
        elif rate < 0:
            faults.append(Fault(f"line {line}.rate", rate, "must not be negative"))
        numbers.append((line, time, rate))
    return numbers, faults


def _faults(numbers: Sequence[tuple[int, float, float]], season: float, step: float | None) -> Iterator[Fault]:
    """Faults of the times."""
    width = step or numbers[1][1] - numbers[0][1]
    for (_, before, _), (line, time, _) in pairwise(numbers):
        seconds = time - before
        if seconds <= 0:
            yield Fault(f"line {line}.time", time, "must be later than that of the row before; sort the rows by time")
        elif seconds > width * (1.0 + STEP_SLACK):
            holes = f"a step of {seconds:g} s follows steps of {width:g} s"
            yield Fault(f"line {line}.time", time, f"leaves a hole: {holes}; give every step a row")
        elif seconds < width * (1.0 - STEP_SLACK):
            yield Fault(f"line {line}.time", time, f"is {seconds:g} s after the row before, and steps have {width:g} s")
    multiple = season / width if width > 0 else 0.0
    if width > 0 and (round(multiple) < 1 or abs(multiple - round(multiple)) > STEP_SLACK):
        yield Fault("season", season, f"must be a multiple of the step of {width:g} s")
