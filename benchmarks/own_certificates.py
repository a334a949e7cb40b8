"""Certificates of our own algorithms: how large, how long to write, and how long an outsider takes to check them.

    python benchmarks/own_certificates.py run rows.jsonl                 # all formats; goes on where it stopped
    python benchmarks/own_certificates.py run rows.jsonl --only ssm --count 1000
    python benchmarks/own_certificates.py show rows.jsonl

Seconds are of processor time. Checking starts from the texts of the three files and runs in this process; it needs no package.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from pkgutil import resolve_name
from statistics import median
from time import process_time
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

import edrp
from edrp.certificates import checker
from edrp.certificates.certify import certificate_text
from edrp.core.budget import deadline, now
from edrp.core.certificates import NotCertifiedError
from edrp.core.errors import OutOfTimeError
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

SECONDS = 60.0
"""For writing and checking one certificate."""

WRITERS = {
    "column-generation": "edrp.certificates.column_generation:certify_column_generation",
    "ssm": "edrp.mdp.single_step.certificate:certify_ssm",
    "pmc": "edrp.mdp.policy.certificate:certify_pmc",
    "eliminate": "edrp.certificates.elimination:certify_eliminate",
    "label-setting": "edrp.certificates.mapping:certify_label_setting",
}

Instances = Iterator[tuple[str, Any]]
app = typer.Typer(add_completion=False, help=__doc__)
Rows = Annotated[Path, typer.Argument(help="JSON lines, one for each instance.")]


def migrations(count: int) -> Instances:
    """One migration of 64 to 1,024 tasks to up to 64 nodes, from half to one and a half times as many."""
    for seed in range(count):
        random = np.random.default_rng([seed, 17])
        tasks = int(random.choice([64, 256, 1024]))
        nodes = int(random.integers(2, min(64, tasks // 4) + 1)) if seed % 2 else min(64, tasks // 4)
        work = np.exp(random.normal(0, 0.5, tasks))
        nodes_before = int(random.integers(nodes // 2 + 1, nodes + nodes // 2 + 2))
        before = even_intervals(work * random.uniform(0.5, 1.5, tasks), nodes_before)
        fields = rounded({"work": work, "state_size": draw_state(work, random), "intervals": before})
        tolerance = float(random.choice([0.2, 0.5, 1.2]))
        yield f"{tasks} × {nodes}", MigrationProblem(**fields, nodes=nodes, tolerance=tolerance)


def policies(count: int) -> Instances:
    """Policies of 16 to 28 tasks on three to six nodes; up to some ten thousand partitions."""
    for seed in range(count):
        random = np.random.default_rng([seed, 18])
        tasks = int(random.choice([16, 20, 24, 28]))
        counts = list(range(3, int(random.integers(4, 7)) + 1))
        work = np.exp(random.normal(0, 0.3, tasks))
        fields = rounded({"work": work, "state_size": draw_state(work, random), "intervals": even_intervals(work, 3)})
        shares = [(random.multinomial(100, np.ones(len(counts)) / len(counts)) / 100).tolist() for _ in counts]
        process = {"node_counts": counts, "transitions": shares, "discount": float(random.choice([0.5, 0.8]))}
        problem = MigrationPolicyProblem(**fields, **process, nodes=counts[-1], tolerance=float(random.choice([0.3, 0.5, 0.7])))
        yield f"{tasks} tasks", problem


def placements(count: int) -> Instances:
    """The application of DEBS 2015 on 8 to 100 nodes, and random applications of ten operators."""
    for nodes, replicas in ((8, 2), (16, 3), (24, 4), (50, 4), (100, 4)):
        yield f"DEBS {nodes} nodes, k = {replicas}", debs2015(105.0, geometric(nodes, 1), max_replicas=replicas)
    for seed in range(count):
        family = FAMILIES[seed % len(FAMILIES)]
        problem = family.make(10, np.random.default_rng(seed))
        if family.name.split("-")[-1] == "geometric" and problem.weights.downtime == 0:
            yield f"{family.name} 10 operators", problem


def maps(count: int) -> Instances:
    """Tasks of ten components on the paper's networks of 30 to 120 servers."""
    for seed in range(count):
        servers = (30, 60, 90, 120)[seed % 4]
        yield f"{servers} servers", mapping_problem(servers, 10, seed)


def latency_aware(count: int) -> Instances:
    """Topologies of 8, 16, 24 and 32 operators of all families without cycles."""
    families = [f for f in LATENCY_AWARE if not f.packages and not f.name.endswith("cyclic")]
    for seed in range(count):
        family, size = families[seed % len(families)], (8, 16, 24, 32)[seed // len(families) % 4]
        yield f"{size} operators, {family.name}", family.make(size, np.random.default_rng([seed, size]))


FORMATS = {
    "ssm": migrations,
    "pmc": policies,
    "eliminate": placements,
    "label-setting": maps,
    "column-generation": latency_aware,
}
DEFAULT_COUNTS = {"ssm": 1000, "pmc": 40, "eliminate": 180, "label-setting": 100, "column-generation": 152}


@app.command()
def run(
    rows: Rows,
    only: Annotated[list[str] | None, typer.Option(help="Formats, instead of all.")] = None,
    count: Annotated[int | None, typer.Option(help="Instances for each format.")] = None,
) -> None:
    """Solve, certify and check every instance."""
    done = {(row["format"], row["id"]) for row in read(rows)}
    for name in only or FORMATS:
        for number, (what, problem) in enumerate(FORMATS[name](DEFAULT_COUNTS[name] if count is None else count)):
            identifier = f"{number}: {what}"
            if (name, identifier) not in done:
                with rows.open("a") as file:
                    file.write(json.dumps({"format": name, "id": identifier, "what": what, **measured(name, problem)}) + "\n")


def measured(method: str, problem: Any) -> dict[str, Any]:
    """Seconds and bytes of one instance, and what the checker says."""
    began = process_time()
    solution = edrp.solve(problem, method, time_limit=SECONDS)
    row: dict[str, Any] = {"status": solution.status, "size": solution.size, "solve": process_time() - began}
    if solution.status not in ("optimal", "infeasible"):
        return {**row, "said": "nothing to certify"}
    document, began = checker.parse(problem.model_dump_json()), process_time()
    try:
        with deadline(now() + SECONDS):
            text = certificate_text([checker.instance_hash(document)], solution, resolve_name(WRITERS[method])(problem, solution))
    except (NotCertifiedError, OutOfTimeError) as error:
        return {**row, "said": f"not certified: {error}", "write": process_time() - began}
    row |= {"write": process_time() - began, "bytes": len(text)}
    answer, began = checker.parse(json.dumps(solution.to_document())), process_time()
    try:
        said = f"proven: {checker.check(document, answer, text.splitlines())}"
    except checker.Refused as error:
        said = f"not proven: {error}"
    return {**row, "said": said, "check": process_time() - began}


def read(rows: Path) -> list[dict[str, Any]]:
    """Rows so far."""
    return [json.loads(line) for line in rows.read_text().splitlines()] if rows.exists() else []


@app.command()
def show(rows: Rows) -> None:
    """Certified shares, bytes and seconds by format and size."""
    groups: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for row in read(rows):
        groups[row["format"], _size(row)].append(row)
    table = Table("format", "size", "claims", "checked", "bytes", "most", "check s", "most", "solve s", "write s")
    for (name, size), found in sorted(groups.items()):
        claims = [row for row in found if row["status"] in ("optimal", "infeasible")]
        checked = [row for row in claims if row["said"].startswith("proven")]
        if checked:
            lengths, seconds = ([row[field] for row in checked] for field in ("bytes", "check"))
            shown = [f"{median(lengths):.0f}", f"{max(lengths)}", f"{median(seconds):.2f}", f"{max(seconds):.2f}"]
            times = [f"{median(row[field] for row in checked):.2f}" for field in ("solve", "write")]
            table.add_row(name, size, f"{len(claims)}", f"{len(checked)}", *shown, *times)
        elif claims:
            table.add_row(name, size, f"{len(claims)}", "0")
    Console(width=120).print(table)


def _size(row: dict[str, Any]) -> str:
    """Group that a row belongs to: powers of two of the tasks or partitions, or the instance's description."""
    if row["format"] == "pmc":
        states = row["size"].get("states", 0)
        return f"to {2 ** max(states - 1, 1).bit_length():6d} partitions"
    return str(row["what"]).split(" × ")[0].split(", ")[0] + (" tasks" if row["format"] == "ssm" else "")


if __name__ == "__main__":
    app()
