"""PMC: projected migration costs of all partitions, exactly, by modified policy iteration (state migration, Fig. 6).

C(P) = Σ_n M[|P|, n] · min_Q (c(P, Q) + γ·C(Q)) is the fixed point of a contraction with factor γ (`edrp.mdp.value_iteration`).
A sweep applies it to all states and records the minimising Q, the *greedy action*, for each state and each node count that may
follow; between sweeps C is evaluated for these actions, which costs a look-up per pair instead of a search.
Searching is the same code wherever it runs (`sweep_rows`); engines differ in who runs it on which rows.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, log2
from typing import NamedTuple, Protocol

import numpy as np

from edrp import _native
from edrp.core.arrays import Floats, Ints
from edrp.core.budget import carried, look, spend
from edrp.core.certificates import RawCertificate
from edrp.core.tolerances import CERTIFIED_BOUND_MARGIN, CERTIFIED_COST_ERROR, MIN_CERTIFIED_COST_ERROR, PROJECTED_COST_ACCURACY
from edrp.mdp.best_response import best_responses, chunk_length, response_work
from edrp.mdp.policy.process import PolicyModel
from edrp.mdp.trie import PreparedValues, prepare_values
from edrp.mdp.value_iteration import ValueIteration, iterate_values
from edrp.migration.policy import MigrationPolicyProblem, MigrationPolicySolution, ProjectedCosts

ByNodeCount = list[Floats]

MAX_FURTHER_SWEEPS = 10
"""Maximum number of sweeps beyond `PROJECTED_COST_ACCURACY`, where little state moves and the gap requires more."""

STATES_PER_CALL = 4096
"""Maximum number of states per call of the kernel."""

CALLS_PER_CHECK = 8
"""Calls of the kernel between two checks of the clock."""

LOOK_UP_UNITS, TASKS_UNITS = 5e-9, 1e-10
"""Units of work per pair of a state and a node count that may follow, for one look-up, and per pair of tasks for its search."""

log = logging.getLogger("edrp.pmc")


class Sweep(NamedTuple):
    """The result of a sweep: greedy actions of all states, and their costs.

    Attributes
    ----------
    costs, actions : by node count, shape (states, successors)
        c(P, Q) of the best response Q, in bytes, and Q's row among the partitions with its node count.
    """

    costs: list[Floats]
    actions: list[Ints]


class SweepEngine(Protocol):
    """Interface of the engines, which run sweeps."""

    def sweep(self, model: PolicyModel, values: ByNodeCount, actions: list[Ints] | None) -> Sweep:
        """Find the best responses of all states under `values`; `actions` of the previous sweep speed up the search."""


@dataclass(frozen=True, slots=True)
class Threads:
    """The engine of one machine: kernels on several cores."""

    count: int = 2

    def sweep(self, model: PolicyModel, values: ByNodeCount, actions: list[Ints] | None) -> Sweep:
        """Run a sweep in chunks of states on several threads; the kernels release the interpreter lock."""
        discounted = discounted_values(model, values)
        result = allocate_sweep(model)
        work = [state_work(model, source) for source in range(len(model.counts))]
        lengths = [chunk_length(units, STATES_PER_CALL) for units in work]
        jobs = [
            (source, order[first : first + lengths[source]])
            for source, order in enumerate(model.orders)
            for first in range(0, order.size, lengths[source])
        ]

        def run(job: tuple[int, Ints]) -> None:
            source, rows = job
            before = None if actions is None else actions[source]
            sweep_rows(model, discounted, source, rows, before, result.costs[source], result.actions[source])

        with ThreadPoolExecutor(self.count) as pool:
            for first in range(0, len(jobs), CALLS_PER_CHECK):  # only this thread looks at the clock, however many there are
                batch = jobs[first : first + CALLS_PER_CHECK]
                spend(sum(work[source] * rows.size for source, rows in batch))
                for _ in pool.map(carried(run), batch):
                    pass
                look("the first sweep")
        return result


def state_work(model: PolicyModel, source: int) -> float:
    """Units of work of the best responses from one state with the node count of index `source`."""
    search = TASKS_UNITS * len(model.tasks.work) ** 2
    return sum(search + response_work(model.size.states[target]) for target in model.successors(source))


def sweep_work(model: PolicyModel) -> float:
    """Units of work of a sweep."""
    return sum(count * state_work(model, source) for source, count in enumerate(model.size.states))


def allocate_sweep(model: PolicyModel) -> Sweep:
    """Allocate the arrays of the results of a sweep."""
    shapes = [(count, model.successors(source).size) for source, count in enumerate(model.size.states)]
    return Sweep([np.empty(shape) for shape in shapes], [np.empty(shape, np.int64) for shape in shapes])


def discounted_values(model: PolicyModel, values: ByNodeCount) -> list[PreparedValues]:
    """Prepare γ·C of the partitions with each node count for searching."""
    prepared = []
    for trie, costs in zip(model.tries, values, strict=True):
        look("projected costs")
        prepared.append(prepare_values(trie, model.discount * costs))
    return prepared


def sweep_rows(
    model: PolicyModel,
    discounted: Sequence[PreparedValues],
    source: int,
    rows: Ints,
    before: Ints | None,
    costs: Floats,
    actions: Ints,
) -> None:
    """Compute best responses of some states with one node count; fills `costs` and `actions` at `rows`.

    Parameters
    ----------
    model, discounted
        The process, and γ·C by node count from `discounted_values`.
    source
        Index of the states' node count in `model.counts`.
    rows
        States to search from; fastest in the order of `model.orders[source]`.
    before
        Actions of an earlier sweep, same shape as `actions`, or None.
    costs, actions : shape (states, successors)
        Filled at `rows`.
    """
    partitions, state_before = model.partitions[source], model.tasks.state_before
    count = len(partitions)
    total, action, incumbents = np.empty(count), np.empty(count, np.int64), np.empty(count, np.int64)
    for column, target in enumerate(model.successors(source)):
        incumbents[rows] = -1 if before is None else before[rows, column]
        best_responses(model.tries[target], discounted[target], state_before, partitions, rows, incumbents, total, action)
        costs[rows, column] = np.maximum(0.0, total[rows] - discounted[target].values[action[rows]])
        actions[rows, column] = action[rows]


def apply_sweep(model: PolicyModel, sweep: Sweep, values: ByNodeCount) -> ByNodeCount:
    """Compute backed-up values: C of each state under the actions of the sweep, with `values` of its successors."""
    spend(LOOK_UP_UNITS * model.size.pairs)
    backed_up = [np.zeros(count) for count in model.size.states]
    for source, new in enumerate(backed_up):
        for column, target in enumerate(model.successors(source)):
            chance, costs, actions = model.transitions[source, target], sweep.costs[source], sweep.actions[source]
            _native.add_policy_backup(new, chance, model.discount, costs, actions, column, values[target])
    return backed_up


@dataclass
class Iteration(ValueIteration):
    """State of an iteration of C, in bytes, by node count; `actions` has the shapes of those of a `Sweep`."""

    @classmethod
    def start(cls, model: PolicyModel) -> Iteration:
        """Create an iteration that starts from C = 0, so that the first actions are single-step optima."""
        return cls([np.zeros(count) for count in model.size.states])

    def to_costs(self, model: PolicyModel) -> ProjectedCosts:
        """Convert the values so far into a table of costs."""
        return ProjectedCosts(
            dict(zip(model.counts, model.partitions, strict=True)),
            {count: np.maximum(0.0, costs) for count, costs in zip(model.counts, self.values, strict=True)},
            self.error_bound,
        )


def iterate(
    model: PolicyModel,
    engine: SweepEngine,
    *,
    state: Iteration | None = None,
    accuracy: float = PROJECTED_COST_ACCURACY,
    max_sweeps: int = 1000,
    after_sweep: Callable[[Iteration], None] | None = None,
) -> Iteration:
    """Run modified policy iteration until C is known to `accuracy`, or until a limit or the deadline is reached.

    Parameters
    ----------
    state
        Iteration to continue; by default a new one.
    accuracy, max_sweeps
        When to stop: at this proven error of C, relative to all state; after this number of sweeps.
    after_sweep
        Called after each sweep, for progress and checkpoints.

    Returns
    -------
    Iteration
        Its `error_bound` exceeds the requested accuracy where a limit was reached.

    Raises
    ------
    OutOfTimeError
        When the deadline passes during the first sweep; later ones are left undone.
    VerificationError
        A projected cost is NaN or infinite: nothing of it is passed on or written.
    """
    target = accuracy * model.total_state

    def tell(iteration: Iteration) -> None:
        error, seconds = iteration.error_bound, iteration.seconds[-1]
        log.info("sweep %d: C known to %.3g bytes, %.1f s", iteration.sweeps, error, seconds)
        if after_sweep is not None:
            after_sweep(iteration)

    start = Iteration.start(model) if state is None else state
    return iterate_values(_Migrations(model, engine), start, target=target, max_sweeps=max_sweeps, after_sweep=tell)


@dataclass(frozen=True, slots=True)
class _Migrations:
    """The process of migrations, whose sweeps an engine runs."""

    model: PolicyModel
    engine: SweepEngine

    @property
    def discount(self) -> float:
        return self.model.discount

    @property
    def scale(self) -> float:
        return self.model.total_state

    def improve(self, values: ByNodeCount, actions: list[Ints] | None) -> Sweep:
        return self.engine.sweep(self.model, values, actions)

    def back_up(self, policy: Sweep, values: ByNodeCount) -> ByNodeCount:
        return apply_sweep(self.model, policy, values)


CERTIFICATE_BITS = 50
"""Binary digits of all state in units of the certificate; the checker's sweep bounds the effect of rounding."""


def certify_pmc(problem: MigrationPolicyProblem, solution: MigrationPolicySolution) -> RawCertificate:
    """Write an unchecked certificate: C of all partitions from a second run, or nothing where a class is empty."""
    if solution.status == "infeasible":
        return RawCertificate("pmc", [], {"unit": "1"})
    model = PolicyModel.of(problem, problem.reachable_counts)
    objective = Fraction(solution.objective or 0.0)
    iteration = iterate(model, Threads(1))
    error = max(MIN_CERTIFIED_COST_ERROR, CERTIFIED_COST_ERROR * float(objective))
    if iteration.error_bound > error:  # what is at stake is little relative to all state
        max_sweeps, accuracy = iteration.sweeps + MAX_FURTHER_SWEEPS, error / model.total_state
        iteration = iterate(model, Threads(1), state=iteration, accuracy=accuracy, max_sweeps=max_sweeps)
    unit = Fraction(2) ** (ceil(log2(max(model.total_state, 1.0))) - CERTIFICATE_BITS)
    lines = [
        [int(count), np.rint(values / float(unit)).astype(np.int64).tolist()]
        for count, values in zip(model.counts, iteration.values, strict=True)
    ]
    return RawCertificate(
        "pmc", lines, {"unit": str(unit), "bound": str(objective - abs(objective) * Fraction(CERTIFIED_BOUND_MARGIN))}
    )
