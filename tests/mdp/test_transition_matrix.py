"""The migration transition matrix: Table 4, maximum likelihood, prediction, long run, and what is refused."""

import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edrp.core.errors import InvalidInstanceError
from edrp.mdp.chain.transition_matrix import TransitionMatrix, count_transitions

SERIES = st.lists(st.integers(1, 6), min_size=1, max_size=60)


@pytest.fixture
def table_4() -> TransitionMatrix:
    return TransitionMatrix([2, 3, 4], [[0.3, 0.6, 0.1], [0.3, 0.4, 0.3], [0.1, 0.5, 0.4]])


def test_table_4_gives_the_probability_of_the_papers_sequence(table_4: TransitionMatrix) -> None:
    """2, 3, 4 occurs with probability 0.6 · 0.3."""
    assert table_4.sequence_probability([2, 3, 4]) == pytest.approx(0.18, abs=1e-15)
    assert table_4.sequence_probability([4]) == 1.0


def test_prediction_after_two_steps_sums_over_all_ways(table_4: TransitionMatrix) -> None:
    expected = [sum(table_4.sequence_probability([2, between, n]) for between in (2, 3, 4)) for n in (2, 3, 4)]
    np.testing.assert_allclose(table_4.after(2, 2), expected, rtol=1e-14)
    np.testing.assert_array_equal(table_4.after(3, 0), [0, 1, 0])


def test_stationary_distribution_of_table_4_is_where_prediction_settles(table_4: TransitionMatrix) -> None:
    """An irreducible, aperiodic chain forgets its start."""
    assert table_4.recurrent_classes == ((2, 3, 4),)
    assert table_4.period(2) == 1
    for start in (2, 3, 4):
        np.testing.assert_allclose(table_4.after(start, 200), table_4.stationary(), rtol=1e-12)


def test_estimate_counts_migrations_only() -> None:
    """Intervals without a change are no migrations unless they are asked for."""
    series = [8, 8, 9, 8, 8, 10, 8]
    matrix = TransitionMatrix.estimate(series)
    np.testing.assert_array_equal(matrix.node_counts, [8, 9, 10])
    np.testing.assert_allclose(matrix.probabilities, [[0, 0.5, 0.5], [1, 0, 0], [1, 0, 0]])
    staying = TransitionMatrix.estimate(series, migrations_only=False)
    np.testing.assert_allclose(staying.probabilities[0], [0.5, 0.25, 0.25])


def test_several_series_are_pooled_without_a_transition_across_the_gap() -> None:
    """3 | 2 is a gap, not a migration."""
    matrix = TransitionMatrix.estimate([2, 3], [2, 4, 3])
    np.testing.assert_array_equal(matrix.transitions, [[0, 1, 1], [0, 0, 0], [0, 1, 0]])
    pooled = TransitionMatrix.from_counts(*count_transitions([2, 3], [2, 4, 3]))
    np.testing.assert_array_equal(matrix.probabilities, pooled.probabilities)


def test_counts_that_are_never_left_are_reported_and_get_a_row() -> None:
    """Without observations a row takes the distribution of arrivals; smoothing makes it even."""
    matrix = TransitionMatrix.estimate([2, 3, 2, 3, 2, 4], node_counts=[2, 3, 4, 5])
    assert matrix.never_left == (4, 5)
    np.testing.assert_allclose(matrix.probabilities[2], [0.5, 0.5, 0, 0])
    np.testing.assert_allclose(matrix.probabilities[3], [0.4, 0.4, 0.2, 0])
    smooth = TransitionMatrix.estimate([2, 3, 2, 3, 2, 4], node_counts=[2, 3, 4, 5], smoothing=0.5)
    assert smooth.never_left == (4, 5)
    np.testing.assert_allclose(smooth.probabilities[2], [1 / 3, 1 / 3, 0, 1 / 3])
    np.testing.assert_allclose(smooth.probabilities[0], [0, 2.5 / 4.5, 1.5 / 4.5, 0.5 / 4.5])


def test_a_history_of_one_count_goes_on_like_that() -> None:
    matrix = TransitionMatrix.estimate([5, 5, 5])
    assert matrix.probabilities.tolist() == [[1.0]]
    assert matrix.never_left == (5,)
    assert matrix.stationary().tolist() == [1.0]


def test_only_arrivals_at_the_row_itself_leave_the_others_equally_likely() -> None:
    """2 → 3 is all that was seen: from 3 nothing is known but that it is left."""
    matrix = TransitionMatrix.estimate([2, 3], node_counts=[2, 3, 4])
    np.testing.assert_allclose(matrix.probabilities, [[0, 1, 0], [0.5, 0, 0.5], [0, 1, 0]])


@given(SERIES, st.sampled_from([0.0, 0.5, 1.0]), st.booleans())
def test_every_estimate_is_a_stochastic_matrix(series: list[int], smoothing: float, migrations_only: bool) -> None:
    matrix = TransitionMatrix.estimate(series, smoothing=smoothing, migrations_only=migrations_only)
    np.testing.assert_allclose(matrix.probabilities.sum(axis=1), 1, rtol=1e-12)
    assert (matrix.probabilities >= 0).all()
    if migrations_only and len(matrix.node_counts) > 1:
        assert (np.diag(matrix.probabilities) == 0).all()


@settings(max_examples=50)
@given(SERIES, st.integers(0, 2**32 - 1))
def test_no_other_matrix_makes_the_series_more_likely(series: list[int], seed: int) -> None:
    matrix = TransitionMatrix.estimate(series)
    best = matrix.log_likelihood(series)
    assert math.isfinite(best)
    weights = np.random.default_rng(seed).random(matrix.probabilities.shape) * (matrix.probabilities > 0)
    rival = TransitionMatrix(matrix.node_counts, weights / weights.sum(axis=1, keepdims=True))
    assert rival.log_likelihood(series) <= best + 1e-9


def test_impossible_series_have_no_likelihood(table_4: TransitionMatrix) -> None:
    matrix = TransitionMatrix.estimate([2, 3, 2, 4, 2])
    assert matrix.log_likelihood([3, 4]) == -math.inf
    assert table_4.log_likelihood([2, 2, 3], migrations_only=False) == pytest.approx(math.log(0.18))


@given(SERIES)
def test_stationary_shares_do_not_change_by_a_migration(series: list[int]) -> None:
    matrix = TransitionMatrix.estimate(series)
    for start in matrix.node_counts:
        shares = matrix.stationary(int(start))
        assert shares.sum() == pytest.approx(1)
        np.testing.assert_allclose(shares @ matrix.probabilities, shares, atol=1e-12)


def test_periodic_chains_are_named_and_averaged() -> None:
    """2 and 3 alternate for ever."""
    matrix = TransitionMatrix([2, 3, 5], [[0, 1, 0], [1, 0, 0], [0.5, 0.5, 0]])
    assert (matrix.period(2), matrix.period(5)) == (2, 0)
    np.testing.assert_allclose(matrix.stationary(), [0.5, 0.5, 0])


def test_reducible_chains_need_a_start() -> None:
    """The long run from 3 is a mixture of two fates; without a start it is refused, naming both."""
    matrix = TransitionMatrix([2, 3, 4], [[1, 0, 0], [0.1, 0.6, 0.3], [0, 0, 1]])
    assert matrix.recurrent_classes == ((2,), (4,))
    with pytest.raises(InvalidInstanceError, match=r"start: the chain ends in one of \{2\}, \{4\}"):
        matrix.stationary()
    np.testing.assert_allclose(matrix.stationary(3), [0.25, 0, 0.75])
    np.testing.assert_allclose(matrix.stationary(4), [0, 0, 1])


def test_tiny_probabilities_do_not_spoil_the_stationary_distribution() -> None:
    """An eigenvector solver loses all digits here; eliminating without subtractions does not."""
    tiny = 1e-14
    matrix = TransitionMatrix([1, 2, 3], [[1 - tiny, tiny, 0], [tiny, 1 - 2 * tiny, tiny], [0, tiny, 1 - tiny]])
    np.testing.assert_allclose(matrix.stationary(), [1 / 3] * 3, rtol=1e-2)
    two = TransitionMatrix([1, 2], [[1 - 3e-12, 3e-12], [1e-12, 1 - 1e-12]])
    np.testing.assert_allclose(two.stationary(), [0.25, 0.75], rtol=1e-12)


def test_samples_repeat_with_their_seed_and_follow_the_matrix(table_4: TransitionMatrix) -> None:
    """Estimating from a long sample gives the matrix back, within four standard errors."""
    sample = table_4.sample(3, 20_000, seed=7)
    assert sample[0] == 3
    assert sample.size == 20_001
    np.testing.assert_array_equal(sample, table_4.sample(3, 20_000, seed=7))
    estimate = TransitionMatrix.estimate(sample, migrations_only=False)
    assert (np.abs(estimate.probabilities - table_4.probabilities) < 4 * estimate.standard_errors()).all()
    assert table_4.sequence_probability(table_4.sample(2, 50, seed=1)) > 0


def test_rows_without_observations_have_no_error_bound() -> None:
    """An infinite standard error says that nothing is known."""
    matrix = TransitionMatrix.estimate([2, 3, 2, 4])
    assert np.isinf(matrix.standard_errors()[2]).all()


def test_matrices_survive_pickling_and_cannot_be_changed(table_4: TransitionMatrix) -> None:
    copy = pickle.loads(pickle.dumps(table_4))
    assert copy.sequence_probability([2, 3, 4]) == table_4.sequence_probability([2, 3, 4])
    with pytest.raises(ValueError, match="read-only"):
        table_4.probabilities[0, 0] = 1


@pytest.mark.parametrize(
    ("node_counts", "probabilities", "words"),
    [
        (
            [2, 3],
            [[0.5, 0.4], [0, 1]],
            r"probabilities\[0\]: the probabilities of leaving 2 nodes must sum to 1 \(got a sum of 0.9\)",
        ),
        ([2, 3], [[1.5, -0.5], [0, 1]], r"probabilities\[0\]\[1\]: must lie between 0 and 1 \(got -0.5\)"),
        ([2, 3], [[math.nan, 1], [0, 1]], r"probabilities\[0\]\[0\]: must lie between 0 and 1 \(got nan\)"),
        ([2, 3], [[1.0]], r"probabilities: must have one row and one column for each of the 2 node counts"),
        ([2, 2], [[0, 1], [1, 0]], "node_counts: is named twice"),
        ([0, 2], [[0, 1], [1, 0]], r"node_counts\[0\]: must be a whole number of nodes, at least 1 \(got 0\)"),
        ([], [], "node_counts: must name at least one number of nodes"),
    ],
)
def test_bad_matrices_are_refused_with_their_place(node_counts: list[int], probabilities: list[list[float]], words: str) -> None:
    with pytest.raises(InvalidInstanceError, match=words):
        TransitionMatrix(node_counts, probabilities)


@pytest.mark.parametrize(
    ("series", "options", "words"),
    [
        ([[2, -3]], {}, r"series\[1\]: must be a whole number"),
        ([[2, 3], [2.5]], {}, r"series\[1\]\[0\]: must be a whole number"),
        ([[2, 3, 5]], {"node_counts": [2, 3]}, "series: occurs in the series, but node_counts is"),
        ([[2, 3]], {"smoothing": -1.0}, "smoothing: must be a finite number"),
        ([[]], {}, "series: is empty"),
        ([["two"]], {}, "series: must hold whole numbers"),
    ],
)
def test_bad_histories_are_refused_with_their_place(series: list[list[int]], options: dict[str, float], words: str) -> None:
    with pytest.raises(InvalidInstanceError, match=words):
        TransitionMatrix.estimate(*series, **options)


def test_bad_transition_counts_are_refused() -> None:
    with pytest.raises(InvalidInstanceError, match=r"transitions\[0\]\[1\]: must be how often"):
        TransitionMatrix.from_counts([2, 3], [[0, -1], [1, 0]])
    with pytest.raises(InvalidInstanceError, match="transitions: must have one row"):
        TransitionMatrix.from_counts([2, 3], [[0, 1]])


def test_unknown_counts_are_named_where_they_are_asked_for(table_4: TransitionMatrix) -> None:
    with pytest.raises(InvalidInstanceError, match=r"nodes: the matrix speaks of 2, 3, 4 nodes only \(got 7\)"):
        table_4.after(7, 1)
    with pytest.raises(InvalidInstanceError, match=r"sequence\[1\]: the matrix speaks of 2, 3, 4 nodes only \(got 9\)"):
        table_4.sequence_probability([2, 9])
    with pytest.raises(InvalidInstanceError, match="steps: must be at least 0"):
        table_4.after(2, -1)
    with pytest.raises(InvalidInstanceError, match="steps: must be at least 0"):
        table_4.sample(2, -1, seed=0)
    with pytest.raises(InvalidInstanceError, match="transitions: the matrix was given"):
        table_4.standard_errors()
