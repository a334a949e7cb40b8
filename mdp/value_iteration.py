"""Modified policy iteration with proven bounds, for any discounted decision process (Puterman and Shin 1978).

The values V of the states are the fixed point of a contraction T with factor γ. One *sweep* applies T to all states and records
the greedy action of each; between sweeps the policy of these actions is evaluated, which costs no search. After a sweep from V
to TV (MacQueen 1966),

    TV + γ/(1−γ)·min(TV − V)  ≤  fixed point  ≤  TV + γ/(1−γ)·max(TV − V),

so the middle of the two is known to be as close as half of their distance; the iteration ends when that is small enough.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any, Protocol, TypeVar

import numpy as np

from edrp.core.arrays import Floats
from edrp.core.budget import units_left
from edrp.core.errors import OutOfTimeError, VerificationError

MAX_EVALUATIONS = 400
"""Maximum number of times that a policy is applied between two sweeps."""

Values = list[Floats]
"""V in parts of any shapes, such as one array for each number of nodes."""


@dataclass
class ValueIteration:
    """State of an iteration between two sweeps, from which it can be continued.

    Attributes
    ----------
    values : V so far.
    actions : those of the last sweep, in the form of the process, or None before the first.
    sweeps : number of sweeps so far.
    error_bound : largest possible error of `values`; infinite before the first sweep.
    seconds : duration of each sweep.
    """

    values: Values
    actions: Any = None
    sweeps: int = 0
    error_bound: float = float("inf")
    seconds: list[float] = field(default_factory=list)


class Policy(Protocol):
    """The result of a sweep."""

    @property
    def actions(self) -> Any:
        """Greedy actions of all states."""


class DecisionProcess(Protocol):
    """A discounted process with finitely many states."""

    @property
    def discount(self) -> float:
        """γ in [0, 1)."""

    @property
    def scale(self) -> float:
        """Size of the values, to which the rounding of their evaluation is relative."""

    def improve(self, values: Values, actions: Any) -> Policy:
        """Find the greedy actions under `values`; those of the previous sweep, or None, may speed up the search."""

    def back_up(self, policy: Any, values: Values) -> Values:
        """Apply a policy: the value of each state under its action, with `values` of the states after it."""


State = TypeVar("State", bound=ValueIteration)


def iterate_values(
    process: DecisionProcess,
    start: State,
    *,
    target: float,
    max_sweeps: int = 1000,
    after_sweep: Callable[[State], None] | None = None,
) -> State:
    """Iterate until V is known up to `target`, or until a limit or the deadline is reached.

    Parameters
    ----------
    process
        States, actions and rewards.
    start
        Iteration to continue; its type is kept.
    target, max_sweeps
        When to stop: at this proven error of V, in the unit of V; after this number of sweeps.
    after_sweep
        Called after each sweep, for progress and checkpoints.

    Raises
    ------
    OutOfTimeError
        When the deadline passes during the first sweep; later ones are left undone.
    VerificationError
        A projected cost is NaN or infinite: nothing of it is passed on or written.

    Examples
    --------
    One state that costs 1 in each period, whatever is done:

    >>> from types import SimpleNamespace
    >>> process = SimpleNamespace(
    ...     discount=0.5, scale=1.0,
    ...     improve=lambda values, actions: SimpleNamespace(actions=None),
    ...     back_up=lambda policy, values: [1.0 + 0.5 * values[0]],
    ... )
    >>> found = iterate_values(process, ValueIteration([np.zeros(1)]), target=1e-9)
    >>> found.values[0].tolist(), found.sweeps, found.error_bound
    ([2.0], 1, 0.0)
    """
    iteration = start
    while iteration.error_bound > target and iteration.sweeps < max_sweeps:
        began = perf_counter()
        try:
            policy = process.improve(iteration.values, iteration.actions)
        except OutOfTimeError:
            if iteration.sweeps == 0:
                raise
            break
        swept = process.back_up(policy, iteration.values)
        values, error = middle_of_bounds(process.discount, iteration.values, swept)
        if error > target:
            values = _evaluate_policy(process, policy, values, error)
        if not math.isfinite(error) or not all(np.isfinite(costs).all() for costs in values):
            raise VerificationError(f"projected costs are no finite numbers after sweep {iteration.sweeps + 1}")
        iteration = replace(
            iteration,
            values=values,
            actions=policy.actions,
            sweeps=iteration.sweeps + 1,
            error_bound=error,
            seconds=[*iteration.seconds, perf_counter() - began],
        )
        if after_sweep is not None:
            after_sweep(iteration)
        if units_left() <= 0:
            break
    return iteration


def middle_of_bounds(discount: float, before: Values, after: Values) -> tuple[Values, float]:
    """Return the middle of the proven bounds after a sweep from `before` to `after`, and half their distance."""
    low = min(float((b - a).min()) for a, b in zip(before, after, strict=True))
    high = max(float((b - a).max()) for a, b in zip(before, after, strict=True))
    reach = discount / (1 - discount)
    middle = reach * (low + high) / 2
    return [costs + middle for costs in after], reach * (high - low) / 2


def _evaluate_policy(process: DecisionProcess, policy: Policy, values: Values, error: float) -> Values:
    """Evaluate the policy of a sweep until the error is a small share of the previous one, or rounding."""
    goal = max(error * 1e-4, 1e-13 * process.scale)
    for _ in range(MAX_EVALUATIONS):
        values, distance = middle_of_bounds(process.discount, values, process.back_up(policy, values))
        if distance <= goal or units_left() <= 0:
            break
    return values
