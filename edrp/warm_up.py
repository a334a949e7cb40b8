"""Kernels compiled ahead of use, so that nobody waits for them later."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from time import process_time
from typing import NamedTuple

from edrp.backends import backends
from edrp.core.compiling import compilation
from edrp.core.errors import EdrpError, UnwritableError
from edrp.core.files import naming_errors
from edrp.core.kernels import interpreting
from edrp.core.kinds import get_kind, kinds
from edrp.core.methods import Options, get_method, methods, run_method

WARM_UP_LIMIT = 2.0
"""Units of work that a method may do on a rare problem."""


class Warmed(NamedTuple):
    """A method that was run on problems of a kind.

    Attributes
    ----------
    kind, method : their names.
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
    """Everything that is to be run: methods, for each kind that they take."""
    known = [name for name, kind in kinds().items() if kind.has("check_problems")]
    without_kernels = {"auto", *backends()} - {"highs"}  # backends compile what builds their program, which is the same for all
    compiled = [(kind, method) for kind in known for method in methods(kind) if method not in without_kernels]
    return [partial(warm_up_method, kind, method) for kind, method in compiled]


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
                run_method(chosen.resolve(problem), problem, Options(work_limit=units, whole_limit=False))
            except EdrpError:  # the method does not take this one
                continue
    return Warmed(kind, method, process_time() - began, compilation.seconds - before)


def folder_of_kernels() -> str:
    """Where compiled kernels are kept, in words (docs/explanation/kernels.md).

    Raises
    ------
    UnwritableError
        No folder can be written, so that compiling ahead is of no use to later processes.
    """
    from edrp.core.kernel_store import kernel_places, writable_place

    if place := writable_place(Path(__file__)):
        return place.name
    tried = ", ".join(str(place.folder) for place in kernel_places(Path(__file__)))
    raise UnwritableError(tried or "kernels", "cannot be written, so nothing would be kept; let NUMBA_CACHE_DIR name a folder")


@contextmanager
def kernels_for_wheel(folder: Path) -> Iterator[None]:
    """Have what is compiled inside the block written to a folder that a wheel can bring along (`edrp/compiled`).

    It is made for every processor of the level x86-64-v3, whatever this one is. No kernel may have been called before.
    """
    from numba.core.config import reload_config

    from edrp.core.kernel_cache import WHEEL_TARGET

    with naming_errors(folder):
        _empty(folder)
    before = dict(os.environ)
    with tempfile.TemporaryDirectory() as cache:
        os.environ.update(NUMBA_CPU_NAME=WHEEL_TARGET[1], NUMBA_CPU_FEATURES=WHEEL_TARGET[2], NUMBA_CACHE_DIR=cache)
        reload_config()
        try:
            yield
        finally:
            os.environ.clear()
            os.environ.update(before)
        for file in Path(cache).glob("*/*.nb?"):
            shutil.move(file, folder)


def _empty(folder: Path) -> None:
    """Create a folder for kernels, or remove those of an earlier call from it; one that holds anything else is refused."""
    folder.mkdir(parents=True, exist_ok=True)
    files = list(folder.iterdir())
    if others := [file for file in files if file.suffix not in (".nbc", ".nbd", ".nbi")]:
        raise UnwritableError(str(folder), f"holds {others[0].name}, which is no kernel; name a new or empty folder")
    for file in files:
        file.unlink()
