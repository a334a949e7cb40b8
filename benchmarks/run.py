"""Every benchmark by its name: `python benchmarks/run.py` lists them, `python benchmarks/run.py NAME …` runs one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from registry import BENCHMARKS, SUBJECTS
from rich.console import Console
from rich.table import Table

FOLDER = Path(__file__).resolve().parent


def main(words: list[str]) -> int:
    """List the benchmarks, or run one with its own options; the exit code is its own."""
    if words and words[0] in BENCHMARKS:
        return subprocess.run([sys.executable, str(FOLDER / f"{words[0]}.py"), *words[1:]], check=False).returncode
    if words and words[0] == "times":
        command = [sys.executable, "-m", "pytest", str(FOLDER / "test_speed.py"), "--benchmark-enable", "-n", "0", *words[1:]]
        return subprocess.run(command, check=False).returncode
    table = Table("name", "kind", "measures", box=None)
    for name, (subject, measures) in sorted(BENCHMARKS.items(), key=lambda item: (SUBJECTS.index(item[1][0]), item[0])):
        table.add_row(name, subject, measures)
    table.add_row("times", "speed", "every step of `specs/` (kernels, programs, methods), timed by pytest-benchmark; -k selects")
    Console().print(table)
    print("python benchmarks/run.py NAME --help says how each is run; `edrp benchmark` compares methods on suites of instances.")
    return 1 if words else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
