"""The iteration that all decision processes share: proven bounds around exact values."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pytest

from edrp.core.errors import VerificationError
from edrp.mdp.value_iteration import ValueIteration, iterate_values


class Greedy(NamedTuple):
    """Actions of all states."""

    actions: np.ndarray


@dataclass
class Random:
    """A random process with a few states and actions."""

    costs: np.ndarray
    chances: np.ndarray
    discount: float
    scale: float = 1.0

    @classmethod
    def draw(cls, seed: int, discount: float) -> "Random":
        random = np.random.default_rng(seed)
        return cls(random.random((6, 3)), random.dirichlet(np.ones(6) / 2, (6, 3)), discount)

    def improve(self, values, actions):
        return Greedy((self.costs + self.discount * self.chances @ values[0]).argmin(axis=1))

    def back_up(self, policy, values):
        rows = np.arange(len(self.costs))
        return [self.costs[rows, policy.actions] + self.discount * self.chances[rows, policy.actions] @ values[0]]

    def exact(self) -> np.ndarray:
        """Values of the best of all policies, each solved by itself."""
        rows, best = np.arange(len(self.costs)), None
        for number in range(3**6):
            actions = number // 3**rows % 3
            matrix = np.eye(6) - self.discount * self.chances[rows, actions]
            values = np.linalg.solve(matrix, self.costs[rows, actions])
            best = values if best is None else np.minimum(best, values)
        return best


@pytest.mark.parametrize(("seed", "discount"), [(0, 0.0), (1, 0.5), (2, 0.9), (3, 0.99)])
def test_values_are_within_the_proven_error_after_every_sweep(seed, discount):
    process = Random.draw(seed, discount)
    exact, seen = process.exact(), []
    found = iterate_values(process, ValueIteration([np.zeros(6)]), target=1e-10, after_sweep=seen.append)
    assert found.error_bound <= 1e-10
    assert seen[-1] is found
    for iteration in seen:
        # Between sweeps a policy is evaluated: values are those of it then, and the error is that of before.
        assert np.abs(iteration.values[0] - exact).max() <= max(iteration.error_bound, 1e-12) * (1 + 1e-6)


def test_an_iteration_goes_on_where_it_was():
    process = Random.draw(4, 0.9)
    whole = iterate_values(process, ValueIteration([np.zeros(6)]), target=1e-10)
    first = iterate_values(process, ValueIteration([np.zeros(6)]), target=1e-10, max_sweeps=2)
    again = iterate_values(process, first, target=1e-10)
    assert again.sweeps == whole.sweeps
    assert np.array_equal(again.values[0], whole.values[0])


def test_costs_that_are_no_numbers_are_not_passed_on():
    process = Random.draw(5, 0.9)
    process.costs[0] = np.nan
    with pytest.raises(VerificationError, match="no finite numbers after sweep 1"):
        iterate_values(process, ValueIteration([np.zeros(6)]), target=1e-10)
