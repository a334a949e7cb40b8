"""Cost at rest of a job whose tasks may move: tuples/s of a burst, against plain Flink, in turn."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator
from typing import Any, NamedTuple

from edrp.engines.flink.local import LocalFlink, LocalNode
from edrp.engines.flink.local.jobs import now_ms
from edrp.engines.flink.local.rest import wait_until
from edrp.validation.flink.lab.job import LEAD_MS
from edrp.validation.flink.live.results import SECOND, tail, throughput
from edrp.validation.flink.live.running import LiveRun, LiveSettings, Mode

MODES: tuple[Mode, ...] = ("live", "plain")
WORKERS, KEYS = 2, 2400
BURSTS = {150.0: 30_000, 0.0: 800_000}
"""Tuples of a burst by the microseconds that each takes to compute; 0 is the worst case, in which nothing else is done."""

BURST_MS = 100
SECONDS_PER_BURST = 120.0


class Burst(NamedTuple):
    """A burst that is to be measured."""

    round: int
    micros: float
    mode: Mode


def bursts(rounds: int) -> list[Burst]:
    """All bursts, in order; who is first changes with the round, and the first round is a warm-up.

    >>> [tuple(burst) for burst in bursts(1)][:2]
    [(0, 150.0, 'live'), (0, 150.0, 'plain')]
    """
    return [
        Burst(number, micros, mode) for number in range(rounds) for micros in BURSTS for mode in MODES[:: (1, -1)[number % 2]]
    ]


def throughputs(rounds: int, done: Collection[Burst], tell: Callable[[str], object] = str) -> Iterator[dict[str, Any]]:
    """Rows of all bursts that are not done yet; each comes at once, and the others have nothing to do meanwhile."""
    left = [burst for burst in bursts(rounds) if burst not in done]
    if not left:
        return
    tell("throughput: starting a cluster")
    with LocalFlink(dict.fromkeys(("tm-a", "tm-b"), LocalNode(len(BURSTS) * len(MODES) * WORKERS // 2, heap=300))) as flink:
        kinds = dict.fromkeys((burst.micros, burst.mode) for burst in left)
        runs = {(micros, mode): LiveRun(flink, LiveSettings(mode, WORKERS, WORKERS, micros, keys=KEYS)) for micros, mode in kinds}
        for burst in left:
            load = os.getloadavg()[0]
            rate = burst_throughput(runs[burst.micros, burst.mode], BURSTS[burst.micros])
            tell(f"round {burst.round}, {burst.micros:g} µs, {burst.mode}: {rate:,.0f} tuples/s, load {load:.1f}")
            yield {"experiment": "throughput", **burst._asdict(), "load": load, "rate": rate}


def burst_throughput(run: LiveRun, tuples: int) -> float:
    """Tuples/s of a burst from its first tenth to its last at the writer."""
    offset, begin = run.size(), now_ms() + LEAD_MS
    run.set_rates([(begin, tuples / BURST_MS * SECOND), (begin + BURST_MS, 0.0)])
    wait_until(lambda: run.size() > offset or None, SECONDS_PER_BURST, "sends no tuple", "job")
    run.drain()
    return throughput([int(line.partition(" ")[0]) for line in tail(run.results_file, offset) if line.strip()])
