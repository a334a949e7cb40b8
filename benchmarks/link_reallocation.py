"""How far the greedy re-allocation of links is from the optimum, and in what time each is found.

    python benchmarks/link_reallocation.py                # a minute and a half
    python benchmarks/link_reallocation.py --links 130    # another number of links on the platform of 100 servers

States: small random problems, flows drawn on the paper's platform, and moments of simulated runs, with links as admitted and
with links re-allocated every ten seconds. Compliance is the share of the revenue that is earned. The optimum decides at once
about all routes and all rates on the public network; "its routes" are its routes with the public network shared in proportion,
which is what the simulator does; "free" need not leave a dedicated route to a flow that has one.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from time import perf_counter
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from edrp.core.methods import Options
from edrp.datasets.families.mapping.link_allocation import bimodal_flows, random_link_allocation_problem
from edrp.datasets.families.mapping.platforms import bimodal_scenario
from edrp.formulations.mapping.link_allocation import formulate_link_allocation
from edrp.formulations.methods import solve_formulation
from edrp.heuristics.mapping.reallocation import GreedyReallocation, hold_what_fits, reallocate
from edrp.mapping.link_allocation import FlowAllocation, LinkAllocationProblem
from edrp.mapping.mapping_arrays import flow_arrays, network_arrays
from edrp.validation.simulation.mapping.bimodal_simulator import simulate
from edrp.validation.simulation.mapping.link_states import links_at

MAX_SECONDS = 20.0
"""Time limit for the proof of a state."""

REPEATS = 5
PRICES = (0.5e-6, 2e-6)
"""Money per byte, drawn for each task of a simulated run."""

console = Console(width=130)


@dataclass(frozen=True, slots=True)
class Measured:
    """One state: compliance of several decisions, seconds of the rule, of the program, and of the program through CVXPY."""

    flows: int
    compliance: dict[str, float]
    proven: bool
    kernel: float
    highs: float
    cvxpy: float


def small(count: int) -> Iterator[LinkAllocationProblem]:
    """Random problems in which what flows hold keeps to all limits; forwarding is free, as compliance knows no other costs."""
    drawn = (random_link_allocation_problem(seed).replace(forwarding_price=0.0) for seed in range(1000, 1000 + 2 * count))
    usable = [
        problem for problem in drawn if problem.evaluate(problem.current).feasible and any(flow.price for flow in problem.flows)
    ]
    yield from usable[:count]


def drawn(count: int, links: int) -> Iterator[LinkAllocationProblem]:
    """Flows on platforms of their own."""
    for seed in range(count):
        yield bimodal_flows(links=links, seed=seed)


def simulated(count: int, links: int, reallocation: bool) -> Iterator[LinkAllocationProblem]:
    """Moments of runs on several platforms, five of each, with a price for every task."""
    for seed in range(-(-count // 5)):
        random = np.random.default_rng(seed)
        scenario = bimodal_scenario(links=links, tasks=150, seed=seed, flow="expected")
        tasks = tuple(task.replace(price=float(random.uniform(*PRICES))) for task in scenario.tasks)
        run = simulate(scenario.replace(tasks=tasks), "public-hops", seed, reallocation=reallocation)
        span = scenario.tasks[-1].arrival
        for time in np.sort(random.uniform(0.3 * span, span, 5)):
            state = links_at(scenario.replace(tasks=tasks), run, 10.0 * round(time / 10.0))
            if state is not None:
                yield state


def kernel_seconds(problem: LinkAllocationProblem) -> float:
    """Measure the compiled rule alone: the best of a few runs on the same state."""
    seconds = []
    for _ in range(REPEATS):
        network = network_arrays(problem.network)
        flows = flow_arrays(problem, network)
        hold_what_fits(network, flows, problem)
        start = perf_counter()
        reallocate(network, flows, problem.max_links, problem.forwarding_price)
        seconds.append(perf_counter() - start)
    return min(seconds)


def proven(problem: LinkAllocationProblem, start: tuple[FlowAllocation, ...], backend: str = "highs") -> tuple[Any, float]:
    """A solution of the program, and the seconds that it took."""
    began = perf_counter()
    solution = solve_formulation(formulate_link_allocation(problem), backend, start=start, time_limit=MAX_SECONDS)
    return solution, perf_counter() - began


def measured(problem: LinkAllocationProblem) -> Measured:
    """One state."""
    greedy = GreedyReallocation().run(problem, Options()).decision
    best, seconds = proven(problem, greedy)
    _, bridged = proven(problem, None, "cvxpy")
    free, _ = proven(problem.replace(keep=False), greedy)
    decisions = {
        "now": problem.current,
        "greedy": greedy,
        "its routes": problem.allocated({allocation.flow: allocation.route for allocation in best.allocations}),
        "optimum": best.allocations,
        "free": free.allocations,
    }
    compliance = {name: problem.evaluate(decision).metrics["compliance"] for name, decision in decisions.items()}
    return Measured(len(problem.flows), compliance, best.status == "optimal", kernel_seconds(problem), seconds, bridged)


def row(name: str, states: list[Measured]) -> list[str]:
    """Means of compliance, gaps in points, medians of times."""
    means = [f"{100 * np.mean([state.compliance[key] for state in states]):.2f}" for key in states[0].compliance]
    gaps = [100 * (state.compliance["optimum"] - state.compliance["greedy"]) for state in states]
    kernel, highs, bridged = (np.median([getattr(state, key) for state in states]) for key in ("kernel", "highs", "cvxpy"))
    flows = f"{np.mean([state.flows for state in states]):.0f}"
    times = [f"{1e6 * kernel:.0f} µs", f"{1e3 * highs:.0f} ms", f"{1e3 * bridged:.0f} ms"]
    solved = f"{sum(state.proven for state in states)}/{len(states)}"
    return [name, solved, flows, *means, f"{np.mean(gaps):.2f}", f"{max(gaps):.2f}", *times]


def main(
    links: Annotated[int, typer.Option(help="Links of the platforms of 100 servers.")] = 99,
    count: Annotated[int, typer.Option(help="States of each kind.")] = 30,
) -> None:
    """Sample, decide both ways, compare."""
    measured(random_link_allocation_problem(0))  # compiles, imports
    groups = {
        "random": small(count),
        "drawn": drawn(count, links),
        "simulated, as admitted": simulated(count, links, False),
        "simulated, re-allocated": simulated(count, links, True),
    }
    heads = ("states", "proven", "flows", "now", "greedy", "its routes", "optimum", "free")
    table = Table(*heads, "gap", "worst", "rule", "program", "by CVXPY", title=f"compliance in percent, {links} links")
    missed = 0
    for name, problems in groups.items():
        states = [measured(problem) for problem in problems]
        missed += sum(not state.proven for state in states)
        table.add_row(*row(name, states))
    console.print(table)
    console.print("gap: of the rule to the optimum in points, in the mean and at most; times are medians")
    sys.exit(missed > 0)


if __name__ == "__main__":
    typer.run(main)
