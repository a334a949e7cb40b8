"""What notes of methods have in common."""

from __future__ import annotations

MOST_NAMED = 5
"""Broken limits that a note lists."""


def listed(broken: tuple[str, ...]) -> str:
    """The first broken limits, and how many there are beside them.

    >>> listed(tuple("abcdefg"))
    'a; b; c; d; e; and 2 more'
    """
    more = (f"and {len(broken) - MOST_NAMED} more",) if len(broken) > MOST_NAMED else ()
    return "; ".join((*broken[:MOST_NAMED], *more))
