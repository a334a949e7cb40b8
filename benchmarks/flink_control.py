"""Policies that control a job on a real cluster of Flink over a day: `python benchmarks/flink_control.py run ROWS`, `show ROWS`.

A day of taxi trips of New York, drawn by the seed, is compressed into 20 minutes. Clusters run a job of the lab at the same
time, each under another policy: the replicas of the peak, the rule of Flink's autoscaler, and `edrp watch flink --apply rescale`,
for the day or by the minute. `run` adds a row for each policy to the file after every day; the same command again goes on with
the seeds that are not in it. Jobs may share a file, not at the same time. `silence` prints how long rescales silence the job.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from common import add_row
from flink_measures import show

from edrp.validation.flink.control import DAY_SECONDS, DEFAULT_POLICIES, JOBS, PEAK_RATE, ControlSettings, control_days
from edrp.validation.flink.control_silence import rescale_silences
from edrp.validation.flink.control_watch import POLICIES
from edrp.validation.papers.flink.rows import job_name, read_rows


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("run", "show", "silence"))
    parser.add_argument("rows", type=Path, nargs="?", default=Path("rows.jsonl"))
    parser.add_argument("--job", choices=tuple(JOBS), default="chain")
    parser.add_argument("--policies", choices=tuple(POLICIES), nargs="+", default=list(DEFAULT_POLICIES))
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3, 4, 5])
    parser.add_argument("--seconds", type=float, default=DAY_SECONDS, help="into which the day is compressed")
    parser.add_argument("--peak", type=float, default=PEAK_RATE, help="tuples/s of the busiest ten minutes")
    parser.add_argument("--data", type=Path, help="folder of the taxi stream; default: EDRP_DATA")
    arguments = parser.parse_args()
    if arguments.what == "run":
        settings = ControlSettings(arguments.seconds, arguments.peak, arguments.data, arguments.policies, arguments.job)
        rows = read_rows([arguments.rows]).control if arguments.rows.exists() else []
        done = {row["seed"] for row in rows if job_name(row) == arguments.job}
        left = [seed for seed in arguments.seeds if seed not in done]
        for rows in control_days(left, settings, lambda line: print(line, file=sys.stderr, flush=True)):
            for row in rows:
                add_row(arguments.rows, row)
    if arguments.what == "silence":
        print(*(f"{name}: {seconds:.2f} s" for name, seconds in rescale_silences(JOBS[arguments.job]).items()), sep="\n")
    else:
        show(arguments.rows)


if __name__ == "__main__":
    main()
