"""The plan of a reconfiguration without streams: which state is copied in which phase, within limits of nodes, zones and racks.

As operators of partitioned logs reassign partitions: a replica is added and copied before the one that it replaces is dropped,
and all changes of one state (of an operator and those with the same `state_of`) belong to one phase. During a phase both
exist, and nodes need resources for both. Rules judge what serves: the deployments between the phases.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from edrp.core.arrays import Bools, Floats
from edrp.core.budget import LOOK, spend
from edrp.core.document import named_resources
from edrp.core.errors import Fault, InvalidInstanceError
from edrp.core.limits import compared
from edrp.core.tolerances import LIMIT_SLACK
from edrp.core.wording import suggestion
from edrp.mdp.transfer.rescale_plan import schedule_on_cards
from edrp.mdp.transfer.schedules import TransferSchedule, schedule_transfers
from edrp.placement.compilation import capacities
from edrp.placement.compiled import count_replicas
from edrp.placement.deployment import Action, Deployment, DeploymentLike
from edrp.placement.edrp import EdrpProblem
from edrp.placement.metrics.moves import state_holders
from edrp.placement.rules.base import NODE, places

ENTRY_UNITS = 1e-8
"""Units of work for a limit or a node of a phase, when a state is put into one."""

MAX_COUNTED = 5
"""States of which at most so many fit into one phase are counted for the least number of phases."""


class PhaseLimits(NamedTuple):
    """Limits of each node, zone or rack in one phase; None for none. What stays within a place does not count for it.

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


class StateCopy(NamedTuple):
    """State of an operator, and of all with the same state, that a node gets from another one; `size` in bytes."""

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
    min_phases : no plan within the limits of bytes and moves has fewer phases, wherever copies come from; the plan may have more.
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
    limits: Mapping[str, PhaseLimits] | None = None,
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
    limits
        Of each "node", each "zone", or each value of a label such as "rack" in one phase, by that word.
    in_sync
        Minimum number of nodes that hold a state completely at any time; None: nothing stops before its successor is there.

    Raises
    ------
    InvalidInstanceError
        Without `current`, with streams, for limits of what no node has, and for those below what a single state needs.

    Examples
    --------
    >>> problem = EdrpProblem(
    ...     application={"operators": [{"name": p, "state_size": 8, "resources": 0} for p in "xyz"]},
    ...     network={"nodes": [{"name": "a"}, {"name": "b"}]}, weights={"moves": 1},
    ...     current={p: ["a"] for p in "xyz"},
    ... )
    >>> target = {"x": ["b"], "y": ["b"], "z": ["a"]}
    >>> plan = plan_placement(problem, target, uplink=4.0, limits={"node": PhaseLimits(moves_in=1)})
    >>> [[str(action) for action in phase.actions] for phase in plan.phases], plan.total_seconds, plan.min_phases
    ([['x: moves from a to b'], ['y: moves from a to b']], 4.0, 2)
    """
    refuse_unplanned(problem, in_sync)
    target: Deployment = problem.read_decision(deployment, "deployment")
    count = len(problem.network.nodes)
    schedule_transfers(np.zeros((count, count)), uplink, downlink)  # refuses rates that are none
    up, down = (np.broadcast_to(np.asarray(rate, float), (count,)) for rate in (uplink, uplink if downlink is None else downlink))
    changes = _Changes(problem, target, limits or {}, 1 / np.stack([down, up]), from_staying=in_sync is not None)
    phases = _Phases(changes, changes.limit, changes.fewest_phases)
    phases.fill(changes.largest_first, in_sync)
    if phases.forced:
        free = _Phases(changes, np.full_like(changes.limit, np.inf), min(1, len(changes.all)))
        free.fill(changes.largest_first, in_sync)
        if free.forced < phases.forced:
            phases = _Phases(changes, changes.limit, 0)
            phases.split(free)
    whole = _traffic(problem, [copy for change in changes.all for copy in change.copies])
    seconds = max((whole.sum(axis=1) / up).max(), (whole.sum(axis=0) / down).max())
    planned = tuple(_described(problem, target, phases, (up, down)))
    return PlacementPlan(tuple(problem.network.by_name), planned, changes.fewest_phases, float(seconds))


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


@dataclass(frozen=True, eq=False, slots=True)
class _StateChange:
    """All that changes of one state.

    Attributes
    ----------
    operators : those with this state.
    copies : to nodes that do not hold it now.
    demand, least : shape (4, places), what the copies take of the limits, and what they do at least, from whatever node.
    more, less : shape (nodes, resources), what nodes need in addition during the phase, and what becomes free after it.
    kept : number of nodes that hold it throughout; 0 where all replicas of an operator would stop before their successors run.
    """

    operators: tuple[str, ...]
    copies: tuple[StateCopy, ...]
    demand: Floats
    least: Floats
    more: Floats
    less: Floats
    kept: int


class _Changes:
    """States that change, and the limits that their phases are within.

    Attributes
    ----------
    limit : shape (4, places): bytes in, bytes out, moves in, moves out; nodes come first.
    load, capacity : shape (nodes, resources), what is taken now, and what there is.
    seconds : shape (2, nodes), for each byte in and out.
    """

    def __init__(
        self, problem: EdrpProblem, target: Deployment, limits: Mapping[str, PhaseLimits], seconds: Floats, *, from_staying: bool
    ) -> None:
        operators, self.nodes, self.seconds = problem.application.operators, tuple(problem.network.by_name), seconds
        self.resources = tuple(dict.fromkeys(r for operator in operators for r in named_resources(operator.resources)))
        self._set_limits(problem, limits)
        needs = np.array([[named_resources(o.resources).get(name, 0.0) for name in self.resources] for o in operators])
        names = tuple(problem.application.by_name)
        now, then = (count_replicas(deployment, names, self.nodes) for deployment in (problem.current, target))  # type: ignore[arg-type]
        self.load, self.capacity = now.T @ needs, capacities(problem, problem.network.nodes, self.resources)
        groups: dict[str, list[int]] = {}
        for index, operator in enumerate(operators):
            groups.setdefault(operator.state_of or operator.name, []).append(index)
        self._sent, self._holders = dict.fromkeys(self.nodes, 0.0), state_holders(problem)
        self.all: list[_StateChange] = []
        for owner, group in groups.items():
            if (difference := then[group] - now[group]).any():
                stay, more = np.minimum(now, then)[group], difference.T @ needs[group]
                kept = int(stay.any(axis=0).sum()) if stay.any(axis=1).all() else 0
                copies, least = self._copies(problem, target, owner, [names[index] for index in group], from_staying=from_staying)
                change = _StateChange(
                    operators=tuple(names[index] for index in group),
                    copies=copies,
                    demand=self._demand(copies),
                    least=least,
                    more=np.maximum(more, 0.0),
                    less=np.maximum(-more, 0.0),
                    kept=kept,
                )
                self.all.append(change)
        self._refuse_small_limits()
        self.largest_first = sorted(self.all, key=lambda change: -sum(copy.size for copy in change.copies))

    def _set_limits(self, problem: EdrpProblem, limits: Mapping[str, PhaseLimits]) -> None:
        """Number the places: nodes, and then those of each word that has limits; nodes without any of these are in none."""
        self.at: dict[str, list[int]] = {node: [] for node in self.nodes}
        self.per: list[str] = []
        columns: list[PhaseLimits] = []
        for per in dict.fromkeys([NODE, *limits]):
            groups = list(places(problem.network, per, alone=False).values())
            if not groups:
                labels = [key for node in problem.network.nodes for key in node.labels]
                why = f"is a zone or label that no node has{suggestion(per, [NODE, *labels])}"
                raise InvalidInstanceError([Fault(f"limits.{per}", per, why)])
            number = {node: len(columns) + index for index, group in enumerate(groups) for node in group}
            for node, at in self.at.items():
                at.append(number.get(node, -1))
            columns += [limits.get(per, PhaseLimits())] * len(groups)
            self.per += [per] * len(groups)
        self.limit = np.array([[np.inf if value is None else value for value in column] for column in columns]).T

    def _refuse_small_limits(self) -> None:
        """Every state has to be within all limits by itself."""
        faults: dict[str, Fault] = {}
        for change in self.all:
            for row, place in np.argwhere(~(change.demand <= self.limit * (1 + LIMIT_SLACK))).tolist():
                need = f"{change.demand[row, place]:.6g}, which the state of {change.operators[0]} takes in its phase"
                name = f"limits.{self.per[place]}.{PhaseLimits._fields[row]}"
                faults.setdefault(name, Fault(name, f"{self.limit[row, place]:g}", f"must be at least {need}"))
        InvalidInstanceError.raise_if_any(list(faults.values()))

    def _copies(
        self, problem: EdrpProblem, target: Deployment, owner: str, operators: list[str], *, from_staying: bool
    ) -> tuple[tuple[StateCopy, ...], Floats]:
        """Copies of a state, each from the node of its owner that sends the least of them, and of all; what they take at least.

        `from_staying`: nodes that keep the state come first, so that others may stop before it is copied.
        """
        held, current = self._holders[owner], problem.current
        assert current is not None
        sizes: Counter[str] = Counter()
        for name in operators:
            part = problem.application.by_name[name].state_size / target.degree(name)
            for node in target[name]:
                if node not in held:
                    sizes[node] += part  # type: ignore[assignment]
        staying = list(current.replicas(owner) & target.replicas(owner))
        copies, uses, least = [], Counter[str](), np.zeros_like(self.limit)
        for node, size in sizes.items():
            source = min(staying if from_staying and staying else current[owner], key=lambda name: (uses[name], self._sent[name]))
            uses[source], self._sent[source] = uses[source] + 1, self._sent[source] + size
            copies.append(StateCopy(owner, source, node, size))
            least += np.min([self._demand([StateCopy(owner, other, node, size)]) for other in {*current[owner]}], axis=0)
        least[2:] = np.minimum(least[2:], 1)
        return tuple(copies), least

    def _demand(self, copies: Iterable[StateCopy]) -> Floats:
        """What copies of one state take of all limits."""
        demand = np.zeros_like(self.limit)
        for copy in copies:
            for target, source in zip(self.at[copy.target], self.at[copy.source], strict=True):
                for way, place in ((0, target), (1, source)) if target != source else ():
                    if place >= 0:
                        demand[way, place] += copy.size
                        demand[2 + way, place] = 1
        return demand

    @cached_property
    def fewest_phases(self) -> int:
        """Phases that the limits need at least: by the sum of shares of a limit, and by those of which k + 1 are above it."""
        if not self.all:
            return 0
        least = np.array([change.least for change in self.all])
        share = np.divide(least, self.limit, out=np.zeros_like(least), where=least > 0)
        counted = [(share > (1 + LIMIT_SLACK) / (k + 1)).sum(axis=0) / k for k in range(1, MAX_COUNTED + 1)]
        return max(1, math.ceil(np.max([share.sum(axis=0) * (1 - LIMIT_SLACK), *counted])))


class _Phases:
    """Phases, and the states that change in each.

    Attributes
    ----------
    phase, stopped : of changes, when their copies run, and when replicas stop before.
    used : shape (phases, 4, places).
    load : shape (phases + 1, nodes, resources): what is taken during each phase, and after the last one.
    forced : number of changes that are made although nodes have no room for both.
    """

    def __init__(self, changes: _Changes, limit: Floats, count: int) -> None:
        self.changes, self.limit, self.forced = changes, limit, 0
        self.phase: dict[_StateChange, int] = {}
        self.stopped: dict[_StateChange, int] = {}
        self.used = np.zeros((count, *limit.shape))
        self.load = np.repeat(changes.load[None], count + 1, axis=0)

    def split(self, other: _Phases) -> None:
        """Split the phases of a plan of the same changes without limits: what has room at once has room one after the other."""
        for number in range(len(other.used)):
            first, stops = len(self.used), [change for change, phase in other.stopped.items() if phase == number]
            if stops:
                self._add_phase()
            for change in stops:
                self._stop(change)
            self.fill([change for change in self.changes.all if other.phase[change] == number], None, first)

    def fill(self, waiting: list[_StateChange], in_sync: int | None, first: int = 0) -> None:
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
        capacity = self.changes.capacity
        for u, r in np.argwhere(self.load[phase] > capacity * (1 + LIMIT_SLACK)).tolist():
            amounts = compared(float(self.load[phase, u, r]), float(capacity[u, r]))
            yield f"{self.changes.resources[r]} of node {self.changes.nodes[u]} during the phase: {amounts}"

    def _room(self, change: _StateChange) -> Bools:
        """Whether the limits of each phase, and the nodes from then on, have room for a change."""
        rows, taken = np.flatnonzero(change.more.any(axis=1)), np.nonzero(change.demand)
        spend(LOOK + ENTRY_UNITS * len(self.used) * (taken[0].size + rows.size))
        demand, limit = change.demand[taken], self.limit[taken]
        limits = (self.used[:, taken[0], taken[1]] + demand <= limit * (1 + LIMIT_SLACK)).all(axis=1)
        enough = self.load[:, rows] + change.more[rows] <= self.changes.capacity[rows] * (1 + LIMIT_SLACK)
        fits = (enough | (change.more[rows] == 0)).all(axis=(1, 2))
        from_then_on = np.logical_and.accumulate(fits[::-1])[::-1][:-1]
        return np.asarray(limits & from_then_on & (np.arange(len(self.used)) >= self.stopped.get(change, 0)))

    def _put(self, change: _StateChange, first: int) -> bool:
        """Put a change into the phase with room that it prolongs the least, the first of equals; whether there is one."""
        room, seconds = self._room(change) & (np.arange(len(self.used)) >= first), self.changes.seconds
        if not room.any():
            return False
        cards, more = (taken[..., :2, : len(self.changes.nodes)] for taken in (self.used, change.demand))
        longer = ((cards + more) * seconds).max(axis=(1, 2)) - (cards * seconds).max(axis=(1, 2))
        self._enter(change, int(np.where(room, longer, np.inf).argmin()))
        return True

    def _enter(self, change: _StateChange, phase: int) -> None:
        """Let a change be part of a phase."""
        self.phase[change] = phase
        self.used[phase] += change.demand
        self.load[phase:] += change.more
        if change not in self.stopped:
            self.load[phase + 1 :] -= change.less

    def _stop_one(self, waiting: list[_StateChange], in_sync: int | None) -> bool:
        """Stop, in the last phase, the replicas that a change replaces, where enough nodes hold its state without them."""
        able = [change for change in waiting if in_sync is not None and change not in self.stopped and change.kept >= in_sync]
        able = [change for change in able if change.less.any()]
        if able:
            self._stop(max(able, key=lambda change: float(change.less.sum())))
        return bool(able)

    def _stop(self, change: _StateChange) -> None:
        """Let the replicas that a change replaces stop before the last phase."""
        self.stopped[change] = len(self.used) - 1
        self.load[-2:] -= change.less


def _described(
    problem: EdrpProblem, target: Deployment, phases: _Phases, rates: tuple[Floats, Floats]
) -> Iterator[PlacementPhase]:
    """Yield the phases in which anything changes."""
    running: Deployment = problem.current  # type: ignore[assignment]  # checked before
    for number in range(len(phases.used)):
        mine = [change for change in phases.changes.all if phases.phase[change] == number]
        stopped = tuple(name for change, phase in phases.stopped.items() if phase == number for name in change.operators)
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
