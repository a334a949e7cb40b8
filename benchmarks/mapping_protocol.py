"""The mapping protocol under many orders of delivery, and in races of concurrent tasks; run from anywhere after `make test`.

    python benchmarks/mapping_protocol.py orders                    # 100 orders of 40 instances: a minute
    python benchmarks/mapping_protocol.py orders --pruning annealed --instances 10
    python benchmarks/mapping_protocol.py races                     # 1,000 races of 2-5 tasks: half a minute

Half of the instances are networks with a power law of degrees (section 4.2), half are small random ones, mostly with the public
network. In each order every message takes a time of its own draw, so that messages overtake one another, and asking for a
specification takes time. The command fails if a mapping does not end exactly once, leaves a map without acknowledgement, or holds
what it should not.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from time import process_time
from typing import Annotated

import typer
from rich.console import Console

from edrp.datasets.families.mapping.power_law_networks import mapping_problem
from edrp.mapping.costs import objective
from edrp.mapping.path_tasks import PathTask
from edrp.mapping.server_network import ServerNetwork
from edrp.validation.oracles.mapping.protocol_audit import audit
from edrp.validation.oracles.mapping.protocol_races import race, random_exchange
from edrp.validation.simulation.mapping.agents import Exchange, ProtocolResult, Rules

app = typer.Typer(add_completion=False, no_args_is_help=True, help=__doc__)
console = Console(width=130)

SERVERS, COMPONENTS = 20, 6
"""Size of the networks with a power law of degrees."""


@dataclass(frozen=True)
class Instance:
    """A task to map, and how."""

    network: ServerNetwork
    task: PathTask
    rules: Rules


def instances(count: int, pruning: str) -> list[Instance]:
    """In turn on a small network of any kind, and on one with a power law of degrees."""
    made = []
    for seed in range(count):
        if seed % 2:
            problem = mapping_problem(SERVERS, COMPONENTS, seed)
            made.append(Instance(problem.network, problem.task, Rules.of(problem, pruning=pruning, max_messages=20_000)))
        else:
            drawn = random_exchange(1000 + seed)
            task = drawn.results[0].specification.task
            rules = Rules(max_empty_hops=1, pruning=pruning, cost=drawn.rules.cost, max_messages=20_000)
            made.append(Instance(drawn.network, task, rules))
    return made


def mapped(instance: Instance, order: int) -> tuple[ProtocolResult, list[str]]:
    """One run, and what is wrong with it."""
    exchange = Exchange(instance.network, instance.rules, jitter=1.0, seed=order, ask_delay=0.001)
    task = exchange.submit(instance.task)
    exchange.run()
    return exchange.result(task), list(audit(exchange))


def best_objective(result: ProtocolResult) -> float:
    """Return the objective of the best map."""
    specification = result.specification
    return objective(specification.rules.cost, result.facts[0], specification.max_links)


@app.command()
def orders(
    instances_: Annotated[int, typer.Option("--instances")] = 40,
    orders_: Annotated[int, typer.Option("--orders")] = 100,
    pruning: str = "least-cost",
) -> None:
    """Map each instance with messages in many orders."""
    begin, total, faults = process_time(), Counter[str](), []
    worst = 1.0
    for number, instance in enumerate(instances(instances_, pruning)):
        objectives: list[float | None] = []
        for order in range(orders_):
            result, run_faults = mapped(instance, order)
            faults += [f"instance {number}, order {order}: {fault}" for fault in run_faults]
            total.update(result.messages)
            total["engaged again"] += sum(result.engagements.values()) - len(result.engagements)
            objectives.append(best_objective(result) if result.maps else None)
        values = [value for value in objectives if value is not None]
        total["runs"] += len(objectives)
        total["runs that find nothing where another order does"] += objectives.count(None) if values else 0
        total["instances whose objective depends on the order"] += max(values, default=0.0) > min(values, default=0.0) + 1e-9
        if values and min(values) > 0:
            worst = max(worst, max(values) / min(values))
    console.print(f"{instances_} instances × {orders_} orders, {pruning}, {process_time() - begin:.0f} s")
    for what, count in total.items():
        console.print(f"  {what}: {count}")
    console.print(f"  worst objective over the best of the same instance: {worst:.3f}")
    report(faults)


@app.command()
def races(count: Annotated[int, typer.Option("--races")] = 1000, first: Annotated[int, typer.Option("--seed")] = 0) -> None:
    """Race tasks for the same resources."""
    begin, total, faults = process_time(), Counter[str](), []
    for seed in range(first, first + count):
        outcome = race(seed)
        faults += [f"race {seed}: {fault}" for fault in outcome.faults]
        for name in ("tasks", "accepted", "rollbacks", "retried", "overtaken"):
            total[name] += getattr(outcome, name)
    console.print(
        f"{count} races, {process_time() - begin:.0f} s: {', '.join(f'{name} {amount}' for name, amount in total.items())}"
    )
    report(faults)


def report(faults: list[str]) -> None:
    """Print what is wrong; ends with 1 where anything is."""
    for fault in faults[:20]:
        console.print(f"[red]{fault}")
    console.print(f"faults: {len(faults)}")
    if faults:
        raise typer.Exit(1)


if __name__ == "__main__":
    app()
