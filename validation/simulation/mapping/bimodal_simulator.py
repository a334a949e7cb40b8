"""Simulates streams on a bi-modal network, from one event to the next (bi-modal networks, §6.1); choices among maps as methods.

Events are arrivals, ends, and re-allocations of links. Between two of them all that tasks hold stays as it is, and they flow
in one compiled pass (`stream_kernel.py`), flow interval by flow interval. Among events at one time, ends come
first, then arrivals, then re-allocations. Where nothing has ended, begun or moved since links were last allocated, another
allocation changes nothing, and is left out. As a method, a scenario is solved by a run in which every task is mapped by one
choice.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from math import ceil, inf
from typing import Annotated

import numpy as np
from pydantic import Field

from edrp.core import budget
from edrp.core.errors import Fault, InvalidInstanceError, OutOfTimeError
from edrp.core.methods import Method, Options
from edrp.core.solution import Answer
from edrp.heuristics.mapping.reallocation import reallocate
from edrp.mapping.bimodal_scenario import AllocationChanges, BimodalRun, BimodalScenario, TaskRecord, lost_revenue
from edrp.mapping.mapping_arrays import CostName, route_names
from edrp.validation.simulation.mapping.admission import Admissions
from edrp.validation.simulation.mapping.running_tasks import Running


def simulate(
    scenario: BimodalScenario,
    cost: CostName,
    seed: int,
    *,
    reallocation: bool = True,
    max_empty_hops: int | None = None,
    split_by_hops: bool = False,
    message_delays: bool = True,
    until: float = inf,
) -> BimodalRun:
    """Simulate one run, until the last task has ended.

    Parameters
    ----------
    cost
        Which map a task takes, of those that are found: the name of one of `edrp.mapping.mapping_arrays.COSTS`.
    seed
        Seed of everything random; not negative. The same seed gives the same run. The draws for a hop of a task depend on
        no other task, so that runs of one seed meet the same network.
    reallocation
        Whether links are re-allocated at the intervals of the scenario.
    max_empty_hops
        Most servers that a map passes without hosting a component; at most, and by default, as the scenario says.
    split_by_hops
        Whether partial maps that have passed different numbers of servers are compared apart.
    message_delays
        Whether maps between servers take the delays of links and of the public network. Otherwise they are handled in the
        order in which they are sent; then more of them come over the public network before others, and are kept.
    until
        When to give up, on the clock of limits (`edrp.core.budget.now`). It is looked at between events.

    Raises
    ------
    OutOfTimeError
        When `until` came first.
    """
    max_hops = scenario.max_empty_hops if max_empty_hops is None else min(max_empty_hops, scenario.max_empty_hops)
    admissions = Admissions(scenario, cost, max_hops, split_by_hops=split_by_hops, message_delays=message_delays)
    run = _SimulatedRun(scenario, admissions, seed, reallocation=reallocation)
    for task, described in enumerate(scenario.tasks):
        run.advance(described.arrival, until)
        run.admit(task)
    run.advance(inf, until)
    return run.document()


class _SimulatedRun:
    """State of a run under way."""

    def __init__(self, scenario: BimodalScenario, admissions: Admissions, seed: int, *, reallocation: bool) -> None:
        self._scenario, self._admissions = scenario, admissions
        self._running = Running(scenario, admissions.network, seed)
        self._records: list[TaskRecord] = []
        self._interval = scenario.reallocation_interval if reallocation else 0.0
        self._settled = True
        self._epoch = 0
        self._now = 0.0
        self._routes: dict[tuple[str, ...], int] = {}
        self._changes: list[tuple[float, int, int, int]] = []

    def advance(self, until: float, deadline: float) -> None:
        """Let tasks flow, end and change links until some time, or until none is left, unless the deadline comes first."""
        while not budget.passed(deadline):
            if not self._running.count:
                self._now = until
                return
            epoch = self._next_epoch()
            self._now, row = self._running.flow(self._now, min(until, epoch))
            if row >= 0:
                self._end(row)
            elif self._now == until:
                return
            elif self._now == epoch:
                self._reallocate()
        raise OutOfTimeError("the limit came before the end of the run")

    def admit(self, task: int) -> None:
        """Admit or refuse a task that arrives."""
        admission = self._admissions.admit(task)
        decision = admission.map
        if decision is None or admission.hops is None:
            refused = TaskRecord.model_construct(accepted=False, short=admission.short, messages=admission.messages)
            self._records.append(refused)
            return
        self._running.add(task, admission.hops, self._now)
        self._settled = False
        self._records.append(
            TaskRecord.model_construct(
                accepted=True,
                nodes=decision.nodes,
                routes=decision.routes,
                public=decision.public,
                start=self._now,
                messages=admission.messages,
            )
        )

    def document(self) -> BimodalRun:
        """Return the records of the run, once it is over."""
        time, task, hop, route = zip(*self._changes, strict=True) if self._changes else ((),) * 4
        return BimodalRun.model_construct(
            tasks=tuple(self._records),
            routes=tuple(self._routes),
            changes=AllocationChanges.model_construct(time=time, task=task, hop=hop, route=route),
        )

    def _next_epoch(self) -> float:
        """Return the next time at which links are re-allocated, a multiple of the interval; infinity for none."""
        if self._settled or not self._interval:
            return inf
        self._epoch = max(self._epoch, ceil(self._now / self._interval))
        return max(self._now, self._epoch * self._interval)

    def _end(self, row: int) -> None:
        """End a task that has delivered all its data."""
        hops = self._running.hops(row)
        task = int(self._running.task[row])
        self._admissions.release(task, hops)
        ended = self._running.remove(row, self._now)
        self._settled = False
        self._records[task] = self._records[task].model_copy(
            update={
                "finish": self._now,
                "delivered": self._scenario.delivered(task),
                "windows": ended.windows,
                "shortfall": ended.shortfall,
            }
        )

    def _reallocate(self) -> None:
        """Re-allocate links at all servers (Alg. 4)."""
        self._epoch += 1
        running, scenario = self._running, self._scenario
        links, arcs = running.links[: running.count].copy(), running.arcs[: running.count].copy()
        network = self._admissions.network
        moved = reallocate(network, running.flows(), scenario.reallocation_links, scenario.forwarding_price)
        self._settled = moved == 0
        if not moved:
            return
        for row, hop in np.argwhere(self._moved(links, arcs)).tolist():
            servers = route_names(network, running.arcs[row, hop, : running.links[row, hop]]) or ()
            route = self._routes.setdefault(servers, len(self._routes))
            self._changes.append((self._now, int(running.task[row]), hop, route))
            if not links[row, hop]:
                network.uplink[running.source[row, hop]] += running.rate[row, hop]
        running.share()

    def _moved(self, links: np.ndarray, arcs: np.ndarray) -> np.ndarray:
        """Find hops whose route has changed; entries behind the end of a route do not count."""
        running = self._running
        used = np.arange(arcs.shape[2]) < links[..., None]
        return (running.links[: running.count] != links) | ((running.arcs[: running.count] != arcs) & used).any(axis=2)


CHOICES: dict[CostName, str] = {
    "load-balance": "the printed choice: least load within 0.1, then most dedicated hops, then fewest public ones",
    "public-hops": "fewest hops over the public network, then least load",
    "public-hops-links": "fewest hops over the public network, then fewest links, then least load",
}
"""Costs by which a task takes one of its maps, and how they choose."""

SUFFIX = "-mapping"
"""Suffix that makes the name of a method from the name of its cost."""


@dataclass(frozen=True, slots=True)
class SimulationParameters:
    """Parameters of a run.

    Attributes
    ----------
    reallocation : whether links are re-allocated at the intervals of the scenario (Alg. 4).
    max_empty_hops : most servers that a map passes without hosting a component, at most and by default as the scenario says.
    split_by_hops : whether partial maps that have passed different numbers of servers are compared apart.
    message_delays : whether maps between servers take the delays of the network, or are handled in the order of sending.
    """

    reallocation: bool = True
    max_empty_hops: Annotated[int, Field(ge=0)] | None = None
    split_by_hops: bool = False
    message_delays: bool = True


class MappingChoice(Method):
    """A choice among maps, made for every task of a scenario by the simulator."""

    kinds = ("bimodal-scenario",)
    interpreted_first = True
    parameters = SimulationParameters

    def __init__(self, cost: CostName) -> None:
        self._cost = cost
        self.name = cost + SUFFIX
        self.summary = f"simulates a run; of its maps a task takes {CHOICES[cost]}"

    def run(self, problem: BimodalScenario, options: Options) -> Answer:
        """Simulate once, with `options.seed`; where time is up before the run ends, there is no solution."""
        parameters = self.read_parameters(options)
        hops, limit = parameters.max_empty_hops, problem.max_empty_hops
        if hops is not None and hops > limit:
            fault = Fault("max_empty_hops", str(hops), f"must be at most {limit}, the limit of the scenario")
            raise InvalidInstanceError([fault], f"parameters of method {self.name}")
        run = simulate(problem, self._cost, options.seed, until=options.started + options.limit, **asdict(parameters))
        size = {"messages": sum(record.messages for record in run.tasks), "reallocations": len(run.changes.time)}
        return Answer("feasible", "finished", decision=run, objective=lost_revenue(problem, run), size=size)


METHODS = tuple(MappingChoice(cost) for cost in CHOICES)
"""Methods that this module adds to the registry."""
