"""Batches: one machine beside Spark, one slot beside two; run from anywhere after `make test`.

    python benchmarks/batch.py                    # 2,000 instances, highs and greedy: about a quarter of an hour
    python benchmarks/batch.py --count 200 --slots 1 --slots 2

Every row is a whole call of `solve_batch` into a new folder, after one small batch that starts the workers and loads the
kernels. The overhead of Spark is the difference to processes without it, per row; efficiency is half of how much faster
two slots are than one.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

import edrp
from edrp.core.spark import spark_session
from edrp.datasets.families.registry import generate

METHODS = ["highs", "greedy"]


def main(count: int = 2000, seed: int = 7, slots: Annotated[list[int] | None, typer.Option()] = None) -> None:
    """Measure both ways for each number of slots."""
    chosen = slots or [1, 2]
    instances = dict(generate("edrp", count, seed))
    rows = count * len(METHODS)
    table = Table("slots", "processes s", "Spark s", "Spark's overhead ms/row", title=f"{rows} rows: {', '.join(METHODS)}")
    seconds: dict[tuple[str, int], float] = {}
    for count_of_slots in chosen:
        seconds["here", count_of_slots] = here = timed(instances, n_jobs=count_of_slots)
        with spark_session(f"local[{count_of_slots}]", in_python=True) as spark:
            seconds["spark", count_of_slots] = there = timed(instances, spark=spark)
        table.add_row(str(count_of_slots), f"{here:.1f}", f"{there:.1f}", f"{1000 * (there - here) / rows:.1f}")
    if {1, 2} <= set(chosen):
        efficiency = {way: seconds[way, 1] / seconds[way, 2] / 2 for way in ("here", "spark")}
        table.add_row("efficiency", f"{efficiency['here']:.0%}", f"{efficiency['spark']:.0%}", "")
    Console().print(table)


def timed(instances: dict[str, Any], **where: Any) -> float:
    """Seconds of the whole batch."""
    with folder() as warm:
        edrp.solve_batch(dict(list(instances.items())[:4]), METHODS, out=warm, **where)
    with folder() as out:
        begin = perf_counter()
        edrp.solve_batch(instances, METHODS, out=out, **where)
        return perf_counter() - begin


@contextmanager
def folder() -> Iterator[Path]:
    """A new folder for results."""
    with tempfile.TemporaryDirectory() as place:
        yield Path(place) / "rows"


if __name__ == "__main__":
    typer.run(main)
