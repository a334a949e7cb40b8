"""The migration transition matrix (MTM): how the number of nodes or the load changes (state migration, section 4.2).

Long-run behaviour of finite Markov chains: recurrent classes, periods, stationary distributions.

A chain is its matrix of transition probabilities, shape (k, k), rows summing to 1; states are 0 … k − 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from edrp.core.arrays import Floats, Ints
from edrp.core.errors import Fault, InvalidInstanceError, first_faults
from edrp.core.late_imports import csgraph
from edrp.core.tolerances import UNIT_SUM_SLACK
from edrp.migration.rescale.documents import LoadScenario


def recurrent_classes(probabilities: Floats) -> list[Ints]:
    """Find the recurrent classes: sets of states that are never left once entered, and that are connected."""
    linked = probabilities > 0
    classes, label = csgraph.connected_components(linked, connection="strong")
    source, target = np.nonzero(linked)
    transient = set(label[source[label[source] != label[target]]].tolist())
    members = [np.flatnonzero(label == component) for component in range(classes) if component not in transient]
    return sorted(members, key=lambda states: int(states[0]))


def period(probabilities: Floats, state: int) -> int:
    """Period of a state: greatest common divisor of the numbers of steps after which it can recur; 0 if it never can."""
    _, label = csgraph.connected_components(probabilities > 0, connection="strong")
    members = np.flatnonzero(label == label[state])
    linked = probabilities[np.ix_(members, members)] > 0
    order, parent = csgraph.breadth_first_order(linked, 0)
    depth = np.zeros(members.size, dtype=np.int64)
    for state in order[1:]:
        depth[state] = depth[parent[state]] + 1
    source, target = np.nonzero(linked)
    return int(np.gcd.reduce(depth[source] + 1 - depth[target])) if source.size else 0


def stationary(probabilities: Floats) -> Floats:
    """Stationary distribution of a chain in which every state leads to every other, shape (k,).

    State after state is eliminated (Grassmann, Taksar, Heyman 1985), without subtractions: every entry is
    accurate to rounding, however small.
    """
    reduced = probabilities.astype(np.float64)
    size = len(reduced)
    for last in range(size - 1, 0, -1):
        reduced[:last, last] /= reduced[last, :last].sum()
        reduced[:last, :last] += np.outer(reduced[:last, last], reduced[last, :last])
    shares = np.ones(size)
    for state in range(1, size):
        shares[state] = shares[:state] @ reduced[:state, state]
    return np.asarray(shares / shares.sum())


def long_run_shares(probabilities: Floats, start: int) -> Floats:
    """Compute the long-run share of steps that end in each state, from a start, shape (k,).

    Exists for every chain: a periodic one is averaged over its period, and one with several recurrent
    classes falls into each with the probability computed here.

    Examples
    --------
    >>> long_run_shares(np.array([[0, 0.25, 0.75], [0, 1, 0], [0, 0, 1]]), 0).tolist()
    [0.0, 0.25, 0.75]
    """
    shares = np.zeros(len(probabilities))
    closed = recurrent_classes(probabilities)
    for states, reached in zip(closed, _absorbed(probabilities, start, closed), strict=True):
        shares[states] = reached * stationary(probabilities[np.ix_(states, states)])
    return shares


def _absorbed(probabilities: Floats, start: int, closed: list[Ints]) -> Floats:
    """Compute the probabilities of ending in each recurrent class."""
    inside = np.array([start in states for states in closed])
    if inside.any():
        return inside.astype(np.float64)
    transient = np.setdiff1d(np.arange(len(probabilities)), np.concatenate(closed))
    staying = probabilities[np.ix_(transient, transient)]
    entering = np.stack([probabilities[np.ix_(transient, states)].sum(axis=1) for states in closed], axis=1)
    reached = np.linalg.solve(np.eye(transient.size) - staying, entering)[transient == start][0]
    return np.asarray(reached / reached.sum())


@dataclass(frozen=True, slots=True, eq=False, init=False)
class TransitionMatrix:
    """Probabilities that a migration from one number of nodes goes to another.

    Attributes
    ----------
    node_counts : shape (k,), numbers of nodes, each at least 1, no two alike.
    probabilities : shape (k, k), `probabilities[i, j]` of going from `node_counts[i]` to `node_counts[j]`; every row sums to 1.
    transitions : shape (k, k) or None, how often each transition was observed, where the matrix was estimated.

    Raises
    ------
    InvalidInstanceError
        For counts below 1 or given twice, probabilities outside [0, 1], and rows that do not sum to 1.

    Examples
    --------
    >>> table_4 = TransitionMatrix([2, 3, 4], [[0.3, 0.6, 0.1], [0.3, 0.4, 0.3], [0.1, 0.5, 0.4]])
    >>> round(table_4.sequence_probability([2, 3, 4]), 12)
    0.18
    """

    node_counts: Ints
    probabilities: Floats
    transitions: Ints | None
    _row_of: dict[int, int] = field(repr=False)

    def __init__(self, node_counts: ArrayLike, probabilities: ArrayLike, transitions: ArrayLike | None = None) -> None:
        counts, matrix = _checked(node_counts, probabilities)
        observed = None if transitions is None else checked_transitions(transitions, counts.size)
        for array in (counts, matrix, observed):
            if array is not None:
                array.flags.writeable = False
        object.__setattr__(self, "node_counts", counts)
        object.__setattr__(self, "probabilities", matrix)
        object.__setattr__(self, "transitions", observed)
        object.__setattr__(self, "_row_of", {int(n): i for i, n in enumerate(counts)})

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.node_counts, self.probabilities, self.transitions)

    @classmethod
    def estimate(
        cls,
        *series: Sequence[int] | Ints,
        smoothing: float = 0.0,
        node_counts: Sequence[int] | Ints | None = None,
        migrations_only: bool = True,
    ) -> TransitionMatrix:
        """Most likely matrix behind one or several series of node counts, one count per interval of time.

        Several series (days with gaps between them, say) are pooled; no transition is read across a gap.

        Parameters
        ----------
        *series
            Numbers of nodes, in order of time.
        smoothing
            Added to how often each transition was observed (additive smoothing): 0 is the maximum likelihood,
            1 is Laplace's rule.
        node_counts
            Counts that the matrix contains; default: those that occur, ascending.
        migrations_only
            Only neighbouring intervals of different counts are transitions, as in the paper's experiments.
            False keeps the intervals in which nothing changed as transitions of a count to itself.

        Raises
        ------
        InvalidInstanceError
            For a negative smoothing, no count at all, and a count below 1 or missing in `node_counts`, with its place.

        Examples
        --------
        >>> matrix = TransitionMatrix.estimate([2, 3, 3, 2, 4, 2, 3])
        >>> matrix.probabilities[0].round(3).tolist()
        [0.0, 0.667, 0.333]
        """
        counts, transitions = count_transitions(*series, node_counts=node_counts)
        return cls.from_counts(counts, transitions, smoothing=smoothing, migrations_only=migrations_only)

    @classmethod
    def from_counts(
        cls, node_counts: ArrayLike, transitions: ArrayLike, *, smoothing: float = 0.0, migrations_only: bool = True
    ) -> TransitionMatrix:
        """Estimate the most likely matrix from the counts of each transition.

        A row without observations has no most likely value. It takes the distribution of all arrivals at
        the other counts (where migrations go when nothing is known of where they come from); if there were
        none either, all other counts are equally likely. Smoothing fills such rows evenly by itself. Either way
        `never_left` names them. A matrix of a single count goes from that count to itself.

        Parameters
        ----------
        node_counts : shape (k,)
        transitions : shape (k, k)
            From row to column, whole numbers. The diagonal is ignored with `migrations_only`.
        smoothing, migrations_only
            As for `estimate`.

        Examples
        --------
        >>> matrix = TransitionMatrix.from_counts([2, 3, 4], [[0, 2, 1], [1, 0, 0], [0, 0, 0]])
        >>> matrix.never_left, matrix.probabilities[2].tolist()
        ((4,), [0.3333333333333333, 0.6666666666666666, 0.0])
        """
        if not (math.isfinite(smoothing) and smoothing >= 0):
            raise InvalidInstanceError([Fault("smoothing", repr(smoothing), "must be a finite number, at least 0")])
        observed = checked_transitions(transitions, np.asarray(node_counts).size)
        possible = np.ones_like(observed, dtype=bool)
        if migrations_only and len(observed) > 1:
            np.fill_diagonal(possible, False)
        observed = np.where(possible, observed, 0)
        weights = np.where(possible, observed + smoothing, 0.0)
        for row in np.flatnonzero(weights.sum(axis=1) == 0):
            arrivals = np.where(possible[row], observed.sum(axis=0), 0)
            weights[row] = arrivals if arrivals.any() else possible[row]
        return cls(node_counts, weights / weights.sum(axis=1, keepdims=True), observed)

    @property
    def never_left(self) -> tuple[int, ...]:
        """Counts that no observed migration leaves; empty for a matrix that was given, not estimated."""
        if self.transitions is None:
            return ()
        leaving = self.transitions.sum(axis=1) - self.transitions.diagonal()
        return tuple(int(n) for n in self.node_counts[leaving == 0])

    def row(self, nodes: int) -> int:
        """Return the row and column index of a number of nodes.

        Raises
        ------
        InvalidInstanceError
            When the matrix does not contain it.
        """
        if nodes not in self._row_of:
            why = f"the matrix speaks of {', '.join(map(str, self._row_of))} nodes only"
            raise InvalidInstanceError([Fault("nodes", str(nodes), why)])
        return self._row_of[nodes]

    def after(self, nodes: int, steps: int) -> Floats:
        """Compute the distribution over `node_counts` after `steps` migrations from a number of nodes, shape (k,).

        Examples
        --------
        >>> TransitionMatrix([2, 3], [[0, 1], [0.5, 0.5]]).after(2, 2).tolist()
        [0.5, 0.5]
        """
        if steps < 0:
            raise InvalidInstanceError([Fault("steps", str(steps), "must be at least 0")])
        return np.asarray(np.linalg.matrix_power(self.probabilities, steps)[self.row(nodes)])

    @property
    def recurrent_classes(self) -> tuple[tuple[int, ...], ...]:
        """Sets of counts that are never left once entered and within which each leads to each; at least one.

        Counts in none of them are passed through only for a while.

        >>> TransitionMatrix([2, 3, 4], [[0, 0.5, 0.5], [0, 1, 0], [0, 0, 1]]).recurrent_classes
        ((3,), (4,))
        """
        return tuple(tuple(int(n) for n in self.node_counts[rows]) for rows in recurrent_classes(self.probabilities))

    def period(self, nodes: int) -> int:
        """Greatest common divisor of the numbers of migrations after which a count can come again; 0 if it never does.

        >>> TransitionMatrix([2, 3], [[0, 1], [1, 0]]).period(3)
        2
        """
        return period(self.probabilities, self.row(nodes))

    def stationary(self, start: int | None = None) -> Floats:
        """Share of migrations that end in each count in the long run, shape (k,).

        For a chain with one recurrent class this is its stationary distribution, whatever the start;
        for a periodic chain, where `after` keeps alternating, it is the average over a period. With several
        recurrent classes the long run depends on the class that the chain falls into, so `start` must be given.

        Raises
        ------
        InvalidInstanceError
            When there are several recurrent classes and no start.

        Examples
        --------
        >>> TransitionMatrix([2, 3], [[0.5, 0.5], [1.0, 0.0]]).stationary().round(6).tolist()
        [0.666667, 0.333333]
        """
        classes = self.recurrent_classes
        if start is None and len(classes) > 1:
            among = ", ".join("{" + ", ".join(map(str, members)) + "}" for members in classes)
            why = f"the chain ends in one of {among}; name the number of nodes that it starts from"
            raise InvalidInstanceError([Fault("start", "", why)])
        return long_run_shares(self.probabilities, self.row(classes[0][0] if start is None else start))

    def sequence_probability(self, sequence: Sequence[int] | Ints) -> float:
        """Probability that a chain which begins in the first count of the sequence goes on like the rest of it.

        >>> TransitionMatrix([2, 3], [[0.25, 0.75], [1.0, 0.0]]).sequence_probability([2, 3, 2, 2])
        0.1875
        """
        rows = self._rows(sequence, "sequence")
        return float(np.prod(self.probabilities[rows[:-1], rows[1:]]))

    def sample(self, start: int, steps: int, seed: int) -> Ints:
        """A random sequence of `steps` migrations, shape (steps + 1,), `start` first.

        >>> TransitionMatrix([2, 3], [[0, 1], [1, 0]]).sample(3, 4, seed=1).tolist()
        [3, 2, 3, 2, 3]
        """
        if steps < 0:
            raise InvalidInstanceError([Fault("steps", str(steps), "must be at least 0")])
        thresholds = np.cumsum(self.probabilities, axis=1)
        thresholds /= thresholds[:, -1:]
        rows = np.empty(steps + 1, dtype=np.int64)
        rows[0] = self.row(start)
        for step, drawn in enumerate(np.random.default_rng(seed).random(steps)):
            rows[step + 1] = np.searchsorted(thresholds[rows[step]], drawn, side="right")
        return self.node_counts[rows]

    def log_likelihood(self, *series: Sequence[int] | Ints, migrations_only: bool = True) -> float:
        """Logarithm of the probability of the transitions in the series; −inf when one of them is impossible.

        With `migrations_only`, neighbouring intervals of equal counts are no transitions, as for `estimate`.

        >>> round(TransitionMatrix([2, 3], [[0.5, 0.5], [1.0, 0.0]]).log_likelihood([2, 3, 3, 2, 3]), 6)
        -1.386294
        """
        _, transitions = count_transitions(*series, node_counts=self.node_counts)
        if migrations_only:
            np.fill_diagonal(transitions, 0)
        observed = transitions > 0
        if (self.probabilities[observed] == 0).any():
            return -math.inf
        return float((transitions[observed] * np.log(self.probabilities[observed])).sum())

    def standard_errors(self) -> Floats:
        """Standard error of each probability of an estimated matrix, shape (k, k): √(p(1 − p)/observations of the row).

        Infinite in rows that were never observed.

        >>> TransitionMatrix.estimate([2, 3, 2, 4, 2, 3, 2, 4]).standard_errors()[0].tolist()
        [0.0, 0.25, 0.25]
        """
        if self.transitions is None:
            raise InvalidInstanceError([Fault("transitions", "", "the matrix was given, not estimated; it has no errors")])
        observed = self.transitions.sum(axis=1, keepdims=True)
        variance = self.probabilities * (1 - self.probabilities)
        return np.sqrt(np.where(observed > 0, variance / np.maximum(observed, 1), np.inf))

    def _rows(self, sequence: Sequence[int] | Ints, place: str) -> list[int]:
        unknown = [(index, n) for index, n in enumerate(sequence) if n not in self._row_of]
        if unknown:
            why = f"the matrix speaks of {', '.join(map(str, self._row_of))} nodes only"
            raise InvalidInstanceError([Fault(f"{place}[{index}]", str(n), why) for index, n in unknown])
        return [self._row_of[int(n)] for n in sequence]


def _checked(node_counts: ArrayLike, probabilities: ArrayLike) -> tuple[Ints, Floats]:
    counts = np.asarray(node_counts)
    faults = faults_of_counts(counts, "node_counts")
    if not counts.size:
        faults.append(Fault("node_counts", "[]", "must name at least one number of nodes"))
    elif counts.ndim == 1:
        values, occurrences = np.unique(counts, return_counts=True)
        faults += [Fault("node_counts", str(count), "is named twice") for count in values[occurrences > 1].tolist()]
    matrix = np.array(probabilities, dtype=np.float64)
    if matrix.shape != (counts.size, counts.size):
        why = f"must have one row and one column for each of the {counts.size} node counts"
        faults.append(Fault("probabilities", f"an array of shape {matrix.shape}", why))
        raise InvalidInstanceError(faults)
    inside = (matrix >= 0) & (matrix <= 1 + UNIT_SUM_SLACK)  # false for NaN
    why, wrong = "must lie between 0 and 1", np.argwhere(~inside)
    outside = (Fault(f"probabilities[{i}][{j}]", repr(matrix[i, j].item()), why) for i, j in wrong)
    faults += first_faults(outside, len(wrong))
    for i in np.flatnonzero(inside.all(axis=1) & (np.abs(matrix.sum(axis=1) - 1) > UNIT_SUM_SLACK)):
        why = f"the probabilities of leaving {counts[i]} nodes must sum to 1"
        faults.append(Fault(f"probabilities[{i}]", f"a sum of {matrix[i].sum():.12g}", why))
    InvalidInstanceError.raise_if_any(faults)
    return counts.astype(np.int64), matrix


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
    InvalidInstanceError.raise_if_any(faults)
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


def load_scenarios(
    observed: ArrayLike, load: float, steps: int, *, levels: int = 10, least: float = 0.01
) -> tuple[LoadScenario, ...]:
    """Derive scenarios of the load until the next decision, from a Markov chain over levels of the loads observed.

    Loads are put into levels that were observed about equally often. The transition matrix of the levels is estimated from
    one observation to the next, as that of node counts is; the probability of a level is its mean share of the next `steps`.

    Parameters
    ----------
    observed : shape (n,)
        Loads at equal distances of time, oldest first, in any unit.
    load
        The load now, in the same unit: that of the application, to which the factors of the scenarios are relative.
    steps
        Observations until the next decision.
    levels
        Number of levels.
    least
        Scenarios that are less probable are left out, and the others share their probability.

    Raises
    ------
    InvalidInstanceError
        For fewer than two loads, negative ones, and a load of 0 now.

    Examples
    --------
    >>> [(s.factor, s.probability) for s in load_scenarios([10, 20, 10, 20, 10], 10, 2, levels=2)]
    [(1.0, 0.5), (2.0, 0.5)]
    """
    if faults := _faults(observed, load, steps=steps, levels=levels):
        raise InvalidInstanceError(faults)
    loads, level = load_levels(observed, load, levels)
    matrix = TransitionMatrix.estimate(level, migrations_only=False)
    numbers = matrix.node_counts.tolist()
    mean = np.array([loads[level == number].mean() for number in numbers])
    present = numbers[int(np.argmin(np.abs(mean - load)))]
    share = np.mean([matrix.after(present, step) for step in range(1, steps + 1)], axis=0)
    probable = np.flatnonzero((share >= least) & (mean > 0))
    if not probable.size:
        raise InvalidInstanceError([Fault("least", f"{least:g}", "leaves no scenario; give a smaller probability")])
    total = share[probable].sum()
    return tuple(LoadScenario(factor=float(mean[k] / load), probability=float(share[k] / total)) for k in probable)


def load_levels(observed: ArrayLike, load: float, levels: int) -> tuple[Floats, Ints]:
    """Group observed loads into levels of about equal frequency, numbered from 1; return loads and levels.

    Raises
    ------
    InvalidInstanceError
        For fewer than two loads, negative ones, a load of 0 now and less than one level.

    Examples
    --------
    >>> load_levels([10, 20, 10, 40, 30], 10, 2)[1].tolist()
    [1, 1, 1, 2, 2]
    """
    if faults := _faults(observed, load, levels=levels):
        raise InvalidInstanceError(faults)
    loads = np.asarray(observed, dtype=np.float64)
    bounds = np.unique(np.quantile(loads, np.arange(1, levels) / levels, method="higher"))
    return loads, np.searchsorted(bounds, loads) + 1


def rate_levels(rates: ArrayLike, source: str, levels: int = 5) -> dict[str, Any]:
    """Group the rates of a source into levels that were observed about equally often, and count how these followed each other.

    Parameters
    ----------
    rates : shape (periods,)
        Tuples/s in periods of equal length, oldest first; the last one is the present.
    source
        Operator whose `external_rate` they are.
    levels
        Number of levels.

    Returns
    -------
    dict
        The fields `levels`, `transitions` and `level` of an `EdrpPolicyProblem`. The rate of a level is the largest one
        observed in it, so that whatever is decided for it can be run.

    Raises
    ------
    InvalidInstanceError
        For fewer than two rates, negative ones, only zeros, and less than one level.

    Examples
    --------
    >>> fields = rate_levels([10, 20, 12, 22, 10], "reader", levels=2)
    >>> fields["levels"][1], fields["transitions"], fields["level"]
    ({'name': 'level 2', 'external_rates': {'reader': 22.0}}, [[0.0, 1.0], [1.0, 0.0]], 'level 1')
    """
    loads, level = load_levels(rates, float(np.max(rates, initial=0.0)), levels)
    matrix = TransitionMatrix.estimate(level, migrations_only=False)
    largest = {number: float(loads[level == number].max()) for number in matrix.node_counts.tolist()}
    return {
        "levels": [{"name": f"level {number}", "external_rates": {source: rate}} for number, rate in largest.items()],
        "transitions": matrix.probabilities.tolist(),
        "level": f"level {level[-1]}",
    }


def _faults(observed: ArrayLike, load: float, **numbers: int) -> list[Fault]:
    loads = np.asarray(observed, dtype=np.float64)
    faults = []
    if loads.ndim != 1 or loads.size < 2 or not np.isfinite(loads).all() or loads.min() < 0:
        faults.append(Fault("observed", f"an array of shape {loads.shape}", "must be a list of at least two loads of at least 0"))
    if not (np.isfinite(load) and load > 0):
        faults.append(Fault("load", repr(load), "must be above 0: factors are relative to it"))
    return faults + [Fault(name, str(value), "must be at least 1") for name, value in numbers.items() if value < 1]
