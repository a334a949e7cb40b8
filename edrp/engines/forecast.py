"""Forecasts of the rate that is offered to a job, with quantiles by the errors of past forecasts.

The forecast of a step is the median of the same step in past seasons, times the ratio of what was observed in the last
twenty-fourth of a season to what that median said of it; the ratio fades to 1 with the lead. Whether seasons or every seventh
season (the same weekday) are compared, and how fast the ratio fades, is what would have been best in the past.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from edrp.core.arrays import Bools, Floats, Ints
from edrp.core.errors import Fault, InvalidInstanceError
from edrp.engines.rate_history import RateHistory, read_history

__all__ = ["RateHistory", "forecast", "forecast_remark", "read_history"]

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
"""Past forecasts by whose errors quantiles are set: those made at about this time of so many seasons, shifted by as many
thirds of a twenty-fourth of a season."""

ERRORS_NEEDED = 12
"""Past errors below which quantiles are wide instead."""

WIDE = 0.5
"""Standard deviation of the logarithm of the rate where errors of past forecasts are not known."""

FLOOR_SHARE = 0.01
"""Share of the mean rate that is added before errors are divided by the forecast, which may be 0 at night."""


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
