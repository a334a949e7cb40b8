"""Additions of other packages by entry points: methods, kinds of problems, families of instances, suites."""

from __future__ import annotations

from functools import cache
from importlib.metadata import entry_points
from typing import Any


@cache
def added(group: str) -> tuple[Any, ...]:
    """Everything that installed packages offer under an entry point; a list or tuple counts as its elements.

    Parameters
    ----------
    group
        "edrp.methods": methods. "edrp.kinds": records of kinds of problems. "edrp.families" and "edrp.suites":
        see `edrp.datasets.families` and `edrp.validation.benchmark`.

    Examples
    --------
    >>> added("edrp.nothing")
    ()
    """
    found: list[Any] = []
    for point in entry_points(group=group):
        loaded = point.load()
        found += loaded if isinstance(loaded, (list, tuple)) else [loaded]
    return tuple(found)
