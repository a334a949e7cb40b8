"""Downtime of a reconfiguration: pause-and-resume (EDRP, eqs. 10–11, 24–32) and Storm's (eqs. 33–40)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

import numpy as np

from edrp.core.arrays import Floats
from edrp.core.errors import Fault
from edrp.core.plausible_magnitudes import odd_transfer
from edrp.core.program import Linear
from edrp.placement.deployment import Deployment
from edrp.placement.metrics.base import DOWNTIME, Counted, Expressions, MeasuredProblem, PlainMetric


class Reconfiguration(MeasuredProblem, Protocol):
    """The data on which a downtime depends: a problem of kind `edrp`, or a bare reconfiguration."""

    @property
    def current(self) -> Deployment | None:
        """Before; None for an initial placement."""

    @property
    def synchronisation_time(self) -> float:
        """Seconds, t_syn."""

    @property
    def reconfiguration(self) -> str:
        """Either "pause-and-resume" or "storm"."""


class Carrier(NamedTuple):
    """Something that a reconfiguration moves, the largest of its kind, and the rate at which it moves.

    Attributes
    ----------
    size : bytes; 0 where there is none.
    size_place : of the size in the document.
    rate : bytes/s, the highest of all nodes; None where none is given, so that it takes no time.
    rate_place : of the rate in the document.
    """

    size: float
    size_place: str
    rate: float | None
    rate_place: str


class Downtime(PlainMetric):
    """Seconds during which the application does not process."""

    name = "downtime"
    unit = "s"
    weight_text, limit_text = "w_d", "T_D,max"
    part = DOWNTIME

    def evaluate(self, problem: Reconfiguration, deployment: Deployment) -> float:
        """EDRP, eq. 10: operators are reconfigured in parallel, the slowest decides."""
        if problem.current is None:
            return 0.0
        return max(self.operator_downtime(problem, deployment, operator.name) for operator in problem.application.operators)

    def linearise(self, expressions: Expressions) -> Linear:
        """EDRP, eq. 14."""
        return expressions.downtime()

    def carriers(self, problem: Any) -> Iterator[Carrier]:
        """Bytes that a reconfiguration may move: state, by Storm's also through the disks of nodes, and code."""
        store = problem.network.store
        rates = [node.store_bandwidth or store.bandwidth for node in problem.network.nodes]
        rate = max(filter(None, rates), default=None)
        state = self._largest(problem, "state_size")
        yield Carrier(*state, rate, "network.store.bandwidth")
        yield Carrier(*self._largest(problem, "code_size"), rate, "network.store.bandwidth")
        if problem.reconfiguration == "storm":
            yield Carrier(*state, store.local_bandwidth, "network.store.local_bandwidth")

    def _largest(self, problem: Any, field: str) -> tuple[float, str]:
        """The largest size that an operator has, and its place."""
        sizes = [getattr(operator, field) for operator in problem.application.operators]
        return max(sizes), f"application.operators[{sizes.index(max(sizes))}].{field}"

    def over_counts(self, deployments: Counted) -> Floats:
        """EDRP, eq. 10, shape (deployments, periods)."""
        return np.repeat(deployments.downtimes[:, None], len(deployments.periods), axis=1)

    def ceiling(self, compiled: Any) -> float:
        """All code and all state of the largest operator up and down the slowest way, and every replica started one by one."""
        state = 2 * float(compiled.state_size.max())
        transfers = 6 * compiled.store_delay.max() + (compiled.code_size.sum() + state) / compiled.store_bandwidth.min()
        before = 0 if compiled.current is None else int(compiled.current.sum(axis=1).max())
        spawn = 2 * max(before, int(compiled.max_replicas.max())) * compiled.spawn_time.max()
        return float(compiled.synchronisation_time + transfers + state / compiled.local_bandwidth + spawn)

    def zero_because(self, problem: Any) -> str:
        """Nothing is reconfigured, or all of it takes no time."""
        if problem.current is None:
            return "`current` is not given, and an initial placement has no downtime"
        store, nodes = problem.network.store, problem.network.nodes
        delays = (store.delay if node.store_delay is None else node.store_delay for node in nodes)
        carriers = [carrier for carrier in self.carriers(problem) if carrier.size]
        timed = any(carrier.rate for carrier in carriers) or any(delays) or any(node.spawn_time for node in nodes)
        if timed or problem.synchronisation_time:
            return ""
        missing = list(dict.fromkeys(carrier.rate_place for carrier in carriers))
        if missing:
            return f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} not given, so that what moves takes no time"
        return "no operator has a state_size, and synchronisation_time, network.store.delay and spawn_time of nodes are 0"

    def moving_for_nothing(self, problem: Any) -> Iterator[Fault]:
        """Yield a fault for state that moves in no time although it is given, or at a rate that looks like another unit's."""
        state, *_ = carriers = list(self.carriers(problem))
        if problem.current is None or not state.size:
            return
        if not any(carrier.rate for carrier in carriers if carrier.size_place == state.size_place):
            why = f"has no effect: {state.rate_place} is not given, so that state moves in no time"
            yield Fault(state.size_place, f"{state.size:g}", why)
        elif state.rate is not None:
            yield from odd_transfer(state.size, state.size_place, state.rate, state.rate_place)

    def operator_downtime(self, problem: Reconfiguration, deployment: Deployment, operator: str) -> float:
        """EDRP, eq. 25 (with its two cases the right way round) or, for Storm, eq. 33; in seconds."""
        if problem.current is None:
            return 0.0
        before, after = problem.current.replicas(operator), deployment.replicas(operator)
        if problem.reconfiguration == "storm":
            return self._storm(problem, deployment, operator, before, after)
        if before == after:
            return 0.0
        state = problem.application.by_name[operator].state_size
        pairs = [(u, v) for u in before for v in after if u != v]
        # Eq. 26; with no such pair everything stays on one node and only the synchronisation counts.
        return problem.synchronisation_time + max(
            (pair_phases(problem, operator, state, u, v, before, after).seconds for u, v in pairs), default=0.0
        )

    def _storm(
        self, problem: Reconfiguration, deployment: Deployment, operator: str, before: Counter[str], after: Counter[str]
    ) -> float:
        assert problem.current is not None
        changed = any(problem.current.replicas(name) != deployment.replicas(name) for name in deployment)
        if not changed:
            return 0.0
        restart = problem.synchronisation_time + max(_storm_restart(problem, operator, u, before) for u in before)
        if before == after:
            return restart
        pairs = [(u, v) for u in before for v in after if u != v]
        moved = max((_storm_pair_time(problem, operator, u, v, before, after) for u, v in pairs), default=0.0)
        return max(restart, problem.synchronisation_time + moved)


def transfer_time(problem: Reconfiguration, node: str, size: float) -> float:
    """EDRP, eqs. 28–30: round trip to the store plus `size` bytes at its rate, in seconds."""
    store, described = problem.network.store, problem.network.by_name[node]
    delay = store.delay if described.store_delay is None else described.store_delay
    bandwidth = store.bandwidth if described.store_bandwidth is None else described.store_bandwidth
    return 2 * delay + (size / bandwidth if bandwidth else 0.0)


class PairPhases(NamedTuple):
    """Seconds that state on one node takes to replicas on another: into the store (or the code out of it), out of it, start."""

    store: float
    fetch: float
    spawn: float

    @property
    def seconds(self) -> float:
        """All phases, one after the other."""
        return self.store + self.fetch + self.spawn


def pair_phases(
    problem: Reconfiguration, operator: str, state: float, u: str, v: str, before: Counter[str], after: Counter[str]
) -> PairPhases:
    """EDRP, eqs. 27, 31, 32: the phases between a node `u` before and a node `v` after."""
    old, new = before.total(), after.total()
    leaving, arriving = max(before[u] - after[u], 0), max(after[v] - before[v], 0)
    uploaded, downloaded = state * leaving / old, state * arriving / new
    if new > old:
        uploaded += state * before[u] * (new - old) / (old * new)
    if new < old:
        downloaded += state * min(before[v], after[v]) * (old - new) / (old * new)
    code = transfer_time(problem, v, problem.application.by_name[operator].code_size) if before[v] == 0 else 0.0
    spawn = problem.network.by_name[v].spawn_time if after[v] > before[v] else 0.0
    return PairPhases(max(code, transfer_time(problem, u, uploaded)), transfer_time(problem, v, downloaded), spawn)


def _storm_pair_time(problem: Reconfiguration, operator: str, u: str, v: str, before: Counter[str], after: Counter[str]) -> float:
    """EDRP, eqs. 35–38: the phases follow one another, and code is the whole topology's."""
    assert problem.current is not None
    state = problem.application.by_name[operator].state_size
    occupied = {node for name in problem.current for node in problem.current[name]}
    code = 0.0
    if v not in occupied:
        code = transfer_time(problem, v, sum(o.code_size for o in problem.application.operators))
    upload = transfer_time(problem, u, state * before[u] / before.total())
    download = transfer_time(problem, v, state * after[v] / after.total())
    return code + upload + download + after[v] * problem.network.by_name[v].spawn_time


def _storm_restart(problem: Reconfiguration, operator: str, u: str, before: Counter[str]) -> float:
    """EDRP, eq. 40: state to the local disk and back, then the replicas start again."""
    state = problem.application.by_name[operator].state_size * before[u] / before.total()
    local = problem.network.store.local_bandwidth
    return (2 * state / local if local else 0.0) + before[u] * problem.network.by_name[u].spawn_time
