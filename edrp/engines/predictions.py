"""Predictions of the next observation of a job, and how far it was from them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from statistics import fmean, stdev

from edrp.engines.estimates import Estimate
from edrp.engines.fit import BACKPRESSURED, SATURATED, JobFit
from edrp.engines.model import busy_estimate
from edrp.placement.deployment import Deployment

OVERLOADED_BUSY = 0.95
"""Share of time busy that is measured of an operator that has more to do than it can."""

BUSY_TOLERANCE = 0.02
"""Error of a busy share that is none: operators that do next to nothing have intervals narrower than what can be measured."""

MIN_SPREAD, MAX_SPREAD = 0.05, 0.5
"""Least and largest relative half-width of the interval of the throughput."""

NORMAL = 1.645
"""95th percentile of the standard normal distribution."""

MAX_WIDTH = 16.0
"""Most by which an interval is widened."""

WIDENED, NARROWED = 1.5, 0.9
"""Least factor of an interval that missed, and factor of one that fitted, down to 1."""

THROUGHPUT, DOWNTIME = "throughput", "downtime"


@dataclass(frozen=True, slots=True)
class Prediction:
    """Expected values, if the load stays.

    Attributes
    ----------
    replicas : of each operator, to which this applies.
    throughput : tuples/s that all sources send.
    rates : tuples/s that each operator receives; the busy shares are in proportion to them.
    busy : share of time that the busiest replica of each operator is busy; ends of intervals may be above 1.
    downtime : seconds without processing of the change that leads there; None without a change.
    """

    replicas: Mapping[str, int]
    throughput: Estimate
    rates: Mapping[str, float]
    busy: Mapping[str, Estimate]
    downtime: Estimate | None = None


@dataclass(frozen=True, slots=True)
class Judgement:
    """One quantity: its interval, what was measured, and whether the interval covered it."""

    quantity: str
    predicted: Estimate
    measured: float
    covered: bool

    @property
    def error(self) -> float:
        """Measured less predicted."""
        return self.measured - self.predicted.value


def throughput(fit: JobFit) -> float:
    """Tuples/s that all sources send."""
    return sum(operator.rate for operator in fit.operators if operator.source)


def is_waiting(fit: JobFit) -> bool:
    """Whether the job does not keep up with its load."""
    return any(
        (operator.source and operator.backpressured > BACKPRESSURED) or (operator.busy or 0.0) >= SATURATED
        for operator in fit.operators
    )


def predict(fit: JobFit, plan: Deployment, widths: Mapping[str, float], downtime: Estimate | None = None) -> Prediction:
    """Predict what the next observation shows with this plan.

    Parameters
    ----------
    widths
        Factors of intervals, by quantity; 1 where none is given.
    """
    rate = throughput(fit)
    spread = _rate_spread(fit)
    busy = {
        operator.name: busy_estimate(operator, plan.degree(operator.name), 1.0)
        for operator in fit.operators
        if operator.service is not None
    }
    # Share of the load that gets through: the operator with most to do holds back the sources, and thereby all others.
    ends = zip(*((shares.value, shares.high, shares.low) for shares in busy.values()), strict=True)
    fullest = [max(shares) for shares in ends] or [0.0, 0.0, 0.0]
    share = Estimate(*(min(1.0, 1.0 / fullest_busy) if fullest_busy > 0 else 1.0 for fullest_busy in fullest))
    processed = Estimate(
        rate * share.value, rate * min(1 - spread, share.low), rate * ((1 + spread) if share.high >= 1 else share.high)
    )
    return Prediction(
        replicas={name: plan.degree(name) for name in plan},
        throughput=widen(processed, widths.get(THROUGHPUT, 1.0)),
        rates={operator.name: operator.received(plan.degree(operator.name)) * share.value for operator in fit.operators},
        busy={name: widen(shares.scaled(share.value), widths.get(name, 1.0)) for name, shares in busy.items()},
        downtime=None if downtime is None else widen(downtime, widths.get(DOWNTIME, 1.0)),
    )


def judge(prediction: Prediction, fit: JobFit, downtime: float | None = None) -> Iterator[Judgement]:
    """Compare a prediction with what was observed next; busy shares at the rates that were observed.

    A throughput below its interval counts only where the job does not keep up, or processes nothing: else less was offered.
    """
    rate = throughput(fit)
    fell = rate < prediction.throughput.low
    yield Judgement(THROUGHPUT, prediction.throughput, rate, not (fell and (is_waiting(fit) or rate == 0.0)))
    for operator in fit.operators:
        before = prediction.rates.get(operator.name, 0.0)
        if operator.name not in prediction.busy or operator.busy is None or before <= 0.0:
            continue
        # A busy share that can be: of an operator that has more to do than it can, anything that is nearly 1 is covered.
        estimate = prediction.busy[operator.name].scaled(operator.rate / before)
        expected = Estimate(min(1.0, estimate.value), min(OVERLOADED_BUSY, estimate.low), min(1.0, estimate.high))
        covered = expected.low - BUSY_TOLERANCE <= operator.busy <= expected.high + BUSY_TOLERANCE
        yield Judgement(operator.name, expected, operator.busy, covered)
    if prediction.downtime is not None and downtime is not None:
        yield Judgement(DOWNTIME, prediction.downtime, downtime, downtime <= prediction.downtime.high)


def next_width(width: float, judgement: Judgement) -> float:
    """The factor of an interval after it has been judged: wide enough to have held what it missed, slowly back to 1 otherwise.

    >>> next_width(1.0, Judgement("counter", Estimate(0.5, 0.4, 0.6), 0.8, covered=False))
    3.0
    >>> next_width(3.0, Judgement("counter", Estimate(0.5, 0.2, 0.8), 0.6, covered=True))
    2.7
    """
    if judgement.covered:
        return round(max(1.0, width * NARROWED), 6)
    predicted = judgement.predicted
    half = predicted.high - predicted.value if judgement.error > 0 else predicted.value - predicted.low
    needed = abs(judgement.error) / half if half > 0 else MAX_WIDTH
    return round(min(MAX_WIDTH, width * max(WIDENED, needed)), 6)


def widen(estimate: Estimate, width: float) -> Estimate:
    """The estimate with an interval `width` times as wide, not below 0."""
    value = estimate.value
    return Estimate(value, max(0.0, value - width * (value - estimate.low)), value + width * (estimate.high - value))


def _rate_spread(fit: JobFit) -> float:
    """Relative half-width of the interval of the throughput, by how much windows of the sources differ."""
    spread = MIN_SPREAD
    for observed, operator in zip(fit.observation.operators, fit.operators, strict=True):
        rates = [window.rate(out=True) for window in observed.windows if window.seconds > 0]
        if operator.source and len(rates) > 1 and sum(rates) > 0:
            spread = max(spread, NORMAL * stdev(rates) / fmean(rates))
    return min(spread, MAX_SPREAD)
