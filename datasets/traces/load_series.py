"""Real loads as counts per step of time: taxi trips and tweets."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from edrp.core.arrays import Floats, Ints
from edrp.core.errors import Fault, InvalidInstanceError
from edrp.core.wording import suggestion
from edrp.datasets.migration.node_counts import NodeRule
from edrp.datasets.traces.data_folder import data_file
from edrp.datasets.traces.source_rates import taxi_rates

TWITTER_STEP = 300.0
COMPANIES = ("AAPL", "AMZN", "GOOG")


@dataclass(frozen=True, slots=True)
class LoadSeries:
    """A series of counts of events in steps of equal length.

    Attributes
    ----------
    step
        Length of a step in seconds.
    counts : shape (T,)
        Events of each step.
    """

    name: str
    step: float
    counts: Floats

    def per(self, interval: float) -> Floats:
        """Sum events over whole intervals of a multiple of `step` seconds; an incomplete last one is left out.

        >>> LoadSeries("tweets", 300.0, np.array([1.0, 2, 3, 4, 5])).per(600.0).tolist()
        [3.0, 7.0]
        """
        steps = round(interval / self.step)
        if steps < 1 or abs(steps * self.step - interval) > 1e-6 * self.step or steps > self.counts.size:
            why = f"must be a multiple of {self.step:g} s, and at most {self.counts.size * self.step:g} s, for {self.name}"
            raise InvalidInstanceError([Fault("interval", f"{interval:g}", why)])
        whole = self.counts.size // steps * steps
        return np.asarray(self.counts[:whole].reshape(whole // steps, steps).sum(axis=1))

    def node_counts(self, interval: float = 3600.0, low: int = 8, high: int = 16, outliers: float = 0.0) -> Ints:
        """Compute the nodes for each whole interval, normalised as in section 6 of state migration (`NodeRule.normalised`).

        >>> LoadSeries("tweets", 300.0, np.array([1.0, 2, 3])).node_counts(300.0, 1, 5).tolist()
        [1, 3, 5]
        """
        loads = self.per(interval)
        return NodeRule.normalised(loads, low, high, outliers)(loads)


def taxi_series(data: str | Path | None = None) -> LoadSeries:
    """Read the taxi trips of New York in 2013, one count per minute.

    Raises
    ------
    InvalidInstanceError
        No folder given, no such file in it, or a line that is no count.
    """
    return LoadSeries("taxi trips", 60.0, taxi_rates(data))


def twitter_series(company: str, data: str | Path | None = None) -> LoadSeries:
    """Read the tweets that mention a company in early 2015, one count per five minutes; 0 where none was recorded.

    Parameters
    ----------
    company
        "AAPL", "AMZN" or "GOOG".

    Raises
    ------
    InvalidInstanceError
        No such company, no folder given, no such file in it, or lines without a time and a count.
    """
    if company not in COMPANIES:
        raise InvalidInstanceError([Fault("company", company, f"is no company with a series{suggestion(company, COMPANIES)}")])
    name = f"twitter_volume_{company}.csv"
    path = data_file(name, data)
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()[1:]
    rows = [_count_at(number, line, path) for number, line in enumerate(lines, start=2)]
    if not rows:
        raise InvalidInstanceError([Fault("data", str(path), "holds no counts")])
    begin = rows[0][0]
    step = np.array([round((time - begin) / TWITTER_STEP) for time, _ in rows])
    counts = np.zeros(step.max() + 1)
    np.add.at(counts, step, [count for _, count in rows])
    return LoadSeries(f"tweets on {company}", TWITTER_STEP, counts)


def _count_at(number: int, line: str, path: Path) -> tuple[float, float]:
    try:
        time, count = line.split(",")
        return datetime.fromisoformat(time).replace(tzinfo=UTC).timestamp(), float(count)
    except ValueError:
        raise InvalidInstanceError([Fault(f"line {number}", repr(line[:40]), "must be a time and a count")], str(path)) from None
