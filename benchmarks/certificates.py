"""How many proofs are certified and checked, and how large and how quick certificates are.

    python benchmarks/certificates.py run rows.jsonl                   # everything; goes on where it stopped
    python benchmarks/certificates.py run rows.jsonl --only ssm        # some sets: method, or kind and size as in "edrp 4"
    python benchmarks/certificates.py show rows.jsonl

Programs of every kind are solved by HiGHS: random instances of all families, at a small and at a middle size. Deployments on
clusters of equal nodes, of whose programs HiGHS proves few, are sets of their own ("edrp-clusters 4"). Algorithms with a format
of their own solve larger instances. Solving has a minute, certifying another one. Seconds are of processor time; checking
starts from the texts of the three files.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterator
from itertools import islice
from statistics import median
from time import process_time
from typing import Annotated, Any

import numpy as np
import typer
from common import PROVEN, Rows, add_row, read_rows, timed
from rich.console import Console
from rich.table import Table

import edrp
from edrp.core.certificates import with_certificate
from edrp.core.kinds import get_kind
from edrp.datasets.families.mapping.power_law_networks import mapping_problem
from edrp.datasets.families.placement.edrp import FAMILIES
from edrp.datasets.families.placement.geometric import geometric
from edrp.datasets.families.placement.latency_aware import FAMILIES as LATENCY_AWARE
from edrp.datasets.migration.skew import draw_state
from edrp.datasets.placement.debs2015 import debs2015
from edrp.datasets.random_numbers import rounded
from edrp.datasets.traces.trace import even_intervals
from edrp.migration.policy import MigrationPolicyProblem
from edrp.migration.single_step import MigrationProblem
from edrp.validation.oracles import checker

SECONDS = 60.0
SIZES = {
    "edrp": (4, 6),
    "edrp-clusters": (4, 6),
    "latency-aware": (4, 8),
    "migration": (16, 64),
    "enactment": (4, 8),
    "leasing": (4, 8),
    "mapping": (4, 8),
    "link-allocation": (6, 12),
    "rescale": (4, 8),
}
"""Small and middle size of each kind, in what its families count."""

PROGRAMS = 100
"""Instances of each kind and size."""

Instances = Iterator[tuple[str, Any]]
app = typer.Typer(add_completion=False, help=__doc__)


def programs(kind_name: str, size: int) -> Instances:
    """Instances that backends take, family by family."""
    kind = get_kind(kind_name.removesuffix("-clusters"))
    families = [f for f in kind.families if f.kind == kind.name and not f.packages and f.least_size <= size]
    families = [f for f in families if ("cluster" in f.name) == (kind_name != kind.name)]
    seed = 0
    while True:
        family = families[seed % len(families)]
        problem = family.make(size, np.random.default_rng([seed, size]))
        seed += 1
        if kind.refuse_formulation is None or kind.refuse_formulation(problem) is None:
            yield f"{family.name}-{seed}", problem


def migrations() -> Instances:
    """One migration of 64 to 1,024 tasks to up to 64 nodes, from half to one and a half times as many."""
    for seed in range(1000):
        random = np.random.default_rng([seed, 17])
        tasks = int(random.choice([64, 256, 1024]))
        nodes = int(random.integers(2, min(64, tasks // 4) + 1)) if seed % 2 else min(64, tasks // 4)
        work = np.exp(random.normal(0, 0.5, tasks))
        nodes_before = int(random.integers(nodes // 2 + 1, nodes + nodes // 2 + 2))
        before = even_intervals(work * random.uniform(0.5, 1.5, tasks), nodes_before)
        fields = rounded({"work": work, "state_size": draw_state(work, random), "intervals": before})
        tolerance = float(random.choice([0.2, 0.5, 1.2]))
        yield f"{tasks} tasks", MigrationProblem(**fields, nodes=nodes, tolerance=tolerance)


def policies() -> Instances:
    """Policies of 16 to 28 tasks on three to six nodes; up to some ten thousand partitions."""
    for seed in range(40):
        random = np.random.default_rng([seed, 18])
        tasks = int(random.choice([16, 20, 24, 28]))
        counts = list(range(3, int(random.integers(4, 7)) + 1))
        work = np.exp(random.normal(0, 0.3, tasks))
        fields = rounded({"work": work, "state_size": draw_state(work, random), "intervals": even_intervals(work, 3)})
        shares = [(random.multinomial(100, np.ones(len(counts)) / len(counts)) / 100).tolist() for _ in counts]
        process = {"node_counts": counts, "transitions": shares, "discount": float(random.choice([0.5, 0.8]))}
        problem = MigrationPolicyProblem(**fields, **process, nodes=counts[-1], tolerance=float(random.choice([0.3, 0.5, 0.7])))
        yield f"{tasks} tasks", problem


def placements() -> Instances:
    """The application of DEBS 2015 on 8 to 100 nodes, and random applications of ten operators."""
    for nodes, replicas in ((8, 2), (16, 3), (24, 4), (50, 4), (100, 4)):
        yield f"DEBS {nodes} nodes, k = {replicas}", debs2015(105.0, geometric(nodes, 1), max_replicas=replicas)
    for seed in range(180):
        family = FAMILIES[seed % len(FAMILIES)]
        problem = family.make(10, np.random.default_rng(seed))
        if family.name.split("-")[-1] == "geometric" and problem.weights.downtime == 0:
            yield "10 operators", problem


def maps() -> Instances:
    """Tasks of ten components on the paper's networks of 30 to 120 servers."""
    for seed in range(100):
        servers = (30, 60, 90, 120)[seed % 4]
        yield f"{servers} servers", mapping_problem(servers, 10, seed)


def latency_aware() -> Instances:
    """Topologies of 8, 16, 24 and 32 operators of all families without cycles."""
    families = [f for f in LATENCY_AWARE if not f.packages and not f.name.endswith("cyclic")]
    for seed in range(152):
        size = (8, 16, 24, 32)[seed // len(families) % 4]
        yield f"{size} operators", families[seed % len(families)].make(size, np.random.default_rng([seed, size]))


OWN: dict[str, Callable[[], Instances]] = {
    "ssm": migrations,
    "pmc": policies,
    "eliminate": placements,
    "label-setting": maps,
    "column-generation": latency_aware,
}
"""Instances by method, for methods whose certificates have formats of their own."""


def sets() -> dict[str, tuple[str, Instances]]:
    """Method and instances of every set."""
    by_program = {
        f"{kind} {size}": ("highs", islice(programs(kind, size), PROGRAMS)) for kind, sizes in SIZES.items() for size in sizes
    }
    return by_program | {name: (name, instances()) for name, instances in OWN.items()}


@app.command()
def run(
    rows: Rows,
    only: Annotated[list[str] | None, typer.Option(help="Sets, instead of all.")] = None,
    count: Annotated[int | None, typer.Option(help="Instances of each set at most.")] = None,
) -> None:
    """Solve, certify and check every instance."""
    done = {(row["set"], row["id"]) for row in read_rows(rows)}
    for name, (method, instances) in sets().items():
        for number, (what, problem) in enumerate(islice(instances, count) if not only or name in only else ()):
            if (name, number) not in done:
                add_row(rows, {"set": name, "id": number, "what": what, **measured(method, problem)})


def measured(method: str, problem: Any) -> dict[str, Any]:
    """Seconds and bytes of one instance, and what the checker says."""
    solution, seconds = timed(lambda: edrp.solve(problem, method, time_limit=SECONDS), process_time)
    row: dict[str, Any] = {"status": solution.status, "solve": seconds}
    if solution.status not in PROVEN:
        return row
    solution, row["certify"] = timed(lambda: with_certificate(problem, solution, SECONDS), process_time)
    if solution.certificate is None:
        return {**row, "said": f"not certified: {solution.notes[-1]}"}
    document, answer = checker.parse(problem.model_dump_json()), checker.parse(json.dumps(solution.to_document()))
    lines = solution.certificate.splitlines()
    try:
        said, row["check"] = timed(lambda: checker.check(document, answer, lines), process_time)
    except checker.Refused as error:
        return {**row, "said": f"not proven: {error}"}
    return {**row, "said": said, "bytes": len(solution.certificate)}


@app.command()
def show(rows: Rows) -> None:
    """Certified shares, bytes and seconds by set and size: median and most."""
    groups: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for row in read_rows(rows):
        groups[row["set"], row["what"] if row["set"] in OWN else ""].append(row)
    table = Table("set", "size", "instances", "proven", "checked", "the problem itself", "bytes", "s to certify", "s to check")
    for (name, size), found in groups.items():
        checked = [row for row in found if "bytes" in row]
        counts = len(found), sum(row["status"] in PROVEN for row in found), len(checked)
        itself = sum("program" not in row["said"] for row in checked)
        columns = [(field, [row[field] for row in checked]) for field in ("bytes", "certify", "check")]
        cells = [f"{median(values):.{0 if f == 'bytes' else 2}f}, {max(values):g}" for f, values in columns if values]
        table.add_row(name, size, *map(str, (*counts, itself)), *cells)
    Console(width=130).print(table)


if __name__ == "__main__":
    app()
