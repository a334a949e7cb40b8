"""Forecasts of the rate that is offered to a job, with quantiles by the errors of past forecasts.

The forecast of a step is the median of the same step in past seasons, times the ratio of what was observed in the last
twenty-fourth of a season to what that median said of it; the ratio fades to 1 with the lead. Whether seasons or every seventh
season (the same weekday) are compared, and how fast the ratio fades, is what would have been best in the past. A history is read
from a file of past rates, and goes on with what is observed from then on.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from edrp.core.arrays import Bools, Floats, Ints
from edrp.core.errors import Fault, InvalidInstanceError
from edrp.core.files import decode_text, read_content

PAST_SEASONS = 6
"""Past seasons whose median is taken."""

RECENT_SHARE = 24
"""Part of a season whose ratio counts: the last hour of a day."""

MAX_RATIO = 4.0
"""Ratio of observed to expected rates that is believed at most, and the inverse at least."""

WEEK = 7
"""Seasons of a week, where seasons are days."""

WEEKS_NEEDED = 4
"""Weeks from which on weekdays may be compared with each other."""

FADES = (1.0, 3.0, 9.0, 0.0)
"""Candidates for the lead at which the ratio has faded to its e-th part, in twenty-fourths of a season; 0 for no ratio."""

TESTED_SEASONS, TESTED_SHIFTS = 28, (-3, -2, -1, 0, 1, 2, 3)
"""Past forecasts by whose errors quantiles are set: those made at about this time of the last `TESTED_SEASONS` seasons,
shifted by `TESTED_SHIFTS` thirds of a twenty-fourth of a season."""

ERRORS_NEEDED = 12
"""Past errors below which quantiles are wide instead."""

WIDE = 0.5
"""Standard deviation of the logarithm of the rate where errors of past forecasts are not known."""

FLOOR_SHARE = 0.01
"""Share of the mean rate that is added before errors are divided by the forecast, which may be 0 at night."""

DAY = 86400.0
"""Seconds of the usual season."""

HEADER = ["time", "rate"]
"""Columns of a file: the second since 1970 at which a step begins, and mean tuples/s during the step."""

MAX_FAULTS = 20
"""Faults of a file that are listed at most."""

STEP_SLACK = 0.01
"""Share of a step by which times in a file may be rounded."""


class _Candidate(NamedTuple):
    """A way to forecast: steps between the seasons compared, and the lead in steps at which the ratio has faded."""

    period: int
    fade: float


def forecast(
    history: RateHistory, recent: Floats | Sequence[float], steps: int, quantiles: Sequence[float] = (0.5, 0.9)
) -> Floats:
    """Forecast the rates of the next steps.

    Parameters
    ----------
    history
        Past rates.
    recent
        (m,) tuples/s of the steps that followed the history up to now, oldest first; may be empty. NaN where nothing was
        observed.
    steps
        Number of steps from now.
    quantiles
        Probabilities, between 0 and 1, with which the rate is below.

    Returns
    -------
    Floats
        (quantiles, steps) tuples/s, never negative. With less than one season of past rates it is the mean of the last
        twenty-fourth of a season throughout, with wide quantiles: see `forecast_remark`.

    Raises
    ------
    InvalidInstanceError
        No rate is known, no step is asked for, or a quantile is not between 0 and 1.

    Examples
    --------
    >>> days = np.tile([10.0, 10.0, 30.0, 20.0], 40)
    >>> forecast(RateHistory(21600.0, 86400.0, days), [10.0, 10.0], 3, [0.5]).round(6)
    array([[30., 20., 10.]])
    """
    series = np.concatenate([history.rates, np.asarray(recent, dtype=float)])
    faults = list(_faults(series, steps, quantiles))
    InvalidInstanceError.raise_if_any(faults, "forecast")
    season = history.season_steps
    recent_steps = max(1, season // RECENT_SHARE)
    if len(series) < season:
        known = series[-recent_steps:][~np.isnan(series[-recent_steps:])]
        level = np.mean(known) if len(known) else np.nanmean(series)
        return _wide(np.full(steps, level), quantiles)
    origins = _past_origins(len(series), season)
    best, errors = _best_candidate(series, origins, steps, season, recent_steps)
    (middle,) = _predict(series, np.array([len(series)]), steps, best, recent_steps)
    middle = np.where(np.isnan(middle), np.nanmean(series), middle)
    if errors is None:
        return _wide(middle, quantiles)
    floor = FLOOR_SHARE * np.nanmean(series)
    with np.errstate(invalid="ignore"):
        shares = _quantiles(errors, quantiles)
    wide = _wide(middle, quantiles)
    values = middle + shares * (middle + floor)
    return np.maximum(0.0, np.where(np.isnan(shares), wide, values))


def forecast_remark(history: RateHistory) -> str | None:
    """The limits of a forecast from this history, in a sentence; None where nothing does.

    >>> forecast_remark(RateHistory(3600.0, 86400.0, np.ones(12)))
    'the history covers 0.5 seasons: until it covers one, the load is expected to stay as it is, with wide quantiles'
    """
    if history.seasons < 1:
        expected = "until it covers one, the load is expected to stay as it is, with wide quantiles"
        return f"the history covers {history.seasons:.2g} seasons: {expected}"
    if history.seasons < 3:
        return f"the history covers {history.seasons:.2g} seasons: errors of past forecasts are not known, and quantiles are wide"
    return None


def _faults(series: Floats, steps: int, quantiles: Sequence[float]) -> Iterator[Fault]:
    if not np.any(np.isfinite(series)):
        yield Fault("history", "", "holds no rate")
    if steps < 1:
        yield Fault("steps", str(steps), "must be at least 1")
    for quantile in quantiles:
        if not 0.0 < quantile < 1.0:
            yield Fault("quantiles", f"{quantile:g}", "must be between 0 and 1")


def _wide(middle: Floats, quantiles: Sequence[float]) -> Floats:
    """Quantiles of a logarithmic normal distribution with a large spread, (quantiles, steps)."""
    factors = np.exp([WIDE * NormalDist().inv_cdf(quantile) for quantile in quantiles])
    return factors[:, None] * middle


def _past_origins(length: int, season: int) -> Ints:
    """Steps before which past forecasts are made, at about the same time of earlier seasons."""
    shifts = np.unique([round(shift * season / RECENT_SHARE / 3) for shift in TESTED_SHIFTS])
    origins = (length - season * np.arange(1, TESTED_SEASONS + 1)[:, None] + shifts).ravel()
    possible: Ints = origins[(origins > season) & (origins < length)]
    return possible


def _best_candidate(
    series: Floats, origins: Ints, steps: int, season: int, recent_steps: int
) -> tuple[_Candidate, Floats | None]:
    """The way whose past forecasts were best, and their relative errors, (origins, steps); None where there are too few."""
    periods = [season, *([WEEK * season] if len(series) >= WEEKS_NEEDED * WEEK * season else [])]
    candidates = [_Candidate(period, fade * season / RECENT_SHARE) for period in periods for fade in FADES]
    if not len(origins):
        return candidates[0], None
    later = origins[:, None] + np.arange(steps)
    actual = np.where(later < len(series), series[np.minimum(later, len(series) - 1)], np.nan)
    floor = FLOOR_SHARE * np.nanmean(series)
    forecasts = np.array([_predict(series, origins, steps, way, recent_steps) for way in candidates])
    known = ~np.isnan(actual) & ~np.isnan(forecasts).any(axis=0)
    if known.sum(axis=0)[0] < ERRORS_NEEDED:
        return candidates[0], None
    losses = [np.abs(actual - expected)[known].mean() for expected in forecasts]
    best = int(np.argmin(losses))
    errors = (actual - forecasts[best]) / np.maximum(forecasts[best] + floor, np.finfo(float).tiny)
    return candidates[best], errors


def _predict(series: Floats, origins: Ints, steps: int, way: _Candidate, recent_steps: int) -> Floats:
    """Forecasts made before each of the origins from what was known then, (origins, steps); NaN where nothing was."""
    leads = np.arange(-recent_steps, steps)
    times = origins[:, None] + leads
    first = np.maximum(leads, 0) // way.period + 1  # seasons back, until all is known before the origin
    back = (first[:, None] + np.arange(PAST_SEASONS)) * way.period
    index = times[:, :, None] - back
    expected = _median(np.where(index >= 0, series[np.maximum(index, 0)], np.nan))
    seen = times[:, :recent_steps]
    observed = np.where(seen >= 0, series[np.clip(seen, 0, len(series) - 1)], np.nan)
    both: Bools = ~np.isnan(observed) & ~np.isnan(expected[:, :recent_steps])
    sums = [np.where(both, values, 0.0).sum(axis=1) for values in (observed, expected[:, :recent_steps])]
    ratio = np.ones(len(origins))
    np.divide(sums[0], sums[1], out=ratio, where=(sums[1] > 0) & (sums[0] > 0))
    fading = np.exp(-(np.arange(steps) + 1.0) / way.fade) if way.fade else np.zeros(steps)
    faded: Floats = np.clip(ratio, 1.0 / MAX_RATIO, MAX_RATIO)[:, None] ** fading
    return expected[:, recent_steps:] * faded


def _median(values: Floats) -> Floats:
    """Median over the last axis of what is known; NaN where nothing is."""
    known = np.sort(values, axis=-1)  # NaN last
    counts = (~np.isnan(values)).sum(axis=-1)
    low = np.take_along_axis(known, np.maximum(0, (counts - 1) // 2)[..., None], axis=-1)[..., 0]
    high = np.take_along_axis(known, np.minimum(known.shape[-1] - 1, counts // 2)[..., None], axis=-1)[..., 0]
    return np.where(counts > 0, 0.5 * (low + high), np.nan)


def _quantiles(errors: Floats, quantiles: Sequence[float]) -> Floats:
    """Quantiles of the known errors of each lead, (quantiles, steps); NaN where there are too few."""
    shares = np.full((len(quantiles), errors.shape[1]), np.nan)
    for lead in range(errors.shape[1]):
        known = errors[~np.isnan(errors[:, lead]), lead]
        if len(known) >= ERRORS_NEEDED:
            shares[:, lead] = np.quantile(known, quantiles)
    return shares


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
    content = read_content(path)
    text = decode_text(content, str(path)) if content.strip() else ""
    rows = list(csv.reader(io.StringIO(text)))
    if not rows or [name.strip() for name in rows[0]] != HEADER:
        header = ",".join(rows[0]) if rows else ""
        raise InvalidInstanceError([Fault("line 1", header, f"must be the header {','.join(HEADER)}")], str(path))
    numbers, faults = _numbers(rows[1:])
    if not faults and len(numbers) < 2:
        faults = [Fault("rows", str(len(numbers)), "are too few; a history needs two or more")]
    if not faults:
        faults = list(_time_faults(numbers, season, step))
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
            faults.append(Fault(f"line {line}.rate", f"{rate:g}", "must not be negative"))
        numbers.append((line, time, rate))
    return numbers, faults


def _time_faults(numbers: Sequence[tuple[int, float, float]], season: float, step: float | None) -> Iterator[Fault]:
    """Faults of the times."""
    width = step or numbers[1][1] - numbers[0][1]
    for (_, before, _), (line, time, _) in pairwise(numbers):
        seconds = time - before
        if seconds <= 0:
            yield Fault(f"line {line}.time", f"{time:.10g}", "must be later than that of the row before; sort the rows by time")
        elif seconds > width * (1.0 + STEP_SLACK):
            holes = f"a step of {seconds:g} s follows steps of {width:g} s"
            yield Fault(f"line {line}.time", f"{time:.10g}", f"leaves a hole: {holes}; give every step a row")
        elif seconds < width * (1.0 - STEP_SLACK):
            yield Fault(f"line {line}.time", f"{time:.10g}", f"is {seconds:g} s after the row before, and steps have {width:g} s")
    multiple = season / width if width > 0 else 0.0
    if width > 0 and (round(multiple) < 1 or abs(multiple - round(multiple)) > STEP_SLACK):
        yield Fault("season", f"{season:g}", f"must be a multiple of the step of {width:g} s")
