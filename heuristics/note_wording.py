"""Shared wording of the notes of methods, and the answers that carry them."""

from collections.abc import Sequence
from typing import Any

from edrp.core.solution import Answer, StoppedBecause

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


def judged_answer(
    problem: Any, decision: Any, name: str, stopped: StoppedBecause = "finished", notes: tuple[str, ...] = ()
) -> Answer:
    """Build a heuristic's answer: feasible if the evaluator confirms it, else none, with the limits that `name` breaks."""
    evaluation = problem.evaluate(decision)
    if evaluation.feasible:
        return Answer("feasible", stopped, decision, evaluation.objective, notes=notes)
    return Answer("none", stopped, notes=(*notes, f"{name} breaks {listed(evaluation.broken)}"))
