"""Column generation on latency-aware placement: agreement, proofs and times; run from anywhere after `make test`.

    python benchmarks/latency_aware_exact.py paths         # path latency on 500 problems, against every path one by one
    python benchmarks/latency_aware_exact.py agree         # exact methods on 300 small problems, against one another
    python benchmarks/latency_aware_exact.py brute-force   # 500 small problems against plain enumeration: minutes
    python benchmarks/latency_aware_exact.py straight      # 95 of up to 20 operators against the compact program
    python benchmarks/latency_aware_exact.py optima        # Table 1's topologies and 60 operators, all proven
    python benchmarks/latency_aware_exact.py optima --write datasets/placement/reference/latency_aware_optima.json

Times are of one core (processor seconds), kernels loaded before.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from time import process_time
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

import edrp
from edrp.check_problems.placement.latency_aware_brute_force import brute_force_latency_aware
from edrp.core.methods import get_method
from edrp.datasets.families.placement.random_latency_aware import random_deployment, random_latency_aware_problem
from edrp.datasets.placement.latency_aware_test_bed import LOADS, OPERATIONS, random_problem
from edrp.placement.deployment import Deployment
from edrp.placement.latency_aware import LatencyAwareProblem
from edrp.validation.oracles.placement.instance_paths import slowest_instance_path
from edrp.validation.oracles.placement.latency_aware_optima import described_problem
from edrp.validation.oracles.placement.path_latency_faces import path_latencies

METHOD = "column-generation"
SAME = 1e-9
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


def _measured(problem: LatencyAwareProblem, **options: Any) -> tuple[Any, float]:
    """The answer to a problem, and the processor's seconds for it."""
    start = process_time()
    solution = edrp.solve(problem, METHOD, **options)
    return solution, process_time() - start


def _warm() -> None:
    """Compile or load the kernels."""
    _measured(random_problem(0, operations=6, load=0.7))


def _slowest_pairs(problem: LatencyAwareProblem, deployment: Deployment) -> float:
    """Seconds of the slowest pairs of instances of all streams of a path in a row, which no tuple need take."""
    application, finish = problem.application, dict.fromkeys(deployment, 0.0)
    for operator in application.topological_order:
        for stream in application.streams:
            if stream.target == operator and (stream.source, operator) not in application.feedback:
                pairs = [(u, v) for u in deployment[stream.source] for v in deployment[operator]]
                slowest = max(problem.network.delay(u, v) for u, v in pairs)
                finish[operator] = max(finish[operator], finish[stream.source] + slowest)
    return max(finish.values())


@app.command()
def paths(count: int = 500, placements: int = 2) -> None:
    """Path latency of random placements as all methods and programs compute it, against every path through instances."""
    wrong, spread, shorter = [], 0, 0
    for seed in range(count):
        problem = random_latency_aware_problem(seed)
        random = np.random.default_rng(seed)
        for _ in range(placements):
            deployment = random_deployment(problem, random)
            slowest = slowest_instance_path(problem, deployment)
            faces = path_latencies(problem, deployment)
            wrong += [f"{seed} {face}" for face, seconds in faces.items() if not abs(seconds - slowest) <= SAME]
            spread += any(len(set(nodes)) > 1 for nodes in deployment.values())
            shorter += slowest < _slowest_pairs(problem, deployment) - SAME
    console.print(f"{count} problems, {count * placements} placements, {spread} with instances of an operator apart")
    console.print(f"{shorter} are faster than the slowest pairs of all streams in a row; {len(wrong)} disagree {wrong or ''}")
    sys.exit(bool(wrong))


def _exact(problem: LatencyAwareProblem) -> Iterator[tuple[str, Any]]:
    """Solutions by every exact method that takes a problem."""
    for method in (METHOD, "eliminate", "highs"):
        if get_method(method, problem.kind).refusal(problem) is None:
            yield method, edrp.solve(problem, method)


@app.command()
def agree(count: int = 300) -> None:
    """Optima by all exact methods; two of three problems have little room, and latency decides where operators spread."""
    wrong, statuses = [], Counter[str]()
    for seed in range(count):
        problem = random_latency_aware_problem(seed, room=WEIGHTED[seed % 3][0])
        weights = WEIGHTED[seed % 3][1]
        problem = problem if weights is None else problem.replace(weights=weights)
        solutions = dict(_exact(problem))
        statuses.update(f"{name}: {solution.status}" for name, solution in solutions.items())
        first = next(iter(solutions.values()))
        for name, solution in solutions.items():
            same = solution.status == first.status
            if same and first.objective is not None:
                same = abs(solution.objective - first.objective) <= 1e-8 * max(1.0, first.objective)
            wrong += [] if same else [f"{seed} {name}"]
    console.print(dict(sorted(statuses.items())))
    console.print(f"{count} problems: {len(wrong)} disagree {wrong or ''}")
    sys.exit(bool(wrong))


@app.command()
def brute_force(count: int = 500) -> None:
    """Optimum or infeasibility of small problems, against plain enumeration."""
    _warm()
    wrong, infeasible, slowest = [], 0, 0.0
    for seed in range(count):
        problem = random_latency_aware_problem(seed)
        best, _ = brute_force_latency_aware(problem)
        solution, seconds = _measured(problem)
        slowest, infeasible = max(slowest, seconds), infeasible + (best is None)
        expected = "infeasible" if best is None else "optimal"
        if solution.status != expected or (best is not None and abs(solution.objective - best) > SAME):
            wrong.append(seed)
    console.print(f"{count} problems, {infeasible} of them infeasible: {len(wrong)} disagree {wrong or ''}")
    console.print(f"slowest {slowest:.2f} s")
    sys.exit(bool(wrong))


def _small() -> Iterator[tuple[str, LatencyAwareProblem]]:
    """Up to 20 operators that the compact program proves: on few supervisors, or few operations on the paper's network."""
    for seed in range(80):
        few = random_latency_aware_problem(
            seed, operators=(8, 20), nodes=(2, 3), max_instances=1, combinations_limit=float("inf")
        )
        yield f"small {seed}", few
    for seed in range(15):
        yield f"seed {seed}", random_problem(seed, operations=3 + seed % 5, load=LOADS[seed % 3])


@app.command()
def straight(seconds: Annotated[float, typer.Option(help="Limit of the compact program.")] = 60.0) -> None:
    """Optimum of up to 20 operators, against the compact program through HiGHS."""
    _warm()
    wrong, unproven, largest, optimal = [], [], 0, 0
    for label, problem in _small():
        ours, own = _measured(problem)
        program = edrp.solve(problem, "highs", time_limit=seconds)
        largest = max(largest, sum(operator.instances for operator in problem.application.operators))
        known = program.status in ("optimal", "infeasible")
        agrees = (ours.status == program.status) if known else program.bound is None or program.bound <= ours.objective + SAME
        if known and ours.objective is not None:
            agrees &= abs(ours.objective - program.objective) <= 1e-8
        wrong += [] if agrees else [label]
        unproven += [] if known else [label]
        optimal += program.status == "optimal"
        console.print(f"{label:9} {ours.status} {ours.objective} {own:.2f} s; program: {program.status} {program.objective}")
    console.print(f"up to {largest} operators, {optimal} proven by the program: {len(wrong)} disagree {wrong or ''}")
    console.print(f"neither proven nor found infeasible by the program: {unproven or 'none'}")
    sys.exit(bool(wrong))


@app.command()
def optima(
    write: Annotated[Path | None, typer.Option(help="Reference data to write.")] = None,
    seeds: Annotated[int, typer.Option(help="Random topologies of 60 operators.")] = 5,
) -> None:
    """Topologies of Table 1 and of 60 operators at all loads: optimum, time, and what was left to choose from."""
    _warm()
    table = Table("topology", "load", "operators", "status", "score", "gap", "seconds", "patterns", "listed", "windows")
    entries, unproven = [], 0
    wanted: list[tuple[str, int | None]] = [(name, None) for name in OPERATIONS]
    for name, operations in [*wanted, *((f"seed {seed}", SIXTY) for seed in range(seeds))]:
        for load in LOADS:
            problem = described_problem(name, load, operations)
            solution, seconds = _measured(problem)
            operators = sum(operator.instances for operator in problem.application.operators)
            size, proven = solution.size, solution.status == "optimal"
            unproven += not proven
            cells = (size["patterns"], size["patterns listed"], size["windows"])
            numbers = (f"{solution.objective:.9f}", f"{solution.gap:.0e}", f"{seconds:.2f}")
            table.add_row(name, f"{load}", f"{operators}", solution.status, *numbers, *map(str, cells))
            if proven:
                entries.append(
                    {"name": name, "operations": operations, "load": load, "operators": operators, "optimum": solution.objective,
                     "deployment": {operator: list(nodes) for operator, nodes in solution.deployment.items()}}
                )  # fmt: skip
    console.print(table)
    if write is not None:
        note = "Proven least scores (latency-aware placement, eq. 1) of problems of the latency-aware test bed."
        write.write_text(json.dumps({"note": note, "optima": entries}, indent=1) + "\n")
    sys.exit(bool(unproven))


if __name__ == "__main__":
    app()
