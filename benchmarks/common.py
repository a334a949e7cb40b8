"""Parts that several benchmarks share: rows in files, times, and what counts as a proof."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import edrp

PROVEN = ("optimal", "infeasible")


def add_row(file: Path, row: dict[str, Any]) -> None:
    """Append a row."""
    with file.open("a", encoding="utf-8") as rows:
        rows.write(json.dumps(row, ensure_ascii=False) + "\n")


def timed(call: Callable[[], Any], clock: Callable[[], float] = perf_counter, repeats: int = 1) -> tuple[Any, float]:
    """The first result of a call and the median of its seconds; calls of more than two seconds are made once."""
    begin = clock()
    result = call()
    seconds = [clock() - begin]
    while len(seconds) < repeats and seconds[0] <= 2.0:
        begin = clock()
        call()
        seconds.append(clock() - begin)
    return result, median(seconds)


def is_proven(solution: edrp.Solution) -> bool:
    """Whether nothing is left open."""
    return solution.status in PROVEN
