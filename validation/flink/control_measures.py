"""Measures of a controlled day: late tuples, replica-hours, standstill and rescales."""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from edrp.validation.flink.days import HOURS, LoadDay
from edrp.validation.flink.lab.job import Bucket

LATE = 1.0
"""Seconds of latency above which a tuple is late."""

BOUNDS = (0.5, LATE, 2.0, 5.0)
"""Bounds for which late tuples are counted."""

STILL = 0.5
"""Seconds without a tuple at the writer from which on that is a standstill."""


class ReplicaSample(NamedTuple):
    """Replicas of the operators that can be scaled, by seconds since the day began."""

    at: float
    replicas: Mapping[str, int]


def late_tuples(buckets: Sequence[Bucket], bound: float) -> float:
    """Tuples whose latency is above a bound, between the quantiles of each tenth of a second by interpolation."""
    return sum(bucket.tuples * _share_above(bucket, 1000 * bound) for bucket in buckets)


def _share_above(bucket: Bucket, bound: float) -> float:
    """Share of a bucket's tuples above a bound in milliseconds."""
    if bucket.worst <= bound:
        return 0.0
    if bound < bucket.median:
        return 1.0 if bucket.median >= 2 * bound else 0.5 + 0.5 * (bucket.median - bound) / bound
    known = [(bucket.median, 0.5), (bucket.p95, 0.05), (bucket.worst, 0.0)]
    above = bisect.bisect_right([latency for latency, _ in known], bound)
    (low, more), (high, fewer) = known[above - 1], known[above]
    return fewer + (more - fewer) * (high - bound) / (high - low)


def standstills(buckets: Sequence[Bucket]) -> Iterator[float]:
    """Seconds of each time without a tuple at the writer that is a standstill."""
    for earlier, later in itertools.pairwise(buckets):
        gap = (later.first - earlier.last) / 1000
        if gap > STILL:
            yield gap


def replica_hours(samples: Sequence[ReplicaSample], day: LoadDay) -> float:
    """Replica-hours of the original day: each number of replicas from when it was seen until another was."""
    ends = [sample.at for sample in samples[1:]] + [day.seconds]
    seconds = sum((end - s.at) * sum(s.replicas.values()) for s, end in zip(samples, ends, strict=True))
    return seconds / day.seconds * HOURS


def control_measures(buckets: Sequence[Bucket], samples: Sequence[ReplicaSample], day: LoadDay) -> dict[str, object]:
    """All measures of a day; what was due and never arrived is late."""
    arrived, due = sum(bucket.tuples for bucket in buckets), day.due(day.seconds)
    missing = max(0.0, due - arrived)
    stills = list(standstills(buckets))
    return {
        "tuples": round(due),
        "arrived": arrived,
        "late": {str(bound): round(late_tuples(buckets, bound) + missing, 1) for bound in BOUNDS},
        "mean_latency": sum(b.mean * b.tuples for b in buckets) / 1000 / max(1, arrived),
        "worst_latency": max((b.worst for b in buckets), default=0.0) / 1000,
        "replica_hours": replica_hours(samples, day),
        "standstill": sum(stills),
        "longest_standstill": max(stills, default=0.0),
        "rescales": len(samples) - 1,
        "replicas": [[round(sample.at, 1), dict(sample.replicas)] for sample in samples],
    }
