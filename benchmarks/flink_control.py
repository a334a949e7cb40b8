"""Policies that control a job on a real cluster of Flink over a day: `python benchmarks/flink_control.py run ROWS`, `show ROWS`.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from edrp.engines.flink.experiments.control import PEAK, SECONDS, ControlSettings, control_days


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("run", "show"))
    parser.add_argument("rows", type=Path)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3, 4, 5])
    parser.add_argument("--seconds", type=float, default=SECONDS, help="into which the day is compressed")
    parser.add_argument("--peak", type=float, default=PEAK, help="tuples/s of the busiest ten minutes")
    parser.add_argument("--data", type=Path, help="folder of the taxi stream; default: EDRP_DATA")
    arguments = parser.parse_args()
    if arguments.what == "run":
        settings = ControlSettings(arguments.seconds, arguments.peak, arguments.data)
        for rows in control_days(arguments.seeds, settings, lambda line: print(line, file=sys.stderr, flush=True)):
            with arguments.rows.open("a", encoding="utf-8") as file:
                file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


if __name__ == "__main__":
    main()
