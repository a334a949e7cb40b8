"""The mapping protocol: all messages of one task as a compiled program, and by the agents that it stands for."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from registry import BenchSpec, register

from edrp.datasets.families.mapping.platforms import bimodal_scenario, mapping_problem
from edrp.heuristics.mapping.agents import Rules
from edrp.heuristics.mapping.agents.run_protocol import run_protocol
from edrp.heuristics.mapping.flood import Flood
from edrp.mapping.path_mapping import MappingProblem, mapping_arrays


def on_both_networks(cost: Any) -> MappingProblem:
    """The first task of a trace, on 100 servers with 99 links and the public network."""
    scenario = bimodal_scenario(tasks=1, seed=1)
    return MappingProblem(network=scenario.network, task=scenario.path_task(0), cost=cost, max_empty_hops=1)


def compiled(problem: MappingProblem) -> Callable[[], object]:
    """LeastCostMap, on arrays that are there, as a simulator maps one task after another."""
    tables = mapping_arrays(problem)
    flood = Flood(tables.network, Rules(cost=tables.cost, max_empty_hops=tables.max_empty_hops))
    return partial(flood.run, tables.task)


def agents(problem: MappingProblem) -> Callable[[], object]:
    """LeastCostMap by message passing, the reservation included."""
    return partial(run_protocol, problem)


SERVERS = {"30 servers": 30, "120 servers": 120, "1000 servers": 1000}
COSTS = {"links count": "public-hops-links", "load first": "load-balance"}
register(BenchSpec("mapping protocol", mapping_problem, SERVERS, {"solve": compiled}))
register(BenchSpec("mapping protocol on both networks", on_both_networks, COSTS, {"solve": compiled}))
register(BenchSpec("mapping protocol by agents", mapping_problem, {"30 servers": 30}, {"solve": agents}))
