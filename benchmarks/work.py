"""How long a unit of work takes: every method on instances of the families of each kind, in seconds of the processor per unit.

    python benchmarks/work.py                         # all kinds and methods, ten instances each, 1 unit and 10 units: hours
    python benchmarks/work.py --kind mapping --method label-setting --instances 4 --rows rows.jsonl

Sizes are doubled until a run takes a tenth of its limit, or as many seconds as that has units: solving costs some milliseconds
that nobody counts. The exit code is 1 where the median of a method lies outside the range.
"""

from __future__ import annotations

import sys
from itertools import product
from pathlib import Path
from statistics import median
from time import process_time
from typing import Annotated, Any

import numpy as np
import typer
from registry import add_row
from rich.console import Console
from rich.table import Table

from edrp.core.budget import running
from edrp.core.errors import EdrpError
from edrp.core.kinds import kinds
from edrp.core.methods import Method, Options, methods, run_method
from edrp.core.problem import derived_once
from edrp.datasets.families.registry import choose_families

LEAST, MOST = 0.4, 2.0
"""Range of the seconds of a unit."""

LEAST_SHARE, DOUBLINGS = 0.1, 6
"""Share of its limit that a run takes at least to be judged, and how often the size of an instance is doubled for that."""


def measured(method: Method, problem: Any, limit: float) -> tuple[float, float] | None:
    """Seconds of the processor and units of a run; None where the method refuses the problem."""
    begin = process_time()
    try:
        with derived_once(problem), running(work_limit=limit) as clock:
            if method.refusal(problem) is not None:
                return None
            run_method(method.resolve(problem), problem, Options(work_limit=limit))
    except EdrpError:
        return None
    return process_time() - begin, clock.work


def row(kind: str, method: Method, number: int, limit: float) -> dict[str, Any] | None:
    """The run on an instance, which is of one family after the other and as large as it has to be; None where there is none."""
    families = choose_families(kind)
    family = families[number % len(families)]
    for doubling in range(DOUBLINGS + 1):
        size = family.default_size * 2**doubling
        try:
            if doubling == 0:  # imports modules
                measured(method, family.make(size, np.random.default_rng(number)), limit)
            run = measured(method, family.make(size, np.random.default_rng(number)), limit)
        except (EdrpError, ValueError):  # families have largest sizes
            return None
        if run is None:
            return None
        if run[1] >= LEAST_SHARE * limit or run[0] >= limit:
            name = f"{family.name} {size}, seed {number}"
            return {"kind": kind, "method": method.name, "limit": limit, "instance": name, "seconds": run[0], "units": run[1]}
    return None


def main(
    kind: str = "",
    method: str = "",
    instances: int = 10,
    work_limit: Annotated[list[float], typer.Option(help="units of work; repeat it for several")] = [1.0, 10.0],  # noqa: B006
    rows: Annotated[Path | None, typer.Option(help="file to which the runs are added")] = None,
) -> None:
    """Measure, and print the table."""
    columns = "kind", "method", "limit", "runs", "least", "median", "most", "most at"
    table = Table(*columns, title="seconds of the processor per unit of work")
    outside = False
    for name in (name for name, known in kinds().items() if known.families and kind in ("", name)):
        known_methods = [chosen for label, chosen in methods(name).items() if method in ("", label)]
        for chosen, limit in product(known_methods, work_limit):
            runs = [run for number in range(instances) if (run := row(name, chosen, number, limit)) is not None]
            ratios = {run["instance"]: run["seconds"] / max(run["units"], 1e-6) for run in runs}
            if rows is not None:
                for run in runs:
                    add_row(rows, run)
            if ratios:
                low, middle, high = min(ratios.values()), median(ratios.values()), max(ratios.values())
                wrong = not LEAST <= middle <= MOST
                outside |= wrong
                cells = [name, chosen.name, f"{limit:g}", str(len(ratios)), *(f"{value:.2f}" for value in (low, middle, high))]
                cells.append(max(ratios, key=ratios.__getitem__))
                table.add_row(*cells, style="red" if wrong else None)
                print(*cells, "OUTSIDE" * wrong, file=sys.stderr, flush=True)
    Console(width=140).print(table)
    raise typer.Exit(int(outside))


if __name__ == "__main__":
    typer.run(main)
