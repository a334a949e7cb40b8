"""Scenarios and levels of a load and how they follow each other, from a Markov chain of the loads observed."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from edrp.core.arrays import Floats, Ints
from edrp.core.errors import Fault, InvalidInstanceError
from edrp.mdp.chain.transition_matrix import TransitionMatrix
from edrp.migration.rescale.scenarios import LoadScenario


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
