"""Load, needs and hosts of a state as arrays, from which the predictive policy decides."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from edrp.core.arrays import Floats
from edrp.core.document import named_resources
from edrp.core.tolerances import WHOLE_NUMBER_SLACK
from edrp.enactment.containers import HostType, fits
from edrp.enactment.state import EnactmentState
from edrp.enactment.tentative_state import TentativeState
from edrp.heuristics.enactment.demand_paths import DemandHistory
from edrp.heuristics.enactment.predictive_targets import OperatorFlow

STANDING_WORK = 2.0
"""Queued work, in seconds of an operator's busy instances, above which a queue has to be drained."""


@dataclass(frozen=True, slots=True)
class Outlook:
    """Load and hosts in one round.

    Attributes
    ----------
    host_type : type in whose size all hosts are measured: the cheapest per second of those that can run the most operators.
    flow : items to the operators as they come now, and queues to be drained.
    busy : (operators,): instances that the load occupies; where there is none, those that the load of the past occupied on
        average.
    loads : (rounds,): hosts that the load occupied, the last is now.
    load : hosts that `busy` occupies.
    rate : items per second to all operators together, for `busy`.
    backlog : hosts times rounds that queues will occupy.
    left_over : share of a host that whole instances are expected to leave over.
    """

    host_type: HostType
    flow: OperatorFlow
    busy: Floats
    loads: Floats
    load: float
    rate: float
    backlog: float
    left_over: float

    def size(self, host_type: HostType) -> Floats:
        """Size of a host in hosts of the reference type, shape (resources,)."""
        capacity = host_type.capacity
        return np.array(
            [capacity.get(name, 0.0) / amount if amount > 0 else 1.0 for name, amount in self.host_type.capacity.items()]
        )

    def room(self, tentative: TentativeState, hosts: list[str]) -> Floats:
        """Room that whole instances are expected to use on some hosts, shape (resources,)."""
        sizes = [self.size(tentative.type(name)) for name in hosts]
        total: Floats = np.sum(sizes, axis=0) if sizes else np.zeros(self.flow.need.shape[1])
        return total * (1.0 - self.left_over)


def outlook(state: EnactmentState, history: DemandHistory, occupied: Floats, utilisation: float, drain_time: float) -> Outlook:
    """Compute the outlook of a round; utilisation and drain time are those of the policy."""
    operators = [monitored.operator for monitored in state.operators.values()]
    host_type = _measure(state)
    need = _shares(state, host_type)
    rows = history.rows if len(history.rows) else history.declared[None, :]
    rates = rows[-1] if rows[-1].any() else rows.mean(axis=0)
    busy = rates * occupied
    tight = need[:, np.argmax(busy @ need)] if need.shape[1] else np.zeros(len(busy))
    queues = np.array([monitored.queue for monitored in state.operators.values()], dtype=np.float64)
    queues[queues * occupied <= STANDING_WORK * np.maximum(busy, 1.0)] = 0.0
    flow = OperatorFlow(
        outside=np.maximum(rates - rates @ history.step, 0.0),
        step=history.step,
        draining=queues / drain_time,
        occupied=np.maximum(occupied, 1e-9),
        order=history.order,
        need=need,
        min_instances=np.array([float(operator.min_instances) for operator in operators]),
        max_instances=np.array([float(operator.max_instances or np.inf) for operator in operators]),
        utilisation=utilisation,
    )
    return Outlook(
        host_type=host_type,
        flow=flow,
        busy=busy,
        loads=rows @ (occupied * tight),
        load=max(float(busy @ tight), 1e-9),
        rate=float(rates.sum()),
        backlog=float((queues * occupied) @ tight / state.interval),
        left_over=_left_over(busy, need),
    )


def _measure(state: EnactmentState) -> HostType:
    operators = [monitored.operator for monitored in state.operators.values()]
    return min(
        state.host_types.values(),
        key=lambda host_type: (
            -sum(fits(operator, host_type) for operator in operators),
            host_type.price / host_type.billing_time,
        ),
    )


def _shares(state: EnactmentState, host_type: HostType) -> Floats:
    """Share of a host that an instance takes, shape (operators, resources)."""
    capacity = host_type.capacity
    needs = [named_resources(monitored.operator.resources) for monitored in state.operators.values()]
    rows = [[need.get(name, 0.0) / amount if amount > 0 else 0.0 for name, amount in capacity.items()] for need in needs]
    return np.array(rows, dtype=np.float64).reshape(len(rows), len(capacity))


def _left_over(busy: Floats, need: Floats) -> float:
    """Share of a host that whole instances leave over, as if every operator had its own hosts."""
    largest = need.max(axis=1, initial=0.0)
    taking = largest > 1e-12
    size = np.minimum(largest[taking], 1.0)
    weight = busy[taking] * size
    over = 1.0 - size * np.floor(1.0 / size + WHOLE_NUMBER_SLACK)
    return float(weight @ over / weight.sum()) if weight.sum() > 0 else 0.0
