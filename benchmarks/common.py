"""What several benchmarks share: rows of runs in a file that a stopped run continues, and how answers are compared."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Annotated, Any

import numpy as np
import typer

import edrp

Rows = Annotated[Path, typer.Argument(help="JSON lines, one for each run; the same command continues a stopped run.")]
PROVEN = ("optimal", "infeasible")
SAME = 1e-7
"""Difference of objectives that is a solver's tolerance."""


def read_rows(file: Path) -> list[dict[str, Any]]:
    """Rows of a file, none where there is none."""
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()] if file.exists() else []


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


def above(values: Iterable[float], best: float) -> list[float]:
    """Percent by which objectives are above the best known."""
    return [np.inf if np.isinf(value) else 100 * (value - best) / max(abs(best), 1e-12) for value in values]


def median_and_worst(values: Iterable[float]) -> str:
    """Median and worst of some percentages.

    >>> median_and_worst([1.0, 2.0, 4.0]), median_and_worst([])
    ('2.00 (4.00)', '')
    """
    listed = list(values)
    return f"{median(listed):.2f} ({max(listed):.2f})" if listed else ""
