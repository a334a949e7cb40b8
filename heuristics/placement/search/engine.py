"""The interface between the searches and the three representations of a placement: instances, counts, replicas."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, Protocol, Self

import numpy as np

from edrp.core.arrays import Floats, Ints, UInts
from edrp.heuristics.placement.search.method_parameters import ColonyParameters, KickParameters, Rule


class Value(NamedTuple):
    """The quality of a placement; tuples compare as the repaired rule does.

    Attributes
    ----------
    violations : number of limits broken, one per node and resource overloaded.
    overload : sum over these of the excess relative to the capacity.
    objective : the objective as the problem evaluates it, up to rounding.

    Examples
    --------
    >>> Value(1, 0.2, 5.0) < Value(1, 0.3, 1.0) < Value(2, 0.1, 0.0)
    True
    """

    violations: int
    overload: float
    objective: float

    @classmethod
    def from_array(cls, numbers: Floats) -> Self:
        """The three numbers that kernels work with.

        Examples
        --------
        >>> Value.from_array(np.array([1.0, 0.5, 2.0]))
        Value(violations=1, overload=0.5, objective=2.0)
        """
        violations, overload, objective = numbers.tolist()
        return cls(int(violations), overload, objective)


class SearchEngine(Protocol):
    """A problem in arrays, and the best placement met since `reset`.

    A search is an iterator: each step is a bounded piece of compiled work (2 ms at most), after which it yields the value
    of the best placement met so far. The caller looks at the clock between steps, reports improvements, and may drop the
    iterator at any step: `value` and `counts` still describe the best placement, and the next search continues from it.
    Steps only divide the work: the same seed ends in the same placement whatever their number.
    """

    def reset(self, start: Ints | None, random: np.random.Generator) -> None:
        """Start from a given placement, or from the engine's own greedy one; either may break limits."""
        ...

    def climb(self, rule: Rule) -> Iterator[Value]:
        """Climb from the best placement to a local optimum."""
        ...

    def colony(self, parameters: ColonyParameters, seed: int) -> Iterator[Value]:
        """Run the ant system; the best placement deposits the current placement's pheromone."""
        ...

    def kicks(self, parameters: KickParameters, seed: int) -> Iterator[Value]:
        """Run iterated local search from the best placement: climb, accept, kick."""
        ...

    def value(self) -> Value:
        """The value of the best placement met since `reset`."""
        ...

    def counts(self) -> Ints:
        """That placement as replicas per operator and node, shape (operators, nodes)."""
        ...


def random_stream(seed: int) -> UInts:
    """State of a stream of random numbers inside kernels.

    Examples
    --------
    >>> (random_stream(3) == random_stream(3)).all() and (random_stream(3) != random_stream(4)).all()
    np.True_
    """
    return np.random.SeedSequence(seed).generate_state(1, np.uint64).astype(np.uint64)
