"""Production topologies placed by searches and by schedulers: nodes in use next to the bound, traffic between nodes, seconds."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from rich.console import Console

from edrp.core.arrays import Floats
from edrp.core.errors import InvalidInstanceError
from edrp.core.instances import loads
from edrp.core.solve import solve
from edrp.core.tolerances import EQUAL_SHARES, LIMIT_SLACK
from edrp.datasets.placement.production import production_instances
from edrp.placement.compilation import compile_problem
from edrp.placement.compiled import Compiled
from edrp.placement.latency_aware import LatencyAwareProblem
from edrp.report.formatting import NONE
from edrp.report.progress import working
from edrp.report.statements import Statement, claim, print_statements
from edrp.report.tables import Table, print_tables

TIME_LIMIT = 0.5
"""Seconds for each method and topology."""

CONTENDERS: dict[str, tuple[str, dict[str, Any]]] = {
    "hill climbing": ("hill-climbing", {}),
    "iterated local search": ("iterated-local-search", {}),
    "resource-aware": ("resource-aware", {}),
    "by proximity": ("resource-aware", {"order": "proximity"}),
    "first fit": ("first-fit", {}),
    "largest node": ("largest-node", {}),
    "even": ("even", {}),
}
"""Methods of the registry with their parameters, by the names in the table."""

FIRST, RECOMMENDED, SCHEDULER = "hill climbing", "iterated local search", "resource-aware"
"""The method that answers first, the one we recommend, and the one to compare with."""


@dataclass(frozen=True, slots=True)
class ProductionPlacement:
    """The placement of a topology by a method; without nodes where it finds none, and then why."""

    nodes: int | None
    cut: float | None
    seconds: float
    why: str = ""


@dataclass(frozen=True, slots=True)
class TopologyRow:
    """A topology with its bounds, and the outcome of each contender; or why it is refused, and then nothing else.

    Attributes
    ----------
    instances, cyclic : executors, and whether its streams form cycles.
    bound, least : nodes in use and share of tuples between nodes, at least.
    compiling : seconds to make arrays of it, which the contenders' seconds contain.
    """

    name: str
    refused: str = ""
    instances: int = 0
    cyclic: bool = False
    bound: int = 0
    least: float = 0.0
    compiling: float = 0.0
    outcomes: dict[str, ProductionPlacement] | None = None


def run(
    console: Console, *, data: Path, time_limit: float = TIME_LIMIT, contenders: Sequence[str] = tuple(CONTENDERS)
) -> list[TopologyRow]:
    """Place all production topologies; print those that need several nodes, what was refused and why, and what holds.

    The rows hold all of them, those that fit on one node and those that are refused, too.
    """
    rows: list[TopologyRow] = []
    with working(console, "placing") as tell:
        for row in production_rows(data, time_limit=time_limit, contenders=contenders):
            tell(row.name)
            rows.append(row)
    print_tables(console, production_table(rows))
    for row in rows:
        if row.refused:
            console.print(f"{row.name} is refused: {row.refused}")
        for name, outcome in (row.outcomes or {}).items():
            if outcome.why:
                console.print(f"[dim]{row.name}: {name} holds nothing: {outcome.why}[/dim]")
    print_statements(console, production_statements(rows))
    return rows


def production_rows(
    data: Path, *, time_limit: float = TIME_LIMIT, contenders: Sequence[str] = tuple(CONTENDERS)
) -> Iterator[TopologyRow]:
    """One row per topology, as they come; what methods need is imported before anything is timed."""
    warm = True
    for name, text in production_instances(data, kind="latency-aware"):
        try:
            problem = loads(text, kind=LatencyAwareProblem)
        except InvalidInstanceError as error:
            yield TopologyRow(name, refused="; ".join(str(fault) for fault in error.faults))
            continue
        if warm:
            for contender in contenders:
                _outcome(problem, contender, time_limit)
        warm = False
        started = perf_counter()
        compiled = compile_problem(problem)
        yield TopologyRow(
            name=name,
            instances=int(compiled.max_replicas.sum()),
            cyclic=bool(problem.application.feedback),
            bound=min_nodes(compiled),
            least=min_cut(compiled),
            compiling=perf_counter() - started,
            outcomes={contender: _outcome(problem, contender, time_limit) for contender in contenders},
        )


def _outcome(problem: LatencyAwareProblem, contender: str, time_limit: float) -> ProductionPlacement:
    method, parameters = CONTENDERS[contender]
    started = perf_counter()
    solution = solve(problem, method, time_limit=time_limit, **parameters)
    seconds = perf_counter() - started
    if solution.deployment is None:
        return ProductionPlacement(None, None, seconds, "; ".join(solution.notes))
    used = {node for operator in solution.deployment for node in solution.deployment[operator]}
    return ProductionPlacement(len(used), solution.metrics["events"], seconds)


def production_table(rows: Sequence[TopologyRow]) -> Table:
    """Topologies that need several nodes: per contender the nodes in use and the share of tuples between nodes."""
    contenders = next((tuple(row.outcomes) for row in rows if row.outcomes), ())
    table_rows = []
    for row in several(rows):
        cells = [_cell(row, outcome) for outcome in (row.outcomes or {}).values()]
        table_rows.append((row.name.removeprefix("largeCluster"), str(row.instances), str(row.bound), *cells))
    note = "Nodes in use, and share of tuples between nodes in %; ∗ where nothing can do better; – where it holds nothing"
    columns = ("Topology", "Executors", "Bound", *contenders)
    return Table("Production topologies on several nodes", columns, tuple(table_rows), columns[1:], note=note)


def _cell(row: TopologyRow, outcome: ProductionPlacement) -> str:
    if outcome.nodes is None or outcome.cut is None:
        return NONE
    mark = "∗" if outcome.cut <= row.least + EQUAL_SHARES else ""
    return f"{outcome.nodes} {100 * outcome.cut:.1f}{mark}"


def several(rows: Sequence[TopologyRow]) -> list[TopologyRow]:
    """Topologies that the contenders place on several nodes."""
    placed = [(row, [o.nodes for o in (row.outcomes or {}).values() if o.nodes is not None]) for row in rows]
    return [row for row, nodes in placed if nodes and min(nodes) > 1]


def production_statements(rows: Sequence[TopologyRow]) -> list[Statement]:
    """The sentences that searches have to bear out on these topologies, judged."""
    placed = [row for row in rows if row.outcomes]
    if not placed or not {FIRST, RECOMMENDED, SCHEDULER} <= set(placed[0].outcomes or {}):
        return []
    compared = several(rows)
    return [*_answer_statements(placed), *([_less_cut(compared)] if compared else [])]


def _answer_statements(rows: Sequence[TopologyRow]) -> Iterator[Statement]:
    largest = max(rows, key=lambda row: row.instances)
    quick = _placement(largest, FIRST).seconds
    evidence = f"{quick:.3f} s for {largest.instances} executors, of which {largest.compiling:.3f} s to make arrays"
    yield claim("the largest topology has an answer in 0.1 s", quick <= 0.1, evidence)
    seconds = [_placement(row, FIRST).seconds for row in rows]
    placed = sum(_placement(row, name).nodes is not None for row in rows for name in (FIRST, RECOMMENDED))
    evidence = f"{sum(seconds):.2f} s for {len(rows)}, the slowest {max(seconds):.3f} s; {2 * len(rows) - placed} without answer"
    yield claim("all topologies have an answer in 5 s", sum(seconds) <= 5 and placed == 2 * len(rows), evidence)
    ratio = sorted((_placement(row, RECOMMENDED).nodes or np.inf) / row.bound for row in rows)
    share = ratio[math.ceil(0.9 * len(ratio)) - 1]
    yield claim("at most 1.05 times the fewest nodes, of nine in ten", share <= 1.05, f"{share:.3f}; at worst {ratio[-1]:.3f}")


def _less_cut(rows: Sequence[TopologyRow]) -> Statement:
    def cuts(name: str) -> Floats:
        known = (_placement(row, name).cut for row in rows)
        return np.array([1.0 if cut is None else cut for cut in known])

    own, other, least = cuts(RECOMMENDED), cuts(SCHEDULER), np.array([row.least for row in rows])
    below, above = (own < other - EQUAL_SHARES).sum(), (own > other + EQUAL_SHARES).sum()
    tight = ((own > other - EQUAL_SHARES) & (other <= least + EQUAL_SHARES)).sum()
    evidence = (
        f"below on {below} of {len(rows)}, the same on {len(rows) - below - above} (on {tight} of them nothing can be below), "
        f"above on {above}; on average {own.mean():.3f} against {other.mean():.3f}"
    )
    sentence = "less between nodes than the resource-aware scheduler, on nine in ten of those where it leaves any to gain"
    return claim(sentence, below >= 0.9 * (len(rows) - tight), evidence)


def _placement(row: TopologyRow, contender: str) -> ProductionPlacement:
    return (row.outcomes or {})[contender]


def min_nodes(compiled: Compiled) -> int:
    """A lower bound on the nodes in use, for operators whose number of replicas is fixed.

    The larger of two: for each resource, the number of largest nodes whose capacities add up to the total need; and the
    number of replicas that need more than half the capacity of the largest node, as no two of them share a node.
    """
    replicas = compiled.max_replicas
    bound = 1
    for demand, capacity in zip(compiled.demand.T, compiled.capacity.T, strict=True):
        needed = float(replicas @ demand) * (1 - LIMIT_SLACK)
        largest_first = np.cumsum(np.sort(capacity)[::-1])
        alone = replicas[2 * demand > capacity.max() * (1 + LIMIT_SLACK)].sum()
        bound = max(bound, int(np.searchsorted(largest_first, needed)) + 1, int(alone))
    return bound


def min_cut(compiled: Compiled) -> float:
    """A lower bound on the share of tuples that go from one node to another, for fixed numbers of replicas.

    Each sender of a stream shares its node with at most as many receivers as fit next to it on some node, and each
    receiver with at most as many senders; so that at least the rest of the stream's pairs are between nodes.
    """
    application = compiled.problem.application
    index = {name: i for i, name in enumerate(compiled.operators)}
    cut = total = 0.0
    for stream in application.streams:
        i, j = index[stream.source], index[stream.target]
        rate = application.rate(stream.source, stream.target)
        senders, receivers = int(compiled.max_replicas[i]), int(compiled.max_replicas[j])
        together = min(senders * _max_next_to(compiled, i, j), receivers * _max_next_to(compiled, j, i))
        cut += rate * (1 - min(1.0, together / (senders * receivers)))
        total += rate
    return cut / total if total else 0.0


def _max_next_to(compiled: Compiled, i: int, j: int) -> int:
    """Maximum replicas of operator j that fit on a node next to one of operator i; where i is j, that one included."""
    nodes = compiled.candidate[i] & compiled.candidate[j]
    free: Floats = compiled.capacity[nodes] * (1 + LIMIT_SLACK) - compiled.demand[i] * (i != j)
    free = free[(free >= 0).all(axis=1)]
    needed = compiled.demand[j] > 0
    limit = int(compiled.max_replicas[j])
    if not free.size:
        return 0
    return int(np.minimum(free[:, needed] / compiled.demand[j, needed], limit).min(axis=1, initial=limit).max())
