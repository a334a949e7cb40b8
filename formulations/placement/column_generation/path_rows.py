"""A lower bound on the path latency of a choice of patterns, as rows of the program that chooses them."""

from __future__ import annotations

import numpy as np

from edrp.core.arrays import Bools, Floats, Ints
from edrp.core.program import Linear, Program
from edrp.formulations.placement.column_generation.model import Model


def longest_path(program: Program, model: Model, pattern: Ints, use: Ints, least_delay: Floats) -> Linear:
    """Milliseconds that the slowest path through instances takes at least.

    With F and L the first and the last arrival at an instance of an operator, and a stream from a to b that takes at least d
    between different supervisors: all of b comes after all of a, F_b ≥ L_a, by d where no supervisor holds instances of both.
    Unless one supervisor holds all of both, some pair is apart, L_b ≥ F_a + d. All of a on one supervisor leave together,
    L_b ≥ L_a + d where not all of b is there too; all of b on one arrive together, F_b ≥ F_a + d.

    Parameters
    ----------
    program, model
        Gets columns "first arrival", "arrival" (operators,) and "longest".
    pattern, use
        Counts of each column's pattern, shape (columns, operators), and the columns that say whether it is used.
    least_delay
        Seconds d of each forward stream.
    """
    size, a, b = model.instances.size, model.source, model.target
    first, last = program.add_columns("first arrival", size), program.add_columns("arrival", size)
    longest = program.add_columns("longest", 1)
    whole, held = pattern == model.instances, pattern > 0
    delay, rows = 1000 * least_delay, np.arange(a.size)

    def follow(name: str, later: Ints, earlier: Ints, apart: Bools, unless: bool) -> None:
        """later_b − earlier_a ≥ d where a pattern says so; with `unless`, where none does."""
        stream, column = np.nonzero(apart.T)
        factor = delay[stream] if unless else -delay[stream]
        ends = [(rows, later[b], 1.0), (rows, earlier[a], -1.0)]
        least = delay if unless else np.zeros_like(delay)
        program.add_rows(f"arrivals {name}", rows.size, [*ends, (stream, use[column], factor)], lower=least)

    whole_a, whole_b = whole[:, a], whole[:, b]
    follow("after all", first, last, np.zeros_like(whole_a), unless=False)
    follow("none shared", first, last, held[:, a] & held[:, b], unless=True)
    follow("apart", last, first, whole_a & whole_b, unless=True)
    follow("from one", last, last, whole_a & ~whole_b, unless=False)
    follow("to one", first, first, whole_b & ~whole_a, unless=False)
    each, single = np.arange(size), np.flatnonzero(model.instances == 1)
    program.add_rows("first and last", size, [(each, last, 1.0), (each, first, -1.0)], lower=0.0)
    one = np.arange(single.size)
    program.add_rows("one instance", one.size, [(one, first[single], 1.0), (one, last[single], -1.0)], lower=0.0)
    program.add_rows("longest", size, [(each, last, -1.0), (each, longest, 1.0)], lower=0.0)
    return Linear.of(longest)
