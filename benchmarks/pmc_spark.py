"""PMC on Spark next to the threads of one machine: same numbers, what the way through Spark costs.

    python benchmarks/pmc_spark.py                  # two skews of 64 tasks on 8 to 16 nodes, local[2] against two threads
    python benchmarks/pmc_spark.py --tolerance 0.25 # more states
    python benchmarks/pmc_spark.py --operators 200  # a policy for each keyed operator of a job: a task each on Spark

The first run in a session also starts the Python workers, which load this package; the second finds them running.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Annotated, Any

import numpy as np
import typer
from pmc import process
from rich.console import Console
from rich.table import Table

from edrp.core.spark import spark_session
from edrp.mdp.policy.operators import operator_policies
from edrp.mdp.policy.pmc import Iteration, SweepEngine, Threads, iterate
from edrp.mdp.policy.process import PolicyModel
from edrp.mdp.policy.several import precompute_policies
from edrp.mdp.policy.spark_engine import Spark
from edrp.migration.rescale.problem import RescaleProblem

console = Console()


def timed(model: PolicyModel, engine: SweepEngine) -> tuple[Iteration, float]:
    """Iterate; the result and wall seconds."""
    begin = perf_counter()
    iteration = iterate(model, engine)
    return iteration, perf_counter() - begin


def run(
    cores: Annotated[int, typer.Option(help="threads, and cores of Spark")] = 2,
    tolerance: float = 0.2,
    memory: Annotated[str, typer.Option(help="of the Spark driver")] = "1g",
    operators: Annotated[int, typer.Option(help="of a job, instead; 0: two processes, a job of Spark for each sweep")] = 0,
) -> None:
    """Time both engines on the same problems."""
    if operators:
        compare_policies(operators, cores, memory)
        return
    iterate(process("uniform", counts=(8, 9)), Threads(1))  # loads the kernels
    columns = ("skew", "states", "sweeps", "threads s", "Spark s", "again s", "ratios", "differ B")
    table = Table(*columns, title=f"{cores} threads, and Spark on as many cores: first run of a session, and another")
    for skew in ("log-normal", "uniform"):
        model = process(skew, tolerance)
        _ = model.tries, model.orders
        here, local = timed(model, Threads(cores))
        with spark_session(f"local[{cores}]", memory=memory, in_python=True) as session:
            session.range(1).count()
            there, first = timed(model, Spark(session))
            _, again = timed(model, Spark(session))
        difference = max(float(np.abs(a - b).max()) for a, b in zip(here.values, there.values, strict=True))
        states, ratios = f"{sum(model.size.states):,}", f"{first / local:.2f}, {again / local:.2f}"
        times = (f"{local:.1f}", f"{first:.1f}", f"{again:.1f}")
        table.add_row(skew, states, str(there.sweeps), *times, ratios, f"{difference:.1e}")
    console.print(table)


def job_of(operators: int) -> RescaleProblem:
    """Keyed operators with 32 log-normal tasks each, of which one replica serves 25 to 80 tuples/s; they get 100."""
    generator = np.random.default_rng(0)

    def keyed(index: int) -> dict[str, Any]:
        tasks = {"work": generator.lognormal(0, 0.5, 32).tolist(), "state_size": generator.lognormal(0, 1, 32).tolist()}
        queue = {"model": "mm1", "service_rate": float(generator.uniform(25, 80))}
        return {"name": f"operator {index}", "latency": queue, "external_rate": 100.0, "max_replicas": 6, "tasks": tasks}

    return RescaleProblem(
        application={"operators": [keyed(index) for index in range(operators)]},
        network={"nodes": [{"name": "node", "resources": 6.0 * operators}]},
        weights={"response_time": 1.0},
        limits={"response_time": 1.0},
    )


def compare_policies(operators: int, cores: int, memory: str) -> None:
    """Policies for all operators of a job after two weeks of hourly loads, by threads and as tasks of Spark."""
    hours = np.arange(14 * 24)
    loads = 60 + 40 * np.sin(hours * np.pi / 12) + np.random.default_rng(1).normal(0, 8, hours.size).clip(-15, 15)
    begin = perf_counter()
    problems = operator_policies(job_of(operators), loads, 100.0, tolerance=0.4)
    models = {name: PolicyModel.of(problem, problem.reachable_counts) for name, problem in problems.items()}
    states = sum(sum(model.size.states) for model in models.values())
    console.print(f"{len(models)} of {operators} operators, {states:,} partitions, made in {perf_counter() - begin:.1f} s")
    iterate(process("uniform", counts=(8, 9)), Threads(1))  # loads the kernels
    with TemporaryDirectory() as folder:
        begin = perf_counter()
        here = precompute_policies(models, Threads(cores), Path(folder) / "threads")
        local = perf_counter() - begin
        with spark_session(f"local[{cores}]", memory=memory, in_python=True) as session:
            session.range(1).count()
            begin = perf_counter()
            there = precompute_policies(models, Spark(session), Path(folder) / "spark")
            spark = perf_counter() - begin
    assert [one._replace(seconds=0.0) for one in here] == [one._replace(seconds=0.0) for one in there]
    finished = sum(one.finished for one in there)
    console.print(f"{finished} finished; threads {local:.1f} s, Spark {spark:.1f} s, ratio {spark / local:.2f}")


if __name__ == "__main__":
    typer.run(run)
