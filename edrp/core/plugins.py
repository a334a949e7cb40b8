"""Kinds and methods that the core works with, by name: our own, and additions of other packages by entry points."""

from __future__ import annotations

from functools import cache
from pkgutil import resolve_name
from typing import Any

from edrp.core.errors import Fault, InvalidArgumentError

_OWN: dict[str, str] = {}


def offer(group: str, place: str) -> None:
    """Say where this package keeps something that the core works with, as "package.module:attribute"."""
    _OWN[group] = place


@cache
def own(group: str) -> Any:
    """The object that this package offers under a name; its module is imported now.

    Examples
    --------
    >>> [kind.name for kind in own("edrp.kinds")][:2]
    ['edrp', 'edrp-sequence']
    """
    return resolve_name(_OWN[group])


def refuse_taken(call: str, what: str, *, ours: bool, replace: bool) -> None:
    """Refuse a name that is registered already, unless what is there was added by a user and is to be replaced.

    Raises
    ------
    InvalidArgumentError
        Saying how to replace it, or that it takes another name.
    """
    if replace and not ours:
        return
    again = f"{call.replace(')', ', replace=True)')} puts a new definition in its place"
    why = f"there is already {what}; {'it belongs to this package, choose another name' if ours else again}"
    raise InvalidArgumentError([Fault("name", "", why)], call.partition("(")[0])


def is_ours(kind: type) -> bool:
    """Whether a class is of this package.

    >>> is_ours(int)
    False
    """
    return kind.__module__.split(".")[0] == "edrp"


@cache
def added(group: str) -> tuple[Any, ...]:
    """Everything that installed packages offer under an entry point; a list or tuple counts as its elements.

    Parameters
    ----------
    group
        "edrp.methods": methods. "edrp.backends": solvers of programs. "edrp.kinds": records of kinds of problems.
        "edrp.families" and "edrp.suites": see `edrp.datasets.families` and `edrp.validation.benchmark`.

    Examples
    --------
    >>> added("edrp.nothing")
    ()
    """
    from importlib.metadata import entry_points

    found: list[Any] = []
    for point in entry_points(group=group):
        loaded = point.load()
        found += loaded if isinstance(loaded, (list, tuple)) else [loaded]
    return tuple(found)
