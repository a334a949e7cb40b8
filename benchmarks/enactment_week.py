"""A week of real departures through all policies of enactment; run from anywhere after `make test`.

    python benchmarks/enactment_week.py                          # 105 million items a run, half a minute each
    python benchmarks/enactment_week.py --days 1 --policy btu --policy threshold
    python benchmarks/enactment_week.py --out week               # with figures

Seconds are of one core, kernels loaded before.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from edrp.datasets.enactment.departures import FIRST_DAY
from edrp.heuristics.enactment import POLICIES
from edrp.validation.papers.enactment import week


def main(
    first_day: str = FIRST_DAY,
    days: int = 7,
    policy: Annotated[list[str] | None, typer.Option()] = None,
    unit: Annotated[list[float] | None, typer.Option(help="Seconds of a billing time unit.")] = None,
    seed: int = 1,
    out: Annotated[Path | None, typer.Option(help="Folder for the figures.")] = None,
) -> None:
    """Run policies under units of 600 and 3600 s, or those given."""
    week.follow_week(first_day, 1, policies=("threshold",), units=(600.0,))  # loads the kernels
    policies, units = policy or list(POLICIES), unit or list(week.UNITS)
    week.run(Console(width=150), first_day=first_day, days=days, policies=policies, units=units, seed=seed, out=out)


if __name__ == "__main__":
    typer.run(main)
