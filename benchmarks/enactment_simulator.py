"""Items per second of the enactment simulator and of SimPy, on one core; run from anywhere after `make test`.

    python benchmarks/enactment_simulator.py                       # 120 minutes of every arrival pattern, both simulators
    python benchmarks/enactment_simulator.py stepwise --minutes 10

Times are those of the processor; the compiled simulator runs several times, and the median counts.
"""

from __future__ import annotations

from statistics import median
from time import process_time
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from edrp.datasets.enactment.manufacturing import PATTERNS, manufacturing_scenario
from edrp.heuristics.enactment import POLICIES
from edrp.validation.oracles.enactment.reference_simulator import simulate_reference
from edrp.validation.simulation.enactment.simulator import simulate

app = typer.Typer(add_completion=False, help=__doc__)


def timed(simulator: Any, scenario: Any, policy: str) -> tuple[Any, float]:
    """A run and its seconds, with a new policy."""
    made, parameters = POLICIES[policy]
    begin = process_time()
    run = simulator(scenario, made(parameters()), 1)
    return run, process_time() - begin


@app.command()
def main(
    patterns: Annotated[list[str] | None, typer.Argument()] = None,
    minutes: float = 120.0,
    repeats: int = 7,
    policy: str = "threshold",
) -> None:
    """Both simulators on some arrival patterns, or all; that their runs are equal is checked on the way."""
    table = Table("pattern", "items", "seconds", "items/s", "SimPy, seconds", "SimPy, items/s", "times SimPy")
    timed(simulate, manufacturing_scenario("stepwise", duration=60.0), policy)
    for pattern in patterns or PATTERNS:
        scenario = manufacturing_scenario(pattern, duration=60.0 * minutes)
        run, _ = timed(simulate, scenario, policy)
        seconds = median(timed(simulate, scenario, policy)[1] for _ in range(repeats))
        reference, slow = timed(simulate_reference, scenario, policy)
        assert run == reference, "the simulators differ"
        items = sum(record.arrived for record in run.operators)
        table.add_row(
            pattern,
            f"{items:,}",
            f"{seconds:.3f}",
            f"{items / seconds:,.0f}",
            f"{slow:.1f}",
            f"{items / slow:,.0f}",
            f"{slow / seconds:.0f}",
        )
    Console().print(table)


if __name__ == "__main__":
    app()
