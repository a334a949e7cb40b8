"""Storm's even scheduling: executors dealt to worker slots in turn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from edrp.heuristics.placement.filling import Filling, PlacementRule, dealt, least_stable
from edrp.placement.compiled import Compiled


@dataclass(frozen=True, slots=True)
class EvenParameters:
    """How Storm is set up.

    Attributes
    ----------
    workers : number of worker slots that the application asked for (`topology.workers`); None for one on every node.
    skip_full : whether a node without room for another replica is passed over; Storm's scheduler does not look.
    """

    workers: Annotated[int, Field(ge=1)] | None = None
    skip_full: bool = False


class Even(PlacementRule):
    """The scheduler that Storm uses unless told otherwise (`org.apache.storm.scheduler.EvenScheduler`).

    Storm sorts free slots by port within each node, nodes by name and then by their number of free slots, and
    interleaves the nodes, so that the first slot of every node comes before the second of any. It uses as many slots
    as the application has workers, and executor k, counted along the names of the operators, goes to slot k modulo
    that number. Here every node offers one slot, so that slots are nodes by name, and each operator has as many
    executors as keep it stable; what runs now plays no part, as when Storm rebalances an application.

    Candidates, which Storm does not know, are respected: a node that may not run the operator is passed over, and the
    deal goes on behind the node that was served last. Resources are ignored, as in Storm, so that the answer may be
    that there is none, with what the deal breaks; with `skip_full` full nodes are passed over too.
    """

    name = "even"
    summary = "Storm's even scheduler: replicas dealt to the nodes in turn, whatever room they have"
    parameters = EvenParameters

    def fill(self, compiled: Compiled, parameters: Any) -> Filling:
        """Deal operator by operator, by name."""
        filling, replicas = Filling.of(compiled), least_stable(compiled)
        slots = np.array(_by_name(compiled.nodes)[: parameters.workers])
        position = 0
        for operator in _by_name(compiled.operators):
            wanted = int(replicas[operator])
            turn = np.roll(np.arange(slots.size), -position)
            turn = turn[compiled.candidate[operator, slots[turn]]]
            room = filling.room(operator, slots[turn]) if parameters.skip_full else np.full(turn.size, wanted)
            shares = dealt(np.zeros(turn.size, np.int64), room, wanted)
            filling.add(operator, slots[turn], shares, wanted)
            if shares.any():
                position = int(turn[np.flatnonzero(shares == shares.max())[-1]]) + 1
        return filling


def _by_name(names: tuple[str, ...]) -> list[int]:
    return sorted(range(len(names)), key=names.__getitem__)
