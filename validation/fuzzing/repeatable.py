"""Whether answers under a work limit are the same to the byte, wherever and beside whatever they are computed.

Every method solves the large and a small check problem of each of its kinds: in this process, in this process beside four
processes that do nothing but work, by a batch with `n_jobs=2`, and on Spark. All that a solution says is compared, but for
seconds.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from edrp.batch import solve_batch
from edrp.batch.tasks import instance_seed
from edrp.core.errors import EdrpError
from edrp.core.kinds import kinds
from edrp.core.methods import methods
from edrp.core.solve import solve
from edrp.core.spark import spark_session
from edrp.mdp.policy.pmc import Threads
from edrp.mdp.policy.process import PolicyModel
from edrp.mdp.policy.store import precompute_policy

BUSY = 4
"""Processes that keep the cores busy."""


class Run(NamedTuple):
    """One answer: kind and label of the problem, method with its parameters, and seed."""

    kind: str
    label: str
    method: str
    seed: int

    @property
    def id(self) -> str:
        """Name of the problem in a batch."""
        return f"{self.kind}-{self.label}"


def differences(work_limit: float, seeds: int, kind: str = "", method: str = "", *, spark: bool = False) -> Iterator[str]:
    """Yield how many answers were compared in each place, and each that differs with the fields in which it does."""
    with TemporaryDirectory() as folder:
        runs = _chosen(kind, method, seeds, Path(folder) / "policy")
        base = _here(runs, work_limit)
        places = {"again": partial(_here, runs, work_limit), "busy": partial(_busy, runs, work_limit)}
        places["n_jobs=2"] = partial(_in_batch, runs, work_limit, n_jobs=2)
        places |= {"local[2]": partial(_on_spark, runs, work_limit)} if spark else {}
        for where, answers in places.items():
            other = answers()
            yield f"{where}: {len(runs)} compared"
            for run in runs:
                if base[run] != other[run]:
                    one, two = base[run], other[run]
                    fields = [f"{name}: {one.get(name)} / {two.get(name)}"[:200] for name in one if one[name] != two.get(name)]
                    yield f"{where}: {run.id} {run.method} seed {run.seed} differs: {', '.join(fields)}"


def _chosen(kind: str, method: str, seeds: int, folder: Path) -> dict[Run, Any]:
    """All runs with their problems."""
    runs: dict[Run, Any] = {}
    for name, record in kinds().items():
        if record.check_problems is None or kind not in ("", name):
            continue
        problems = record.check_problems()
        for label, problem in (("small", next(iter(problems.feasible().values()))), ("large", problems.large())):
            for one in methods(name):
                if method not in ("", one) or (one == "stored-policy" and label == "large"):
                    continue
                given = one
                if one == "stored-policy":
                    precompute_policy(PolicyModel.of(problem, problem.reachable_counts), Threads(1), folder)
                    given = f"{one}:policy={folder}"
                runs.update({Run(name, label, given, seed): problem for seed in range(seeds)})
    return runs


Answers = dict[Run, dict[str, Any]]
"""All that a solution says but for times; the name of an error."""


def _here(runs: Mapping[Run, Any], work_limit: float) -> Answers:
    answers: Answers = {}
    for run, problem in runs.items():
        name, _, parameters = run.method.partition(":")
        given: Any = dict(pair.split("=", 1) for pair in parameters.split(",") if pair)
        try:
            solution = solve(problem, name, work_limit=work_limit, seed=instance_seed(run.seed, run.id), **given)
            answers[run] = _stated(solution.model_dump_json())
        except EdrpError as error:
            answers[run] = _stated(type(error).__name__)
    return answers


def _busy(runs: Mapping[Run, Any], work_limit: float) -> Answers:
    """Answers while all cores and more are busy."""
    endless = "import os\nparent = os.getppid()\nwhile os.getppid() == parent: pass"
    loops = [subprocess.Popen([sys.executable, "-c", endless]) for _ in range(BUSY)]
    try:
        return _here(runs, work_limit)
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def _on_spark(runs: Mapping[Run, Any], work_limit: float) -> Answers:
    with spark_session("local[2]") as session:
        return _in_batch(runs, work_limit, spark=session)


def _in_batch(runs: Mapping[Run, Any], work_limit: float, **where: Any) -> Answers:
    """Answers of batches, one for each kind."""
    answers: Answers = {}
    for kind in dict.fromkeys(run.kind for run in runs):
        own = {run: problem for run, problem in runs.items() if run.kind == kind}
        problems = {run.id: problem for run, problem in own.items()}
        names, seeds = list(dict.fromkeys(run.method for run in own)), list(dict.fromkeys(run.seed for run in own))
        table = solve_batch(problems, names, work_limit=work_limit, seed=seeds, **where)
        rows = table.to_pylist() if hasattr(table, "to_pylist") else [row.asDict() for row in table.collect()]
        said = {(row["id"], row["method"], row["run_seed"]): row["solution"] or row["error_type"] for row in rows}
        answers.update({run: _stated(said[run.id, run.method, run.seed]) for run in own})
    return answers


def _stated(solution: str) -> dict[str, Any]:
    if not solution.startswith("{"):
        return {"error": solution}
    return {name: value for name, value in json.loads(solution).items() if name != "seconds"}
