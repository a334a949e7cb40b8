"""Judges of the library: models for CP-SAT, written for this check alone from the documents, which share no code with `edrp`.

`python tests/validation/library/judges --out verdicts.jsonl` judges all rows, 60 s each, and prints a table; stopped, the same
command goes on. A verdict says what the judge found and what it proved. Quantities are whole numbers of steps, of 1e-8 of a limit
or of a unit of the objective, so that values agree to `AGREEMENT`.
"""
# ruff: noqa: T201

import argparse
import gzip
import json
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from common import NotJudgedError
from hosts import judge_enactment, judge_leasing
from links import judge_link_allocation, judge_mapping
from ortools.sat.python import cp_model
from placement import judge_edrp, judge_edrp_sequence, judge_latency_aware
from state import judge_migration, judge_migration_sequence, judge_rescale

FOLDER = Path(__file__).parents[4] / "datasets" / "library"

AGREEMENT = 1e-6
"""Relative difference of values that count as equal; that of their rounding to steps is smaller."""

JUDGES = {
    "edrp": judge_edrp,
    "edrp-sequence": judge_edrp_sequence,
    "enactment": judge_enactment,
    "latency-aware": judge_latency_aware,
    "leasing": judge_leasing,
    "link-allocation": judge_link_allocation,
    "mapping": judge_mapping,
    "migration": judge_migration,
    "migration-sequence": judge_migration_sequence,
    "rescale": judge_rescale,
}
"""Functions that make a model from a document and the value that is known, by kind."""


@dataclass
class Verdict:
    """What a judge says of a row: "optimal", "feasible", "none", "infeasible" or why not judged; value, bound and decision."""

    row: str
    status: str
    seconds: float = 0.0
    value: float | None = None
    bound: float | None = None
    decision: dict | None = None


def judge(row, document, best, seconds=60.0, workers=1):
    """What CP-SAT finds and proves of a document within some seconds; `best` bounds the prices that are looked at."""
    if document["kind"] not in JUDGES:
        return Verdict(row, f"not judged: kind {document['kind']}")
    try:
        judgement = JUDGES[document["kind"]](document, best)
    except NotJudgedError as error:
        return Verdict(row, f"not judged: {error}")
    solver, begin = cp_model.CpSolver(), time.monotonic()
    solver.parameters.num_workers, solver.parameters.linearization_level = workers, judgement.linearization
    for number, stage in enumerate(judgement.stages):
        solver.parameters.max_time_in_seconds = max(0.1, seconds - (time.monotonic() - begin))
        judgement.model.minimize(stage)
        status = solver.solve(judgement.model)
        last = number == len(judgement.stages) - 1
        if status != cp_model.OPTIMAL and (not last or status != cp_model.FEASIBLE):
            break
        if not last:
            judgement.model.add(stage <= round(solver.objective_value) + judgement.slack[number])
    names = {cp_model.OPTIMAL: "optimal", cp_model.FEASIBLE: "feasible", cp_model.INFEASIBLE: "infeasible"}
    verdict = Verdict(
        row, names.get(status, "none") if last or status == cp_model.INFEASIBLE else "none", time.monotonic() - begin
    )
    if last and status != cp_model.INFEASIBLE:
        verdict.bound = solver.best_objective_bound / judgement.scale
    if verdict.status in ("optimal", "feasible"):
        verdict.value, verdict.decision = solver.objective_value / judgement.scale, judgement.read(solver.value)
    return verdict


def table(known, verdicts):
    """Lines of a table: rows of each kind that are judged, proven by the judge, and of which the values agree."""
    yield from (
        "| kind | rows | judged | proven by CP-SAT | of these, as recorded | best value reached |",
        "|---|---|---|---|---|---|",
    )
    for kind in dict.fromkeys(row.partition("/")[0] for row in known):
        best = {row: record["decisions"][0]["value"] for row, record in known.items() if row.partition("/")[0] == kind}
        judged = [v for v in verdicts if v["row"] in best and not v["status"].startswith("not judged")]
        proven = [v for v in judged if v["status"] == "optimal"]
        equal, reached = (
            sum(v["value"] is not None and abs(v["value"] - best[v["row"]]) <= AGREEMENT * max(1, best[v["row"]]) for v in of)
            for of in (proven, judged)
        )
        yield f"| {kind} | {len(best)} | {len(judged)} | {len(proven)} | {equal} | {reached} |"


def main():
    """Judge rows, write a verdict a line, and go on where an earlier run was stopped."""
    parser = argparse.ArgumentParser(description="Judge rows of the library with CP-SAT.")
    parser.add_argument("--out", type=Path, required=True, help="file of verdicts, a JSON document a line")
    parser.add_argument("--seconds", type=float, default=60.0, help="for each row")
    parser.add_argument("rows", nargs="*", help="beginnings of ids of rows; default: all")
    arguments = parser.parse_args()
    known = json.loads((FOLDER / "bks.json").read_text())["rows"]
    done = {json.loads(line)["row"] for line in arguments.out.read_text().splitlines()} if arguments.out.exists() else set()
    for row, record in known.items():
        if row not in done and row.startswith(tuple(arguments.rows) or ""):
            document = json.loads(gzip.decompress((FOLDER / record["instance"]["file"]["path"]).read_bytes()))
            verdict = judge(row, document, record["decisions"][0]["value"], arguments.seconds)
            with arguments.out.open("a") as file:
                file.write(json.dumps(asdict(verdict)) + "\n")
            print(f"{row}: {verdict.status}, {verdict.value} ({verdict.seconds:.1f} s)", flush=True)
    print("\n".join(table(known, [json.loads(line) for line in arguments.out.read_text().splitlines()])))


if __name__ == "__main__":
    main()
