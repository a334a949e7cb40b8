"""Policies that control a job on a real cluster of Flink over a day: `python benchmarks/flink_control.py run ROWS`, `show ROWS`.

A day of taxi trips of New York, drawn by the seed, is compressed into 20 minutes. Three clusters run the lab's chain at the same
time: with the replicas of the peak, under the rule of Flink's autoscaler, and under `edrp watch flink --apply rescale`. `run`
adds a row for each policy to the file after every day; the same command again goes on with the seeds that are not in it.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from common import add_row
from flink_measures import show

from edrp.validation.flink.control import DAY_SECONDS, PEAK_RATE, ControlSettings, control_days
from edrp.validation.papers.flink.rows import read_rows


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("run", "show"))
    parser.add_argument("rows", type=Path)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3, 4, 5])
    parser.add_argument("--seconds", type=float, default=DAY_SECONDS, help="into which the day is compressed")
    parser.add_argument("--peak", type=float, default=PEAK_RATE, help="tuples/s of the busiest ten minutes")
    parser.add_argument("--data", type=Path, help="folder of the taxi stream; default: EDRP_DATA")
    arguments = parser.parse_args()
    if arguments.what == "run":
        settings = ControlSettings(arguments.seconds, arguments.peak, arguments.data)
        done = {row["seed"] for row in read_rows([arguments.rows]).control} if arguments.rows.exists() else set()
        left = [seed for seed in arguments.seeds if seed not in done]
        for rows in control_days(left, settings, lambda line: print(line, file=sys.stderr, flush=True)):
            for row in rows:
                add_row(arguments.rows, row)
    show(arguments.rows)


if __name__ == "__main__":
    main()
