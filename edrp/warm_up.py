"""Kernels compiled ahead of use, so that nobody waits for them later."""

import json
import os
import platform
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from time import process_time
from typing import NamedTuple

from edrp.core.compiling import FOR_WHEEL, compilation
from edrp.core.errors import EdrpError, UnwritableError
from edrp.core.files import naming_errors, write_whole
from edrp.core.kernels import interpreting
from edrp.core.kinds import get_kind, kinds
from edrp.core.methods import Options, get_method, methods, run_method
from edrp.mdp.transfer.migration_plan import plan_migration

NEVER_COMPILED = ("auto", "cvxpy", "pyomo", "scipy")
"""Methods without kernels of their own."""

KERNEL_FILES = (".nbc", ".nbi")
"""Endings of the files in a folder of kernels, next to `target.json`."""

WARM_UP_LIMIT = 2.0
"""Units of work that a method may do on a rare problem."""

TRIPLE = "x86_64-unknown-linux-gnu"
"""System for which that cache is made, as LLVM names it."""

PROCESSOR = "x86-64-v3"
"""Level of the processors for which that cache is made."""

FEATURES = ("avx", "avx2", "bmi", "bmi2", "cx16", "f16c", "fma", "lzcnt", "movbe", "popcnt", "sse3", "sse4.1", "sse4.2", "ssse3")
"""Features of that level, as LLVM names them."""

TARGET_ENVIRONMENT = {"NUMBA_CPU_NAME": PROCESSOR, "NUMBA_CPU_FEATURES": ",".join(f"+{name}" for name in FEATURES)}
"""Environment in which Numba compiles for such processors."""


class Warmed(NamedTuple):
    """A method that was run on problems of a kind.

    Attributes
    ----------
    kind, method : their names; `plan` for what `edrp plan` does with a migration.
    seconds : processor seconds for all of it.
    compiling : seconds that the compiler took, by the clock.
    """

    kind: str
    method: str
    seconds: float
    compiling: float


def warm_up(jobs: int = -1) -> Iterator[Warmed]:
    """Compile the kernels of all methods for all kinds, by running each on small problems; they stay in the cache.

    Parameters
    ----------
    jobs
        Processes at the same time, as joblib counts them: -1 is one per core.

    Yields
    ------
    Warmed
        One for each kind and method, as they are done.
    """
    from joblib import Parallel, delayed

    run = Parallel(n_jobs=jobs, return_as="generator_unordered", batch_size=1)
    yield from run(delayed(task)() for task in warm_up_tasks())


def warm_up_tasks() -> list[Callable[[], Warmed]]:
    """Everything that is to be run: methods, for each kind that they take, and plans of transfers."""
    known = [name for name, kind in kinds().items() if kind.has("check_problems")]
    compiled = [(kind, method) for kind in known for method in methods(kind) if method not in NEVER_COMPILED]
    return [*(partial(warm_up_method, kind, method) for kind, method in compiled), warm_up_plans]


def warm_up_method(kind: str, method: str) -> Warmed:
    """Run one method on small problems of a kind, in this process."""
    make = get_kind(kind).check_problems
    assert make is not None
    before, began, chosen = compilation.seconds, process_time(), get_method(method, kind)
    ordinary = [(problem, None) for problem in make().feasible().values()]
    rare = [(problem, WARM_UP_LIMIT) for problem in make().rare()]
    with interpreting(False):
        for problem, units in [*ordinary, *rare]:
            try:
                run_method(chosen.resolve(problem), problem, Options(work_limit=units))
            except EdrpError:  # the method does not take this one
                continue
    return Warmed(kind, method, process_time() - began, compilation.seconds - before)


def warm_up_plans() -> Warmed:
    """Plan a small migration, in this process.

    Examples
    --------
    >>> warm_up_plans().method
    'plan'
    """
    before, began = compilation.seconds, process_time()
    with interpreting(False):
        plan_migration([(0, 2), (2, 3)], [(0, 1), (1, 3)], [1.0] * 3, [1.0] * 3, uplink=1.0, max_move_ins=1)
    return Warmed("migration", "plan", process_time() - began, compilation.seconds - before)


@contextmanager
def kernels_for_wheel(folder: Path) -> Iterator[None]:
    """Have what is compiled inside the block also written to a folder that a wheel can bring along (`edrp/compiled`).

    It is made for every processor of the level x86-64-v3, whatever this one is. Numba must not be imported before.
    """
    with naming_errors(folder):
        _empty(folder)
    before = dict(os.environ)
    with tempfile.TemporaryDirectory() as empty:
        os.environ.update(TARGET_ENVIRONMENT | {FOR_WHEEL: str(folder), "NUMBA_CACHE_DIR": empty})
        try:
            yield
        finally:
            os.environ.clear()
            os.environ.update(before)
    _describe_target(folder)


def _describe_target(folder: Path) -> None:
    """Write next to the machine code in a folder what it was compiled for; it takes a processor of that level."""
    target = {
        "target": [TRIPLE, PROCESSOR, TARGET_ENVIRONMENT["NUMBA_CPU_FEATURES"]],
        "features": FEATURES,
        "python": platform.python_version_tuple()[:2],
    }
    write_whole(folder / "target.json", json.dumps(target, indent=2) + "\n")


def _empty(folder: Path) -> None:
    """Create a folder for kernels, or remove those of an earlier call from it; one that holds anything else is refused."""
    folder.mkdir(parents=True, exist_ok=True)
    files = list(folder.iterdir())
    if others := [file for file in files if file.suffix not in KERNEL_FILES and file.name != "target.json"]:
        raise UnwritableError(str(folder), f"holds {others[0].name}, which is no kernel; name a new or empty folder")
    for file in files:
        file.unlink()
