"""Demand of every operator, and the paths that the load may take in the next rounds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from edrp.core.arrays import Floats, Ints
from edrp.enactment.state import EnactmentState


class DemandHistory:
    """Items per second that every operator would receive without any backlog, one row per round.

    In a surge, an operator receives only the items that overloaded operators upstream let through. Therefore only arrivals from
    outside are taken as measured; the rest follows down the streams by the selectivities, all in the same round.
    """

    def __init__(self, state: EnactmentState, rounds: int) -> None:
        names = list(state.operators)
        index = {name: position for position, name in enumerate(names)}
        operators = [monitored.operator for monitored in state.operators.values()]
        self._rounds = rounds
        # flow[i, j]: items that reach j for every item that comes to i from outside.
        step = np.zeros((len(names), len(names)))
        for source, target in state.streams:
            step[index[source], index[target]] = operators[index[source]].selectivity
        self.step: Floats = step
        self._flow = np.linalg.inv(np.eye(len(names)) - step)
        # An operator downstream of another can be reached from more operators than that one.
        reachable = np.linalg.matrix_power(np.eye(len(names)) + (step > 0), len(names)) > 0
        self.order: Ints = np.argsort(reachable.sum(axis=0), kind="stable")
        self._fed = step.any(axis=0)
        self._open = np.array([operator.external_rate > 0 for operator in operators]) | ~self._fed
        self.declared: Floats = np.array([operator.external_rate for operator in operators]) @ self._flow
        self.rows: Floats = np.empty((0, len(names)))

    def learn(self, state: EnactmentState) -> None:
        """Add the demand of the round that has just ended."""
        monitored = state.operators.values()
        arrivals = np.array([operator.arrivals for operator in monitored], dtype=np.float64) / state.interval
        begun = np.array([operator.begun for operator in monitored], dtype=np.float64) / state.interval
        outside = np.where(self._open, np.maximum(arrivals - begun @ self.step, 0.0), 0.0)
        self.rows = np.vstack([self.rows[-self._rounds + 1 :] if self._rounds > 1 else self.rows[:0], outside @ self._flow])


RETURN_QUANTILES = np.array([0.1, 0.3, 0.5, 0.7, 0.9])
"""Quantiles at which an unknown time of return to the peak is taken."""


@dataclass(frozen=True, slots=True)
class LoadPaths:
    """Paths that the load may take in the coming rounds.

    Attributes
    ----------
    levels : (paths, rounds + 1): load after each number of rounds; column 0 is now.
    weights : (paths,).
    known_rounds : (paths,): rounds of each path that count.
    """

    levels: Floats
    weights: Floats
    known_rounds: Ints


@dataclass(frozen=True, slots=True)
class PathSettings:
    """Settings by which paths are drawn from the past.

    Attributes
    ----------
    likeness : distance between two pasts at which a path weighs 0.6 of one with the same past, as a share of the peak.
    recall : weight that the past keeps per round back when two pasts are compared.
    doubt : weight of the paths that need no past, in all, where one like path from the past weighs 1.
    return_time : s, mean time after which a path of these returns to the peak.
    """

    likeness: float = 0.1
    recall: float = 0.8
    doubt: float = 0.5
    return_time: float = 1200.0


def paths(loads: Floats, rounds: int, interval: float, settings: PathSettings) -> LoadPaths:
    """Draw paths of the load: as after similar moments, as after any moment, and back to the peak.

    Parameters
    ----------
    loads
        (rounds seen,): load of each round, the last is now.
    interval
        Seconds of a round.
    """
    load, rounds_seen = loads[-1], len(loads)
    peak = max(float(loads.max()), 1e-12)
    ahead = np.arange(rounds + 1)
    unlearned = _unlearned_paths(float(load), peak, rounds, interval, settings)
    starts = np.arange(rounds_seen - 1)
    if not len(starts):
        return unlearned
    distance = _distances(loads, settings.recall) / (settings.likeness * peak)
    reached = starts[:, None] + ahead[None, :]
    levels = np.maximum(load + loads[np.minimum(reached, rounds_seen - 1)] - loads[starts][:, None], 0.0)
    weights = np.exp(-0.5 * distance**2) + settings.doubt / 2 / len(starts)
    known_rounds = np.minimum(rounds_seen - 1 - starts, rounds)
    return LoadPaths(
        np.vstack([unlearned.levels, levels]),
        np.concatenate([unlearned.weights, weights]),
        np.concatenate([unlearned.known_rounds, known_rounds]),
    )


def _distances(loads: Floats, recall: float) -> Floats:
    """Root of the mean squared difference between the present past and that of every earlier round, weighted to recent rounds.

    Where a past is shorter than the present one, the missing part counts as unlike as the rest.
    """
    rounds_seen = len(loads)
    total, weight = np.zeros(rounds_seen - 1), np.zeros(rounds_seen - 1)
    share = 1.0
    for back in range(rounds_seen - 1):
        if share < 0.02:
            break
        total[back:] += share * (loads[: rounds_seen - 1 - back] - loads[-1 - back]) ** 2
        weight[back:] += share
        share *= recall
    return np.sqrt(total / weight)


def _unlearned_paths(load: float, peak: float, rounds: int, interval: float, settings: PathSettings) -> LoadPaths:
    """Paths that need no past: the load stays until it returns to the peak after an exponentially distributed time."""
    jumps = np.maximum(1, np.ceil(-np.log(1.0 - RETURN_QUANTILES) * settings.return_time / interval))
    levels = np.where(np.arange(rounds + 1)[None, :] >= jumps[:, None], peak, load)
    return LoadPaths(levels, np.full(len(jumps), settings.doubt / 2 / len(jumps)), np.full(len(jumps), rounds))
