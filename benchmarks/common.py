"""Parts that several benchmarks share: rows in files, times, and how answers are compared."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

import edrp

PROVEN = ("optimal", "infeasible")
SAME = 1e-7
"""Difference of objectives that is a solver's tolerance."""


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


def objective(solution: edrp.Solution) -> float:
    """Objective of an answer, infinite where it holds no decision."""
    return np.inf if solution.objective is None else solution.objective


def agrees(solution: edrp.Solution, optimum: float | None) -> bool:
    """Whether an answer is consistent with an optimum that is known (None: infeasible); an open one has to bracket it."""
    if optimum is None:
        return solution.objective is None and solution.status in ("infeasible", "none")
    slack = SAME * max(1.0, abs(optimum))
    low = -np.inf if solution.bound is None else solution.bound
    if solution.status == "infeasible" or low > optimum + slack or objective(solution) < optimum - slack:
        return False
    return solution.status != "optimal" or objective(solution) <= optimum + slack
