"""Snapshots of enactment, sampled from simulated runs: proven optima, their times, and the distance of policies from them.

    python benchmarks/enactment_snapshots.py                 # 200 states of five policies on four patterns: a minute
    python benchmarks/enactment_snapshots.py --billing 3600  # under another billing time unit (BTU)

The policy's hosts exceed those of the optimum for two reasons, shown apart: they hold their own instances less tightly than
could be (packing), and there are more instances than the load of the moment and eq. 1 call for (counts). Times are of one core
(processor seconds), from the problem to the checked answer.
"""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import dataclass, field
from time import process_time
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from edrp.datasets.enactment.manufacturing import PATTERNS, manufacturing_application, manufacturing_scenario
from edrp.enactment.containers import ContainerApplication, Host
from edrp.enactment.scenario import EnactmentScenario
from edrp.enactment.snapshot import EnactmentProblem
from edrp.enactment.state import EnactmentState
from edrp.formulations.enactment.compositions import area_bound
from edrp.formulations.enactment.snapshot import formulate_enactment
from edrp.formulations.methods import solve_formulation
from edrp.heuristics.enactment import POLICIES
from edrp.validation.simulation.enactment.simulator import simulate

MAX_SECONDS = 60.0
"""Seconds after which the proof of a snapshot is given up."""

console = Console(width=120)


@dataclass
class Watched:
    """A policy whose observations are kept."""

    policy: Any
    states: list[EnactmentState] = field(default_factory=list)

    @property
    def name(self) -> str:
        return str(self.policy.name)

    def observe(self, state: EnactmentState) -> tuple[Any, ...]:
        self.states.append(state)
        return tuple(self.policy.observe(state))


@dataclass(frozen=True, slots=True)
class Measured:
    """One snapshot: seconds to its proof, and hosts of the policy, of its own instances packed best, and of the optimum."""

    policy: str
    proven: bool
    seconds: float
    gap_of_area: float
    hosts: int
    packed: int
    optimal: int
    short: bool


def snapshot(scenario: EnactmentScenario, state: EnactmentState) -> EnactmentProblem:
    """The snapshot problem of a state: rates of the load at this time, and the waiting items."""
    step = min(int(state.time / scenario.load_step), len(scenario.load) - 1)
    hosts = [
        Host(name=name, type=host.type.name, instances=dict(Counter(host.instances) - Counter(host.leaving)))
        for name, host in state.hosts.items()
        if not host.releasing
    ]
    return EnactmentProblem(
        application=manufacturing_application(scenario.load[step]),
        host_types=scenario.host_types,
        queues={name: float(operator.queue) for name, operator in state.operators.items()},
        current=tuple(hosts),
    )


def fewest_hosts(problem: EnactmentProblem, counts: Counter[str]) -> int:
    """Hosts that hold exactly these instances."""
    exact = [
        {**operator.model_dump(), "min_instances": counts[operator.name], "max_instances": counts[operator.name]}
        for operator in problem.application.operators
    ]
    application = ContainerApplication(operators=exact, streams=problem.application.streams)
    packing = problem.replace(
        application=application, utilisation=None, weights={"free_resources": 0.0, "violations": 0.0}, current=()
    )
    solution = solve_formulation(formulation := formulate_enactment(packing), start=formulation.current)
    return len(solution.hosts)


def measured(policy: str, problem: EnactmentProblem) -> Measured:
    """One sampled state: its optimum, how long the proof took, and how far the policy's hosts are from it."""
    start = process_time()
    formulation = formulate_enactment(problem)
    solution = solve_formulation(formulation, start=formulation.current, time_limit=MAX_SECONDS)
    seconds = process_time() - start
    counts: Counter[str] = Counter()
    for host in problem.current:
        counts.update(host.instances)
    return Measured(
        policy,
        solution.status == "optimal",
        seconds,
        1 - area_bound(problem) / solution.objective,
        len(problem.current),
        fewest_hosts(problem, counts),
        len(solution.hosts),
        any(counts[name] < fewest for name, fewest in problem.minimum_instances.items()),
    )


def sampled(policies: list[str], count: int, billing: float, seed: int) -> list[Measured]:
    """As many states of each policy on each pattern, at rounds drawn evenly."""
    generator = np.random.default_rng(seed)
    each = -(-count // (len(policies) * len(PATTERNS)))
    found = []
    for name in policies:
        for pattern in PATTERNS:
            scenario = manufacturing_scenario(pattern, billing_time=billing, seed=seed)
            kind, parameters = POLICIES[name]
            given = {"peak": max(scenario.load)} if name == "static-peak" else {}
            watched = Watched(kind(parameters(**given)))
            simulate(scenario, watched, seed)
            drawn = sorted(generator.choice(np.arange(1, len(watched.states)), each, replace=False).tolist())
            found += [measured(name, snapshot(scenario, watched.states[index])) for index in drawn]
    return found


def shares(values: list[float]) -> str:
    """Mean, median, 90 % quantile and worst, in percent."""
    quarters = np.quantile(values, [0.5, 0.9, 1.0])
    return " / ".join(f"{100 * value:.0f}" for value in (np.mean(values), *quarters))


def main(
    count: Annotated[int, typer.Option(help="States in all.")] = 200,
    billing: Annotated[float, typer.Option(help="Billing time unit in seconds.")] = 600.0,
    seed: Annotated[int, typer.Option(help="Seed of the runs and of the sampled rounds.")] = 1,
) -> None:
    """Sample, prove, compare."""
    policies = list(POLICIES)
    solve_formulation(formulate_enactment(EnactmentProblem(**snapshot_of_nothing())))
    found = sampled(policies, count, billing, seed)
    seconds = np.array([result.seconds for result in found])
    proven = sum(result.proven for result in found)
    console.print(f"{len(found)} snapshots of {', '.join(policies)}: {proven} proven optimal")
    console.print(
        f"median {1000 * np.median(seconds):.0f} ms, 90 % below {1000 * np.quantile(seconds, 0.9):.0f} ms, "
        f"worst {1000 * seconds.max():.0f} ms; bound by area below the optimum by {shares([e.gap_of_area for e in found])} %"
    )
    table = Table("policy", "hosts", "optimal", "packing %", "counts %", "too few instances %")
    for name in policies:
        mine = [result for result in found if result.policy == name]
        packing = [(result.hosts - result.packed) / result.optimal for result in mine]
        counts = [(result.packed - result.optimal) / result.optimal for result in mine]
        hosts, optimal = (float(np.mean([getattr(result, key) for result in mine])) for key in ("hosts", "optimal"))
        short = 100 * float(np.mean([result.short for result in mine]))
        table.add_row(name, f"{hosts:.2f}", f"{optimal:.2f}", shares(packing), shares(counts), f"{short:.0f}")
    console.print(table)
    console.print("packing, counts: hosts beyond the optimum, in percent of its hosts: mean / median / 90 % / worst")
    sys.exit(proven < len(found))


def snapshot_of_nothing() -> dict[str, Any]:
    """A tiny problem that loads the solver before anything is timed."""
    operator = {"name": "work", "processing_duration": 1.0, "resources": {"cpu": 1}}
    return {
        "application": {"operators": [operator]},
        "host_types": [{"name": "host", "resources": {"cpu": 2}, "price": 1.0, "billing_time": 60.0}],
    }


if __name__ == "__main__":
    typer.run(main)
