"""Admission of tasks on free resources, and the resources that they hold until they end."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from edrp.core.budget import look, now, spend, units_left
from edrp.heuristics.mapping.map_rules import Rules
from edrp.heuristics.mapping.methods import Flood, FoundMap
from edrp.mapping.bimodal_scenario import BimodalScenario, admission_network
from edrp.mapping.mapping_arrays import CostName, MappingArrays, TaskArrays, network_arrays, path_map
from edrp.mapping.path_mapping import shortage
from edrp.mapping.path_tasks import PathMap
from edrp.validation.simulation.mapping.running_tasks import Hops

ADMITTED = 5e-4
"""Units of work per task that arrives, besides its messages."""


class Admission(NamedTuple):
    """The answer to a task that arrives.

    Attributes
    ----------
    map, hops : where it runs and what its hops hold; None where it is refused.
    short : what was short; None where it is admitted.
    messages : maps sent between servers.
    """

    map: PathMap | None
    hops: Hops | None
    short: str | None
    messages: int


class Admissions:
    """Maps tasks on free capacities and rates, and keeps track of them."""

    def __init__(
        self,
        scenario: BimodalScenario,
        cost: CostName,
        max_empty_hops: int,
        *,
        split_by_hops: bool = False,
        message_delays: bool = True,
    ) -> None:
        self._scenario, self._cost, self._max_empty_hops = scenario, cost, max_empty_hops
        network = admission_network(scenario)
        self.network = network_arrays(network)
        if not message_delays:
            self.network.delay[:] = self.network.access_delay[:] = 0.0
        self._index = {name: position for position, name in enumerate(self.network.names)}
        arcs = zip(self.network.source.tolist(), self.network.target.tolist(), strict=True)
        self._arcs = {arc: number for number, arc in enumerate(arcs)}
        self._hosts = {
            service.name: np.array([node.hosts(service.name) for node in network.nodes]) for service in scenario.services
        }
        self._public = bool((self.network.uplink > 0).any())
        total = scenario.empty_hops == "total"
        rules = Rules(max_empty_hops=max_empty_hops, total_hops=total, cost=cost, split_by_hops=split_by_hops)
        self._flood = Flood(self.network, rules, public=self._public)
        self._held: dict[int, tuple[tuple[int, ...], TaskArrays]] = {}

    def admit(self, task: int) -> Admission:
        """Map a task and reserve the resources of the best map, or say what is short."""
        spend(ADMITTED)
        tables = self._tables(task)
        maps = self._flood.run(tables, until=now() + units_left())
        look("the maps of a task")
        messages = maps.messages["map"]
        if not maps:
            return Admission(None, None, "; ".join(shortage(self._problem(tables))), messages)
        best = maps[0]
        hops = self._hops(best, tables)
        self._held[task] = best.nodes, tables
        self._book(task, hops, -1.0)
        return Admission(path_map(self.network, best.nodes, best.routes, best.public), hops, None, messages)

    def release(self, task: int, hops: Hops) -> None:
        """Release the resources of a task, whose hops are as they are now."""
        self._book(task, hops, 1.0)
        del self._held[task]

    def _book(self, task: int, hops: Hops, sign: float) -> None:
        """Subtract the resources of a task from the free ones, or add them."""
        nodes, tables = self._held[task]
        np.add.at(self.network.capacity, np.array(nodes, np.int64), sign * tables.needs)
        public = (hops.links == 0) & (hops.source != hops.target)
        np.add.at(self.network.uplink, hops.source[public], sign * hops.rate[public])
        for hop in np.flatnonzero(hops.links):
            np.add.at(self.network.bandwidth, hops.arcs[hop, : hops.links[hop]], sign * hops.rate[hop])

    def _tables(self, task: int) -> TaskArrays:
        described = self._scenario.path_task(task)
        services = self._scenario.tasks[task].services
        return TaskArrays(
            source=self._index[described.source],
            delivery=self._index[described.delivery],
            needs=np.array(described.needs, float),
            bandwidths=np.array(described.hop_bandwidths, float),
            hosts=np.array([self._hosts[name] for name in services], np.bool_).reshape(len(services), len(self._index)),
        )

    def _problem(self, task: TaskArrays) -> MappingArrays:
        """Return the task on the free resources as a mapping problem."""
        hops, total = len(task.bandwidths), self._scenario.empty_hops == "total"
        return MappingArrays(
            network=self.network,
            task=task,
            max_empty_hops=self._max_empty_hops,
            total_hops=total,
            cumulative=True,
            public=self._public,
            public_cost=0.0,
            cost=self._cost,
            max_links=hops + self._max_empty_hops * (1 if total else hops),
        )

    def _hops(self, best: FoundMap, task: TaskArrays) -> Hops:
        routes = [() if public else route for route, public in zip(best.routes, best.public, strict=True)]
        arcs = np.zeros((len(routes), self._max_empty_hops + 1), np.int32)
        for hop, route in enumerate(routes):
            for position, arc in enumerate(pairwise(route)):
                arcs[hop, position] = self._arcs[arc]
        return Hops(
            source=np.array([route[0] for route in best.routes], np.int32),
            target=np.array([route[-1] for route in best.routes], np.int32),
            rate=task.bandwidths,
            links=np.array([max(0, len(route) - 1) for route in routes], np.int32),
            arcs=arcs,
        )
