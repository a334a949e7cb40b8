"""Response times after migrations (state migration, Fig. 13): `python benchmarks/flink_response_times.py run ROWS`, `show ROWS`.

The frequent-pattern job runs on a LocalFlink with windows of 30 to 120 s of the paper's time. In every round each method carries
out one migration for each window: of a course of node counts, that of hourly departures from New York, the one whose costs come
nearest to the means of the course. Tasks move as single-step optimal migration, MTM-aware migration and consistent hashing ask
for, with all workers suspended (section 5.1) and live (5.2); and a plain job is stopped with a savepoint and started with an even
split, as Storm was. `run` adds a row for each to the file, with the load of the machine; the same command again goes on with what
is missing, and `edrp reproduce live ROWS` draws the figure. A round takes about 5 minutes.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from common import add_row

from edrp.report.tables import markdown_table
from edrp.validation.flink.response_times import Migration, ResponseSettings, measure
from edrp.validation.papers.live.rows import read_rows
from edrp.validation.papers.live.windows import window_statements, window_table


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("run", "show"))
    parser.add_argument("rows", type=Path)
    parser.add_argument("--rounds", type=int, default=2, help="migrations of the course to measure [default: 2]")
    parser.add_argument(
        "--windows", type=float, nargs="+", default=ResponseSettings().windows, help="seconds of the paper's time"
    )
    arguments = parser.parse_args()
    rows = read_rows([arguments.rows]).windows if arguments.rows.exists() else []
    if arguments.what == "run":
        print(f"load of the machine: {os.getloadavg()[0]:.1f}", file=sys.stderr)
        done = [Migration(*(row[name] for name in Migration._fields)) for row in rows]
        settings = ResponseSettings(windows=tuple(arguments.windows))
        for row in measure(settings, arguments.rounds, done, lambda line: print(line, file=sys.stderr, flush=True)):
            add_row(arguments.rows, row)
            print(f"  {row['method']}, {row['mode']}: {row['mean']:.0f} ms, load {row['load']:.1f}", file=sys.stderr, flush=True)
            rows.append(row)
    print(markdown_table(window_table(rows)))
    for statement in window_statements(rows):
        print(f"{statement.verdict}: {statement.sentence} ({statement.certain[1] if statement.certain else ''})")


if __name__ == "__main__":
    main()
