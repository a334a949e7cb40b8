"""Links shared among flows: the program formulated, handed over and solved by HiGHS, and the greedy rule, which is compiled."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from registry import BenchSpec, register
from specs.programs import program_phases

from edrp.datasets.families.mapping.link_allocation import bimodal_flows
from edrp.heuristics.mapping.reallocation import hold_what_fits, reallocate
from edrp.mapping.flow_arrays import flow_arrays
from edrp.mapping.link_allocation import LinkAllocationProblem
from edrp.mapping.mapping_arrays import network_arrays


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


def settled(problem: LinkAllocationProblem) -> Callable[[], object]:
    """Re-allocation where nothing is left to change."""
    network = network_arrays(problem.network)
    flows = flow_arrays(problem, network)
    hold_what_fits(network, flows, problem)
    while reallocate(network, flows, problem.max_links):
        pass
    return partial(reallocate, network, flows, problem.max_links)


SIZES = {"50 flows": (50, 99), "150 flows": (150, 99), "150 flows, 130 links": (150, 130)}
register(BenchSpec("paths program", platform, SIZES, program_phases("paths", solve=True)))
register(BenchSpec("re-allocation", platform, SIZES, {"solve": reallocated}))
register(BenchSpec("re-allocation without change", platform, SIZES, {"solve": settled}))
