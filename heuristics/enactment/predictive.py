"""The predictive policy: leases and instances by prediction, where load and capacity are learned during the run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np

from edrp.core.arrays import Floats
from edrp.core.document import named_resources
from edrp.core.tolerances import WHOLE_NUMBER_SLACK
from edrp.enactment import Action, EnactmentState, OperatorState, TentativeState
from edrp.enactment.containers import HostType, fits
from edrp.heuristics.enactment.predictive_filling import (
    DemandHistory,
    HostCosts,
    LoadPaths,
    PathSettings,
    expected_costs,
    fill,
    paths,
    supported,
    vacated,
)
from edrp.heuristics.enactment.predictive_targets import SURGE_MULTIPLES, OperatorFlow, targets

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


MIN_ROUNDS = 10
"""Smallest number of rounds to look ahead."""

MAX_FURTHER_HOSTS = 10_000
"""Maximum number of further hosts considered in a round."""

ROUNDS_TO_SERVE = 3
"""Rounds for which the instances on hosts must suffice: a host leased in the first round serves in the third."""


@dataclass(frozen=True, slots=True)
class PredictiveParameters:
    """Weights and prior assumptions of the policy.

    Money and late items:

    Attributes
    ----------
    penalty : money per late item and operator.
    overload_share : of all items, those taken to be late while load waits. Less makes it hold fewer hosts: cheaper where hosts
        are few, but where they are many (an occupancy of 0.5 and more), 0.2 was seen to let half the items be late.
    surprise_share : of all items, those taken to be late in the first round of an overload.
    margin : share of the price of a unit that must be saved for a host to be given back.

    Capacity:

    utilisation : share of its time for which an instance may be occupied.
    estimate : "busy" (instance-seconds occupied are monitored) or "queue" (they are not).
    prior_items : items that the service level objective weighs as an estimate of the time that an item occupies an instance.
    forgetting : weight that a round keeps when the next is seen.
    ease : with "queue", share by which the estimate falls in a round in which no queue stood.
    drain_time : s in which queues are to be drained.

    Hosts:

    look_ahead : s, at most; a billing time unit where it is shorter.
    serving_time : s from readiness of a host to that of its instances.
    leaving_time : s needed to move the last instances off a host.

    Load:

    memory : s of the past that the policy remembers.
    likeness : distance between two pasts, as a share of the highest load, at which they are somewhat alike (weight 0.6).
    recall : weight that the past keeps per round back when two pasts are compared.
    doubt : weight of paths that do not follow a similar past, where one path after a similar past weighs 1.
    return_time : s, mean time after which the load is taken to return to its peak.
    tail : weight of a surge to a multiple m of the load for which nothing speaks, times m².
    """

    penalty: float = 1e-4
    overload_share: float = 0.3
    surprise_share: float = 0.8
    margin: float = 0.2
    utilisation: float = 0.95
    estimate: Literal["busy", "queue"] = "busy"
    prior_items: float = 20.0
    forgetting: float = 0.95
    ease: float = 0.002
    drain_time: float = 60.0
    look_ahead: float = 3600.0
    serving_time: float = 15.0
    leaving_time: float = 20.0
    memory: float = 14400.0
    likeness: float = 0.1
    recall: float = 0.8
    doubt: float = 0.5
    return_time: float = 1200.0
    tail: float = 0.002

    def __post_init__(self) -> None:
        for name in ("utilisation", "forgetting", "recall", "overload_share", "surprise_share", "ease"):
            value = getattr(self, name)
            if not 0 < value <= 1:
                raise ValueError(f"{name} must be above 0 and at most 1, got {value:g}")
        for name in ("prior_items", "drain_time", "look_ahead", "memory", "likeness", "doubt", "return_time", "tail"):
            value = getattr(self, name)
            if not value > 0:
                raise ValueError(f"{name} must be above 0, got {value:g}")
        for name in ("penalty", "margin", "serving_time", "leaving_time"):
            value = getattr(self, name)
            if not value >= 0:
                raise ValueError(f"{name} must not be negative, got {value:g}")


class PredictivePolicy:
    """Predicts load and capacity, and holds the number of hosts whose cost, late items included, is expected to be least.

    Each round it learns how long an item occupies an instance and what comes from outside (`DemandHistory`), compares
    the cost of every number of hosts on paths like those that the load took after similar moments (`expected_costs`), and
    fills all paid room with instances: they cost nothing, so that instances which are not needed stand by. Hosts are given back
    only at the end of their paid time. Where the load is more than the hosts bear, it lets items wait at the operators that
    need the most room per item (`predictive_targets`): then few items are late, but those for long, and items leave the
    application later.

    Examples
    --------
    >>> from edrp.enactment.containers import ContainerOperator, HostType
    >>> from edrp.enactment import HostState, OperatorState
    >>> work = ContainerOperator(name="work", processing_duration=0.5, external_rate=4.0, resources={"cpu": 1})
    >>> small = HostType(name="small", resources={"cpu": 4}, price=1, billing_time=600)
    >>> policy = PredictivePolicy(PredictiveParameters())
    >>> host = HostState("host-1", small, paid_until=600.0, instances={"work": 1})
    >>> first = EnactmentState(0.0, 60.0, {"work": OperatorState(work)}, {"host-1": host}, {"small": small}, leases=1)
    >>> [str(action) for action in policy.observe(first)]
    ['place work on host-1', 'place work on host-1', 'place work on host-1']
    """

    name = "predictive"

    def __init__(self, parameters: PredictiveParameters = PredictiveParameters()) -> None:
        self._parameters = parameters
        self._settings = PathSettings(
            likeness=parameters.likeness, recall=parameters.recall, doubt=parameters.doubt, return_time=parameters.return_time
        )
        self._history: DemandHistory | None = None
        self._estimates: list[CapacityEstimate] = []

    def observe(self, state: EnactmentState) -> tuple[Action, ...]:
        """Learn from the last round, then choose hosts and instances."""
        p = self._parameters
        history = self._learn(state)
        outlook_now = outlook(
            state, history, np.array([estimate.occupied for estimate in self._estimates]), p.utilisation, p.drain_time
        )
        load_paths = paths(outlook_now.loads, self._rounds(outlook_now, state.interval), state.interval, self._settings)
        tentative = self._choose_hosts(TentativeState(state), outlook_now, load_paths)
        ready = [name for name in tentative.hosts if name in state.hosts and state.hosts[name].ready]
        starting = [name for name in tentative.hosts if name not in ready]
        self._fill(tentative, outlook_now, load_paths, ready, ready)
        if starting:
            self._fill(tentative, outlook_now, load_paths, starting, [*ready, *starting])
        return _cover_operators(tentative, outlook_now).actions

    def _learn(self, state: EnactmentState) -> DemandHistory:
        """Update estimates and demand by the round that has ended; return the demand so far."""
        p = self._parameters
        if self._history is None:
            self._history = DemandHistory(state, max(2, int(p.memory / state.interval)))
            objectives = [monitored.operator.processing_duration for monitored in state.operators.values()]
            if p.estimate == "busy":
                self._estimates = [BusyEstimate(objective, p.prior_items, p.forgetting) for objective in objectives]
            else:
                self._estimates = [QueueEstimate(objective, p.ease) for objective in objectives]
        else:
            self._history.learn(state)
            for estimate, monitored in zip(self._estimates, state.operators.values(), strict=True):
                estimate.learn(monitored, state.interval)
        return self._history

    def _rounds(self, outlook_now: Outlook, interval: float) -> int:
        """Number of rounds to look ahead: a billing time unit (BTU), within limits."""
        unit = round(outlook_now.host_type.billing_time / interval)
        return int(np.clip(unit, MIN_ROUNDS, max(MIN_ROUNDS, self._parameters.look_ahead / interval)))

    def _choose_hosts(self, tentative: TentativeState, outlook_now: Outlook, load_paths: LoadPaths) -> TentativeState:
        """Lease hosts, or give back those whose paid time ends before the next round."""
        p, state = self._parameters, tentative.state
        paid_seconds = {name: tentative.paid_until(name) - state.time for name in tentative.hosts}
        ending = [name for name in tentative.hosts if p.leaving_time <= paid_seconds[name] < state.interval + p.leaving_time]
        hosts = [name for name in tentative.hosts if name not in ending] + ending
        fewest = max(1, len(hosts) - len(ending))
        number = self._number_of_hosts(tentative, outlook_now, load_paths, hosts, fewest)
        busy = dict(zip(state.operators, np.maximum(outlook_now.busy, 1e-9), strict=True))
        for name in reversed(hosts[number:]):
            tentative = vacated(tentative, name, busy, 1.0 / p.utilisation) or tentative
        for _ in range(number - len(hosts)):
            tentative.lease(outlook_now.host_type.name)
        return tentative

    def _number_of_hosts(
        self, tentative: TentativeState, outlook_now: Outlook, load_paths: LoadPaths, hosts: list[str], fewest: int
    ) -> int:
        """Choose the number of hosts: leased ones first, then new ones."""
        p, interval = self._parameters, tentative.state.interval
        kind = outlook_now.host_type
        ahead = load_paths.levels.shape[1] - 1
        top = float(load_paths.levels.max())
        further_hosts = int(min(np.ceil(1.5 * top) + 2, MAX_FURTHER_HOSTS))
        types = [tentative.type(name) for name in hosts] + [kind] * _available_hosts(tentative, kind, further_hosts)
        if not types:
            return 0
        sizes = np.vstack([np.zeros(outlook_now.flow.need.shape[1]), *(outlook_now.size(host_type) for host_type in types)])
        room = sizes.cumsum(axis=0) * (1.0 - outlook_now.left_over)
        support = outlook_now.load * supported(outlook_now.flow, outlook_now.busy, room, 2.0 * max(top / outlook_now.load, 1.0))
        prices = np.array([host_type.price / host_type.billing_time * interval for host_type in types])
        costs = HostCosts(
            rounds=ahead,
            lag=1 + max(1, round((sum(kind.start_up) / 2 + p.serving_time) / interval)),
            late=p.penalty * outlook_now.rate * interval / outlook_now.load,
            overload_share=p.overload_share,
            surprise_share=p.surprise_share,
            utilisation=min(p.utilisation, 1.0 - 1e-6),
        )
        money = expected_costs(load_paths, support, prices, len(hosts), outlook_now.backlog, costs)
        saved = np.concatenate([[0.0], prices.cumsum()]) * ahead
        money += p.margin * np.maximum(saved[len(hosts)] - saved, 0.0)
        return fewest + int(np.argmin(money[fewest:])) if fewest < len(money) else len(hosts)

    def _fill(
        self, tentative: TentativeState, outlook_now: Outlook, load_paths: LoadPaths, hosts: list[str], within: list[str]
    ) -> None:
        """Place instances on some hosts so that all hosts in `within` together have the instances that the load may need."""
        multiples = np.maximum(load_paths.levels[:, : ROUNDS_TO_SERVE + 1].max(axis=1) / outlook_now.load, 1.0)
        multiples = np.append(multiples, SURGE_MULTIPLES)
        weights = np.append(load_paths.weights / load_paths.weights.sum(), self._parameters.tail / SURGE_MULTIPLES**2)
        counts = targets(outlook_now.flow, outlook_now.room(tentative, within), multiples, weights)
        fill(tentative, dict(zip(tentative.state.operators, np.maximum(counts, 1.0), strict=True)), hosts)


def _available_hosts(tentative: TentativeState, host_type: HostType, requested: int) -> int:
    """Number of hosts of a type that can still be leased, at most as many as requested."""
    if host_type.limit is None:
        return requested
    leased = sum(host.type.name == host_type.name for host in tentative.state.hosts.values())
    return max(0, min(requested, host_type.limit - leased))


def _cover_operators(tentative: TentativeState, outlook_now: Outlook) -> TentativeState:
    """Lease the cheapest host that can run an operator which lacks instances and cannot run where hosts are leased by default."""
    for name, busy in zip(tentative.state.operators, outlook_now.busy, strict=True):
        operator = tentative.state.operators[name].operator
        if tentative.instances(name) >= busy or fits(operator, outlook_now.host_type):
            continue
        able = [
            host_type
            for host_type in tentative.state.host_types.values()
            if fits(operator, host_type) and _available_hosts(tentative, host_type, 1)
        ]
        if able:
            host = tentative.lease(min(able, key=lambda host_type: host_type.price / host_type.billing_time).name)
            fill(tentative, {name: max(busy, 1.0)}, [host])
    return tentative
