"""Levels of a load and how they follow each other, from a history of rates, for problems of kind `edrp-policy`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from edrp.mdp.chain.load_scenarios import load_levels
from edrp.mdp.chain.transition_matrix import TransitionMatrix


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
