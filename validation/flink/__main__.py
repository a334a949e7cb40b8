"""Runs a cluster with a job to try advice on: `python -m edrp.validation.flink`; Ctrl-C ends both."""

from __future__ import annotations

import signal
import sys
from typing import Annotated

import typer

from edrp.engines.errors import EngineError
from edrp.engines.flink.local.cluster import LocalFlink
from edrp.validation.flink.lab.job import LabRun, LabSettings

SERVICE = {"parser": 0.005, "counter": 0.018}
"""Seconds of service for which two counters are too busy at the rate by default, and three are not."""


def main(
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port of the REST API; 0 for a free one.")] = 8081,
    nodes: Annotated[int, typer.Option(min=1, max=26, help="Number of TaskManagers, called tm-a, tm-b, …")] = 2,
    slots: Annotated[int, typer.Option(min=1, help="Slots of each.")] = 4,
    rate: Annotated[float, typer.Option(min=0, help="Tuples/s of the job's source.")] = 100.0,
) -> None:
    """Run a cluster of Flink on this machine with a job whose counter is too busy, until Ctrl-C."""
    names = [f"tm-{chr(ord('a') + number)}" for number in range(nodes)]
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(0))
    try:
        with LocalFlink(dict.fromkeys(names, slots), port=port or None) as flink:
            LabRun(flink, LabSettings(rate=rate, replicas={"counter": 2}, service=SERVICE))
            sys.stdout.write(f"edrp advise flink --rest {flink.address} --seconds 20\n")
            sys.stdout.flush()
            signal.pause()
    except EngineError as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        sys.exit(0)


if __name__ == "__main__":
    typer.run(main)
