"""A problem of kind `edrp-policy` as arrays: one compiled problem for each level that can come up."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from edrp.core.arrays import Floats
from edrp.core.problem import derived
from edrp.placement.policy import EdrpPolicyProblem
from edrp.placement.sequence_arrays import SequenceArrays, compile_sequence


@dataclass(frozen=True, slots=True)
class LevelArrays:
    """Arrays over the levels that can come up from now on.

    Attributes
    ----------
    sequence : costs and prices of changes, with a period for each level.
    transitions : shape (levels, levels), rows sum to 1.
    discount : γ.
    level : index of the level of the period that begins now.
    """

    sequence: SequenceArrays
    transitions: Floats
    discount: float
    level: int

    @property
    def count(self) -> int:
        """Number of levels."""
        return len(self.transitions)

    @property
    def least_change(self) -> float:
        """Least cost of a change, in seconds."""
        return self.sequence.change + self.sequence.downtime * self.sequence.periods[0].synchronisation_time


@derived
def compile_levels(problem: EdrpPolicyProblem) -> LevelArrays:
    """Turn a problem into arrays; inside `derived_once`, as in `solve`, this is done once."""
    reachable = list(problem.reachable_levels)
    transitions = np.array(problem.transitions, float)[np.ix_(reachable, reachable)]
    return LevelArrays(
        sequence=compile_sequence(problem.level_sequence),
        transitions=transitions / transitions.sum(axis=1, keepdims=True),
        discount=problem.discount,
        level=reachable.index(problem.level_numbers[problem.level]),
    )
