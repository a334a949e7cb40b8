"""Exact methods for latency-aware placement: agreement, and the reference optima proven again.

    python benchmarks/latency_aware_exact.py agree         # on 300 small problems, with one another and with enumeration
    python benchmarks/latency_aware_exact.py optima        # Table 1's topologies and 60 instances, all proven
    python benchmarks/latency_aware_exact.py optima --write datasets/placement/reference/latency_aware_optima.json

Times are of one core (processor seconds), kernels loaded before.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from time import process_time
from typing import Annotated

import typer
from common import agrees, timed
from rich.console import Console
from rich.table import Table

import edrp
from edrp.core.methods import get_method
from edrp.datasets.families.placement.random_latency_aware import random_latency_aware_problem
from edrp.datasets.placement.latency_aware_test_bed import LOADS, OPERATIONS, random_problem
from edrp.validation.oracles.placement.latency_aware_brute_force import brute_force_latency_aware
from edrp.validation.oracles.placement.latency_aware_optima import described_problem

METHODS = ("column-generation", "eliminate", "highs")
SIXTY = 31
"""Operations that run as 60 instances."""

WEIGHTED: tuple[tuple[float, dict[str, float] | None], ...] = (
    (0.7, {"latency": 1.0, "supervisors": 0.0, "colocation": 0.1, "events": 0.0}),  # elimination takes these, too
    (0.7, {"latency": 1.0, "supervisors": 0.1, "colocation": 0.1, "events": 0.1}),
    (1.0, None),
)
"""Room and weights of the problems on which exact methods are compared in turn; None for weights as drawn."""

app = typer.Typer(add_completion=False, no_args_is_help=True)
console = Console(width=110)


@app.command()
def agree(count: int = 300) -> None:
    """Optima by all exact methods; two of three problems have little room, and latency decides where operators spread."""
    wrong, statuses = [], Counter[str]()
    for seed in range(count):
        room, weights = WEIGHTED[seed % 3]
        problem = random_latency_aware_problem(seed, room=room)
        problem = problem if weights is None else problem.replace(weights=weights)
        best, _ = brute_force_latency_aware(problem)
        for method in METHODS:
            if get_method(method, problem.kind).refusal(problem) is None:
                solution = edrp.solve(problem, method)
                statuses[f"{method}: {solution.status}"] += 1
                wrong += [] if agrees(solution, best) else [f"{seed} {method}"]
    console.print(dict(sorted(statuses.items())))
    console.print(f"{count} problems: {len(wrong)} answers disagree with enumeration {wrong or ''}")
    sys.exit(bool(wrong))


@app.command()
def optima(
    write: Annotated[Path | None, typer.Option(help="Reference data to write.")] = None,
    seeds: Annotated[int, typer.Option(help="Random topologies of 60 instances.")] = 5,
) -> None:
    """Topologies of Table 1 and of 60 instances at all loads: optimum, time, and what was left to choose from."""
    edrp.solve(random_problem(0, operations=6, load=0.7), METHODS[0])  # loads the kernels
    table = Table("topology", "load", "instances", "status", "score", "gap", "seconds", "patterns", "listed", "windows")
    entries, unproven = [], 0
    wanted: list[tuple[str, int | None]] = [(name, None) for name in OPERATIONS]
    for name, operations in [*wanted, *((f"seed {seed}", SIXTY) for seed in range(seeds))]:
        for load in LOADS:
            problem = described_problem(name, load, operations)
            solution, seconds = timed(lambda p=problem: edrp.solve(p, METHODS[0]), process_time)
            instances = sum(operator.instances for operator in problem.application.operators)
            size, proven = solution.size, solution.status == "optimal"
            unproven += not proven
            cells = (size["patterns"], size["patterns listed"], size["windows"])
            numbers = (f"{solution.objective:.9f}", f"{solution.gap:.0e}", f"{seconds:.2f}")
            table.add_row(name, f"{load}", f"{instances}", solution.status, *numbers, *map(str, cells))
            if proven:
                entries.append(
                    {"name": name, "operations": operations, "load": load, "operators": instances, "optimum": solution.objective,
                     "deployment": {operator: list(nodes) for operator, nodes in solution.deployment.items()}}
                )  # fmt: skip
    console.print(table)
    if write is not None:
        note = "Proven least scores (latency-aware placement, eq. 1) of problems of the latency-aware test bed."
        write.write_text(json.dumps({"note": note, "optima": entries}, indent=1) + "\n")
    sys.exit(bool(unproven))


if __name__ == "__main__":
    app()
