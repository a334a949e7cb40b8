"""Exact mapping of tasks: agreement of three methods on small problems, and how long proofs take on large ones.

    python benchmarks/mapping_exact.py agree --count 500     # label setting, the program in HiGHS, enumeration: a minute
    python benchmarks/mapping_exact.py sizes                 # 10 components on 30 to 120 and on 1,000 servers: half a minute
    python benchmarks/mapping_exact.py long --limit 60       # 20 components on 120 servers; bound and gap where stopped
    python benchmarks/mapping_exact.py bound                 # optimum over the paper's lower bound (Fig. 7a)

Times are of one core, from the problem to the checked answer, on the clock and in processor seconds; kernels are compiled
before.
"""

from __future__ import annotations

import gc
import sys
from collections import Counter
from dataclasses import dataclass
from time import perf_counter, process_time
from typing import Annotated

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

import edrp
from edrp.check_problems.mapping.path_mapping_brute_force import brute_force_mapping
from edrp.datasets.families.mapping.platforms import mapping_problem
from edrp.datasets.families.mapping.random_path_mapping import random_mapping_problem
from edrp.formulations.mapping.lagrangian import relaxed_bound
from edrp.mapping.path_mapping import MappingProblem, MappingSolution

SIZES = (30, 60, 90, 120)
"""Servers, as in Fig. 7."""

SAME = 1e-7
"""Difference of objectives that is a solver's tolerance."""

application = typer.Typer(help=__doc__, add_completion=False)
console = Console(width=120)


@dataclass(frozen=True, slots=True)
class Timed:
    """A solution, and seconds on the clock and of the processor."""

    solution: MappingSolution
    clock: float
    processor: float


def timed(problem: MappingProblem, limit: float | None = None) -> Timed:
    """Solve one problem by label setting."""
    clock, processor = perf_counter(), process_time()
    solution = edrp.solve(problem, "label-setting", time_limit=limit)
    return Timed(solution, perf_counter() - clock, process_time() - processor)


def warmed() -> None:
    """Kernels are compiled or loaded, all paths are taken once; what was imported is left out of garbage collections."""
    timed(mapping_problem(120, components=20, seed=2))
    gc.collect()
    gc.freeze()


def row(label: str, timings: list[Timed], statuses: bool = True) -> list[str]:
    """Times of several solutions in milliseconds."""
    clock, processor = (1000 * np.array([getattr(timing, name) for timing in timings]) for name in ("clock", "processor"))
    cells = [f"{value:.1f}" for value in (*np.quantile(clock, [0.5, 0.9, 0.99, 1.0]), np.median(processor), processor.max())]
    counts = Counter(timing.solution.status for timing in timings)
    return [
        label,
        str(len(timings)),
        *cells,
        *([", ".join(f"{count} {name}" for name, count in counts.items())] if statuses else []),
    ]


def times() -> Table:
    """An empty table of times by the clock and of the processor."""
    heads = ("median ms", "90 %", "99 %", "worst", "processor: median", "worst")
    return Table("", "problems", *heads, "status")


@application.command()
def agree(
    count: Annotated[int, typer.Option(help="Problems.")] = 500,
    first: Annotated[int, typer.Option(help="Seed of the first one.")] = 0,
    backend: Annotated[str, typer.Option(help="Solver of the program.")] = "highs",
) -> None:
    """Label setting, the program and enumeration on random problems of up to 8 servers and 6 components, in all readings."""
    kinds: Counter[str] = Counter()
    differences = 0
    for seed in range(first, first + count):
        problem = random_mapping_problem(seed)
        optimum, _ = brute_force_mapping(problem)
        public = ", public network" if any(node.uplink for node in problem.network.nodes) else ""
        kinds[f"{problem.bandwidth}, {problem.empty_hops}{public}"] += 1
        kinds["infeasible"] += optimum is None
        for method in ("label-setting", backend):
            solution = edrp.solve(problem, method)
            proven = solution.status == ("infeasible" if optimum is None else "optimal")
            if not proven or (optimum is not None and abs(solution.objective - optimum) > SAME):
                differences += 1
                console.print(f"seed {seed}: {method} says {solution.status} {solution.objective}, enumeration {optimum}")
    console.print(f"{count} problems, {differences} differences")
    console.print("; ".join(f"{number} {name}" for name, number in sorted(kinds.items())))
    sys.exit(differences > 0)


@application.command()
def sizes(
    count: Annotated[int, typer.Option(help="Problems of all sizes together.")] = 500,
    large: Annotated[int, typer.Option(help="Problems of 1,000 servers.")] = 30,
) -> None:
    """10 components."""
    warmed()
    table, everything = times(), []
    for servers in SIZES:
        timings = [timed(mapping_problem(servers, seed=seed)) for seed in range(count // len(SIZES))]
        everything += timings
        table.add_row(*row(f"{servers} servers", timings))
    table.add_row(*row("all of these", everything))
    table.add_row(*row("1,000 servers", [timed(mapping_problem(1000, seed=seed)) for seed in range(large)]))
    console.print(table)
    for name in ("clock", "processor"):
        seconds = np.array([getattr(timing, name) for timing in everything])
        console.print(f"{name}: {(seconds < 0.1).mean():.1%} below 0.1 s, {(seconds < 1).mean():.1%} below 1 s")


@application.command("long")
def long_tasks(
    count: Annotated[int, typer.Option(help="Problems.")] = 100,
    components: Annotated[int, typer.Option(help="Components of each task.")] = 20,
    servers: Annotated[int, typer.Option(help="Servers of each network.")] = 120,
    limit: Annotated[float, typer.Option(help="Seconds for each.")] = 20.0,
    first: Annotated[int, typer.Option(help="Seed of the first one.")] = 0,
) -> None:
    """Long tasks."""
    warmed()
    seeds = range(first, first + count)
    timings = [timed(mapping_problem(servers, components=components, seed=seed), limit) for seed in seeds]
    table = times()
    table.add_row(*row(f"{components} components on {servers} servers", timings))
    console.print(table)
    for seed, timing in zip(seeds, timings, strict=True):
        if timing.solution.status not in ("optimal", "infeasible"):
            held = timing.solution
            console.print(f"seed {seed} stopped: objective {held.objective}, bound {held.bound}, gap {held.gap}")


@application.command()
def bound(count: Annotated[int, typer.Option(help="Problems of each size.")] = 100) -> None:
    """Optimum over the lower bound of the paper, which overlooks bandwidths and looks at components one by one."""
    table = Table("servers", "feasible", "mean", "median", "worst", "bound is 0")
    for servers in SIZES:
        problems = [mapping_problem(servers, seed=seed) for seed in range(count)]
        pairs = [(edrp.solve(problem, "label-setting").objective, relaxed_bound(problem)) for problem in problems]
        ratios = np.array([optimum / bound for optimum, bound in pairs if optimum is not None and bound > 0])
        zero = sum(optimum is not None and bound == 0 for optimum, bound in pairs)
        cells = [f"{value:.2f}" for value in (ratios.mean(), np.median(ratios), ratios.max())]
        table.add_row(str(servers), str(ratios.size), *cells, str(zero))
    console.print(table)


if __name__ == "__main__":
    application()
