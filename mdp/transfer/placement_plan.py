"""The plan of a reconfiguration without streams: which state is copied in which phase, within limits of nodes and zones.

As operators of partitioned logs reassign partitions: a replica is added and copied before the one that it replaces is dropped,
and all changes of one state (of an operator and those with the same `state_of`) belong to one phase. During a phase both
exist, and nodes need resources for both. Rules judge what serves: the deployments between the phases.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from edrp.core.arrays import Bools, Floats
from edrp.core.budget import LOOK, spend
from edrp.core.document import named_resources
from edrp.core.errors import Fault, InvalidInstanceError, first_faults
from edrp.core.limits import compared
from edrp.core.tolerances import LIMIT_SLACK
from edrp.mdp.transfer.rescale_plan import schedule_on_cards
from edrp.mdp.transfer.schedules import TransferSchedule, schedule_transfers
from edrp.placement.deployment import Action, Deployment, DeploymentLike
from edrp.placement.edrp import EdrpProblem
from edrp.placement.metrics.moves import state_holders

ENTRY_UNITS = 1e-8
"""Units of work for a limit or a node of a phase, when a state is put into one."""


@dataclass(frozen=True, slots=True)
class PhaseLimits:
    """Limits of each node, or of each zone, in one phase; None for none. What stays within a zone does not count for it.

    Attributes
    ----------
    bytes_in, bytes_out : bytes of state that it receives, and sends.
    moves_in, moves_out : number of states that it receives, and sends, at once; one that goes to several nodes counts once.
    """

    bytes_in: float | None = None
    bytes_out: float | None = None
    moves_in: int | None = None
    moves_out: int | None = None

    @classmethod
    def same(cls, size: float | None, moves: int | None) -> PhaseLimits:
        """The same limits for what comes and for what leaves."""
        return cls(size, size, moves, moves)


NO_LIMITS = {"node": PhaseLimits(), "zone": PhaseLimits()}


@dataclass(frozen=True, slots=True)
class StateCopy:
    """State of an operator, and of all with the same state, that a node gets from another one.

    Attributes
    ----------
    size : bytes.
    """

    operator: str
    source: str
    target: str
    size: float


@dataclass(frozen=True, slots=True)
class PlacementPhase:
    """Copies that run at the same time, after which the replicas that they replace stop.

    Attributes
    ----------
    actions : what changes from the phase before, by operator.
    stopped_first : operators of which replicas stop before the copies of this phase, for want of room for both.
    schedule : when each transfer runs, counted from the begin of the phase; nodes by index.
    deployment : what runs after the phase.
    broken : hard rules and limits of operators and nodes that are broken then, or resources that are short during the phase.
    """

    copies: tuple[StateCopy, ...]
    actions: tuple[Action, ...]
    stopped_first: tuple[str, ...]
    schedule: TransferSchedule
    deployment: Deployment
    broken: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PlacementPlan:
    """The plan of a reconfiguration without streams.

    Attributes
    ----------
    nodes : names by index.
    phases : in order; none where nothing changes.
    min_phases : no plan within the limits of bytes and moves has fewer phases.
    min_seconds : time that the busiest network card needs for all copies, as they are chosen here; no order takes less.
    """

    nodes: tuple[str, ...]
    phases: tuple[PlacementPhase, ...]
    min_phases: int
    min_seconds: float

    @property
    def total_seconds(self) -> float:
        """Time that all phases take, one after the other."""
        return sum(phase.schedule.total_seconds for phase in self.phases)


def plan_placement(
    problem: EdrpProblem,
    deployment: DeploymentLike,
    *,
    uplink: ArrayLike,
    downlink: ArrayLike | None = None,
    node: PhaseLimits | None = None,
    zone: PhaseLimits | None = None,
    in_sync: int | None = None,
) -> PlacementPlan:
    """Plan how to get from the current deployment to another.

    Every state that changes is put into the phase that it prolongs the least, the largest first, among as many phases as the
    limits need at least; further ones are added where it fits into none. A state comes from a node that runs its own operator
    now, such as the leader of a partition, the one that sends the least so far. If nodes lack room for both, but would not
    without limits, the plan without them is split. Where no node has room for both, replicas of a state stop before their
    successors are copied, if `in_sync` allows it; else the phase names the resource that is short.

    Parameters
    ----------
    problem
        Of kind `edrp`, with a current deployment and without streams. Each replica has an equal part of `state_size`.
    deployment
        Target deployment.
    uplink, downlink : scalar or shape (nodes,)
        Bytes per second that each node can send and receive; downlinks default to the uplinks.
    node, zone
        Limits of each node and each zone in one phase.
    in_sync
        Minimum number of nodes that hold a state completely at any time; None: nothing stops before its successor is there.

    Raises
    ------
    InvalidInstanceError
        Without `current`, with streams, and for limits below what a single state needs.

    Examples
    --------
    >>> problem = EdrpProblem(
    ...     application={"operators": [{"name": p, "state_size": 8, "resources": 0} for p in "xyz"]},
    ...     network={"nodes": [{"name": "a"}, {"name": "b"}]}, weights={"moves": 1},
    ...     current={p: ["a"] for p in "xyz"},
    ... )
    >>> target = {"x": ["b"], "y": ["b"], "z": ["a"]}
    >>> plan = plan_placement(problem, target, uplink=4.0, node=PhaseLimits(moves_in=1))
    >>> [[str(action) for action in phase.actions] for phase in plan.phases], plan.total_seconds, plan.min_phases
    ([['x: moves from a to b'], ['y: moves from a to b']], 4.0, 2)
    """
    refuse_unplanned(problem, in_sync)
    target: Deployment = problem.read_decision(deployment, "deployment")
    count = len(problem.network.nodes)
    schedule_transfers(np.zeros((count, count)), uplink, downlink)  # refuses rates that are none
    up, down = (np.broadcast_to(np.asarray(rate, float), (count,)) for rate in (uplink, uplink if downlink is None else downlink))
    changes = list(_changes(problem, target, from_staying=in_sync is not None))
    limits = {"node": node or PhaseLimits(), "zone": zone or PhaseLimits()}
    phases = _Phases(problem, changes, limits, (up, down))
    phases.fill(in_sync)
    if phases.forced:
        free = _Phases(problem, [replace(change, phase=-1, stopped=-1) for change in changes], NO_LIMITS, (up, down))
        free.fill(in_sync)
        if free.forced < phases.forced:
            changes = [replace(change, phase=-1, stopped=-1) for change in changes]
            phases = _Phases(problem, changes, limits, (up, down))
            phases.split(free)
    whole = _traffic(problem, [copy for change in changes for copy in change.copies])
    seconds = max((whole.sum(axis=1) / up).max(), (whole.sum(axis=0) / down).max())
    planned = tuple(_described(problem, target, phases, (up, down)))
    return PlacementPlan(tuple(problem.network.by_name), planned, phases.fewest, float(seconds))


@dataclass(eq=False, slots=True)
class _StateChange:
    """All that changes of one state.

    Attributes
    ----------
    operators : those with this state.
    copies : to nodes that do not hold it now.
    more, less : shape (nodes, resources), what nodes need in addition during the phase, and what becomes free after it.
    kept : number of nodes that hold it throughout; 0 where all replicas of an operator would stop before their successors run.
    phase, stopped : when the copies run, and when replicas stop before; −1 for not yet, or never.
    """

    operators: tuple[str, ...]
    copies: tuple[StateCopy, ...]
    more: Floats
    less: Floats
    kept: int
    phase: int = -1
    stopped: int = -1


def refuse_unplanned(problem: EdrpProblem, in_sync: int | None = None) -> None:
    """Refuse problems that have no plan, and a number of replicas in sync with which a state would be lost.

    Raises
    ------
    InvalidInstanceError
        Without `current`, with streams, and for less than one replica in sync.
    """
    faults = []
    if problem.current is None:
        faults.append(Fault("current", "null", "a plan leads from what runs to something else; give the deployment that runs"))
    if problem.application.streams:
        why = "have no plan: replicas of their operators change together; leave them out, or plan a rescaling"
        faults.append(Fault("application.streams", f"{len(problem.application.streams)} streams", why))
    if in_sync is not None and in_sync < 1:
        faults.append(Fault("in_sync", str(in_sync), "must be at least 1, or a state would be lost"))
    InvalidInstanceError.raise_if_any(faults)


def _resources(problem: EdrpProblem) -> tuple[str, ...]:
    """Resources that operators need of nodes."""
    return tuple(dict.fromkeys(r for operator in problem.application.operators for r in named_resources(operator.resources)))


def _taken(
    problem: EdrpProblem, resources: Sequence[str], deployment: Mapping[str, Sequence[str]], operators: Iterable[str]
) -> Floats:
    """Amounts of resources that replicas of some operators take, shape (nodes, resources)."""
    index = {name: u for u, name in enumerate(problem.network.by_name)}
    taken = np.zeros((len(index), len(resources)))
    for operator in operators:
        amounts = named_resources(problem.application.by_name[operator].resources)
        need = [amounts.get(name, 0.0) for name in resources]
        for place in deployment[operator]:
            taken[index[place]] += need
    return taken


def _changes(problem: EdrpProblem, target: Deployment, *, from_staying: bool) -> Iterator[_StateChange]:
    """Yield the states that change; each copy comes from the node of their owner that sends the least of them, and of all.

    `from_staying`: nodes that keep the state come first, so that others may stop before it is copied.
    """
    current: Deployment = problem.current  # type: ignore[assignment]  # checked before
    groups: dict[str, list[str]] = {}
    for operator in problem.application.operators:
        groups.setdefault(operator.state_of or operator.name, []).append(operator.name)
    held, resources = state_holders(problem), _resources(problem)
    sent = dict.fromkeys(problem.network.by_name, 0.0)
    for owner, operators in groups.items():
        if all(current.replicas(name) == target.replicas(name) for name in operators):
            continue
        sizes: dict[str, float] = {}
        for name in operators:
            part = problem.application.by_name[name].state_size / target.degree(name)
            for place in target[name]:
                if place not in held[name]:
                    sizes[place] = sizes.get(place, 0.0) + part
        staying = {name: current.replicas(name) & target.replicas(name) for name in operators}
        sources = list(staying[owner]) if from_staying and staying[owner] else current[owner]
        copies, uses = [], Counter[str]()
        for place, size in sizes.items():
            source = min(sources, key=lambda name: (uses[name], sent[name]))
            uses[source], sent[source] = uses[source] + 1, sent[source] + size
            copies.append(StateCopy(owner, source, place, size))
        difference = _taken(problem, resources, target, operators) - _taken(problem, resources, current, operators)
        kept = len(set().union(*staying.values())) if all(staying.values()) else 0
        yield _StateChange(tuple(operators), tuple(copies), np.maximum(difference, 0.0), np.maximum(-difference, 0.0), kept)


class _Phases:
    """Phases, and the states that change in each; places are nodes, then zones.

    Attributes
    ----------
    fewest : number of phases that the limits need at least.
    limit : shape (4, places): bytes in, bytes out, moves in, moves out.
    used : shape (phases, 4, places).
    load : shape (phases + 1, nodes, resources): what is taken during each phase, and after the last one.
    capacity : shape (nodes, resources).
    forced : number of changes that are made although nodes have no room for both.
    """

    def __init__(
        self, problem: EdrpProblem, changes: list[_StateChange], limits: Mapping[str, PhaseLimits], rates: Sequence[Floats]
    ) -> None:
        self.forced, nodes, current = 0, problem.network.nodes, problem.current
        assert current is not None
        self.changes, self.resources, self.nodes = changes, _resources(problem), tuple(problem.network.by_name)
        zones = {name: len(nodes) + z for z, name in enumerate(dict.fromkeys(node.zone for node in nodes if node.zone))}
        self.places = {node.name: (u, zones.get(node.zone or "", -1)) for u, node in enumerate(nodes)}
        self.limit = np.full((4, len(nodes) + len(zones)), np.inf)
        self.demands = {id(change): self._demand(change) for change in changes}
        self._set_limits({"node": slice(len(nodes)), "zone": slice(len(nodes), None)}, limits)
        self.seconds = 1 / np.stack([rates[1], rates[0]])
        total = sum(self.demands.values(), np.zeros_like(self.limit))
        needed = np.ceil(np.divide(total, self.limit, out=np.zeros_like(total), where=total > 0) * (1 - LIMIT_SLACK))
        self.fewest = max(int(needed.max(initial=0)), min(1, len(changes)))
        self.used = np.zeros((self.fewest, *self.limit.shape))
        self.capacity = np.full((len(nodes), len(self.resources)), np.inf)
        for u, node in enumerate(nodes):
            if node.resources is not None:
                free = named_resources(node.resources)
                self.capacity[u] = [free.get(name, 0.0) for name in self.resources]
        self.load = np.repeat(_taken(problem, self.resources, current, current)[None], self.fewest + 1, axis=0)

    def fill(self, in_sync: int | None) -> None:
        """Put every change into a phase, the largest first."""
        self._fill(sorted(self.changes, key=lambda change: -sum(copy.size for copy in change.copies)), in_sync, 0)

    def split(self, other: _Phases) -> None:
        """Split the phases of a plan of the same changes without limits: what has room at once has room one after the other."""
        self.used, self.load = self.used[:0], self.load[-1:]
        pairs = list(zip(self.changes, other.changes, strict=True))
        for number in range(len(other.used)):
            first, stops = len(self.used), [mine for mine, theirs in pairs if theirs.stopped == number]
            if stops:
                self._add_phase()
            for change in stops:
                self._stop(change)
            self._fill([mine for mine, theirs in pairs if theirs.phase == number], None, first)

    def _fill(self, waiting: list[_StateChange], in_sync: int | None, first: int) -> None:
        """Put changes into phases from a first one on as long as some find one; then add a phase."""
        while waiting:
            left = [change for change in waiting if not self._put(change, first)]
            if len(left) == len(waiting):
                self._add_phase()
                if not any(self._room(change)[-1] for change in left) and not self._stop_one(left, in_sync):
                    self._enter(left.pop(), len(self.used) - 1)  # nodes have no room for both; the phase says so
                    self.forced += 1
            waiting = left

    def _add_phase(self) -> None:
        self.used = np.concatenate([self.used, np.zeros((1, *self.limit.shape))])
        self.load = np.concatenate([self.load, self.load[-1:]])

    def short(self, phase: int) -> Iterator[str]:
        """Yield the resources that are short during a phase, in words."""
        for u, r in np.argwhere(self.load[phase] > self.capacity * (1 + LIMIT_SLACK)).tolist():
            amounts = compared(float(self.load[phase, u, r]), float(self.capacity[u, r]))
            yield f"{self.resources[r]} of node {self.nodes[u]} during the phase: {amounts}"

    def _demand(self, change: _StateChange) -> Floats:
        """What the copies of a change take of all limits."""
        demand = np.zeros_like(self.limit)
        for copy in change.copies:
            ends = self.places[copy.target], self.places[copy.source]
            for way, (node, zone) in enumerate(ends):
                for place in (node, zone) if zone >= 0 and ends[0][1] != ends[1][1] else (node,):
                    demand[way, place] += copy.size
                    demand[2 + way, place] = 1
        return demand

    def _set_limits(self, places: Mapping[str, slice], limits: Mapping[str, PhaseLimits]) -> None:
        """Set the limits, each of which has to be large enough for every state by itself."""
        faults = []
        for row, name in enumerate(PhaseLimits.__slots__):
            for what, part in places.items():
                limit = getattr(limits[what], name)
                if limit is None:
                    continue
                self.limit[row, part] = limit
                for change in self.changes:
                    needed = float(self.demands[id(change)][row, part].max(initial=0.0))
                    if not needed <= limit * (1 + LIMIT_SLACK):
                        why = f"must be at least {needed:.6g}, which the state of {change.operators[0]} takes in its phase"
                        faults.append(Fault(f"{what}.{name}", f"{limit:g}", why))
        InvalidInstanceError.raise_if_any(first_faults(faults, len(faults)))

    def _room(self, change: _StateChange) -> Bools:
        """Whether the limits of each phase, and the nodes from then on, have room for a change."""
        rows, demand = np.flatnonzero(change.more.any(axis=1)), self.demands[id(change)]
        taken = np.nonzero(demand)
        spend(LOOK + ENTRY_UNITS * len(self.used) * (taken[0].size + rows.size))
        limits = (self.used[:, taken[0], taken[1]] + demand[taken] <= self.limit[taken] * (1 + LIMIT_SLACK)).all(axis=1)
        enough = self.load[:, rows] + change.more[rows] <= self.capacity[rows] * (1 + LIMIT_SLACK)
        fits = (enough | (change.more[rows] == 0)).all(axis=(1, 2))
        from_then_on = np.logical_and.accumulate(fits[::-1])[::-1][:-1]
        return np.asarray(limits & from_then_on & (np.arange(len(self.used)) >= change.stopped))

    def _put(self, change: _StateChange, first: int) -> bool:
        """Put a change into the phase with room that it prolongs the least, the first of equals; whether there is one."""
        room, demand = self._room(change) & (np.arange(len(self.used)) >= first), self.demands[id(change)]
        if not room.any():
            return False
        cards = self.used[:, :2, : len(self.nodes)]
        before, after = (((cards + more) * self.seconds).max(axis=(1, 2)) for more in (0, demand[:2, : len(self.nodes)]))
        self._enter(change, int(np.where(room, after - before, np.inf).argmin()))
        return True

    def _enter(self, change: _StateChange, phase: int) -> None:
        """Let a change be part of a phase."""
        change.phase = phase
        self.used[phase] += self.demands[id(change)]
        self.load[phase:] += change.more
        if change.stopped < 0:
            self.load[phase + 1 :] -= change.less

    def _stop_one(self, waiting: list[_StateChange], in_sync: int | None) -> bool:
        """Stop, in the last phase, the replicas that a change replaces, where enough nodes hold its state without them."""
        able = [change for change in waiting if in_sync is not None and change.stopped < 0 and change.kept >= in_sync]
        able = [change for change in able if change.less.any()]
        if not able:
            return False
        self._stop(max(able, key=lambda change: float(change.less.sum())))
        return True

    def _stop(self, change: _StateChange) -> None:
        """Let the replicas that a change replaces stop before the last phase."""
        change.stopped = len(self.used) - 1
        self.load[-2:] -= change.less


def _described(
    problem: EdrpProblem, target: Deployment, phases: _Phases, rates: tuple[Floats, Floats]
) -> Iterator[PlacementPhase]:
    """Yield the phases in which anything changes."""
    running: Deployment = problem.current  # type: ignore[assignment]  # checked before
    for number in range(len(phases.used)):
        mine = [change for change in phases.changes if change.phase == number]
        stopped = tuple(name for change in phases.changes if change.stopped == number for name in change.operators)
        if not mine and not stopped:
            continue
        kept = {name: tuple((running.replicas(name) & target.replicas(name)).elements()) for name in stopped}
        moved = {name: target[name] for change in mine for name in change.operators}
        after, copies = Deployment({**running, **kept, **moved}), tuple(copy for change in mine for copy in change.copies)
        broken = [why for why in problem.evaluate(after).broken if not why.startswith("limits.")]
        schedule = schedule_on_cards(_traffic(problem, copies), *rates)
        actions = running.actions_to(after)
        yield PlacementPhase(copies, actions, stopped, schedule, after, (*phases.short(number), *broken))
        running = after


def _traffic(problem: EdrpProblem, copies: Iterable[StateCopy]) -> Floats:
    """Bytes from each node (row) to each other one (column)."""
    index = {name: u for u, name in enumerate(problem.network.by_name)}
    traffic = np.zeros((len(index), len(index)))
    for copy in copies:
        traffic[index[copy.source], index[copy.target]] += copy.size
    return traffic
