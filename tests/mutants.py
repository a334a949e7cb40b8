"""Mutation testing with Cosmic Ray: which small faults in the code the tests do not notice.

    python tests/mutants.py [--part NAME …] [--sample N] [--seed N] [--jobs N]

A sample of mutants is drawn from each part of the code: for a seed the same ones, whatever changes elsewhere. Each is written
into a copy of the checkout, where the part's tests are run. Survivors are looked up in `docs/reference/mutants.md`, which
holds a judgement for each known survivor; one that is not there is printed as a row for that table, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
JUDGED = ROOT / "docs" / "reference" / "mutants.md"


@dataclass(frozen=True)
class Part:
    """A part of the code.

    Attributes
    ----------
    files : those that are mutated.
    tests : those that should notice.
    sample : number of mutants that are tried.
    left_out : names of tests that are not run, since they take long, as pytest's `-k` takes them.
    """

    files: tuple[str, ...]
    tests: tuple[str, ...]
    sample: int
    left_out: str = "nothing"


CORE_TESTS = ("verification", "program", "clock", "kinds", "instances")
"""Those that take seconds, the quickest first."""

PARTS = {
    "core": Part(
        ("edrp/core/*.py",),
        tuple(f"tests/edrp/core/test_{name}.py" for name in CORE_TESTS),
        80,
        "megabytes or survives_the_file",
    ),
    "metrics": Part(
        (*(f"edrp/placement/metrics/{name}.py" for name in ("availability", "base", "cost", "downtime", "response_time")),),
        ("tests/edrp/placement/test_metrics.py", "tests/edrp/test_limit_slack.py"),
        150,
    ),
    "audits": Part(
        ("edrp/enactment/run.py", "edrp/mapping/bimodal_run.py"),
        ("tests/edrp/enactment", "tests/edrp/mapping/test_scenario.py"),
        200,
    ),
    "elimination": Part(
        ("formulations/placement/elimination/*.py",),
        ("tests/formulations/placement/test_elimination_bounds.py", "tests/formulations/placement/test_eliminate.py"),
        60,
    ),
    "journal": Part(
        ("edrp/batch/journal.py", "edrp/batch/parts.py"),
        ("tests/edrp/batch/test_journal.py",),
        150,
    ),
}

SWAPPED = {"min": "max", "minimum": "maximum", "argmin": "argmax", "any": "all"}
SWAPPED |= {after: before for before, after in SWAPPED.items()}
"""Functions that are taken for each other."""

UNCHANGED = ("core/RemoveDecorator",)
"""Operators that say little here: what is decorated is a property or a kernel, and fails at once or not at all."""


def main() -> int:
    """Run the command line; the exit code is 1 where a survivor has no judgement."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", action="append", choices=PARTS, help="only this part of the code (may be given again)")
    parser.add_argument("--sample", type=int, help="mutants of each part [default: by part, see PARTS]")
    parser.add_argument("--seed", type=int, default=0, help="seed of the sample [default: 0]")
    parser.add_argument("--jobs", type=int, default=1, help="mutants that are tested at a time [default: 1]")
    given = parser.parse_args()
    judged = set(judgements())
    fresh = 0
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        copies = [copy_checkout(Path(folder) / f"copy-{job}") for job in range(given.jobs)]
        for name in given.part or PARTS:
            part = PARTS[name]
            chosen, survivors = sample(part, given.sample or part.sample, given.seed), 0
            for path, before, after in surviving(part, chosen, copies):
                survivors += 1
                if (path, before, after) not in judged:
                    fresh += 1
                    say(" | ".join(["", *(f"`{cell}`".replace("|", "\\|") for cell in (path, before, after)), "", ""]).strip())
            say(f"{name}: {len(chosen)} mutants, {len(chosen) - survivors} killed, {survivors} survive")
    return 1 if fresh else 0


def say(line: str) -> None:
    """Print a line at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def judgements() -> Iterator[tuple[str, str, str]]:
    """File, line as it is, and line as mutated, of the survivors that are judged."""
    for line in JUDGED.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip().strip("`").replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if line.startswith("| `") and len(cells) == 4:
            yield cells[0], cells[1], cells[2]


def copy_checkout(place: Path) -> Path:
    """Copy what git tracks, with its changes, and what is new and not ignored."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT, capture_output=True, check=True
    )
    for name in filter(None, listed.stdout.decode().split("\0")):
        if (ROOT / name).is_file():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, place / name)
    return place


def sample(part: Part, count: int, seed: int) -> list[Any]:
    """Draw mutants of a part: of those that replace the same thing in several ways, one."""
    from cosmic_ray.commands.init import _all_work_items

    register_swaps()
    paths = sorted({path.relative_to(ROOT) for pattern in part.files for path in ROOT.glob(pattern)})
    items = [
        item
        for path in paths
        for spared in [annotated_lines(ROOT / path)]
        for item in _all_work_items([path], {})
        for mutation in item.mutations
        if mutation.operator_name not in UNCHANGED and not any(spot(mutation.start_pos, span) for span in spared)
    ]
    sources = {path: (ROOT / path).read_text(encoding="utf-8").splitlines() for path in paths}
    chosen: dict[Any, Any] = {}
    for item in sorted(items, key=lambda item: rank(item.mutations[0], sources, seed)):
        (mutation,) = item.mutations
        chosen.setdefault((mutation.module_path, mutation.start_pos, mutation.operator_name.split("_")[0]), item)
    return list(chosen.values())[:count]


def rank(mutation: Any, sources: dict[Path, list[str]], seed: int) -> str:
    """Return a random word that depends on the seed, the mutated line and what becomes of it, not on the code around it."""
    line, column = mutation.start_pos
    text = sources[mutation.module_path][line - 1]
    operator = f"{mutation.operator_name} {mutation.operator_args}"
    what = f"{seed} {mutation.module_path} {mutation.definition_name} {text.strip()} {column - len(text)} {operator}"
    return hashlib.sha256(what.encode()).hexdigest()


def spot(position: tuple[int, int], span: tuple[tuple[int, int], tuple[int, int]]) -> bool:
    """Whether a position lies within a span of the source."""
    return span[0] <= position < span[1]


def annotated_lines(path: Path) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """Spans of annotations, which are never evaluated."""
    spans = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        for name in ("annotation", "returns"):
            found = getattr(node, name, None)
            if isinstance(found, ast.expr):
                spans.append(((found.lineno, found.col_offset), (found.end_lineno or 0, found.end_col_offset or 0)))
    return spans


def register_swaps() -> None:
    """Add the operator that takes `min` for `max` and the like, which Cosmic Ray has not."""
    from cosmic_ray import plugins
    from cosmic_ray.operators.operator import Operator

    class SwapFunctions(Operator):
        """Replaces a function by the one that it is easily taken for."""

        def mutation_positions(self, node: Any) -> Iterator[tuple[Any, Any]]:
            if node.type == "name" and node.value in SWAPPED:
                following = node.get_next_leaf()
                if following is not None and following.value == "(":
                    yield node.start_pos, node.end_pos

        def mutate(self, node: Any, index: int) -> Any:
            node.value = SWAPPED[node.value]
            return node

        @classmethod
        def examples(cls) -> tuple[Any, ...]:
            return ()

    plugins.OPERATOR_PROVIDERS["edrp"] = {"SwapFunctions": SwapFunctions}


def surviving(part: Part, chosen: list[Any], copies: list[Path]) -> Iterator[tuple[str, str, str]]:
    """Yield file, line and mutated line of each mutant that the tests do not notice."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
    command += ["-k", f"not ({part.left_out})", *part.tests]
    for copy in copies:  # also compiles the kernels of the copy
        if subprocess.run(command, cwd=copy, capture_output=True, check=False).returncode:
            raise SystemExit(f"the tests of {', '.join(part.tests)} fail without any mutant")
    free = list(copies)
    with ProcessPoolExecutor(len(copies)) as pool:
        waiting = list(chosen)
        running: dict[Any, Path] = {}
        while waiting or running:
            while waiting and free:
                copy = free.pop()
                running[pool.submit(tested, waiting.pop(0), shlex.join(command), copy)] = copy
            done = next(as_completed(running))
            free.append(running.pop(done))
            if (found := done.result()) is not None:
                yield found


def tested(item: Any, command: str, copy: Path) -> tuple[str, str, str] | None:
    """Run the tests on a mutant in a copy; its file, line and mutated line where it survives."""
    from cosmic_ray.mutating import mutate_and_test
    from cosmic_ray.work_item import TestOutcome

    register_swaps()
    os.chdir(copy)
    result = mutate_and_test(item.mutations, command, timeout=600)
    if result.test_outcome != TestOutcome.SURVIVED:
        return None
    lines = (result.diff or "").splitlines()[3:]
    before = " ".join(line[1:].strip() for line in lines if line.startswith("-"))
    after = " ".join(line[1:].strip() for line in lines if line.startswith("+"))
    return str(item.mutations[0].module_path), before, after


if __name__ == "__main__":
    sys.exit(main())
