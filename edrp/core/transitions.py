"""Transition probabilities in documents: one row for each state, which says what follows it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from edrp.core.document import Faults
from edrp.core.tolerances import UNIT_SUM_SLACK

TransitionProbability = Annotated[float, Field(ge=0, le=1)]


def check_transitions(rows: Sequence[Sequence[float]], number: int, states: str, state: str, faults: Faults) -> None:
    """Note at `transitions` every row that does not fit a number of states, or does not sum to 1.

    Parameters
    ----------
    states, state
        Name of the field that lists the states, and the word for one of them.
    """
    if len(rows) != number:
        faults.add(("transitions",), len(rows), f"must hold one row for each of {number} {states}")
    for index, row in enumerate(rows):
        if len(row) != number:
            faults.add(("transitions", index), row, f"must give one probability for each of {number} {states}")
        elif abs(sum(row) - 1) > UNIT_SUM_SLACK:
            why = f"sums to {sum(row):.6g}; the probabilities of leaving for each {state} must sum to 1"
            faults.add(("transitions", index), row, why)


def reachable_states(rows: Sequence[Sequence[float]], start: int) -> tuple[int, ...]:
    """Indices of the states that can come up from one on, itself included, ascending.

    >>> reachable_states([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]], 0)
    (0, 1)
    """
    reached, waiting = set(), [start]
    while waiting:
        state = waiting.pop()
        if state not in reached:
            reached.add(state)
            waiting += [other for other, chance in enumerate(rows[state]) if chance > 0]
    return tuple(sorted(reached))
