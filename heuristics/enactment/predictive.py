"""The predictive policy: leases and instances by prediction, where load and capacity are learned during the run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from edrp.enactment import Action, EnactmentState, TentativeState
from edrp.enactment.containers import HostType, fits
from edrp.heuristics.enactment.capacity import BusyEstimate, CapacityEstimate, QueueEstimate
from edrp.heuristics.enactment.demand_paths import DemandHistory, LoadPaths, PathSettings, paths
from edrp.heuristics.enactment.predictive_filling import fill, supported, vacated
from edrp.heuristics.enactment.predictive_hosts import HostCosts, expected_costs
from edrp.heuristics.enactment.predictive_outlook import Outlook, outlook
from edrp.heuristics.enactment.predictive_targets import SURGE_MULTIPLES, targets

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

    Each round it learns how long an item occupies an instance and what comes from outside (`capacity`, `demand_paths`), compares
    the cost of every number of hosts on paths like those that the load took after similar moments (`predictive_hosts`), and
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
