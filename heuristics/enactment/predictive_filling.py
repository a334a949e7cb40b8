"""Parts of the predictive policy: demand and paths of the load, costs of hosts over these paths, and instances on the hosts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from edrp import _native
from edrp.core.arrays import Floats, Ints
from edrp.core.budget import spend
from edrp.core.document import named_resources
from edrp.core.tolerances import LIMIT_SLACK
from edrp.enactment.state import EnactmentState, TentativeState
from edrp.heuristics.enactment.predictive_targets import OperatorFlow


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


class LoadPaths(NamedTuple):
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


COST_UNITS = 1e-8
"""Units of work per number of hosts and level of the load."""


class HostCosts(NamedTuple):
    """Costs of late items, and the delay until a new host serves.

    Attributes
    ----------
    rounds : to look ahead.
    lag : rounds from the end of the round that shows a need to the first in which a host leased for it serves.
    late : money for a round in which all items are late, per unit of load.
    overload_share : of the items, those late while any load waits.
    surprise_share : of the items, those late in the first round of an overload, when instances stand where they did before.
    utilisation : share of a capacity from which on some items are late.
    """

    rounds: int
    lag: int
    late: float
    overload_share: float
    surprise_share: float
    utilisation: float


def expected_costs(paths: LoadPaths, support: Floats, prices: Floats, serving: int, backlog: float, costs: HostCosts) -> Floats:
    """Expected cost of holding the first n hosts, for every n, over the rounds ahead.

    On a path, a host that is not held now is leased at the end of the first round that needs it, paid from then on, and serves
    after the lag. Load above what the hosts bear waits, at the end of the path for a host that is leased to serve it. If
    fewer rounds of a path are known, only those count.

    Parameters
    ----------
    paths
        The load, in the unit of `support`.
    support
        (hosts + 1,): largest load that the first n hosts bear, by n.
    prices
        (hosts,): money per round of each host.
    serving
        Hosts that serve now; those beyond do after the lag.
    backlog
        Load times rounds that waits now.

    Returns
    -------
    (hosts + 1,): expected money.
    """
    spend(COST_UNITS * len(support) * paths.levels.size)
    weighted = paths._replace(weights=paths.weights / paths.weights.sum())
    money: Floats = _native.expected_host_costs(weighted, support, prices, serving, backlog, costs)
    return money


HOST_UNITS = 5e-6
"""Units of work per host whose room is examined."""

MAX_COVERAGE = 2.0
"""Instances per target instance at which an operator gets no more: not even a surge would need them."""

MAX_COUNTED_INSTANCES = 20_000
"""Maximum number of instances of an operator that are considered."""


def supported(flow: OperatorFlow, busy: Floats, room: Floats, largest: float) -> Floats:
    """Largest multiple of the load that hosts bear when instances are fully used.

    With n instances an operator of which `busy` are occupied bears n / busy times the load, and from there on needs its next
    instance. Instances that are bought in the order of these multiples bear, together, the largest multiple of the whole load.

    Parameters
    ----------
    busy
        (operators,): instances that the load occupies.
    room
        (choices, resources): room on the hosts of each choice, in hosts.

    Returns
    -------
    (choices,): multiples, at most `largest`.

    Examples
    --------
    >>> none = np.zeros(2)
    >>> quarter, one, nine = np.full((2, 1), 0.25), np.ones(2), np.full(2, 9.0)
    >>> flow = OperatorFlow(none, np.zeros((2, 2)), none, one, np.arange(2), quarter, one, nine, 1.0)
    >>> supported(flow, np.array([2.0, 1.0]), np.array([[0.0], [0.5], [0.75], [1.5]]), 2.0).tolist()
    [0.0, 0.5, 1.0, 2.0]
    """
    max_counts = np.minimum(flow.max_instances, np.maximum(np.ceil(largest * busy), flow.min_instances))
    max_counts = np.minimum(max_counts, MAX_COUNTED_INSTANCES)
    multiples = np.concatenate([np.arange(count) / max(occupied, 1e-9) for count, occupied in zip(max_counts, busy, strict=True)])
    multiples[
        np.concatenate([np.arange(count) < minimum for count, minimum in zip(max_counts, flow.min_instances, strict=True)])
    ] = 0.0
    order = np.argsort(multiples, kind="stable")
    bought = np.repeat(np.arange(len(busy)), max_counts.astype(int))[order]
    taken_room = flow.need[bought].cumsum(axis=0)
    fitting = [np.searchsorted(taken_room[:, r], room[:, r] + 1e-9, side="right") for r in range(taken_room.shape[1])]
    number = np.min(fitting, axis=0, initial=len(order))
    bears = np.append(multiples[order], largest)[number]
    return np.minimum(bears, largest)


def fill(tentative: TentativeState, targets: Mapping[str, float], hosts: list[str]) -> None:
    """Place instances on these hosts while any fit, always of the operator that lacks the largest share of its target.

    Where nothing fits for it, instances give way whose operators lack less without them.

    Parameters
    ----------
    targets
        Instances by operator, above 0. If they do not all fit, each operator gets fewer in proportion; remaining room is
        used in the same way.
    """
    growing = set(targets)
    while growing:
        name = min(sorted(growing), key=lambda operator: coverage(tentative, targets, operator))
        if coverage(tentative, targets, name) >= MAX_COVERAGE or not tentative.may_grow(name):
            growing.discard(name)
            continue
        host = tightest(tentative, name, hosts)
        if host is None and make_room(tentative, targets, name, hosts):
            host = tightest(tentative, name, hosts)
        if host is None:
            growing.discard(name)
        else:
            tentative.place(name, host)


def coverage(tentative: TentativeState, targets: Mapping[str, float], name: str, change: int = 0) -> float:
    """Ratio of the instances of an operator, after a change, to its target."""
    return (tentative.instances(name) + change) / targets[name]


def tightest(tentative: TentativeState, name: str, hosts: list[str]) -> str | None:
    """Best host with room for an instance: one that has its image, then the one with the least room left."""
    spend(HOST_UNITS * len(hosts))
    fitting = [host for host in hosts if tentative.fits(host, name)]
    return min(fitting, key=lambda host: (not tentative.has_image(host, name), tentative.free_share(host)), default=None)


def make_room(tentative: TentativeState, targets: Mapping[str, float], name: str, hosts: list[str]) -> bool:
    """Remove instances of better covered operators until an instance of this one fits; return whether it does."""
    below = coverage(tentative, targets, name)
    if not any(
        tentative.may_shrink(operator) and coverage(tentative, targets, operator, -1) > below
        for operator in targets
        if operator != name
    ):
        return False
    candidates = tentative.state.operators[name].operator.candidates
    for host in hosts:
        if candidates is None or tentative.type(host).name in candidates:
            removed = _removable_instances(tentative, targets, name, host)
            for operator in removed:
                tentative.remove(operator, host)
            if removed:
                return True
    return False


def _removable_instances(tentative: TentativeState, targets: Mapping[str, float], name: str, host: str) -> list[str]:
    """Instances to remove from a host to make room, the most superfluous first; none where that is not enough."""
    operators = tentative.state.operators
    below = coverage(tentative, targets, name)
    capacity = tentative.type(host).capacity
    need = named_resources(operators[name].operator.resources)
    if any(amount > capacity.get(resource, 0.0) for resource, amount in need.items()):
        return []
    free, counts = tentative.free(host), tentative.on(host)
    removed_counts = dict.fromkeys(counts, 0)
    removed: list[str] = []
    while any(amount > free.get(resource, 0.0) + LIMIT_SLACK * capacity[resource] for resource, amount in need.items()):
        after = {
            operator: coverage(tentative, targets, operator, -removed_counts[operator] - 1)
            for operator in counts
            if operator != name
        }
        able = [
            operator
            for operator, share in after.items()
            if share > below
            and counts[operator] > removed_counts[operator]
            and tentative.instances(operator) - removed_counts[operator] > operators[operator].operator.min_instances
        ]
        if not able:
            return []
        most_covered = max(able, key=after.__getitem__)
        removed_counts[most_covered] += 1
        removed.append(most_covered)
        for resource, amount in named_resources(operators[most_covered].operator.resources).items():
            free[resource] = free.get(resource, 0.0) + amount
    return removed


def vacated(tentative: TentativeState, host: str, busy: Mapping[str, float], enough: float) -> TentativeState | None:
    """Return the tentative state with a host emptied and released; None where others cannot take its instances.

    Parameters
    ----------
    busy
        By operator: instances that its load occupies, above 0.
    enough
        Instances per busy one that an operator keeps when others of it stop.
    """
    plan = tentative.copy()
    hosts = [target for target in plan.hosts if target != host and target in plan.state.hosts and plan.state.hosts[target].ready]
    while counts := plan.on(host):
        able = [operator for operator in counts if plan.may_shrink(operator)]
        name = max(able, key=lambda operator: coverage(plan, busy, operator, -1), default=None)
        if name is not None and coverage(plan, busy, name, -1) >= enough:
            plan.remove(name, host)
            continue
        moving = name or next(iter(counts))
        target = tightest(plan, moving, hosts)
        if target is None and make_room(plan, busy, moving, hosts):
            target = tightest(plan, moving, hosts)
        if target is not None:
            plan.migrate(moving, host, target)
        elif name is not None:
            plan.remove(name, host)
        else:
            return None
    plan.release(host)
    return plan
