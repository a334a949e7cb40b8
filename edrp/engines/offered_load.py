"""The load that is offered to a job and what has piled up before it, as far as its sources tell."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from edrp.engines.fit import RECENT, JobFit, OperatorFit
from edrp.engines.observation import BacklogSample, OperatorObservation

Evidence = Literal["pending records", "event-time lag", "measured rate", "unknown"]
"""Evidence of an offered rate; "unknown" where a source waits and does not tell its backlog."""

ORDER: tuple[Evidence, ...] = ("pending records", "event-time lag", "measured rate", "unknown")
"""From the best evidence to none; of several sources the worst counts."""


@dataclass(frozen=True, slots=True)
class OfferedLoad:
    """The load that is offered to all sources of a job.

    Attributes
    ----------
    processed : tuples/s that the sources send.
    rate : tuples/s that are offered; None where that is unknown, and then at least what is processed.
    backlog : tuples that were offered and not read; None where no source tells it.
    evidence : what the rate follows from.
    """

    processed: float
    rate: float | None
    backlog: float | None
    evidence: Evidence


def offered_load(fit: JobFit) -> OfferedLoad:
    """The offered load by what the sources report, over the end of the observation.

    Where a source reports its pending records, what is offered is what it sends and the growth of the backlog. Else, where it
    reports the lag of event time, its backlog is the lag times the rate. Else the rate that it sends is what is offered, unless
    it waits for those after it: then nobody knows.
    """
    parts = [
        _source_load(operator, observed)
        for operator, observed in zip(fit.operators, fit.observation.operators, strict=True)
        if operator.source
    ]
    rates = [part.rate for part in parts if part.rate is not None]
    backlogs = [part.backlog for part in parts if part.backlog is not None]
    return OfferedLoad(
        processed=sum(part.processed for part in parts),
        rate=sum(rates) if len(rates) == len(parts) else None,
        backlog=sum(backlogs) if backlogs else None,
        evidence=max((part.evidence for part in parts), key=ORDER.index, default="unknown"),
    )


def _source_load(fitted: OperatorFit, observed: OperatorObservation) -> OfferedLoad:
    for evidence, backlog_at in _readings(fitted.rate):
        points = [(sample.at, value) for sample in observed.backlog if (value := backlog_at(sample)) is not None]
        if points:
            rate = max(0.0, fitted.rate + _growth(points))
            return OfferedLoad(fitted.rate, rate, points[-1][1], evidence)
    if fitted.unbounded:
        return OfferedLoad(fitted.rate, None, None, "unknown")
    return OfferedLoad(fitted.rate, fitted.rate, None, "measured rate")


def _readings(rate: float) -> Sequence[tuple[Evidence, Callable[[BacklogSample], float | None]]]:
    """Ways to read a backlog from a sample, the best first."""
    return (
        ("pending records", lambda sample: sample.pending),
        ("event-time lag", lambda sample: None if sample.lag is None else sample.lag * rate),
    )


def _growth(points: Sequence[tuple[float, float]]) -> float:
    """Tuples/s by which a backlog has grown lately; 0 where there is one sample only."""
    last_at, last = points[-1]
    first_at, first = next(point for point in points if point[0] >= last_at - RECENT)
    if first_at == last_at and len(points) > 1:
        first_at, first = points[-2]
    return (last - first) / (last_at - first_at) if last_at > first_at else 0.0
