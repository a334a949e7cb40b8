"""Branches of a case: one operator's choices are split by where it runs, else by whether it is on one node, else by replicas."""

from __future__ import annotations

import numpy as np

from edrp.core.arrays import Bools, Floats, Ints
from edrp.formulations.placement.equal_nodes.model import Quotient

UNDECIDED = 0.02
"""Share of choices other than the main one above which an operator counts as undecided."""


def branch(quotient: Quotient, share: Floats, alive: Bools, mirrored: bool) -> list[Bools]:
    """Rows of the choices in each branch; none where every operator has one choice left.

    Parameters
    ----------
    share
        Share of each row in the mixture of placements that makes up the bound.
    mirrored
        Whether all classes may be exchanged for one another. An operator on the second or third class alone then is one on the
        first.
    """
    choices = quotient.choices
    if mirrored:
        sets = [np.unique(choices.classes[alive & (choices.operator == j)]) for j in range(quotient.operators)]
        undecided = [_undecided(choices.classes, share, choices.operator == j) for j in range(quotient.operators)]
        j = int(np.argmax([len(own) + part for own, part in zip(sets, undecided, strict=True)]))
        parts = _split(choices.classes, share, alive, choices.operator == j, most=len(sets[j]))
        return [rows for value, rows in zip(sets[j], parts, strict=True) if value not in (2, 4)]
    for key in (choices.classes, choices.single, choices.replicas):
        undecided = [_undecided(key, share, choices.operator == j) for j in range(quotient.operators)]
        j = int(np.argmax(undecided))
        if undecided[j] > UNDECIDED:
            return _split(key, share, alive, choices.operator == j)
    for key in (choices.classes, choices.single, choices.replicas):
        choices_left = [np.unique(key[alive & (choices.operator == j)]).size for j in range(quotient.operators)]
        if max(choices_left) > 1:
            return _split(key, share, alive, choices.operator == int(np.argmax(choices_left)))
    return []


def split_downtime(quotient: Quotient, mixture: tuple[Floats, Floats]) -> float | None:
    """Seconds at which downtimes are split, up to and above: the mean of the mixture's; None where its placements agree."""
    seconds, share = mixture
    # Something runs that may move, and downtime is part of the objective.
    counts = quotient.moves is not None and quotient.least_downtime > 0 and quotient.model.downtime > 0
    if not counts or not share.sum() > 0:
        return None
    mean = float(seconds @ share) / float(share.sum())
    short = float(share[seconds <= mean].sum()) / float(share.sum())
    if UNDECIDED < short < 1 - UNDECIDED and quotient.least_downtime < mean < quotient.longest_downtime:
        return mean
    return None


def _undecided(key: Ints, share: Floats, alive: Bools) -> float:
    """Share of an operator's choices that differ from the main one in `key`."""
    return 1.0 - float(np.bincount(key[alive], share[alive]).max())


def _split(key: Ints, share: Floats, alive: Bools, own: Bools, most: int = 3) -> list[Bools]:
    """One branch for each of a few values, two for many: up to their mean, and above."""
    values = np.unique(key[own & alive])
    if values.size <= most:
        return [alive & (~own | (key == value)) for value in values]
    mean = float(key[own] @ share[own]) / max(float(share[own].sum()), 1e-12)
    middle = np.clip(np.floor(mean), values[0], values[-1] - 1)
    return [alive & (~own | (key <= middle)), alive & (~own | (key > middle))]
