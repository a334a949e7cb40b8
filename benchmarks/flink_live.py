"""Live migration on a real cluster of Flink: `python benchmarks/flink_live.py run ROWS`, `show ROWS`.

Four experiments, in this order, or those that `--only` names. `against`: two workers get a third one and give it back, live, by
Flink's rescale with its own checkpoint and by a restart from a savepoint, in turn, with 10, 100 and 400 MB of state and with
tuples that compute or sleep. `throughput`: bursts at rest, live and plain. `orders`: the same moves in five orders. `response`:
Fig. 15 of the paper. `run` adds a row to the file after each change; the same command again goes on with what is not in it.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from common import add_row
from rich.console import Console

from edrp.validation.flink.live.against_flink import AgainstSettings, Turn, against_flink
from edrp.validation.flink.live.order_runs import OrderTurn, order_runs
from edrp.validation.flink.live.response_times import MINUTE, ResponseSettings, ResponseTurn, response_times
from edrp.validation.flink.live.throughput import Burst, throughputs
from edrp.validation.papers.live.report import report
from edrp.validation.papers.live.rows import LiveRows, read_rows

ROUNDS = {"against": 12, "throughput": 6, "orders": 2, "response": 1}
"""Rounds by experiment, each of which takes minutes."""


def tell(line: str) -> None:
    """Say what is done."""
    print(line, file=sys.stderr, flush=True)


def new_rows(arguments: argparse.Namespace, done: LiveRows) -> Iterator[dict[str, Any]]:
    """Rows of everything that was not measured yet."""
    for experiment in arguments.only:
        rounds = arguments.rounds or ROUNDS[experiment]
        if experiment == "against":
            settings = AgainstSettings(arguments.megabytes, rounds, arguments.backend)
            known = [row for row in done.against if row["backend"] == arguments.backend]
            yield from against_flink(settings, {Turn(*(row[name] for name in Turn._fields)) for row in known}, tell)
        elif experiment == "throughput":
            yield from throughputs(rounds, done.done("throughput", Burst._fields), tell)
        elif experiment == "orders":
            yield from order_runs(rounds, done.done("orders", OrderTurn._fields), tell)
        else:
            turns = done.done("response", ResponseTurn._fields)
            yield from response_times(ResponseSettings(rounds, arguments.minute), turns, tell)


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("run", "show"))
    parser.add_argument("rows", type=Path)
    parser.add_argument("--only", choices=tuple(ROUNDS), nargs="+", default=list(ROUNDS), help="experiments to run")
    parser.add_argument("--rounds", type=int, help=f"of each experiment; default: {ROUNDS}")
    parser.add_argument("--megabytes", type=int, nargs="+", default=[10, 100, 400], help="state of the jobs of `against`")
    parser.add_argument("--backend", choices=("hashmap", "rocksdb"), default="hashmap", help="state backend of `against`")
    parser.add_argument("--minute", type=float, default=MINUTE, help="seconds into which a minute of Fig. 15 is compressed")
    arguments = parser.parse_args()
    if arguments.what == "run":
        done = read_rows([arguments.rows]) if arguments.rows.exists() and arguments.rows.stat().st_size else LiveRows()
        for row in new_rows(arguments, done):
            add_row(arguments.rows, row)
    report(read_rows([arguments.rows])).print(Console(width=200))


if __name__ == "__main__":
    main()
