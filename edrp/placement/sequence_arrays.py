"""How deployments over periods become arrays: one compiled problem for each period, and prices of changes."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from edrp.core.arrays import Floats, Ints, flattened
from edrp.core.problem import derived
from edrp.core.tolerances import LIMIT_SLACK
from edrp.placement.compilation import compile_problem
from edrp.placement.compiled import Compiled, count_replicas
from edrp.placement.reconfiguration import downtimes
from edrp.placement.sequence import EdrpSequence


@dataclass(frozen=True, slots=True)
class SequenceArrays:
    """Arrays of a sequence over periods t, operators i (in topological order), nodes u.

    Attributes
    ----------
    periods : a problem without a current deployment for each period, whose objective is its cost in seconds; all have the same
        operators, nodes and candidates.
    started : shape (operators,), price in seconds of a replica that starts on a node.
    moved : shape (operators,), price in seconds of all of an operator's state reaching other nodes.
    change : price of any change, in seconds.
    downtime : price per second of downtime.
    downtime_limit : shape (periods,), of the change at the beginning of a period in seconds; infinite for none.
    initial : shape (operators, nodes), replicas before the first period; None where there is nothing before.
    """

    periods: tuple[Compiled, ...]
    started: Floats
    moved: Floats
    change: float
    downtime: float
    downtime_limit: Floats
    initial: Ints | None

    @property
    def times_downtime(self) -> bool:
        """Whether downtime has a price or a limit."""
        return self.downtime > 0 or bool(np.isfinite(self.downtime_limit).any())

    def change_costs(self, before: Ints, after: Ints, period: int) -> Floats:
        """Prices in seconds of the changes from deployments to others at the beginning of a period.

        Parameters
        ----------
        before, after
            Replicas, shapes (sources, operators, nodes) and (targets, operators, nodes).

        Returns
        -------
        numpy.ndarray
            Shape (sources, targets), 0 where nothing changes, infinite where downtime exceeds its limit.
        """
        flat, target = (flattened(counts) for counts in (before, after))
        share, target_share = (flattened(counts / np.maximum(counts.sum(axis=2, keepdims=True), 1)) for counts in (before, after))
        nodes = before.shape[2]
        started, moved = np.repeat(self.started, nodes), np.repeat(self.moved, nodes)
        costs = np.empty((len(before), len(after)))
        for source in range(len(before)):
            row = np.maximum(target - flat[source], 0) @ started
            if self.moved.any():
                row = row + np.maximum(target_share - share[source], 0.0) @ moved
            if self.times_downtime:
                seconds = self.downtimes(before[source], after)
                late = seconds > self.downtime_limit[period] * (1 + LIMIT_SLACK)
                row = np.where(late, np.inf, row + self.downtime * seconds)
            costs[source] = np.where((target == flat[source]).all(axis=1), 0.0, row + self.change)
        return costs

    def downtimes(self, before: Ints, after: Ints) -> Floats:
        """Downtime in seconds of the changes from one deployment to others, shape (targets,) (EDRP, eq. 10)."""
        return downtimes(replace(self.periods[0], current=before), after)


@derived
def compile_sequence(problem: EdrpSequence) -> SequenceArrays:
    """Turn a sequence into arrays; inside `derived_once`, as in `solve`, this is done once."""
    periods = tuple(_period(problem, number) for number in range(len(problem.periods)))
    first, prices = periods[0], problem.changes
    limits = [problem.limits if period.limits is None else period.limits for period in problem.periods]
    return SequenceArrays(
        periods=periods,
        started=np.full(len(first.operators), prices.started_replicas),
        moved=prices.moved_state * first.state_size,
        change=prices.change,
        downtime=prices.downtime,
        downtime_limit=np.array([np.inf if limit.downtime is None else limit.downtime for limit in limits]),
        initial=None if problem.initial is None else count_replicas(problem.initial, first.operators, first.nodes),
    )


def _period(problem: EdrpSequence, number: int) -> Compiled:
    """One period; nodes that run something initially are kept, but nothing is current."""
    loaded = problem.period(number, problem.initial)
    factor = problem.periods[number].duration * loaded.factor
    compiled = compile_problem(loaded.problem)
    weight = {metric: factor * value for metric, value in compiled.weight.items()}
    rules = replace(compiled.rules, penalty=factor * compiled.rules.penalty)
    limit = {**compiled.limit, "downtime": np.inf}
    return replace(compiled, current=None, weight=weight, limit=limit, rules=rules)
