"""Mutation testing with Cosmic Ray: which small faults in the code the tests do not notice.

    python tests/mutants.py [--part NAME …] [--sample N] [--seed N] [--jobs N]

A sample of mutants is drawn from each part of the code: for a seed the same ones, whatever changes elsewhere. Each is written
into a copy of the checkout, where the part's tests are run. Survivors are looked up in `docs/reference/mutants.md`, which
holds a judgement for each known survivor; one that is not there is printed as a row for that table, and the exit code is 1.
"""

import argparse
import ast
import hashlib
import os
import re
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from difflib import unified_diff
from importlib import import_module
from multiprocessing import get_context
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
    own : those that should notice instead, by file.
    options : further options of pytest.
    """

    files: tuple[str, ...]
    tests: tuple[str, ...]
    sample: int
    own: dict[str, tuple[str, ...]] = field(default_factory=dict)
    options: tuple[str, ...] = ()


CORE_TESTS = {
    "budget": ("core/test_clock", "core/test_magnitudes"),
    "certificates": ("certificates/test_programs",),
    "combining": ("core/test_combining", "auto/test_portfolio"),
    "document": ("core/test_magnitudes", "core/test_bad_input"),
    "errors": ("core/test_bad_input", "core/test_files", "cli/test_hidden_characters"),
    "files": ("core/test_files", "batch/test_journal", "core/test_bad_input"),
    "folders": ("core/test_files",),
    "instances": ("core/test_instances", "core/test_bad_input"),
    "kernel_helpers": ("core/test_kernel_helpers",),
    "kinds": ("core/test_kinds",),
    "methods": ("core/test_clock", "core/test_solve", "core/test_kinds"),
    "places": ("core/test_bad_input", "core/test_magnitudes"),
    "plugins": ("test_plugins",),
    "problem": ("core/test_verification",),
    "program": ("core/test_program", "core/test_magnitudes"),
    "solution": ("core/test_verification",),
    "solve": ("core/test_clock", "core/test_verification", "core/test_solve"),
    "stages": ("core/test_stages",),
    "wording": ("core/test_bad_input", "core/test_magnitudes", "cli/test_suggestions"),
}
"""Files of the core that are mutated, and tests of each. What starts Spark is left out: its
tests take half a minute each."""

SLOW = (
    "all_methods",
    "asked_for_by_name",
    "auto_chooses",
    "is_a_start",
    "megabytes",
    "names_of_a_batch",
    "over_capacity",
    "portfolio",
    "survive",
    "ten_thousand",
    "unusable_options",
)
"""Words of the names of tests of the core that take long."""

ELIMINATION_TESTS = (
    *(
        f"test_agreement.py::test_equals_brute_force[{name}-eliminate]"
        for name in ("small-0", "small instances-12", "tight-0", "moving-1", "rooms-0")
    ),
    "test_eliminate.py::test_on_a_chain_of_single_replicas_the_path_bound_is_the_optimum",
    "test_eliminate.py::test_a_search_that_is_stopped_at_once_has_proven_nothing",
    "test_eliminate.py::test_paths_cover_every_operator_and_flows_come_apart",
    "test_elimination_bounds.py",
)
"""Tests of `eliminate` on small problems."""

ENGINE_TESTS = {
    "advice": ("flink_advice", "flink_key_groups", "flink_found"),
    "applying": ("flink_rescale", "flink_redeploy"),
    "capture": ("flink_capture", "flink_reading"),
    "downtime": ("flink_fit", "flink_rescale"),
    "estimates": ("intervals", "flink_fit"),
    "fit": ("fit", "flink_fit", "flink_key_groups", "flink_found"),
    "key_groups": ("flink_key_groups", "flink_metadata"),
    "model": ("flink_key_groups", "flink_fit", "flink_advice", "flink_found"),
    "observation": ("fit", "flink_reading"),
    "predictions": ("flink_fit", "flink_rescale", "flink_found"),
    "flink/capturing": ("flink_reading", "flink_capture"),
    "flink/client": ("flink_capture",),
    "flink/jars": ("local_flink",),
    "flink/calls": ("flink_calls", "flink_advice"),
    "flink/metadata": ("flink_metadata", "flink_found"),
    "flink/reading": ("flink_rescale", "flink_reading", "flink_capture", "flink_found"),
    "flink/redeploying": ("flink_redeploy", "flink_advice"),
    "flink/rescaling": ("flink_rescale",),
    "flink/running": ("flink_redeploy",),
    "flink/steps": ("flink_rescale", "flink_redeploy"),
}
"""Files of the engines, and the tests that should notice; for others those of advice and of watching. None has a real cluster."""

ENGINE_OPTIONS = ("-m", "not slow and not timing", "-k", "not nothing_else_of_the_package and not processes_end")
"""Without tests that read the whole package or start processes."""


def engine_tests(*names: str) -> tuple[str, ...]:
    """Files of tests of the engines."""
    return tuple(f"tests/edrp/engines/test_{name}.py" for name in names)


PARTS = {
    "core": Part(
        tuple(f"edrp/core/{name}.py" for name in CORE_TESTS),
        (),
        80,
        {f"edrp/core/{name}.py": tuple(f"tests/edrp/{test}.py" for test in tests) for name, tests in CORE_TESTS.items()},
        ("-k", f"not ({' or '.join(SLOW)})"),
    ),
    "metrics": Part(
        (*(f"edrp/placement/metrics/{name}.py" for name in ("availability", "base", "cost", "downtime", "response_time")),),
        ("tests/edrp/placement/test_metrics.py", "tests/edrp/test_limit_slack.py"),
        150,
    ),
    "audits": Part(
        ("edrp/enactment/scenario.py", "edrp/mapping/bimodal_scenario.py"),
        (),
        200,
        {
            "edrp/enactment/scenario.py": ("tests/edrp/enactment/test_problems.py",),
            "edrp/mapping/bimodal_scenario.py": ("tests/edrp/mapping/test_scenario.py",),
        },
    ),
    "elimination": Part(
        ("formulations/placement/elimination/*.py",),
        tuple(f"tests/formulations/placement/{test}" for test in ELIMINATION_TESTS),
        60,
        {
            f"formulations/placement/elimination/{name}.py": tuple(
                f"tests/formulations/placement/{test}" for test in ELIMINATION_TESTS if "agreement" in test
            )
            for name in ("beam", "frontier", "labels")
        },
    ),
    "journal": Part(("edrp/batch/journal.py", "edrp/batch/stored.py"), ("tests/edrp/batch/test_journal.py",), 150),
    "fit": Part(("edrp/engines/fit.py",), engine_tests(*ENGINE_TESTS["fit"]), 160, options=ENGINE_OPTIONS),
    "engines": Part(
        ("edrp/engines/*.py", "edrp/engines/flink/*.py"),
        engine_tests("flink_advice", "flink_watch", "flink_rescale", "flink_found"),
        80,
        {f"edrp/engines/{name}.py": engine_tests(*tests) for name, tests in ENGINE_TESTS.items()},
        ENGINE_OPTIONS,
    ),
}

PACKAGES = ("hypothesis", "numpy", "pyarrow.parquet", "pydantic", "pytest", "scipy.optimize", "scipy.sparse.csgraph")
"""Packages that tests need, which take most of a second to load: they are loaded once."""

MAX_SECONDS = 600.0
"""Time after which the tests of a mutant are stopped; it counts as killed."""

MAX_BYTES = 6 * 2**30
"""Memory that the tests of a mutant may take."""

SWAPPED = {"min": "max", "minimum": "maximum", "argmin": "argmax", "any": "all"}
SWAPPED |= {after: before for before, after in SWAPPED.items()}
"""Functions that are taken for each other."""

UNCHANGED = ("core/RemoveDecorator",)
"""Operators that say little here: what is decorated is a property, and fails at once or not at all."""


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
        if (ROOT / name).is_file() or (ROOT / name).is_symlink():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, place / name, follow_symlinks=False)
    return place


def sample(part: Part, count: int, seed: int) -> list[Any]:
    """Draw mutants of a part: of those that replace the same thing in several ways, one."""
    from cosmic_ray.commands.init import _all_work_items

    register_swaps()
    paths = sorted({path.relative_to(ROOT) for pattern in part.files for path in ROOT.glob(pattern)})
    items = [
        item
        for path in paths
        for spared in [spared_lines(ROOT / path)]
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


def spared_lines(path: Path) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """Spans of annotations, which are never evaluated, of decorators, and of counts of work, which are rough by nature."""
    spans = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        spared = [getattr(node, "annotation", None), getattr(node, "returns", None), *getattr(node, "decorator_list", ())]
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "spend":
            spared.append(node)
        written = [expression for expression in spared if isinstance(expression, ast.expr)]
        spans += [((one.lineno, one.col_offset), (one.end_lineno or 0, one.end_col_offset or 0)) for one in written]
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
    for name in PACKAGES:
        import_module(name)
    paths = sorted({item.mutations[0].module_path for item in chosen})
    arguments = {path: own_tests(part, path) for path in paths}
    for copy in copies:  # also compiles the sources of the copy
        if not passed(own_tests(part, *paths), copy, writing=True):
            raise SystemExit(f"tests fail without any mutant: pytest {shlex.join(own_tests(part, *paths))}")
    free = list(copies)
    with ProcessPoolExecutor(len(copies)) as pool:
        waiting = list(chosen)
        running: dict[Any, Path] = {}
        while waiting or running:
            while waiting and free:
                copy = free.pop()
                item = waiting.pop(0)
                running[pool.submit(tested, item, arguments[item.mutations[0].module_path], copy)] = copy
            done = next(as_completed(running))
            free.append(running.pop(done))
            if (found := done.result()) is not None:
                yield found


def own_tests(part: Part, *paths: Path) -> list[str]:
    """Arguments of pytest for files: the examples of their folders, their tests; the first that fails ends them."""
    tests = []
    for path in paths:
        if ">>>" in (ROOT / path).read_text(encoding="utf-8"):
            tests.append(f"tests/edrp/test_docs.py::test_docstring_examples_run[{path.parent.as_posix()}]")
        tests += part.own.get(path.as_posix(), part.tests)
    options = ["-x", "-q", "--assert=plain", "-p", "no:cacheprovider", "-p", "no:xdist", *part.options]
    return [*options, *dict.fromkeys(tests)]


def tested(item: Any, arguments: list[str], copy: Path) -> tuple[str, str, str] | None:
    """Run the tests on a mutant in a copy; its file, line and mutated line where it survives."""
    from cosmic_ray.mutating import mutate_code
    from cosmic_ray.plugins import get_operator

    register_swaps()
    (mutation,) = item.mutations
    operator = get_operator(mutation.operator_name)(**(mutation.operator_args or {}))
    path = copy / mutation.module_path
    before = path.read_text(encoding="utf-8")
    try:
        after = mutate_code(before, operator, mutation.occurrence)
        ast.parse(after)
    except (SyntaxError, AttributeError):  # it is no Python, or an exception that Cosmic Ray cannot replace
        return None
    path.write_text(after, encoding="utf-8")
    survives = passed(arguments, copy)
    path.write_text(before, encoding="utf-8")
    if not survives:
        return None
    changes = [line for line in unified_diff(before.splitlines(), after.splitlines(), n=0) if line[:3] not in ("---", "+++")]
    lines = [" ".join(line[1:].strip() for line in changes if line.startswith(sign)) for sign in "-+"]
    return str(mutation.module_path), lines[0], lines[1]


def passed(arguments: list[str], folder: Path, *, writing: bool = False) -> bool:
    """Run tests in a fork of this process, which has loaded what they need of other packages, but nothing of `edrp`.

    Bytecode is written for sources as they are only: that of a mutant could be taken for that of the next one.
    """

    def run() -> None:
        import pytest

        os.setsid()
        resource.setrlimit(resource.RLIMIT_DATA, (MAX_BYTES, MAX_BYTES))
        os.chdir(folder)
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in range(3):
            os.dup2(nothing, stream)
        sys.path[0] = str(folder)
        sys.dont_write_bytecode = not writing
        os.environ |= {"PYTHONDONTWRITEBYTECODE": "1", "CI": "1"}  # hypothesis draws the same examples every time
        code = 1
        try:
            code = int(pytest.main(arguments))
        finally:
            os._exit(code)

    child = get_context("fork").Process(target=run)
    child.start()
    child.join(MAX_SECONDS)
    if child.is_alive():
        os.killpg(child.pid or 0, signal.SIGKILL)
        child.join()
    return child.exitcode == 0


if __name__ == "__main__":
    sys.exit(main())
