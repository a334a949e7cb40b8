"""Random numbers, copies and orders inside kernels, here interpreted."""

from collections.abc import Iterator

import numpy as np
import pytest

from edrp.core.kernel_helpers import below, copy_matrix, copy_vector, sort_by, uniform, value_in_place
from edrp.core.kernels import interpreting

PUBLISHED = (6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431, 16408922859458223821)
"""Numbers that splitmix64 gives for the seed 1234567, as in the tests of other implementations of it."""


@pytest.fixture(autouse=True)
def interpreted() -> Iterator[None]:
    with interpreting(60.0):
        yield


def test_random_numbers_are_those_of_splitmix64():
    random = np.array([1234567], np.uint64)
    assert [uniform(random) for _ in PUBLISHED] == [(number >> 11) / 2**53 for number in PUBLISHED]


def test_random_whole_numbers_are_below_the_count_and_reach_all_of_them():
    random = np.array([1], np.uint64)
    drawn = [below(random, 5) for _ in range(200)]
    assert set(drawn) == {0, 1, 2, 3, 4}


def test_copies_are_of_all_entries():
    vector, matrix = np.arange(3.0), np.arange(6.0).reshape(2, 3)
    other, more = np.zeros(3), np.zeros((2, 3))
    copy_vector(vector, other)
    copy_matrix(matrix, more)
    assert (other.tolist(), more.tolist()) == (vector.tolist(), matrix.tolist())


@pytest.mark.parametrize("count", [1, 2, 7, 64])
def test_orders_are_those_of_numpy(count):
    random = np.random.default_rng(count)
    values = random.integers(0, 9, count).astype(float)
    order = random.permutation(count)
    expected = order[np.argsort(values[order], kind="stable")]
    sort_by(values, order, np.empty_like(order))
    assert order.tolist() == expected.tolist()
    assert [value_in_place(values.copy(), count, k) for k in range(count)] == sorted(values)
