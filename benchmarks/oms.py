"""Partitions, best responses and migration sequences: time, proven gap and quality; run from anywhere after `make test`.

    python benchmarks/oms.py responses             # classes of 64 tasks: count, list, best responses of all to all
    python benchmarks/oms.py exact               # tolerance 0.2, 40 and 100 steps: enumeration, heuristic against it
    python benchmarks/oms.py frontier            # far more partitions than can be listed: proven gap by prices
    python benchmarks/oms.py growth              # more tasks and nodes than the paper has

Work is skewed (uniform in 0.5…1.5, or lognormal), state follows it within a factor of 0.5…1.5, and the number of nodes
walks at random by up to three at a time. Times are of this process, after one small sequence that compiles or loads
the kernels; `cpu` adds those of all threads.
"""

from __future__ import annotations

from itertools import pairwise
from statistics import median
from time import perf_counter, process_time
from typing import Annotated

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

import edrp
from edrp.mdp.best_response import best_responses, colexicographic
from edrp.mdp.partitions import Tasks, count_partitions, enumerate_partitions, sample_partitions
from edrp.mdp.trie import Trie, prepare_values
from edrp.migration.intervals import load_limit
from edrp.migration.sequence import MigrationSequence

app = typer.Typer(add_completion=False, help=__doc__)
console = Console()
SKEWS = ("uniform", "lognormal")
COUNTS = (8, 16)
FRONTIER = ((0.3, 40), (0.5, 6), (0.5, 10), (0.5, 20), (0.5, 40), (0.5, 100), (0.8, 20), (1.2, 8), (1.2, 10), (1.2, 20))


def skewed(skew: str, seed: int, tasks: int = 64) -> Tasks:
    """Random tasks with uniform or log-normal work."""
    generator = np.random.default_rng(seed)
    work = generator.uniform(0.5, 1.5, tasks) if skew == "uniform" else generator.lognormal(0.0, 0.5, tasks)
    return Tasks.of(work, work * generator.uniform(0.5, 1.5, tasks))


def sequence(
    skew: str, seed: int, steps: int, tolerance: float, tasks: int = 64, counts: tuple[int, int] = COUNTS
) -> MigrationSequence:
    """A random sequence of node counts, from an assignment that the first of them allows."""
    generator, loads = np.random.default_rng(seed), skewed(skew, seed, tasks)
    nodes = [int(generator.integers(counts[0], counts[1] + 1))]
    while len(nodes) <= steps:
        after = int(np.clip(nodes[-1] + generator.integers(-3, 4), *counts))
        if after != nodes[-1]:
            nodes.append(after)
    limit = load_limit(float(loads.work_before[-1]), nodes[0], max(0.2, tolerance))
    start = sample_partitions(loads.work_before, nodes[0], limit, False, 1, generator)[0].tolist()
    return MigrationSequence(
        work=tuple(loads.work.tolist()),
        state_size=tuple(loads.state_size.tolist()),
        intervals=tuple(pairwise(start)),
        nodes=tuple(nodes[1:]),
        tolerance=(tolerance,) * steps,
        allow_empty=False,
    )


def solved(problem: MigrationSequence, **options: object) -> tuple[edrp.Solution, float, float]:
    """The solution, with wall and processor seconds."""
    begin, cpu = perf_counter(), process_time()
    solution = edrp.solve(problem, "oms", **options)
    return solution, perf_counter() - begin, process_time() - cpu


def warm() -> None:
    """Compile or load every kernel."""
    for way in ("enumerated", "prices"):
        solved(sequence("uniform", 0, 3, 0.3, 24, (3, 6)), way=way)


@app.command()
def responses(sweeps: int = 4, discount: float = 0.8) -> None:
    """Best responses of all partitions of 64 tasks into 8 … 16 intervals to each of these classes, tolerance 0.2."""
    warm()
    columns = ("work", "partitions", "count s", "list s", "prepare s", "sweep s (1 core)", "µs per response")
    table = Table(*columns, title="Best responses")
    for skew in SKEWS:
        tasks = skewed(skew, 0)
        before, classes = tasks.work_before, range(COUNTS[0], COUNTS[1] + 1)
        limits = [load_limit(float(before[-1]), nodes, 0.2) for nodes in classes]
        begin = perf_counter()
        counts = [count_partitions(before, n, limit, False) for n, limit in zip(classes, limits, strict=True)]
        counted = perf_counter()
        partitions = [enumerate_partitions(before, n, limit, False) for n, limit in zip(classes, limits, strict=True)]
        listing = perf_counter() - counted
        tries = [Trie.of(before, n, limit, False) for n, limit in zip(classes, limits, strict=True)]
        orders = [colexicographic(partition_class) for partition_class in partitions]
        values = [np.zeros(count) for count in counts]
        known = {(a, b): np.full(counts[a], -1) for a in range(len(tries)) for b in range(len(tries))}
        looking, searching = [], []
        for _ in range(sweeps):
            start = process_time()
            aheads = [prepare_values(trie, discount * value) for trie, value in zip(tries, values, strict=True)]
            looked = process_time()
            fresh = [np.zeros(count) for count in counts]
            for (a, b), response in known.items():
                costs = np.empty(counts[a])
                best_responses(tries[b], aheads[b], tasks.state_before, partitions[a], orders[a], response, costs, response)
                fresh[a] += costs / len(tries)
            values = fresh
            looking.append(looked - start)
            searching.append(process_time() - looked)
        micro = 1e6 * min(searching) / (sum(counts) * len(tries))
        row = f"{counted - begin:.3f}", f"{listing:.3f}", f"{median(looking):.2f}", f"{median(searching):.2f}", f"{micro:.2f}"
        table.add_row(skew, str(sum(counts)), *row)
    console.print(table)


@app.command()
def exact(seeds: int = 2, threads: int = 2) -> None:
    """All partitions listed, and the heuristic against the optimum."""
    warm()
    columns = ("work", "steps", "partitions", "optimum", "seconds", "cpu", "heuristic +%", "seconds")
    table = Table(*columns, title="64 tasks, 8 to 16 nodes, tolerance 0.2")
    for skew in SKEWS:
        for steps in (40, 100):
            for seed in range(seeds):
                problem = sequence(skew, seed, steps, 0.2)
                best, seconds, cpu = solved(problem, way="enumerated", threads=threads)
                rough, quick, _ = solved(problem, way="heuristic", time_limit=10.0)
                above = f"{100 * (rough.objective / best.objective - 1):.2f}"
                numbers = f"{best.objective:.3f}", f"{seconds:.1f}", f"{cpu:.1f}", above, f"{quick:.1f}"
                table.add_row(skew, str(steps), f"{best.size['partitions']:.3g}", *numbers)
    console.print(table)


@app.command()
def frontier(
    time_limit: float = 120.0, seeds: int = 2, threads: int = 2, largest: Annotated[int, typer.Option(help="steps")] = 40
) -> None:
    """Far more partitions than can be listed."""
    warm()
    columns = ("tolerance", "steps", "work", "partitions", "status", "gap %", "passes", "seconds", "cpu")
    table = Table(*columns, title="64 tasks, 8 to 16 nodes")
    for tolerance, steps in FRONTIER:
        for seed in range(seeds) if steps <= largest else ():
            skew = SKEWS[seed % 2]
            solution, seconds, cpu = solved(sequence(skew, seed, steps, tolerance), time_limit=time_limit, threads=threads)
            numbers = f"{100 * solution.gap:.3f}", str(solution.size["passes"]), f"{seconds:.1f}", f"{cpu:.1f}"
            table.add_row(f"{tolerance:g}", str(steps), skew, f"{solution.size['partitions']:.3g}", solution.status, *numbers)
    console.print(table)


@app.command()
def growth(time_limit: float = 60.0, threads: int = 2) -> None:
    """More tasks and nodes, ten steps, tolerance 0.2."""
    warm()
    table = Table("tasks", "nodes", "partitions", "status", "gap %", "passes", "seconds", title="Ten steps, tolerance 0.2")
    for tasks, counts in ((64, (8, 16)), (128, (12, 24)), (256, (16, 32)), (512, (24, 48)), (1024, (32, 64))):
        solution, seconds, _ = solved(sequence("uniform", 0, 10, 0.2, tasks, counts), time_limit=time_limit, threads=threads)
        numbers = f"{100 * solution.gap:.2f}", str(solution.size["passes"]), f"{seconds:.1f}"
        size = f"{float(solution.size['partitions']):.3g}"
        table.add_row(str(tasks), f"{counts[0]}–{counts[1]}", size, solution.status, *numbers)
    console.print(table)


if __name__ == "__main__":
    app()
