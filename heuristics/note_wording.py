"""Shared wording of the notes of methods."""

from collections.abc import Sequence

MAX_NAMED_FAULTS = 5
"""Maximum number of broken limits, or of operators that find no node, that a note names."""


def shortened(notes: Sequence[str]) -> tuple[str, ...]:
    """Shorten notes to the first few and the number of further ones.

    >>> shortened("abcdefg")
    ('a', 'b', 'c', 'd', 'e', 'and 2 more')
    """
    more = (f"and {len(notes) - MAX_NAMED_FAULTS} more",) if len(notes) > MAX_NAMED_FAULTS else ()
    return (*notes[:MAX_NAMED_FAULTS], *more)


def listed(broken: Sequence[str]) -> str:
    """Join the first few broken limits in one line.

    >>> listed(["cost", "downtime"])
    'cost; downtime'
    """
    return "; ".join(shortened(broken))
