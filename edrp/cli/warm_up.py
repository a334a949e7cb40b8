"""`edrp warm-up`."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from time import perf_counter
from typing import Annotated

import typer

from edrp.cli.terminal import errors, output, say
from edrp.report.progress import Count, counting
from edrp.warm_up import folder_of_kernels, kernels_for_wheel, warm_up, warm_up_tasks


def compile_kernels(
    jobs: Annotated[int, typer.Option("--jobs", "-j", help="Number of processes; -1 means one per core.")] = -1,
    for_wheel: Annotated[
        Path | None, typer.Option(help="Folder to which kernels are written instead, for a wheel (edrp/compiled).")
    ] = None,
) -> None:
    """Compile the kernels of all methods once, so that later runs do not wait for compilation."""
    where = str(for_wheel) if for_wheel else folder_of_kernels()
    began, worked = perf_counter(), 0.0
    with kernels_for_wheel(for_wheel) if for_wheel else nullcontext(), counting(errors(), "compiling kernels, once") as tell:
        total = len(warm_up_tasks())
        tell(Count(0, total))
        for done, warmed in enumerate(warm_up(jobs), 1):
            worked += warmed.seconds
            tell(Count(done, total, f"{warmed.method} for {warmed.kind}"))
    say(output(), f"all kernels are ready in {where}: {worked:.0f} processor seconds in {perf_counter() - began:.0f} s")
