"""How far many batches in a row are, as if they were one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from time import perf_counter

from edrp.batch.progress import BatchProgress, Report


@dataclass(slots=True)
class Overall:
    """Reports on batches in a row.

    Attributes
    ----------
    report
        Called with how far all of them are.
    total
        Rows of all batches, those among them that an earlier call has solved.
    done, failed
        Rows of the batches that have ended.
    since
        When the first began, by `perf_counter`.

    Examples
    --------
    Of two batches of five rows, the first had three left to solve:

    >>> seen = []
    >>> overall = Overall(lambda now: seen.append((now.total, now.done)), total=10)
    >>> for left in (3, 5):
    ...     with overall.batch(5) as report:
    ...         report(BatchProgress(total=left, done=1, failed=0, running=1, seconds=0.1))
    >>> seen
    [(10, 3), (10, 6)]
    """

    report: Report
    total: int
    done: int = 0
    failed: int = 0
    since: float = 0.0

    @contextmanager
    def batch(self, rows: int) -> Iterator[Report]:
        """What the next batch calls, which has so many rows in all."""
        self.since = self.since or perf_counter()
        failed = 0

        def report(now: BatchProgress) -> None:
            nonlocal failed
            failed = now.failed
            done, seconds = self.done + rows - now.total + now.done, perf_counter() - self.since
            self.report(replace(now, total=self.total, done=done, failed=self.failed + failed, seconds=seconds))

        yield report
        self.done += rows
        self.failed += failed
