"""Every benchmark by its name, and the times of two checkouts side by side.

    python benchmarks/run.py                        # the list
    python benchmarks/run.py NAME --help            # how one is run
    python benchmarks/run.py times -k "literal"     # steps of `specs/`: programs, kernels, methods, proofs
    python benchmarks/run.py versus ../before . -k "eliminate or kernel"     # the same steps of two checkouts in one run

`versus` measures the checkouts in turn, each with the environment in its `.venv`, so that what else runs on the machine meets
both alike, and compares the least median of three turns, in seconds of the processor.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from registry import BENCHMARKS, SUBJECTS
from rich.console import Console
from rich.table import Table

FOLDER = Path(__file__).resolve().parent
TURNS = 3


def timing(python: Path | str, folder: Path, words: list[str]) -> list[str]:
    """The command that times the steps of a folder of benchmarks; words are those of pytest."""
    return [str(python), "-m", "pytest", str(folder / "test_speed.py"), "--benchmark-enable", "-n", "0", *words]


def versus(before: Path, after: Path, words: list[str]) -> None:
    """Print the steps that both checkouts have, and the ratio of their times."""
    least: dict[Path, dict[str, float]] = {before: {}, after: {}}
    with TemporaryDirectory() as name:
        file = Path(name) / "times.json"
        for _ in range(TURNS):
            for checkout, times in least.items():
                root = checkout.resolve()
                command = timing(root / ".venv/bin/python", root / "benchmarks", [f"--benchmark-json={file}", "-q", *words])
                done = subprocess.run(command, check=False, cwd=root, capture_output=True, text=True)
                if done.returncode:
                    raise SystemExit(done.stdout + done.stderr)
                for step in json.loads(file.read_text())["benchmarks"]:
                    label, seconds = step["param"] or step["name"], step["stats"]["median"]
                    times[label] = min(times.get(label, seconds), seconds)
    table = Table("step", f"{before}, ms", f"{after}, ms", "after / before", box=None)
    for label in [label for label in least[before] if label in least[after]]:
        old, new = least[before][label], least[after][label]
        table.add_row(label, f"{1e3 * old:.3f}", f"{1e3 * new:.3f}", f"{new / old:.2f}")
    Console(width=130).print(table)


def print_list() -> None:
    """Print names, subjects and purposes."""
    table = Table("name", "subject", "measures", box=None)
    for name, (subject, measures) in sorted(BENCHMARKS.items(), key=lambda item: (SUBJECTS.index(item[1][0]), item[0])):
        table.add_row(name, subject, measures)
    Console(width=130).print(table)
    print("and `times` and `versus`, see the head of benchmarks/run.py; `edrp benchmark` compares methods on suites of instances")


def main(words: list[str]) -> int:
    """List the benchmarks, or run one with its own options; the exit code is its own."""
    match words:
        case [name, *options] if name in BENCHMARKS:
            return subprocess.run([sys.executable, str(FOLDER / f"{name}.py"), *options], check=False).returncode
        case ["times", *options]:
            return subprocess.run(timing(sys.executable, FOLDER, options), check=False, cwd=FOLDER.parent).returncode
        case ["versus", before, after, *options]:
            versus(Path(before), Path(after), options)
            return 0
        case _:
            print_list()
            return 1 if words else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
