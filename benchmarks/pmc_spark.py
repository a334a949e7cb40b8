"""PMC on Spark next to the threads of one machine: same numbers, what the way through Spark costs.

    python benchmarks/pmc_spark.py                  # two skews of 64 tasks on 8 to 16 nodes, local[2] against two threads
    python benchmarks/pmc_spark.py --tolerance 0.25 # more states

The first run in a session also starts the Python workers, which load this package; the second finds them running.
"""

from __future__ import annotations

from time import perf_counter
from typing import Annotated

import numpy as np
import typer
from pmc import process
from rich.console import Console
from rich.table import Table

from edrp.core.spark import spark_session
from edrp.mdp.policy.pmc import Iteration, SweepEngine, Threads, iterate
from edrp.mdp.policy.process import PolicyModel
from edrp.mdp.policy.spark_engine import Spark

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
) -> None:
    """Time both engines on the same problems."""
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


if __name__ == "__main__":
    typer.run(run)
