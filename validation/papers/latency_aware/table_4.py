"""Table 4 of latency-aware placement: times of its heuristics, and their gaps to the optimum, which the paper does not have."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from statistics import median
from time import process_time

from rich.console import Console

from edrp.certified.library import CertifiedInstance, library
from edrp.core.solve import solve
from edrp.core.tolerances import PAPER_OPTIMUM
from edrp.datasets.placement.latency_aware_test_bed import LOADS, paper_problem, random_problem
from edrp.placement.latency_aware import LatencyAwareProblem
from edrp.report.formatting import NONE
from edrp.report.progress import Tell, working
from edrp.report.statements import Statement, claim, print_statements
from edrp.report.tables import Table, print_tables
from edrp.validation.papers.latency_aware.throughput_report import METHODS, RESOURCE_AWARE, TABLE_4

HILL_CLIMBING, HYBRID, RECOMMENDED = "hill-climbing", "hybrid", "iterated-local-search"

TOPOLOGIES = tuple(TABLE_4)
ACYCLIC = tuple(name for name in TOPOLOGIES if name.startswith("T-R") and name not in ("T-R8", "T-R9"))
LARGEST = "T-R7"
SEEDS_PER_METHOD = 30
TIME_LIMIT = 1.0
"""Seconds that a method may take, the paper's limit too."""

FRESH = "generated"
FRESH_SEEDS = range(100, 130)
"""Seeds of generated topologies with as many operators as the largest; nothing was developed on them."""
FRESH_OPERATIONS = 22


@dataclass(frozen=True, slots=True)
class SearchRuns:
    """Runs of one method on one topology, or on generated ones, at one load.

    The topology has `operators` operators, which need the share `load` of the cluster's cores. Milliseconds of the processor
    count from the problem to the checked answer. Gaps are to the proven optimum (or the best proven bound), infinite where
    nothing feasible was found.
    """

    topology: str
    operators: int
    load: float
    method: str
    milliseconds: tuple[float, ...]
    gaps: tuple[float, ...]

    @property
    def optimal(self) -> float:
        """Share of runs that end in the optimum."""
        return sum(gap <= PAPER_OPTIMUM for gap in self.gaps) / len(self.gaps)

    @property
    def infeasible(self) -> int:
        """Runs that found nothing feasible."""
        return sum(gap == float("inf") for gap in self.gaps)

    @property
    def time(self) -> str:
        """Median, and below it the paper's mean ± deviation in brackets."""
        printed = TABLE_4.get(self.topology, {}).get(self.method)
        return f"{median(self.milliseconds):.1f}" + ("" if printed is None else f"\n({printed.mean:g} ± {printed.deviation:.2f})")

    @property
    def quality(self) -> str:
        """Median gap and worst gap in percent; how many runs found nothing feasible."""
        if self.infeasible:
            return f"none in {self.infeasible} of {len(self.gaps)}"
        middle, worst = 100 * median(self.gaps), 100 * max(self.gaps)
        return f"{middle:.1f}" if worst - middle < 0.05 else f"{middle:.1f} ≤ {worst:.1f}"


def cells(
    topologies: Sequence[str] = TOPOLOGIES,
    *,
    loads: Sequence[float] = LOADS,
    seeds: int = SEEDS_PER_METHOD,
    fresh: int = 0,
    methods: Sequence[str] = METHODS,
    tell: Tell = str,
) -> list[SearchRuns]:
    """Every method with every seed on topologies of Table 1, and once on each of `fresh` generated ones.

    >>> [cell.optimal for cell in cells(["T-M3"], loads=[0.2], seeds=1, methods=["iterated-local-search"])]
    [1.0]
    """
    runs: dict[tuple[str, float, str], list[tuple[float, float]]] = {}
    operators: dict[tuple[str, float], int] = {}
    for topology, load, problem, own_seeds in _problems(topologies, loads, seeds, fresh):
        tell(f"{topology}{f' topology {own_seeds[0]}' if topology == FRESH else ''} at load {load:g}")
        operators[topology, load] = sum(operator.instances for operator in problem.application.operators)
        optimum = proven(problem)
        for method in methods:
            runs.setdefault((topology, load, method), []).extend(_run(problem, method, seed, optimum) for seed in own_seeds)
    return [
        SearchRuns(topology, operators[topology, load], load, method, *zip(*cell_runs, strict=True))
        for (topology, load, method), cell_runs in runs.items()
    ]


def _problems(
    topologies: Sequence[str], loads: Sequence[float], seeds: int, fresh: int
) -> Iterator[tuple[str, float, LatencyAwareProblem, Sequence[int]]]:
    for topology, load in product(topologies, loads):
        yield topology, load, paper_problem(topology, load), range(seeds)
    for load, seed in product(loads, FRESH_SEEDS[:fresh]):
        yield FRESH, load, random_problem(seed, operations=FRESH_OPERATIONS, load=load), [seed]


def proven(problem: LatencyAwareProblem) -> float:
    """The optimum, from the library or by column generation; where that takes more than a minute, the bound."""
    for row in _known():
        if row.record.best and row.record.status != "open" and row.problem == problem:
            return row.record.best.value
    bound = solve(problem, "column-generation", time_limit=60.0).bound
    if bound is None:
        raise ValueError("nothing is proven of this problem within a minute")
    return bound


@cache
def _known() -> list[CertifiedInstance]:
    return library.select("latency-aware")


def _run(problem: LatencyAwareProblem, method: str, seed: int, optimum: float) -> tuple[float, float]:
    limit = None if method == RESOURCE_AWARE else TIME_LIMIT
    begin = process_time()
    solution = solve(problem, method, seed=seed, time_limit=limit)
    taken = process_time() - begin
    gap = float("inf") if solution.objective is None else solution.objective / optimum - 1
    return 1e3 * taken, gap


def method_table(search_runs: Sequence[SearchRuns], title: str, text: Callable[[SearchRuns], str]) -> Table:
    """A quantity of the runs by topology, load and method."""
    methods = tuple(method for method in METHODS if any(cell.method == method for cell in search_runs))
    by_row: dict[tuple[str, int, float], dict[str, SearchRuns]] = {}
    for cell in search_runs:
        by_row.setdefault((cell.topology, cell.operators, cell.load), {})[cell.method] = cell
    rows = tuple(
        (topology, str(operators), f"{load:g}", *(text(row[method]) if method in row else NONE for method in methods))
        for (topology, operators, load), row in by_row.items()
    )
    return Table(title, ("topology", "operators", "load", *methods), rows)


def statements_4(search_runs: Sequence[SearchRuns]) -> tuple[Statement, ...]:
    """The sentences on the heuristics at the largest topology and over all that can be proven, judged where there are cells."""
    judged = []
    for name, largest in ((LARGEST, _select(search_runs, (LARGEST,))), ("generated topologies", _select(search_runs, (FRESH,)))):
        climbs, hybrids, recommended = (_select(largest, method=method) for method in (HILL_CLIMBING, HYBRID, RECOMMENDED))
        if climbs:
            slowest = max(median(cell.milliseconds) for cell in climbs)
            judged.append(claim(f"hill climbing takes under 5 ms on {name}", slowest < 5, f"{slowest:.1f} ms"))
        if hybrids:
            gap, slow = median(_gaps(hybrids)), max(median(cell.milliseconds) for cell in hybrids)
            text = f"{100 * gap:.1f} % in {slow:.0f} ms"
            judged.append(claim(f"the hybrid's median gap on {name} is at most 10 % in 50 ms", gap <= 0.1 and slow <= 50, text))
        if recommended:
            gap, worst = median(_gaps(recommended)), max(_gaps(recommended))
            text = f"{100 * gap:.2f} %, {100 * worst:.2f} %"
            judged.append(claim(f"{RECOMMENDED} on {name}: median gap ≤ 1 %, worst ≤ 5 %", gap <= 0.01 and worst <= 0.05, text))
    infeasible = sum(cell.infeasible for cell in _select(search_runs, method=HILL_CLIMBING))
    judged.append(claim("hill climbing always ends feasible", infeasible == 0, f"{infeasible} runs do not"))
    for name, topologies in (("T-R1 to T-R7", ACYCLIC), ("generated topologies", (FRESH,))):
        if recommended := _select(search_runs, topologies, RECOMMENDED):
            share = sum(gap <= PAPER_OPTIMUM for gap in _gaps(recommended)) / len(_gaps(recommended))
            judged.append(claim(f"{RECOMMENDED} is optimal in 80 % of runs on {name}", share >= 0.8, f"{100 * share:.0f} %"))
    return tuple(judged)


def _select(
    search_runs: Sequence[SearchRuns], topologies: Sequence[str] | None = None, method: str | None = None
) -> list[SearchRuns]:
    return [c for c in search_runs if (topologies is None or c.topology in topologies) and (method is None or c.method == method)]


def _gaps(search_runs: Sequence[SearchRuns]) -> list[float]:
    return [gap for cell in search_runs for gap in cell.gaps]


def run(
    console: Console,
    *,
    topologies: Sequence[str] = TOPOLOGIES,
    loads: Sequence[float] = LOADS,
    seeds: int = SEEDS_PER_METHOD,
    fresh: int = 0,
) -> list[SearchRuns]:
    """Print our Table 4 next to the printed one, and the statements on it; also of `fresh` generated topologies."""
    for method in METHODS:
        solve(paper_problem("T-M3"), method)  # imports what it needs
    with working(console, "placing") as tell:
        search_runs = cells(topologies, loads=loads, seeds=seeds, fresh=fresh, tell=tell)
    times = method_table(search_runs, "Table 4: milliseconds, our median (the paper's mean)", lambda cell: cell.time)
    gaps = method_table(search_runs, "gap to the proven optimum, %: median ≤ worst", lambda cell: cell.quality)
    print_tables(console, times, gaps)
    print_statements(console, statements_4(search_runs))
    return search_runs
