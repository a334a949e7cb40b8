"""Answers of several methods to one problem, combined: the only place where one is preferred to another."""

from __future__ import annotations

from dataclasses import replace
from operator import attrgetter

from edrp.core.solution import Answer, within_gap
from edrp.core.tolerances import OPTIMALITY_GAP

PROVEN = ("optimal", "infeasible", "unbounded")
"""Statuses that leave nothing to be decided."""


def combined(held: Answer, answer: Answer, gap: float = OPTIMALITY_GAP) -> Answer:
    """One answer of two: a proof, else the lower objective, with the better bound of both.

    It is optimal where the bound of one meets the objective of the other. It says why the second one stopped, unless that failed:
    a rule that is through at once did not finish the search.

    Parameters
    ----------
    held, answer
        An earlier and a later answer to the same problem; of equal ones the earlier is kept.
    gap
        Relative gap at which an incumbent counts as optimal.

    Examples
    --------
    >>> one, other = Answer("feasible", "finished", 7, 3.0, 1.0), Answer("none", "time_limit", bound=2.0)
    >>> both = combined(one, other)
    >>> both.objective, both.bound, both.stopped_because
    (3.0, 2.0, 'time_limit')
    >>> combined(one, Answer("none", "time_limit", bound=3.0)).status
    'optimal'
    """
    for proof in (held, answer):
        if proof.status in PROVEN:
            return proof
    best = answer if value(answer) < value(held) else held
    bounded = max((one for one in (held, answer) if one.bound is not None), key=attrgetter("bound"), default=best)
    bound = bounded.bound
    unfinished = best.decision is None and answer.stopped_because == "finished"  # a rule that finds nothing settles nothing
    stopped = held.stopped_because if unfinished or answer.stopped_because == "error" else answer.stopped_because
    lasting = answer.notes if answer.decision is None else ()  # about the whole run, not about a decision
    notes = tuple(dict.fromkeys((*best.notes, *lasting)))
    best = replace(best, bound=bound, proof=bounded.proof, stopped_because=stopped, notes=notes)
    if best.objective is None or bound is None or not within_gap(best.objective, bound, gap):
        return best
    return replace(best, status="optimal", stopped_because="finished", bound=min(bound, best.objective))


def value(answer: Answer) -> float:
    """The objective; infinite without a decision."""
    return float("inf") if answer.objective is None else answer.objective
