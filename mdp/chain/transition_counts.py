"""Counts of transitions between numbers of nodes in a history."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from edrp.core.arrays import Ints
from edrp.core.errors import Fault, InvalidInstanceError, first_faults


def count_transitions(*series: Sequence[int] | Ints, node_counts: Sequence[int] | Ints | None = None) -> tuple[Ints, Ints]:
    """Count how often each number of nodes follows each other one; intervals without a change count on the diagonal.

    Returns
    -------
    node_counts : shape (k,)
        As given, or those that occur, ascending.
    transitions : shape (k, k)
        From row to column; the matrices of several logs may simply be added.
    """
    arrays = [np.asarray(counts) for counts in series]
    faults: list[Fault] = []
    for index, array in enumerate(arrays):
        place = "series" if len(arrays) == 1 else f"series[{index}]"
        faults += faults_of_counts(array, place)
    if faults:
        raise InvalidInstanceError(faults)
    integers = [array.astype(np.int64) for array in arrays]
    occurring = np.unique(np.concatenate([*integers, np.empty(0, dtype=np.int64)]))
    counts_known = occurring if node_counts is None else np.asarray(node_counts, dtype=np.int64)
    if not counts_known.size:
        raise InvalidInstanceError([Fault("series", "", "is empty; give at least one number of nodes")])
    if unknown := np.setdiff1d(occurring, counts_known).tolist():
        why = f"occurs in the series, but node_counts is {counts_known.tolist()}; name it there"
        raise InvalidInstanceError([Fault("series", str(count), why) for count in unknown])
    order = np.argsort(counts_known)
    transitions = np.zeros((counts_known.size, counts_known.size), dtype=np.int64)
    for counts in integers:
        rows = order[np.searchsorted(counts_known, counts, sorter=order)]
        np.add.at(transitions, (rows[:-1], rows[1:]), 1)
    return counts_known, transitions


def checked_transitions(transitions: ArrayLike, size: int) -> Ints:
    """Check counted transitions and convert them into an int64 array of shape (size, size).

    Raises
    ------
    InvalidInstanceError
        For another shape, and for entries that are no counts.
    """
    observed = np.asarray(transitions)
    if observed.shape != (size, size):
        why = f"must have one row and one column for each of the {size} node counts"
        raise InvalidInstanceError([Fault("transitions", f"an array of shape {observed.shape}", why)])
    wrong = np.argwhere(~((observed >= 0) & (observed == np.floor(observed)) & np.isfinite(observed)))
    if wrong.size:
        why = "must be how often the transition was seen, a whole number, at least 0"
        faults = (Fault(f"transitions[{i}][{j}]", str(observed[i, j].item()), why) for i, j in wrong)
        raise InvalidInstanceError(first_faults(faults, len(wrong)))
    return observed.astype(np.int64)


def faults_of_counts(array: NDArray[Any], place: str) -> list[Fault]:
    """List the faults of an array that should hold numbers of nodes, shape (any,), each with its place.

    >>> [str(fault) for fault in faults_of_counts(np.array([2, 0]), "nodes")]
    ['nodes[1]: must be a whole number of nodes, at least 1 (got 0)']
    """
    if array.ndim != 1:
        return [Fault(place, f"an array of shape {array.shape}", "must be a flat list of numbers of nodes")]
    if array.size and not np.issubdtype(array.dtype, np.number):
        return [Fault(place, f"values of type {array.dtype}", "must hold whole numbers of nodes, at least 1")]
    wrong = np.flatnonzero(~((array >= 1) & (array == np.floor(array)) & np.isfinite(array)))
    why = "must be a whole number of nodes, at least 1"
    return first_faults((Fault(f"{place}[{index}]", str(array[index].item()), why) for index in wrong), wrong.size)
