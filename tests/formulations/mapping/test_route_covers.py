"""Covers of flows that share an arc: no choice that fits is cut off."""

from __future__ import annotations

from itertools import product

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from edrp.formulations.mapping.route_covers import ScarceArc, violated_covers


@given(
    rates=st.lists(st.integers(1, 12), min_size=1, max_size=6),
    room=st.integers(0, 30),
    routes=st.lists(st.integers(1, 2), min_size=6, max_size=6),
    shares=st.lists(st.floats(0, 1), min_size=12, max_size=12),
)
def test_covers_cut_off_the_point_and_no_choice_that_fits(
    rates: list[int], room: int, routes: list[int], shares: list[float]
) -> None:
    """Every set of flows that fits, over any of their routes, keeps the row."""
    ends = np.cumsum([0, *routes[: len(rates)]])
    columns = [list(range(first, last)) for first, last in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)]
    point = np.array(shares[: ends[-1]])
    for own in columns:
        point[own] /= max(1.0, point[own].sum())
    for used, coefficients, most in violated_covers([ScarceArc(float(room), [float(rate) for rate in rates], columns)], point):
        assert np.dot(coefficients, point[used]) > most
        for chosen in product(*([None, *own] for own in columns)):
            if sum(rate for rate, column in zip(rates, chosen, strict=True) if column is not None) <= room:
                assert sum(value for column, value in zip(used, coefficients, strict=True) if column in chosen) <= most


def test_a_flow_that_weighs_as_much_as_two_counts_for_two() -> None:
    """Of rates 3, 3, 3 and 7 in a room of 8 none but two small ones fit together."""
    arc = ScarceArc(8.0, [3.0, 3.0, 3.0, 7.0], [[0], [1, 2], [3], [4]])
    (cover,) = violated_covers([arc], np.array([0.9, 0.5, 0.3, 0.8, 0.1]))
    assert cover == ([0, 1, 2, 3, 4], [1.0, 1.0, 1.0, 1.0, 2.0], 2.0)
