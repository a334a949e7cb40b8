"""Reference optima of latency-aware placement, proven again by column generation.

    python benchmarks/latency_aware_exact.py         # Table 1's topologies and 60 instances
    python benchmarks/latency_aware_exact.py --write datasets/placement/reference/latency_aware_optima.json

Times are of one core (processor seconds), modules imported before.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from time import process_time
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

import edrp
from edrp.datasets.placement.latency_aware_test_bed import LOADS, OPERATIONS, random_problem
from edrp.validation.papers.latency_aware.table_4 import described_problem

METHOD = "column-generation"
SIXTY = 31
"""Operations that run as 60 instances."""


def main(
    write: Annotated[Path | None, typer.Option(help="Reference data to write.")] = None,
    seeds: Annotated[int, typer.Option(help="Random topologies of 60 instances.")] = 5,
) -> None:
    """Topologies of Table 1 and of 60 instances at all loads: optimum, time, and what was left to choose from."""
    edrp.solve(random_problem(0, operations=6, load=0.7), METHOD)  # imports the method
    table = Table("topology", "load", "instances", "status", "score", "gap", "seconds", "patterns", "listed", "windows")
    entries, unproven = [], 0
    wanted: list[tuple[str, int | None]] = [(name, None) for name in OPERATIONS]
    for name, operations in [*wanted, *((f"seed {seed}", SIXTY) for seed in range(seeds))]:
        for load in LOADS:
            problem = described_problem(name, load, operations)
            begin = process_time()
            solution = edrp.solve(problem, METHOD)
            seconds = process_time() - begin
            instances = sum(operator.instances for operator in problem.application.operators)
            numbers = [solution.status, f"{solution.objective:.9f}", f"{solution.gap:.0e}", f"{seconds:.2f}"]
            size = [str(solution.size[key]) for key in ("patterns", "patterns listed", "windows")]
            table.add_row(name, f"{load}", f"{instances}", *numbers, *size)
            unproven += solution.status != "optimal"
            if solution.status == "optimal":
                placed = {operator: list(nodes) for operator, nodes in solution.deployment.items()}
                key = {"name": name, "operations": operations, "load": load, "operators": instances}
                entries.append(key | {"optimum": solution.objective, "deployment": placed})
    Console(width=110).print(table)
    if write is not None:
        note = "Proven least scores (latency-aware placement, eq. 1) of problems of the latency-aware test bed."
        write.write_text(json.dumps({"note": note, "optima": entries}, indent=1) + "\n")
    sys.exit(bool(unproven))


if __name__ == "__main__":
    typer.run(main)
