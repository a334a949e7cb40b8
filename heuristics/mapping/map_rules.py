"""The specification by which servers map a task together: the task itself, limits, cost and pruning."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from edrp.core.methods import read_parameters
from edrp.core.tolerances import LIMIT_SLACK
from edrp.mapping.mapping_arrays import CostName
from edrp.mapping.path_tasks import PathTask

if TYPE_CHECKING:
    from edrp.mapping.path_mapping import MappingProblem

PruningName = Literal["least-cost", "annealed", "random", "none"]


@dataclass(frozen=True, slots=True)
class Rules:
    """Rules by which maps are limited, compared and pruned (bi-modal networks, sections 3.1, 4.1 and 4.3).

    Attributes
    ----------
    max_empty_hops, total_hops : servers that a map may pass without hosting a component, per hop or in total.
    cumulative : whether all uses of a link in one direction add up, or each must fit alone.
    cost, public_cost : one of `edrp.mapping.mapping_arrays.COSTS`, and the price of a hop over the public network.
    pruning : which maps a server sends on (section 4.1). "least-cost": those better than all before them with as many
        components mapped. "annealed": others too, with probability exp(-cooling (prefix + 1)). "random": all, to some of the
        neighbours, drawn at random. "none": all, which finds every map.
    split_by_hops : whether the tables of costs tell maps apart by the empty hops that they have used.
    cooling : parameter of "annealed".
    neighbours : parameter of "random": number of neighbours to which a map is sent.
    max_messages : map messages that a mapping may take; None for any number.
    """

    max_empty_hops: Annotated[int, Field(ge=0)] = 2
    total_hops: bool = False
    cumulative: bool = True
    cost: CostName = "additive"
    public_cost: Annotated[float, Field(ge=0)] = 0.0
    pruning: PruningName = "least-cost"
    split_by_hops: bool = False
    cooling: Annotated[float, Field(ge=0)] = 0.5
    neighbours: Annotated[int, Field(ge=1, le=64)] = 1
    max_messages: Annotated[int, Field(ge=1)] | None = None

    @classmethod
    def of(cls, problem: MappingProblem, **pruning: Any) -> Rules:
        """Read the limits and the cost of a problem, and add how to prune.

        Raises
        ------
        InvalidInstanceError
            Naming a value that cannot be, and what would be right.
        """
        read = {
            "max_empty_hops": problem.max_empty_hops,
            "total_hops": problem.empty_hops == "total",
            "cumulative": problem.bandwidth == "cumulative",
            "cost": problem.cost,
            "public_cost": problem.public_cost,
        }
        return read_parameters(cls, {**read, **pruning}, "protocol")

    def together(self, rates: Iterable[float]) -> float:
        """Return the rate that uses of one link by one task take of it: their sum, or the largest where each must fit alone."""
        return sum(rates, 0.0) if self.cumulative else max(rates, default=0.0)


def fits(needed: float, free: float, whole: float) -> bool:
    """Tell whether the free amount suffices, up to rounding of the whole."""
    return needed <= free + LIMIT_SLACK * whole


@dataclass(frozen=True)
class Specification:
    """The task and the rules by which it is mapped; travels with the first map between two servers.

    `seed` is the seed of all draws of servers.
    """

    task: PathTask
    rules: Rules
    seed: int = 0

    @cached_property
    def max_links(self) -> int:
        """Links that a map can use."""
        hops = len(self.task.components) + 1
        return hops + self.rules.max_empty_hops * (1 if self.rules.total_hops else hops)
