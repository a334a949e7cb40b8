"""By how much time limits are missed: every kind and method on the largest instances, each run in a process of its own.

    python benchmarks/time_limits.py table                                    # everything: more than an hour
    python benchmarks/time_limits.py table --cold                             # the same with empty caches
    python benchmarks/time_limits.py table --kind edrp --method highs --limit 1 --instance 10000-nodes
    python benchmarks/time_limits.py table --kind mapping --json runs.jsonl   # every run as a line of JSON
    python benchmarks/time_limits.py show runs.jsonl

Kernels are warm: small instances are solved first, and a run during which something was compiled is repeated; or, with --cold,
the cache is empty and nothing was solved before. The clock begins when `edrp.solve` is called and ends when it has answered or
refused; the answer's explanation is part of it.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable, Iterable
from functools import partial
from operator import itemgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Annotated, Any

import typer
from common import add_row, read_rows
from rich.console import Console
from rich.table import Table

import edrp
from edrp.core.errors import EdrpError
from edrp.core.kinds import get_kind
from edrp.datasets.families.mapping.platforms import bimodal_scenario
from edrp.datasets.families.mapping.power_law_networks import mapping_problem
from edrp.datasets.families.migration.random_migration import random_migration, random_policy_problem, random_sequence
from edrp.datasets.families.placement.geometric import geometric
from edrp.datasets.families.placement.layered import layered
from edrp.datasets.families.registry import generate
from edrp.datasets.placement.debs2015 import debs2015
from edrp.datasets.placement.latency_aware_test_bed import random_problem
from edrp.placement.network import Network, Node

Make = Callable[[], Any]

GRACE = 1.0
"""Seconds that an answer may come late."""

PATIENCE = 60.0
"""Seconds beyond the limit after which a run is ended."""

ATTEMPTS = 3
"""Runs at most until one compiles nothing."""

ADDRESS_SPACE = 8 * 2**30
"""Bytes that a run may map."""

app = typer.Typer(add_completion=False, help=__doc__)
console = Console()


def drawn(kind: str, family: str, size: int) -> Any:
    """One instance of a family."""
    return next(iter(generate(kind, 1, 11, families=[family], size=size)))[1]


def families(kind: str, size: int, *names: str) -> dict[str, Make]:
    """Instances of some families by label."""
    return {f"{name}-{size}": partial(drawn, kind, name, size) for name in names}


def many_nodes(nodes: int, **fields: Any) -> edrp.EdrpProblem:
    """Ten operators on so many nodes, each of which knows its zone instead of a link to every other."""
    network = Network(
        nodes=tuple(Node(name=f"n{u}", resources=2.0, zone=f"z{u % 20}") for u in range(nodes)),
        within_zone={"delay": 0.001},
        between_zones={"delay": 0.02},
    )
    application = layered(10, 0).application
    free = tuple(operator.replace(candidates=None) for operator in application.operators)
    return layered(10, 0).replace(application=application.replace(operators=free), network=network, **fields)


def over_budget(problem: edrp.EdrpProblem, share: float) -> edrp.EdrpProblem:
    """The problem with limits on response time and cost that clash, which takes a search to find out."""
    limits = problem.limits
    return problem.replace(limits={"response_time": share * limits.response_time, "cost": share * limits.cost})


def crowded(problem: edrp.LatencyAwareProblem, share: float) -> edrp.LatencyAwareProblem:
    """The problem with so much of each node's resources, where replicas no longer fit."""
    offers = [{name: share * amount for name, amount in node.resources.items()} for node in problem.network.nodes]
    nodes = tuple(node.replace(resources=offer) for node, offer in zip(problem.network.nodes, offers, strict=True))
    return problem.replace(network=problem.network.replace(nodes=nodes))


INSTANCES: dict[str, dict[str, Make]] = {
    "edrp": {
        **families("edrp", 20, "diamond-zoo", "layered-caida", "replicated-geometric"),
        "layered-30": lambda: layered(30, 0, nodes=50),
        "debs-200": lambda: debs2015(215.0, network=geometric(200, 0), max_replicas=3),
        "10000-nodes": lambda: many_nodes(10_000),
        "infeasible": lambda: over_budget(layered(20, 0), 0.45),
        "infeasible-debs": lambda: over_budget(debs2015(215.0, network=geometric(50, 0), max_replicas=4), 0.6),
    },
    "latency-aware": {
        **families("latency-aware", 20, "continuum", "layered-zones", "replicated-barabasi"),
        "instances-80": lambda: random_problem(3, operations=41, load=0.7),
        "infeasible": lambda: crowded(random_problem(3, operations=41, load=0.7), 0.68),
    },
    "migration": {
        **families("migration", 128, "uniform", "zipf"),
        "tasks-1024": lambda: random_migration(0, tasks=1024, nodes=60),
        "infeasible": lambda: random_migration(0, tasks=512, nodes=60).replace(tolerance=0.0),
    },
    "migration-sequence": {
        **families("migration-sequence", 64, "uniform", "zipf"),
        "steps-10": lambda: random_sequence(0, tasks=64, nodes=(8, 16), steps=10, tolerance=0.5),
        "tasks-256": lambda: random_sequence(0, tasks=256, nodes=(8, 16), steps=6, tolerance=0.2),
        "infeasible": lambda: random_sequence(0, tasks=64, nodes=(8, 16), steps=10, tolerance=0.0),
    },
    "migration-policy": {
        **families("migration-policy", 64, "uniform", "zipf"),
        "counts-8-10": lambda: random_policy_problem(0, tasks=64, counts=(8, 9, 10), tolerance=0.2),
        "tasks-128": lambda: random_policy_problem(0, tasks=128, counts=(8, 9, 10), tolerance=0.2),
        "infeasible": lambda: random_policy_problem(0, tasks=64, counts=(8, 9, 10), tolerance=0.0),
    },
    "enactment": families("enactment", 16, "manufacturing", "containers-layered", "containers-replicated"),
    "leasing": families("leasing", 24, "manufacturing", "containers") | families("leasing", 96, "containers"),
    "enactment-scenario": families("enactment-scenario", 288, "manufacturing", "containers"),
    "mapping": {
        **families("mapping", 12, "tight", "platform", "busy-platform", "grid"),
        "components-40": lambda: mapping_problem(120, components=40, seed=3),
        "servers-1000": lambda: mapping_problem(1000, components=20, seed=1),
    },
    "link-allocation": families("link-allocation", 300, "platform", "degraded-platform", "mesh"),
    "bimodal-scenario": {
        **families("bimodal-scenario", 200, "platform", "unequal-tasks"),
        "tasks-2000": lambda: bimodal_scenario(tasks=2_000, rate=120.0),
    },
}
"""Instances of each kind by label, besides the one that the contract of methods calls large."""


def instances(kind: str) -> dict[str, Make]:
    """Every instance of a kind by label."""
    problems = get_kind(kind).check_problems
    contract: dict[str, Make] = {} if problems is None else {"contract": problems().large}
    return INSTANCES.get(kind, {}) | contract


@app.command(hidden=True)
def one(kind: str, instance: str, method: str, limits: list[float], cold: bool = False) -> None:
    """Solve a single instance here, once for each limit, and print what happened as lines of JSON."""
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    problems = get_kind(kind).check_problems
    assert problems is not None, f"kind {kind!r} has no check problems to warm up on"
    for small in [] if cold else list(problems().feasible().values())[:2]:
        attempt(small, method, None)
    problem = instances(kind)[instance]()
    compiled = [0] if cold else count_compilations()
    for limit in limits:
        before, begin = compiled[0], perf_counter()
        status, said = attempt(problem, method, limit)
        seconds = perf_counter() - begin
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        fields = {"status": status, "said": said, "over": seconds - limit, "GiB": peak, "compiled": compiled[0] - before}
        about = {"kind": kind, "instance": instance, "method": method, "limit": limit, "cold": cold}
        print(json.dumps(about | fields), flush=True)


def attempt(problem: Any, method: str, limit: float | None) -> tuple[str, str]:
    """Status of the answer, and the remark on it; a refusal with a reason is an answer."""
    try:
        solution = edrp.solve(problem, method, time_limit=limit)
    except EdrpError as error:
        return "refused", str(error)
    except MemoryError:
        return "out of memory", ""
    return f"{solution.status}, {solution.stopped_because}", "; ".join(solution.notes)


def count_compilations() -> list[int]:
    """A list whose only element counts Numba's compilations from now on."""
    from numba.core import event

    counter = [0]

    class Counter(event.Listener):
        def on_start(self, _event: Any) -> None:
            counter[0] += 1

        def on_end(self, _event: Any) -> None:
            pass

    event.register("numba:compile", Counter())
    return counter


def measured(kind: str, instance: str, method: str, limits: list[float], cold: bool) -> list[dict[str, Any]]:
    """Runs in a fresh process, again while kernels had to be compiled; with cold kernels a process for each limit."""
    if cold and len(limits) > 1:
        return [row for limit in limits for row in measured(kind, instance, method, [limit], cold)]
    words = [kind, instance, method, *map(str, limits), *(["--cold"] if cold else [])]
    rows: list[dict[str, Any]] = []
    for _ in range(ATTEMPTS):
        with TemporaryDirectory(prefix="edrp-cold-") as empty:
            environment = os.environ | ({"NUMBA_CACHE_DIR": empty} if cold else {})
            rows = rows_of([sys.executable, __file__, "one", *words], environment, sum(limits) + PATIENCE * (1 + len(limits)))
        for limit in limits[len(rows) :]:
            rows.append({"kind": kind, "instance": instance, "method": method, "limit": limit, "cold": cold, **LOST})
        if not any(row["compiled"] for row in rows):
            break
    return rows


LOST = {"status": "killed or failed", "said": "", "over": PATIENCE, "GiB": 0.0, "compiled": 0}
"""Row of a run that did not end by itself."""


def rows_of(command: list[str], environment: dict[str, str], patience: float) -> list[dict[str, Any]]:
    """The lines of JSON that a command prints until it ends or has to be ended."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        try:
            printed, _ = process.communicate(timeout=patience)
        except subprocess.TimeoutExpired:
            process.kill()
            printed, _ = process.communicate()
    return [json.loads(line) for line in printed.splitlines() if line.startswith("{")]


@app.command("table")
def overshoots(
    kind: Annotated[list[str] | None, typer.Option(help="only these kinds")] = None,
    method: Annotated[list[str] | None, typer.Option(help="only these methods")] = None,
    limit: Annotated[list[float] | None, typer.Option(help="seconds [default: 1, 2 and 5]")] = None,
    instance: Annotated[list[str] | None, typer.Option(help="only instances with these labels")] = None,
    cold: Annotated[bool, typer.Option("--cold", help="begin every run with an empty cache of kernels")] = False,
    lines: Annotated[Path | None, typer.Option("--json", help="file that every run is added to, as a line of JSON")] = None,
) -> None:
    """Run every combination and print the worst run of each kind and method."""
    rows = []
    for name in kind or INSTANCES:
        for chosen in [known for known in edrp.methods(name) if not method or known in method]:
            for label in [known for known in instances(name) if not instance or known in instance]:
                found = measured(name, label, chosen, limit or [1.0, 2.0, 5.0], cold)
                rows += found
                for row in found if lines is not None else ():
                    add_row(lines, row)
    print_rows(rows)


@app.command()
def show(lines: Path) -> None:
    """Print the table of runs that were written as lines of JSON."""
    print_rows(read_rows(lines))


def print_rows(rows: Iterable[dict[str, Any]]) -> None:
    """The worst run of each kind and method, and which are too late."""
    worst: dict[tuple[str, str], dict[str, Any]] = {}
    peak: dict[tuple[str, str], float] = {}
    for row in rows:
        key = row["kind"], row["method"]
        worst[key] = max(worst.get(key, row), row, key=itemgetter("over"))
        peak[key] = max(peak.get(key, 0.0), row["GiB"])
    table = Table("kind", "method", "over, s", "limit, s", "instance", "status", "peak, GiB")
    for key, row in worst.items():
        cells = (f"{row['over']:.2f}", f"{row['limit']:g}", row["instance"], row["status"], f"{peak[key]:.2f}")
        table.add_row(*key, *cells)
    console.print(table)
    late = [" ".join(key) for key, row in worst.items() if row["over"] > GRACE or row["status"] == LOST["status"]]
    console.print(f"{len(late)} of {len(worst)} end more than {GRACE:g} s late or not at all: {', '.join(late) or 'none'}")


if __name__ == "__main__":
    app()
