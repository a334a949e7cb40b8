"""`python -m edrp.validation.library`: makes the library, and solves its rows."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from edrp.certified.library import FOLDER, Library
from edrp.cli.batch import batch_progress, place_of_work
from edrp.cli.terminal import errors, output, say
from edrp.report.progress import counting
from edrp.validation.library.leaderboard import WORK_LIMITS, run_leaderboard
from edrp.validation.library.making import make_library
from edrp.validation.library.plan import planned_rows
from edrp.validation.library.solving import solve_library

app = typer.Typer(pretty_exceptions_enable=False, help="Make the library of certified instances, and solve its rows.")

Folder = Annotated[Path, typer.Option(help="Folder of the library.")]


@app.command()
def make(
    folder: Folder = FOLDER, renew: Annotated[bool, typer.Option(help="Replace instances that are made otherwise today.")] = False
) -> None:
    """Make all instances of the plan that are missing; from the root of a checkout."""
    records = make_library(folder, planned_rows(), lambda name: say(output(), name), renew=renew)
    say(output(), f"{len(records.rows)} rows")


@app.command()
def solve(
    work_limit: Annotated[float, typer.Option(min=0, help="Units of work for each row, its certificate included.")],
    out: Annotated[Path, typer.Option(help="Folder that keeps answers, so that the same command goes on.")],
    folder: Folder = FOLDER,
    kind: Annotated[str | None, typer.Option(help="Kind of rows; default: all.")] = None,
    method: Annotated[str, typer.Option(help="Method that solves them.")] = "auto",
) -> None:
    """Solve and certify rows that are not closed, and submit the answers; stop with Ctrl-C."""
    out.mkdir(parents=True, exist_ok=True)
    with counting(errors(), "solving") as tell:
        for receipt in solve_library(Library(folder), work_limit, out, kind=kind, method=method, progress=tell):
            say(output(), f"{receipt.row}: {receipt.sentence}")


@app.command()
def leaderboard(
    out: Annotated[Path, typer.Option(help="Folder of rows and of the page; the same command goes on.")],
    work_limit: Annotated[list[float], typer.Option(help="Units of work of a column; may be repeated.")] = list(WORK_LIMITS),  # noqa: B006
    folder: Folder = FOLDER,
    kind: Annotated[list[str] | None, typer.Option(help="Kind that is run; may be repeated; default: all.")] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Number of processes without Spark.")] = 1,
    spark: Annotated[str | None, typer.Option(help="Spark master, such as local[2].")] = None,
) -> None:
    """Solve all rows by all methods, and write a page; stop with Ctrl-C, and the same command goes on."""
    out.mkdir(parents=True, exist_ok=True)
    with place_of_work(spark, None if spark else jobs) as where, batch_progress("leaderboard") as tell:
        page = run_leaderboard(Library(folder), out, work_limit, kinds=kind or (), progress=tell, **where)
    say(output(), f"page: {page}")


if __name__ == "__main__":
    app()
