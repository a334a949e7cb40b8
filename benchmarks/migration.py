"""Times of state migration, on one core; run from anywhere after `make test`.

    python benchmarks/migration.py ssm                    # kernel times, and growth with tasks and nodes
    python benchmarks/migration.py ssm --figure ssm.svg   # the same as a figure: time is linear in tasks × nodes
    python benchmarks/migration.py ssm --largest 65536    # up to 65,536 tasks on 512 nodes

Every figure is the median over many runs, after one that compiles or loads the kernels, of the time that one core works
for it: what else runs on the machine does not count.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from statistics import median
from time import process_time
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

import edrp
from edrp.mdp.partitions import OldNodes, Tasks
from edrp.mdp.single_step.ssm import ssm
from edrp.mdp.single_step.ties import best_migration, settle
from edrp.migration.intervals import load_limit
from edrp.migration.single_step import MigrationProblem

app = typer.Typer(add_completion=False, help=__doc__)
console = Console()

SIZES = ((64, 8, 9), (64, 8, 16), (256, 16, 17), (1024, 60, 64), (4096, 60, 64), (16384, 250, 256), (65536, 500, 512))
"""Tasks, nodes before, nodes after."""
TOLERANCES = (0.2, 1.2)
GROWTH = ((1024, (16, 32, 64, 128, 256)), (4096, (16, 32, 64, 128, 256)), (16384, (16, 32, 64, 128)))
"""Tasks, and nodes after for each; nodes before are one fewer."""


@app.callback()
def _commands() -> None:
    """Times of state migration."""


def instance(tasks: int, before: int, seed: int = 0) -> tuple[Tasks, OldNodes]:
    """Work and state drawn again on an old assignment of even counts, as if the load had drifted since."""
    rng = np.random.default_rng(seed)
    boundaries = (np.arange(before + 1) * tasks // before).tolist()
    return Tasks.of(rng.uniform(0.5, 1.5, tasks), rng.exponential(1.0, tasks)), OldNodes.of(list(pairwise(boundaries)))


def typical(call: Callable[[], Any], budget: float) -> float:
    """Median seconds of as many calls as fit into the budget, at least three."""
    call()
    seconds: list[float] = []
    while len(seconds) < 3 or (sum(seconds) < budget and len(seconds) < 2000):
        begin = process_time()
        call()
        seconds.append(process_time() - begin)
    return median(seconds)


def kernel_seconds(tasks: int, before: int, nodes: int, tolerance: float, budget: float, least_load: bool = False) -> float:
    """Median time of the kernel: layers, way back, and matching; with all ties settled if `least_load`."""
    drawn, old = instance(tasks, before)
    boundaries, matched = np.empty(nodes + 1, np.int64), np.empty(nodes, np.int64)
    limit = load_limit(drawn.work_before[-1], nodes, tolerance)
    arguments = (drawn.work_before, drawn.state_before, old.boundaries, limit, True, boundaries, matched, least_load)
    return typical(lambda: settle(*arguments), budget)


def shown(seconds: float) -> str:
    """Microseconds, milliseconds or seconds.

    >>> shown(0.0123)
    '12.3 ms'
    """
    for unit, factor in (("µs", 1e6), ("ms", 1e3)):
        if seconds * factor < 1000:
            return f"{seconds * factor:.1f} {unit}"
    return f"{seconds:.2f} s"


@app.command("ssm")
def ssm_times(
    figure: Annotated[Path | None, typer.Option(help="file to draw the growth to")] = None,
    budget: Annotated[float, typer.Option(help="seconds per figure")] = 1.0,
    largest: Annotated[int, typer.Option(help="most tasks")] = 16384,
) -> None:
    """Time of SSM at several sizes, and its growth with tasks and nodes."""
    table = Table("tasks", "nodes", "tolerance", "kernel", "ssm()", "ties settled", "ties settled, whole call", title="SSM")
    for tasks, before, nodes in SIZES:
        for tolerance in TOLERANCES if tasks <= largest else ():
            drawn, old = instance(tasks, before)
            limit = load_limit(drawn.work_before[-1], nodes, tolerance)
            arguments = drawn, old, before, nodes, tolerance, True
            table.add_row(
                str(tasks),
                f"{before} to {nodes}",
                f"{tolerance:g}",
                shown(kernel_seconds(tasks, before, nodes, tolerance, budget)),
                shown(typical(lambda a=(drawn, old.boundaries, nodes, limit, True): ssm(*a), budget)),
                shown(kernel_seconds(tasks, before, nodes, tolerance, budget, least_load=True)),
                shown(typical(lambda a=arguments: best_migration(*a), budget)),
            )
    console.print(table)
    public = Table("tolerance", "edrp.solve", title="Public API, 64 tasks from 8 to 9 nodes, evaluation and moves included")
    for tolerance in TOLERANCES:
        drawn, old = instance(64, 8)
        intervals = [(int(a), int(b)) for a, b in pairwise(old.boundaries)]
        problem = MigrationProblem(
            work=drawn.work.tolist(), state_size=drawn.state_size.tolist(), intervals=intervals, nodes=9, tolerance=tolerance
        )
        public.add_row(f"{tolerance:g}", shown(typical(lambda p=problem: edrp.solve(p, "ssm"), budget)))
    console.print(public)
    _growth(figure, budget)


def _growth(figure: Path | None, budget: float) -> None:
    """Print how time grows with tasks and nodes, and draw it where a file is named."""
    table = Table("tolerance", "tasks", "nodes", "kernel", "ns per task and node", title="Growth with tasks × nodes")
    measured: dict[float, list[tuple[int, float]]] = {tolerance: [] for tolerance in TOLERANCES}
    for tolerance, points in measured.items():
        for tasks, counts in GROWTH:
            for nodes in counts:
                seconds = kernel_seconds(tasks, nodes - 1, nodes, tolerance, budget / 2)
                points.append((tasks * nodes, seconds))
                each = f"{1e9 * seconds / (tasks * nodes):.1f}"
                table.add_row(f"{tolerance:g}", str(tasks), str(nodes), shown(seconds), each)
    console.print(table)
    for tolerance, points in measured.items():
        product, seconds = np.log(np.array(points)).T
        console.print(f"tolerance {tolerance:g}: time grows with (tasks × nodes)^{np.polyfit(product, seconds, 1)[0]:.2f}")
    if figure is not None:
        _draw(figure, measured)
        console.print(f"wrote {figure}")


def _draw(figure: Path, measured: dict[float, list[tuple[int, float]]]) -> None:
    """Draw seconds against tasks × nodes, by tolerance."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    drawing, axes = plt.subplots(figsize=(6, 4))
    for tolerance, points in measured.items():
        product, seconds = np.array(sorted(points)).T
        axes.loglog(product, 1e3 * seconds, "o", label=f"tolerance {tolerance:g}")
        line = np.median(seconds / product)
        axes.loglog(product, 1e3 * line * product, "k:", linewidth=0.8, label="linear" if tolerance == TOLERANCES[-1] else None)
    axes.set_xlabel("tasks × nodes")
    axes.set_ylabel("SSM on one core [ms]")
    axes.legend()
    drawing.tight_layout()
    drawing.savefig(figure)


if __name__ == "__main__":
    app()
