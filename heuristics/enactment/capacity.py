"""Estimates of how long an item occupies an instance, learned from monitoring data."""

from __future__ import annotations

from typing import Protocol

from edrp.enactment.state import OperatorState

STANDING_QUEUE = 2.0
"""Waiting items per instance above which a queue counts as standing."""

STANDING_ROUND_WEIGHT = 0.5
"""Weight of the observation of a round in which a queue stood from beginning to end."""


class CapacityEstimate(Protocol):
    """Learns, round by round, the seconds for which an item occupies an instance of one operator."""

    def learn(self, state: OperatorState, interval: float) -> None:
        """Update the estimate by the observations of the last `interval` seconds."""

    @property
    def occupied(self) -> float:
        """Seconds per item, as estimated now."""


class BusyEstimate:
    """Estimates the occupied instance-seconds per item, with forgetting, from a prior that weighs a few items.

    The service level objective is the prior: the share of it that occupies an instance is not declared, and cannot exceed
    1. With w items seen (forgotten ones weigh less), of which B instance-seconds are known, the estimate is
    (B + prior_items * objective) / (w + prior_items).

    Parameters
    ----------
    objective
        Seconds: processing duration that the operator promises.
    prior_items
        Items that the prior weighs.
    forgetting
        Weight that a round keeps when the next is seen; 1 forgets nothing.
    """

    def __init__(self, objective: float, prior_items: float, forgetting: float) -> None:
        self._prior_items = prior_items
        self._prior = prior_items * objective
        self._forgetting = forgetting
        self._items = 0.0
        self._busy = 0.0

    def learn(self, state: OperatorState, interval: float) -> None:
        """Update the estimate by the items begun and the instance-seconds occupied."""
        self._items = self._forgetting * self._items + state.begun
        self._busy = self._forgetting * self._busy + state.busy

    @property
    def occupied(self) -> float:
        """Seconds per item, as estimated now."""
        return (self._busy + self._prior) / (self._items + self._prior_items)


class QueueEstimate:
    """Estimates seconds per item from throughput under load, for systems that do not measure how busy instances are.

    An item cannot occupy more than instance-seconds there were per item begun: a bound that falls with every round in which
    the instances served more than was known. In rounds in which a queue stood from beginning to end that is the capacity
    itself. Between them the estimate is eased, because a bound which is never met says nothing about the values below it: the
    operator then holds fewer instances, round by round, until items wait again.

    Parameters
    ----------
    objective
        Seconds: processing duration that the operator promises, and first estimate.
    ease
        Share by which the estimate falls in a round without a queue.
    """

    def __init__(self, objective: float, ease: float) -> None:
        self._occupied = objective
        self._ease = ease
        self._stood = False
        self._running = 0

    def learn(self, state: OperatorState, interval: float) -> None:
        """Update the estimate by the items begun, the number of instances, and whether other items waited."""
        stands = state.queue > STANDING_QUEUE * max(state.running, 1)
        before, self._running = self._running, state.running
        if state.begun and state.running:
            bound = 0.5 * (before + state.running if before else 2 * state.running) * interval / state.begun
            if stands and self._stood:
                self._occupied += STANDING_ROUND_WEIGHT * (bound - self._occupied)
            else:
                eased = self._occupied * (1.0 if stands else 1.0 - self._ease)
                self._occupied = min(eased, bound)
        self._stood = stands

    @property
    def occupied(self) -> float:
        """Seconds per item, as estimated now."""
        return self._occupied
