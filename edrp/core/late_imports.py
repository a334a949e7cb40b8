"""Modules and names that are imported when they are first used: what a command does not use costs it no time and no memory."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from importlib import import_module
from typing import TYPE_CHECKING, Any


class LateModule:
    """A module that is imported when something of it is first asked for.

    >>> LateModule("json").dumps([1])
    '[1]'
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        with _numpy_as_it_is() if self._name.startswith("scipy.") else nullcontext():
            module = import_module(self._name)
        value = getattr(module, name)
        setattr(self, name, value)
        return value


@contextmanager
def _numpy_as_it_is() -> Iterator[None]:
    """Keep the block from importing what NumPy imports late itself: SciPy copies all of its names, which takes ten times as long.

    Among them are the translator of Fortran and NumPy's tests. They have a late module in SciPy's copy.
    """
    import numpy as np

    late = {name: LateModule(f"numpy.{name}") for name in np.__all__ if name not in vars(np)}
    vars(np).update(late)
    try:
        yield
    finally:
        for name, module in late.items():
            if vars(np).get(name) is module:
                del vars(np)[name]


def late_names(package: str, modules: Mapping[str, str]) -> Callable[[str], Any]:
    """The function `__getattr__` of a package (PEP 562) whose public names are imported at their first use.

    Parameters
    ----------
    package
        Name of the package.
    modules
        Its public names, separated by spaces, by the module below the package that defines them.
    """
    places = {name: f"{package}.{module}" for module, names in modules.items() for name in names.split()}

    def imported(name: str) -> Any:
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(places[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    return imported


if TYPE_CHECKING:
    from scipy import optimize, sparse
    from scipy.sparse import csgraph
else:
    optimize, sparse, csgraph = (LateModule(f"scipy.{name}") for name in ("optimize", "sparse", "sparse.csgraph"))
"""SciPy, which takes as long to be imported as the rest of a small solve."""

__all__ = ["LateModule", "csgraph", "late_names", "optimize", "sparse"]
