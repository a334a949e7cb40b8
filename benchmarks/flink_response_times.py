"""Response times of migrations (state migration, Figs. 13 and 15): `python benchmarks/flink_response_times.py run ROWS`.

Fig. 13: the frequent-pattern job runs on a LocalFlink with windows of 30 to 120 s of the paper's time. In every round each method
carries out one migration for each window: of a course of node counts, that of hourly departures from New York, the one whose
costs come nearest to the means of the course. Tasks move as single-step optimal migration, MTM-aware migration and consistent
hashing ask for, with all workers suspended (section 5.1) and live (5.2); and a plain job is stopped with a savepoint and started
with an even split, as Storm was. A round takes about 5 minutes.

Fig. 15: ten workers become eight, live, by Flink's rescale and by a restart from a savepoint; about 5 minutes.

`run` adds a row for each measurement to the file, with the load of the machine; the same command again goes on with what is
missing. `show ROWS`, or `edrp reproduce live ROWS`, makes the report and its figures.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from registry import add_row
from rich.console import Console

from edrp.validation.flink.live.response_times import MINUTE, ResponseTurn, response_times
from edrp.validation.flink.response_times import Migration, ResponseSettings, measure
from edrp.validation.papers.live.report import LiveRows, read_rows, report


def tell(line: str) -> None:
    """Say what is done."""
    print(line, file=sys.stderr, flush=True)


def new_rows(arguments: argparse.Namespace, known: LiveRows) -> Iterator[dict[str, Any]]:
    """Rows of everything that was not measured yet."""
    if 13 in arguments.figures:
        done = [Migration(*(row[name] for name in Migration._fields)) for row in known.get("windows", ())]
        yield from measure(ResponseSettings(windows=tuple(arguments.windows)), arguments.rounds or 2, done, tell)
    if 15 in arguments.figures:
        turns = [ResponseTurn(*(row[name] for name in ResponseTurn._fields)) for row in known.get("response", ())]
        yield from response_times(arguments.rounds or 1, arguments.minute, turns, tell)


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("run", "show"))
    parser.add_argument("rows", type=Path)
    parser.add_argument("--figures", type=int, choices=(13, 15), nargs="+", default=[13, 15])
    parser.add_argument("--rounds", type=int, help="of each figure; default: 2 of Fig. 13, 1 of Fig. 15")
    windows = ResponseSettings().windows
    parser.add_argument("--windows", type=float, nargs="+", default=windows, help="seconds of the paper's time, for Fig. 13")
    parser.add_argument("--minute", type=float, default=MINUTE, help="seconds into which a minute of Fig. 15 is compressed")
    arguments = parser.parse_args()
    if arguments.what == "run":
        known = read_rows([arguments.rows]) if arguments.rows.exists() and arguments.rows.stat().st_size else {}
        for row in new_rows(arguments, known):
            add_row(arguments.rows, row)
    report(read_rows([arguments.rows])).print(Console(width=200))


if __name__ == "__main__":
    main()
