"""Storm's resource-aware scheduler as a method."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from edrp.core import budget
from edrp.core.arrays import Ints
from edrp.core.methods import Options
from edrp.core.solution import Answer
from edrp.heuristics.placement.filling import Filling, PlacementRule, least_stable
from edrp.heuristics.placement.resource_aware_order import TopologyComponents, by_connections, by_proximity
from edrp.heuristics.placement.resource_aware_search import ExecutorQueue
from edrp.placement.compiled import Compiled
from edrp.placement.problem import PlacementProblem

COMMON_RESOURCES = ("cpu", "memory", "resources")
"""Resources that every node has; a node ranks lower for any other that an executor does not ask for."""


@dataclass(frozen=True, slots=True)
class ResourceAwareParameters:
    """Parameters of Storm's resource-aware scheduler, with its defaults.

    Attributes
    ----------
    order : in which order executors are placed: by "connections" or by "proximity"
        (`topology.ras.order.executors.by.proximity.needs`).
    max_states : executors placed at most, counting those taken back (`topology.ras.constraint.max.state.search`).
    max_seconds : time for the search (`topology.ras.constraint.max.time.secs`).
    """

    order: Literal["connections", "proximity"] = "connections"
    max_states: Annotated[int, Field(ge=1)] = 10_000
    max_seconds: Annotated[float, Field(ge=0)] = 60.0


class ResourceAware(PlacementRule):
    """Storm's scheduler for topologies that say what they need (`GenericResourceAwareStrategy`, R-Storm's successor).

    Executors are placed one by one in the order of `by_connections` or `by_proximity`, each on the first node that has
    room for it. Racks, which here are zones, and within a rack its nodes, are ordered by how many executors of the
    topology they run, most first, then by what they have of all that is free in the cluster or rack: by the mean share
    over resources, and of the same mean by the least share. Where nothing has room, the executor before is taken back
    and goes to its next node, and so on, until all are placed, nothing is left to try, or `max_states` or
    `max_seconds` are used up. Like Storm, it refuses topologies of `max_states` executors and more.

    Differences from Storm, and decisions where it is not clear:

    * A node is one worker slot: no limit on a worker's heap, and all of a node's memory is for executors. There are no
      system components, and no ackers besides those that the topology lists.
    * Each stream is grouped by shuffle, as its rate is split evenly: by proximity, an executor takes its share of each
      child's executors. Components that Storm keeps in hash order are in the order of the document.
    * Nodes are ordered again for every executor; Storm does so where the component changes and after dead ends. That
      differs where one component fills several unequal nodes in a row.
    * The cluster runs nothing else, and all executors are placed, whatever runs now. Nodes without a zone share one.
    * Candidates and limits on utilisation, which Storm does not know, are respected; other rules of the problem are not, and
      where the placement breaks one, the answer is that there is none, with its name. Where some node has no limit of a
      resource, such nodes have a share of 1 of it, and others of 0.
    """

    name = "resource-aware"
    summary = "Storm's resource-aware scheduler: one executor after the other, nodes by rack and free resources"
    parameters = ResourceAwareParameters

    def run(self, problem: PlacementProblem, options: Options) -> Answer:
        """Search for as long as both the scheduler and the caller allow."""
        seconds = self.read_parameters(options).max_seconds
        limited = {**options.parameters, "max_seconds": min(seconds, options.remaining)}
        return super().run(problem, replace(options, parameters=limited))

    def fill(self, compiled: Compiled, parameters: ResourceAwareParameters) -> Filling:
        """Place all executors, or none."""
        executors = least_stable(compiled)
        filling, total = Filling.of(compiled), int(executors.sum())
        if total >= parameters.max_states:
            filling.notes.append(
                f"{total} executors cannot be placed in fewer than {parameters.max_states} states; raise max_states"
            )
            return filling
        nodes, rack = _ranked(compiled)
        turns = ExecutorQueue(
            order=_order(compiled, executors, parameters.order),
            demand=compiled.demand,
            capacity=compiled.capacity[nodes],
            candidate=np.ascontiguousarray(compiled.candidate[:, nodes]),
            rack=rack,
            rare=np.array([name not in COMMON_RESOURCES for name in compiled.resources], np.bool_),
        )
        ended = turns.place(parameters.max_states, budget.now() + parameters.max_seconds)
        if len(turns.nodes) == total:
            counts = np.zeros_like(filling.counts)
            np.add.at(counts, (turns.order, nodes[turns.nodes]), 1)
            return Filling.of(compiled, counts)
        why = f"{'there is nothing else to try' if ended else 'the search ended'} after {turns.states} states"
        name = compiled.operators[int(turns.order[turns.deepest])]
        filling.notes.append(f"at most {turns.deepest} of {total} executors find room, the next is of {name}; {why}")
        return filling


def _order(compiled: Compiled, executors: Ints, order: str) -> Ints:
    """List the operator of each executor in the order of placement."""
    index = {name: i for i, name in enumerate(compiled.operators)}
    described = [index[operator.name] for operator in compiled.problem.application.operators]
    position = np.argsort(described)
    components = TopologyComponents(
        [compiled.operators[i] for i in described],
        [int(executors[i]) for i in described],
        [(int(position[i]), int(position[j])) for i, j in zip(compiled.stream_source, compiled.stream_target, strict=True)],
    )
    turns = by_proximity(components) if order == "proximity" else by_connections(components)
    return np.array(described, np.int64)[turns]


def _ranked(compiled: Compiled) -> tuple[Ints, Ints]:
    """Nodes by name, and the number of each one's rack, racks by name: the order in which Storm settles ties."""
    zones: list[Any] = [compiled.problem.network.by_name[name].zone or "" for name in compiled.nodes]
    nodes = np.array(sorted(range(len(zones)), key=compiled.nodes.__getitem__), np.int64)
    _, rack = np.unique(np.array(zones, object)[nodes].astype(str), return_inverse=True)
    return nodes, rack.astype(np.int64)


METHODS = (ResourceAware(),)
"""Methods for problems of kinds `edrp` and `latency-aware`."""
