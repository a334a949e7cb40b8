"""What notes of methods have in common."""

from __future__ import annotations

from collections.abc import Sequence

MOST_NAMED = 5
"""Of broken limits, or of operators that find no node."""


def shortened(notes: Sequence[str]) -> tuple[str, ...]:
    """The first few, and how many there are beside them.

    >>> shortened("abcdefg")
    ('a', 'b', 'c', 'd', 'e', 'and 2 more')
    """
    more = (f"and {len(notes) - MOST_NAMED} more",) if len(notes) > MOST_NAMED else ()
    return (*notes[:MOST_NAMED], *more)


def listed(broken: Sequence[str]) -> str:
    """The first few in one line.

    >>> listed(["cost", "downtime"])
    'cost; downtime'
    """
    return "; ".join(shortened(broken))
