"""Choices among maps as methods: a scenario is solved by a run in which every task is mapped by one choice."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from edrp.core.errors import Fault, InvalidInstanceError
from edrp.core.methods import Method, Options
from edrp.core.solution import Answer
from edrp.mapping.bimodal_metrics import lost_revenue
from edrp.mapping.bimodal_scenario import BimodalScenario
from edrp.mapping.costs import CostName
from edrp.validation.simulation.mapping.bimodal_simulator import simulate

CHOICES: dict[CostName, str] = {
    "load-balance": "the printed choice: least load within 0.1, then most dedicated hops, then fewest public ones",
    "public-hops": "fewest hops over the public network, then least load",
    "public-hops-links": "fewest hops over the public network, then fewest links, then least load",
}
"""Costs by which a task takes one of its maps, and how they choose."""

SUFFIX = "-mapping"
"""After the name of the cost in the name of its method."""


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
    """A choice among maps, made for every task of a scenario by the simulator.

    Examples
    --------
    >>> from edrp.datasets.families.mapping.platforms import bimodal_scenario
    >>> scenario = bimodal_scenario(servers=20, links=19, tasks=5)
    >>> run = MappingChoice("public-hops").run(scenario, Options(seed=1)).decision
    >>> scenario.evaluate(run).feasible
    True
    """

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
        _check_hops(parameters.max_empty_hops, problem, self.name)
        run = simulate(
            problem,
            self._cost,
            options.seed,
            reallocation=parameters.reallocation,
            max_empty_hops=parameters.max_empty_hops,
            split_by_hops=parameters.split_by_hops,
            message_delays=parameters.message_delays,
            until=math.inf if options.time_limit is None else options.started + options.time_limit,
        )
        if run is None:
            return Answer("none", "time_limit", notes=("the time limit came before the end of the run",))
        size = {"messages": sum(record.messages for record in run.tasks), "reallocations": len(run.changes.time)}
        return Answer("feasible", "finished", decision=run, objective=lost_revenue(problem, run), size=size)


def _check_hops(max_empty_hops: int | None, scenario: BimodalScenario, method: str) -> None:
    if max_empty_hops is not None and max_empty_hops > scenario.max_empty_hops:
        why = f"must be at most {scenario.max_empty_hops}, the limit of the scenario"
        raise InvalidInstanceError([Fault("max_empty_hops", str(max_empty_hops), why)], f"parameters of method {method}")


METHODS = tuple(MappingChoice(cost) for cost in CHOICES)
"""For the registry."""
