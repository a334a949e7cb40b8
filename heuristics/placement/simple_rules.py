"""Rules that give out replicas in one pass: first fit, the largest node, Storm's even scheduling."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from edrp.core.arrays import Ints
from edrp.heuristics.placement.filling import Filling, PlacementRule, even_shares, first_fit_shares, least_stable, node_choices
from edrp.heuristics.placement.search.deployment_engine import repaired
from edrp.placement.compiled import Compiled


@dataclass(frozen=True, slots=True)
class FirstFitParameters:
    """Parameters of first fit; `by` is the order of operators: by decreasing "load" (tuples/s) or by decreasing "demand".

    Demand is that of one replica, as a share of what the application needs of the resource; of several resources the
    largest share counts. Each of the two settles ties of the other; what still ties keeps its topological order.
    """

    by: Literal["load", "demand"] = "load"


class FirstFit(PlacementRule):
    """Operators by decreasing load, each replica on the first node of the document that has room.

    `greedy` fits too, but differs in all three choices: it takes operators in topological order, tries nodes by
    their delay from the operators before, and afterwards adds replicas where that pays. This rule looks at loads and
    room only, and gives each operator as few replicas as keep it stable. Where replicas find no node that way, it begins again
    with the operators that the fewest nodes have room for.
    """

    name = "first-fit"
    summary = "operators by decreasing load, each replica on the first node that has room"
    parameters = FirstFitParameters
    repair = staticmethod(repaired)

    def fill(self, compiled: Compiled, parameters: Any) -> Filling:
        """Place the busiest operator first."""
        replicas = least_stable(compiled)
        total = replicas @ compiled.demand
        demand = (compiled.demand[:, total > 0] / total[total > 0]).max(axis=1, initial=0.0)
        keys = (-demand, -compiled.load) if parameters.by == "load" else (-compiled.load, -demand)
        first = self._filled(compiled, np.lexsort(keys), replicas)
        if not first.notes:
            return first
        constrained = self._filled(compiled, np.lexsort((*keys, node_choices(compiled))), replicas)
        return first if constrained.notes else constrained

    @staticmethod
    def _filled(compiled: Compiled, order: Ints, replicas: Ints) -> Filling:
        """Place operators in an order."""
        filling = Filling.of(compiled)
        for operator in order.tolist():
            filling.add(operator, compiled.candidates(operator), int(replicas[operator]), first_fit_shares)
        return filling


class LargestNode(PlacementRule):
    """Use as few nodes as possible, the largest first, and as few replicas as keep operators stable.

    Nodes are tried by size: each replica goes to the largest of the operator's candidates that has room. A node is as large as
    the number of copies of the whole application that it can hold, infinitely large without limits; the scarcest of several
    resources counts. Among nodes of equal size the fastest is taken, and of those the first in the document.
    Operators with the fewest candidates are placed first, others in topological order. Delays, costs and what runs now
    play no part.
    """

    name = "largest-node"
    summary = "everything on the largest node, what finds no room there on the next"
    repair = staticmethod(repaired)

    def fill(self, compiled: Compiled, parameters: Any) -> Filling:
        """Place the operator with the fewest candidates first, on its largest node."""
        filling, replicas = Filling.of(compiled), least_stable(compiled)
        total = replicas @ compiled.demand
        sizes = (compiled.capacity[:, total > 0] / total[total > 0]).min(axis=1, initial=np.inf)
        order = np.lexsort((-compiled.speedup, -sizes))
        for operator in np.argsort(compiled.candidate.sum(axis=1), kind="stable").tolist():
            nodes, count = order[compiled.candidate[operator, order]], int(replicas[operator])
            filling.add(operator, nodes, count, first_fit_shares)
        return filling


@dataclass(frozen=True, slots=True)
class EvenParameters:
    """Parameters of Storm's even scheduler.

    Attributes
    ----------
    workers : number of worker slots that the application asked for (`topology.workers`); None for one on every node.
    skip_full : whether a node without room for another replica is passed over; Storm's scheduler does not look.
    """

    workers: Annotated[int, Field(ge=1)] | None = None
    skip_full: bool = False


class Even(PlacementRule):
    """Storm's default scheduler (`org.apache.storm.scheduler.EvenScheduler`).

    Storm sorts free slots by port within each node, nodes by name and then by their number of free slots, and
    interleaves the nodes, so that the first slot of every node comes before the second of any. It uses as many slots
    as the application has workers, and executor k, counted along the names of the operators, goes to slot k modulo
    that number. Here every node offers one slot, so that slots are nodes by name, and each operator has as many
    executors as keep it stable; what runs now plays no part, as when Storm rebalances an application.

    Candidates, which Storm does not know, are respected: a node that may not run the operator is passed over, and the
    deal goes on behind the node that was served last. Resources are ignored, as in Storm, and so are rules of the problem
    that do not narrow candidates, so that the answer may be that there is none, with what the deal breaks; with `skip_full`
    nodes are passed over too that are full, or to which a rule allows no further replica.
    """

    name = "even"
    summary = "Storm's even scheduler: replicas dealt to the nodes in turn, whatever room they have"
    parameters = EvenParameters

    def fill(self, compiled: Compiled, parameters: Any) -> Filling:
        """Deal out the replicas of each operator, operators by name."""
        filling, replicas = Filling.of(compiled), least_stable(compiled)
        slots, usable = np.array(_by_name(compiled.nodes)[: parameters.workers]), compiled.stable_nodes(replicas)
        position = 0
        for operator in _by_name(compiled.operators):
            count = int(replicas[operator])
            turn = np.roll(np.arange(slots.size), -position)
            turn = turn[usable[operator, slots[turn]]]
            filling.add(operator, slots[turn], count, partial(_in_turn, filling.counts[operator], slots[turn], parameters))
            shares = filling.counts[operator, slots[turn]]
            if shares.any():
                position = int(turn[np.flatnonzero(shares == shares.max())[-1]]) + 1
        return filling


def _in_turn(counts: Ints, nodes: Ints, parameters: EvenParameters, room: Ints, replicas: int) -> Ints:
    """Deal replicas to nodes in turn, to full ones too unless they are to be skipped."""
    return even_shares(counts[nodes], room if parameters.skip_full else np.full(nodes.size, replicas), replicas)


def _by_name(names: tuple[str, ...]) -> list[int]:
    return sorted(range(len(names)), key=names.__getitem__)


METHODS = (FirstFit(), LargestNode(), Even())
"""Methods for problems of kinds `edrp` and `latency-aware`."""
