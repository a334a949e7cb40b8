"""Mapping: the compiled protocol, tasks mapped exactly, links shared among flows, and runs on bi-modal networks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from registry import BenchSpec, register
from specs.programs import program_phases

import edrp
from edrp.datasets.families.mapping.link_allocation import bimodal_flows
from edrp.datasets.families.mapping.platforms import bimodal_scenario, mapping_problem
from edrp.heuristics.mapping.map_rules import Rules
from edrp.heuristics.mapping.methods import Flood
from edrp.heuristics.mapping.reallocation import hold_what_fits, reallocate
from edrp.mapping.link_allocation import LinkAllocationProblem
from edrp.mapping.mapping_arrays import flow_arrays, network_arrays
from edrp.mapping.path_mapping import MappingProblem, mapping_arrays
from edrp.validation.simulation.mapping.bimodal_simulator import simulate


def on_both_networks(cost: Any) -> MappingProblem:
    """The first task of a trace, on 100 servers with 99 links and the public network."""
    scenario = bimodal_scenario(tasks=1, seed=1)
    return MappingProblem(network=scenario.network, task=scenario.path_task(0), cost=cost, max_empty_hops=1)


def compiled(problem: MappingProblem) -> Callable[[], object]:
    """LeastCostMap, on arrays that are there, as a simulator maps one task after another."""
    tables = mapping_arrays(problem)
    flood = Flood(tables.network, Rules(cost=tables.cost, max_empty_hops=tables.max_empty_hops))
    return partial(flood.run, tables.task)


SERVERS = {"30 servers": 30, "120 servers": 120, "1000 servers": 1000}
COSTS = {"links count": "public-hops-links", "load first": "load-balance"}
register(BenchSpec("mapping protocol", mapping_problem, SERVERS, {"solve": compiled}))
register(BenchSpec("mapping protocol on both networks", on_both_networks, COSTS, {"solve": compiled}))


def task(size: tuple[int, int]) -> MappingProblem:
    """By servers and components."""
    servers, components = size
    return mapping_problem(servers, components=components, seed=2)


def labelled(problem: MappingProblem) -> Callable[[], object]:
    """The whole solution, checked."""
    return partial(edrp.solve, problem, "label-setting")


SMALL = {"12 servers, 4 components": (12, 4), "30 servers, 6 components": (30, 6)}
LARGE = {"120 servers, 10 components": (120, 10), "1,000 servers": (1000, 10), "120 servers, 20 components": (120, 20)}
register(BenchSpec("walks program", task, SMALL, program_phases("walks", solve=True)))
register(BenchSpec("label setting", task, SMALL | LARGE, {"solve": labelled}))


def platform(size: tuple[int, int]) -> LinkAllocationProblem:
    """Flows on the paper's platform of 100 servers, by numbers of flows and links."""
    flows, links = size
    return bimodal_flows(flows, links=links)


def reallocated(problem: LinkAllocationProblem) -> Callable[[], object]:
    """Re-allocation where something changes, copies of what it changes included."""
    network = network_arrays(problem.network)
    flows = flow_arrays(problem, network)
    hold_what_fits(network, flows, problem)

    def run() -> object:
        free = replace(network, bandwidth=network.bandwidth.copy())
        held = replace(flows, links=flows.links.copy(), arcs=flows.arcs.copy())
        return reallocate(free, held, problem.max_links)

    return run


FLOWS = {"50 flows": (50, 99), "150 flows": (150, 99), "150 flows, 130 links": (150, 130)}
register(BenchSpec("paths program", platform, FLOWS, program_phases("paths", solve=True)))
register(BenchSpec("re-allocation", platform, FLOWS, {"solve": reallocated}))


def trace(tasks: int) -> Any:
    """A trace on the paper's platform with both networks, drawn every 10 ms."""
    return bimodal_scenario(tasks=tasks, seed=0)


def simulated(scenario: Any) -> Callable[[], object]:
    """A run; tasks are put in the words of the mapping problem once, modules are imported."""
    simulate(bimodal_scenario(servers=10, links=9, tasks=3), "public-hops", 0)
    scenario.path_task(0)
    return partial(simulate, scenario, "public-hops", 0)


register(BenchSpec("bi-modal simulation", trace, {"20 tasks": 20, "500 tasks": 500}, {"solve": simulated}))
