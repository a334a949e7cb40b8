"""The searches on latency-aware placement: time, and gap to the proven optimum.

    python benchmarks/search.py table               # Table 4 of the paper and ours
    python benchmarks/search.py fresh --first 100   # 42 operators on generated topologies, nothing tuned on these seeds
    python benchmarks/search.py limit               # by how much a time limit is missed

Kernels are warm. Times are processor time, but for `limit`, which is about the clock.
"""

from __future__ import annotations

from statistics import median
from time import perf_counter
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

import edrp
from edrp.datasets.placement.latency_aware_test_bed import paper_problem
from edrp.validation.papers.latency_aware import table_4
from edrp.validation.report.statements import print_statements
from edrp.validation.report.tables import print_tables

app = typer.Typer(add_completion=False, help=__doc__)
console = Console()
ENDLESS = {
    "ant-system": {"iterations": 10**9, "stagnation": 10**9},
    "hybrid": {"iterations": 10**9, "stagnation": 10**9},
    "iterated-local-search": {"kicks": 10**9},
}


@app.command()
def table(seeds: int = table_4.SEEDS, topologies: str = ",".join(table_4.TOPOLOGIES)) -> None:
    """Every method on every topology at every load."""
    table_4.run(console, topologies=topologies.split(","), seeds=seeds)


@app.command()
def fresh(first: int = 100, count: int = 30, loads: str = "0.2,0.4,0.7") -> None:
    """Generated topologies; most of the time goes into the proofs."""
    chosen = [float(load) for load in loads.split(",")]
    cells = table_4.fresh_cells(range(first, first + count), loads=chosen)
    print_tables(console, table_4.time_table(cells), table_4.gap_table(cells))
    print_statements(console, table_4.statements_4(cells))


@app.command()
def limit(seconds: Annotated[float, typer.Option(help="time limit")] = 0.05, topology: str = table_4.LARGEST) -> None:
    """How long a method that would never end takes beyond its limit, with everything from compiling to checking."""
    table = Table("method", "median", "worst of 20", title=f"beyond a limit of {1e3 * seconds:g} ms, {topology}")
    problem = paper_problem(topology, 0.7)
    for method, parameters in ENDLESS.items():
        late = []
        for seed in range(21):
            begin = perf_counter()
            edrp.solve(problem, method, seed=seed, time_limit=seconds, **parameters)
            late.append(perf_counter() - begin - seconds)
        table.add_row(method, *(f"{1e3 * value:.1f} ms" for value in (median(late[1:]), max(late[1:]))))
    console.print(table)


if __name__ == "__main__":
    app()
