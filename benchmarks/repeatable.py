"""Whether answers under a work limit are the same to the byte, wherever and beside whatever they are computed.

    python benchmarks/repeatable.py                          # all kinds, three seeds, 0.3 units of work
    python benchmarks/repeatable.py --spark                  # on Spark's local[2], too
    python benchmarks/repeatable.py --kind mapping --method least-cost-map --seeds 1 --work-limit 1.0

Every method solves the large and a small check problem of each of its kinds: in this process, in this process beside four
processes that do nothing but work, by a batch with `n_jobs=2`, and on Spark. All that a solution says is compared, but for
seconds. A line says what differs, a table how many were compared; the exit code is 1 where anything differs.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import edrp
from edrp.batch import solve_batch
from edrp.batch.tasks import instance_seed
from edrp.core.kinds import kinds
from edrp.core.methods import methods
from edrp.core.spark import spark_session
from edrp.mdp.policy.pmc import Threads
from edrp.mdp.policy.process import PolicyModel
from edrp.mdp.policy.store import precompute_policy

BUSY = 4
"""Processes that keep the cores busy."""


class Run(NamedTuple):
    """One answer: kind and label of the problem, method and seed."""

    kind: str
    label: str
    method: str
    seed: int

    @property
    def id(self) -> str:
        """Name of the problem in a batch."""
        return f"{self.kind}-{self.label}"


Answers = dict[Run, str]


def here(runs: Mapping[Run, Any], work_limit: float) -> Answers:
    """Answers of this process."""
    return {run: _answer(run, problem, work_limit) for run, problem in runs.items()}


def _answer(run: Run, problem: Any, work_limit: float) -> str:
    name, _, parameters = run.method.partition(":")
    given = dict(pair.split("=", 1) for pair in parameters.split(",") if pair)
    try:
        seed = instance_seed(run.seed, run.id)
        solution = edrp.solve(problem, name, work_limit=work_limit, seed=seed, **given)  # type: ignore[arg-type]
    except edrp.errors.EdrpError as error:
        return type(error).__name__
    return _said(solution.model_dump_json())


def in_batch(runs: Mapping[Run, Any], work_limit: float, **where: Any) -> Answers:
    """Answers of batches, one for each kind."""
    answers: Answers = {}
    for kind in dict.fromkeys(run.kind for run in runs):
        own = {run: problem for run, problem in runs.items() if run.kind == kind}
        problems = {run.id: problem for run, problem in own.items()}
        names, seeds = list(dict.fromkeys(run.method for run in own)), list(dict.fromkeys(run.seed for run in own))
        table = solve_batch(problems, names, work_limit=work_limit, seed=seeds, **where)
        rows = table.to_pylist() if hasattr(table, "to_pylist") else [row.asDict() for row in table.collect()]
        said = {(row["id"], row["method"], row["run_seed"]): row["solution"] or row["error_type"] for row in rows}
        answers.update({run: _said(said[run.id, run.method, run.seed]) for run in own})
    return answers


def _said(solution: str) -> str:
    """All that a solution says but for times, in one order; the name of an error as it is."""
    if not solution.startswith("{"):
        return solution
    return json.dumps({name: value for name, value in json.loads(solution).items() if name != "seconds"}, sort_keys=True)


@contextmanager
def busy() -> Iterator[None]:
    """Have all cores and more be busy inside the block."""
    endless = "import os\nparent = os.getppid()\nwhile os.getppid() == parent: pass"
    loops = [subprocess.Popen([sys.executable, "-c", endless]) for _ in range(BUSY)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def chosen(arguments: argparse.Namespace, folder: Path) -> dict[Run, Any]:
    """All runs that were asked for, with their problems."""
    runs: dict[Run, Any] = {}
    for kind, record in kinds().items():
        if record.check_problems is None or arguments.kind not in (None, kind):
            continue
        problems = record.check_problems()
        for label, problem in (("small", next(iter(problems.feasible().values()))), ("large", problems.large())):
            for name in methods(kind):
                if arguments.method not in (None, name) or (name == "stored-policy" and label == "large"):
                    continue
                method = name
                if name == "stored-policy":
                    precompute_policy(PolicyModel.of(problem, problem.reachable_counts), Threads(1), folder)
                    method = f"{name}:policy={folder}"
                runs.update({Run(kind, label, method, seed): problem for seed in range(arguments.seeds)})
    return runs


def differing(runs: Mapping[Run, Any], base: Answers, other: Answers, where: str) -> int:
    """Number of answers that differ; each is printed with the fields in which it does."""
    wrong = [run for run in runs if base[run] != other[run]]
    for run in wrong:
        fields = "answer"
        if base[run].startswith("{") and other[run].startswith("{"):
            one, two = json.loads(base[run]), json.loads(other[run])
            fields = ", ".join(f"{name}: {one.get(name)} / {two.get(name)}"[:200] for name in one if one[name] != two.get(name))
        print(f"{where}: {run.id} {run.method} seed {run.seed} differs: {fields}")
    print(f"{where:>14}: {len(runs)} compared, {len(wrong)} differ", flush=True)
    return len(wrong)


def main() -> int:
    """Compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kind", help="only this kind of problem")
    parser.add_argument("--method", help="only this method")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--work-limit", type=float, default=0.3)
    parser.add_argument("--spark", action="store_true", help="compare with Spark, too")
    arguments = parser.parse_args()
    with TemporaryDirectory() as folder:
        runs = chosen(arguments, Path(folder) / "policy")
        base = here(runs, arguments.work_limit)
        wrong = differing(runs, base, here(runs, arguments.work_limit), "again")
        with busy():
            wrong += differing(runs, base, here(runs, arguments.work_limit), "busy")
        wrong += differing(runs, base, in_batch(runs, arguments.work_limit, n_jobs=2), "n_jobs=2")
        if arguments.spark:
            with spark_session("local[2]") as session:
                wrong += differing(runs, base, in_batch(runs, arguments.work_limit, spark=session), "local[2]")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
