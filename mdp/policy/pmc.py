"""PMC: projected migration costs of all partitions, exactly, by modified policy iteration (state migration, Fig. 6).

C(P) = Σ_n M[|P|, n] · min_Q (c(P, Q) + γ·C(Q)) is the fixed point of a contraction T with factor γ. One *sweep* applies
T to all states and notes the minimising Q, the *reply*, of each state and class; between sweeps C is evaluated for
these replies, which costs a look-up per pair instead of a search. After a sweep from V to TV,

    TV + γ/(1−γ)·min(TV − V)  ≤  C  ≤  TV + γ/(1−γ)·max(TV − V),

so the middle of the two is known to be as close as half of their distance; the iteration ends when that is small enough.
Searching is the same code wherever it runs (`sweep_rows`); engines differ in who runs it on which rows.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from time import perf_counter
from typing import NamedTuple, Protocol

import numpy as np

from edrp.core.arrays import Floats, Ints
from edrp.core.kernels import inner_loop
from edrp.mdp.best_response import best_replies
from edrp.mdp.policy.model import PolicyModel
from edrp.mdp.trie import Lookahead, look_ahead
from edrp.migration.projected_costs import ProjectedCosts

ByClass = list[Floats]

EVALUATIONS = 400
"""Look-up passes between two sweeps, at most."""

ACCURACY = 1e-11
"""Error of C, relative to all state, at which the iteration ends."""

CHUNK = 4096
"""States that one call of the kernel answers."""

log = logging.getLogger("edrp.pmc")


class Sweep(NamedTuple):
    """What one sweep found.

    Attributes
    ----------
    costs, replies : by class, shape (states, followers)
        c(P, Q) of the best reply Q, in bytes, and Q's row in its class.
    """

    costs: list[Floats]
    replies: list[Ints]


class Engine(Protocol):
    """Runs sweeps."""

    def sweep(self, model: PolicyModel, values: ByClass, replies: list[Ints] | None) -> Sweep:
        """Best replies of all states under `values`; `replies` of the sweep before help the search."""
        ...


@dataclass(frozen=True, slots=True)
class Threads:
    """The engine of one machine: compiled kernels on several cores.

    Attributes
    ----------
    count
        Of threads.
    """

    count: int = 2

    def sweep(self, model: PolicyModel, values: ByClass, replies: list[Ints] | None) -> Sweep:
        """Hand out chunks of states; the kernels release the interpreter lock."""
        ahead = look_aheads(model, values)
        found = empty_sweep(model)
        jobs = [
            (source, order[first : first + CHUNK])
            for source, order in enumerate(model.orders)
            for first in range(0, order.size, CHUNK)
        ]

        def run(job: tuple[int, Ints]) -> None:
            source, rows = job
            before = None if replies is None else replies[source]
            sweep_rows(model, ahead, source, rows, before, found.costs[source], found.replies[source])

        with ThreadPoolExecutor(self.count) as pool:
            for _ in pool.map(run, jobs):
                pass
        return found


def empty_sweep(model: PolicyModel) -> Sweep:
    """Room for what a sweep finds."""
    shapes = [(count, model.followers(source).size) for source, count in enumerate(model.size.states)]
    return Sweep([np.empty(shape) for shape in shapes], [np.empty(shape, np.int64) for shape in shapes])


def look_aheads(model: PolicyModel, values: ByClass) -> list[Lookahead]:
    """γ·C of each class, prepared for searching."""
    return [look_ahead(trie, model.discount * each) for trie, each in zip(model.tries, values, strict=True)]


def sweep_rows(
    model: PolicyModel,
    ahead: Sequence[Lookahead],
    source: int,
    rows: Ints,
    before: Ints | None,
    costs: Floats,
    replies: Ints,
) -> None:
    """Best replies of some states of one class; fills `costs` and `replies`, shape (states, followers), at `rows`.

    Parameters
    ----------
    model, ahead
        The process, and γ·C of each class from `look_aheads`.
    source
        Class of the states.
    rows
        Which states, best in the order of `model.orders[source]`.
    before
        Replies of an earlier sweep, same shape as `replies`, or None.
    """
    partitions = model.partitions[source]
    count = len(partitions)
    found, reply = np.empty(count), np.empty(count, np.int64)
    for column, target in enumerate(model.followers(source)):
        incumbents = np.full(count, -1) if before is None else np.ascontiguousarray(before[:, column])
        best_replies(model.tries[target], ahead[target], model.tasks.state_before, partitions, rows, incumbents, found, reply)
        costs[rows, column] = np.maximum(0.0, found[rows] - ahead[target].values[reply[rows]])
        replies[rows, column] = reply[rows]


def apply_sweep(model: PolicyModel, sweep: Sweep, values: ByClass) -> ByClass:
    """C of each state when it and its successors reply as the sweep says, one step ahead of `values`."""
    return [_one_step(model, sweep, values, source) for source in range(len(model.counts))]


def _one_step(model: PolicyModel, sweep: Sweep, values: ByClass, source: int) -> Floats:
    new = np.zeros(model.size.states[source])
    for column, target in enumerate(model.followers(source)):
        chance = model.transitions[source, target]
        _look_up(new, chance, model.discount, sweep.costs[source], sweep.replies[source], column, values[target])
    return new


@inner_loop
def _look_up(
    new: np.ndarray, chance: float, discount: float, costs: np.ndarray, replies: np.ndarray, column: int, values: np.ndarray
) -> None:
    for state in range(new.size):
        new[state] += chance * (costs[state, column] + discount * values[replies[state, column]])


@dataclass
class Iteration:
    """Where an iteration stands; enough to go on from.

    Attributes
    ----------
    values : by class, shape (states,)
        C so far, in bytes.
    replies : by class
        Of the last sweep, or None before the first.
    sweeps : made so far.
    error_bound : of `values`, in bytes; infinite before the first sweep.
    seconds : spent in each sweep.
    """

    values: ByClass
    replies: list[Ints] | None = None
    sweeps: int = 0
    error_bound: float = float("inf")
    seconds: list[float] = field(default_factory=list)

    @classmethod
    def start(cls, model: PolicyModel) -> Iteration:
        """From C = 0: the first replies are single-step optima."""
        return cls([np.zeros(count) for count in model.size.states])

    def to_costs(self, model: PolicyModel) -> ProjectedCosts:
        """The table of what is known so far."""
        return ProjectedCosts(
            dict(zip(model.counts, model.partitions, strict=True)),
            {count: np.maximum(0.0, each) for count, each in zip(model.counts, self.values, strict=True)},
            self.error_bound,
        )


def iterate(
    model: PolicyModel,
    engine: Engine,
    *,
    state: Iteration | None = None,
    accuracy: float = ACCURACY,
    max_sweeps: int = 1000,
    time_limit: float | None = None,
    after_sweep: Callable[[Iteration], None] | None = None,
) -> Iteration:
    """Run modified policy iteration until C is known to `accuracy`, or until a limit is reached.

    Parameters
    ----------
    model
        The process.
    engine
        What runs the sweeps.
    state
        Where to go on from; from the start by default.
    accuracy
        Proven error of C, relative to all state, at which to stop.
    max_sweeps, time_limit
        Limits; the time (seconds) is looked at after each sweep.
    after_sweep
        Called after each sweep, for progress and checkpoints.

    Returns
    -------
    Iteration
        With `error_bound` above the accuracy asked for where a limit was reached.

    Examples
    --------
    Six equal tasks that are held by two or by three nodes in turn:

    >>> from edrp.mdp.tasks import Tasks
    >>> tasks = Tasks.of(np.ones(6), np.ones(6))
    >>> model = PolicyModel(tasks, (2, 3), 0.5, False, np.array([[0.0, 1.0], [1.0, 0.0]]), 0.5)
    >>> found = iterate(model, Threads(1))
    >>> [float(each.min().round(6)) for each in found.values]
    [2.0, 2.0]
    """
    now = Iteration.start(model) if state is None else state
    started = perf_counter()
    target = accuracy * model.total_state
    while now.error_bound > target and now.sweeps < max_sweeps:
        began = perf_counter()
        sweep = engine.sweep(model, now.values, now.replies)
        swept = apply_sweep(model, sweep, now.values)
        values, error = _centred(model, now.values, swept)
        if error > target:
            values = _evaluated(model, sweep, values, error)
        now = Iteration(values, sweep.replies, now.sweeps + 1, error, [*now.seconds, perf_counter() - began])
        log.info("sweep %d: C known to %.3g bytes, %.1f s", now.sweeps, error, now.seconds[-1])
        if after_sweep is not None:
            after_sweep(now)
        if time_limit is not None and perf_counter() - started > time_limit:
            break
    return now


def _centred(model: PolicyModel, before: ByClass, after: ByClass) -> tuple[ByClass, float]:
    """The middle of the proven bounds, and half their distance."""
    least = min(float((b - a).min()) for a, b in zip(before, after, strict=True))
    most = max(float((b - a).max()) for a, b in zip(before, after, strict=True))
    reach = model.discount / (1 - model.discount)
    middle = reach * (least + most) / 2
    return [each + middle for each in after], reach * (most - least) / 2


def _evaluated(model: PolicyModel, sweep: Sweep, values: ByClass, error: float) -> ByClass:
    """C of the replies of a sweep, to a thousandth of the error before, or nearly exactly where that is little."""
    goal = max(error * 1e-4, 1e-13 * model.total_state)
    for _ in range(EVALUATIONS):
        values, left = _centred(model, values, apply_sweep(model, sweep, values))
        if left <= goal:
            break
    return values
