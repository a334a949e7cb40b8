"""Fig. 15 of the paper: mean response time by minute when ten workers become eight in minute 7, under three ways to change."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from edrp.engines.flink.local import LocalFlink, LocalNode
from edrp.engines.flink.local.jobs import now_ms
from edrp.validation.flink.lab.job import LEAD_MS
from edrp.validation.flink.live.against_flink import METHODS, PACE, least_moves
from edrp.validation.flink.live.results import SECOND, mean_by_minute, read_results, tail
from edrp.validation.flink.live.running import LiveRun, LiveSettings, Mode, live_change, plain_change

WORKERS = (10, 8)
MINUTES, CHANGE_MINUTE = 12, 7
MINUTE = 6.0
"""Seconds into which a minute of the paper is compressed; what a change takes is not."""

NODES = dict.fromkeys(("tm-a", "tm-b"), LocalNode(5, heap=700))
KEYS, STATE = 2400, 100_000_000
RATE, MICROS, FILL_RATE = 500.0, 4000.0, 1000.0


class ResponseTurn(NamedTuple):
    """A run that is to be made."""

    round: int
    method: str


@dataclass(frozen=True, slots=True)
class ResponseSettings:
    """Settings of the runs.

    Attributes
    ----------
    minute : seconds into which a minute is compressed.
    """

    rounds: int = 1
    minute: float = MINUTE


def response_times(
    settings: ResponseSettings, done: Collection[ResponseTurn], tell: Callable[[str], object] = str
) -> Iterator[dict[str, Any]]:
    """Rows of all runs that are not made yet, one after the other, each on a cluster of its own."""
    for number in range(settings.rounds):
        for method in METHODS[number % 3 :] + METHODS[: number % 3]:
            turn = ResponseTurn(number, method)
            if turn not in done:
                tell(f"round {number}, {method}: {MINUTES} minutes of {settings.minute:g} s")
                with LocalFlink(NODES) as flink:
                    row = {"experiment": "response", **turn._asdict(), **_run(flink, method, settings.minute)}
                    mean = row["minutes"][str(CHANGE_MINUTE)]["mean"]
                    tell(f"minute {CHANGE_MINUTE}: {1000 * mean:.1f} ms, load {row['load']:.1f}")
                    yield row


def _run(flink: LocalFlink, method: str, minute: float) -> dict[str, Any]:
    """Twelve minutes, with the change when the seventh begins."""
    before, after = WORKERS
    mode: Mode = "live" if method == "live" else "plain"
    run = LiveRun(flink, LiveSettings(mode, before, before, MICROS, "sleep", keys=KEYS, state_bytes=STATE // KEYS))
    run.fill(KEYS, FILL_RATE)
    run.job.checkpoint()
    if method == "live":
        change = live_change(run, PACE, lambda job: least_moves(job, after, PACE))
    else:
        change = plain_change(run, method, after)
    offset, begin = run.size(), now_ms() + LEAD_MS
    moment = begin + round((CHANGE_MINUTE - 1) * minute * SECOND)
    end = begin + round(MINUTES * minute * SECOND)
    run.set_rates([(begin, RATE), (end, 0.0)])
    time.sleep(max(0.0, moment / SECOND - time.time()))
    load, facts = os.getloadavg()[0], change()
    time.sleep(max(0.0, end / SECOND - time.time()))
    run.drain()
    results = read_results(tail(run.results_file, offset))
    by_minute = mean_by_minute(results, begin, minute, MINUTES)
    minutes = {str(number): figures._asdict() for number, figures in by_minute.items()}
    return {"minute": minute, "workers": list(WORKERS), "load": load, **facts, "missing": results.missing, "minutes": minutes}
