"""`edrp policy`: compute projected costs beforehand, and decide with them."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from edrp.cli.app import ExitCode
from edrp.cli.display.solution import print_solution
from edrp.cli.options import (
    Force,
    TimeLimit,
    WorkLimit,
    argument,
    choice_option,
    command_group,
    finite_option,
    make_parent,
    option,
    out_option,
)
from edrp.cli.terminal import errors, output, report, say
from edrp.cli.trace import Memory
from edrp.core.budget import memory_limit
from edrp.core.errors import EdrpError, Fault, InvalidInstanceError, ProblemTooLargeError
from edrp.core.files import read_whole, refuse_target
from edrp.core.folders import refuse_folder
from edrp.core.instances import load
from edrp.core.methods import alternative
from edrp.core.solution import write_json
from edrp.core.solve import solve
from edrp.core.spark import require_spark, spark_session
from edrp.core.tolerances import PROJECTED_COST_ACCURACY
from edrp.mdp.policy.many_policies import precompute_policies
from edrp.mdp.policy.methods import StoredPolicy, too_many_states
from edrp.mdp.policy.pmc import Iteration, SweepEngine, Threads, sweep_work
from edrp.mdp.policy.process import PolicyModel
from edrp.mdp.policy.spark_engine import Spark
from edrp.mdp.policy.store import precompute_policy, stored_parameters
from edrp.migration.policy import MigrationPolicyProblem
from edrp.report.progress import Count, counting, working

DEFAULT_MASTER = "local[2]"
"""Spark master where the engine is Spark and no master is named."""

policy = command_group()


EngineName = Literal["local", "spark"]
"""Engines that run sweeps."""


@policy.command("precompute")
def precompute(
    problems: Annotated[list[Path], argument("Problems of kind migration-policy, or a folder of them.")],
    out: Annotated[Path, out_option("Output folder; with several problems, it gets a folder for each policy.")],
    spark: Annotated[str | None, option("Spark master, such as local[2]; default: threads of this process.", "--spark")] = None,
    engine: Annotated[
        EngineName | None, choice_option(EngineName, "Engine that runs the sweeps; default: spark with --spark, otherwise local.")
    ] = None,
    threads: Annotated[int | None, option("Number of threads of the local engine; default: one per core.", min=1)] = None,
    tasks: Annotated[int | None, option("Number of Spark tasks per sweep; default: spark.sql.shuffle.partitions.", min=1)] = None,
    memory: Memory = "2g",
    accuracy: Annotated[
        float, finite_option("Proven error of the costs at which to stop, relative to all state.")
    ] = PROJECTED_COST_ACCURACY,
    time_limit: TimeLimit = None,
    work_limit: WorkLimit = None,
) -> None:
    """Compute the projected cost of every partition and store it in a folder.

    If it is stopped, the same command continues after the last complete sweep. With several problems, each one gets a
    folder that is named like its file; on Spark, each one is a task.
    """
    local = engine == "local" or (engine is None and spark is None)
    if local and spark is not None:
        raise InvalidInstanceError([Fault("--engine", "local", "runs no Spark; leave out --spark")])
    refuse_folder(out)
    if not local:
        require_spark(spark or DEFAULT_MASTER)
    limits: dict[str, Any] = {"time_limit": time_limit, "work_limit": work_limit}
    with _engine(local, spark or DEFAULT_MASTER, memory, threads, tasks) as runs:
        if len(problems) == 1 and not problems[0].is_dir():
            _precompute_one(problems[0], out, runs, accuracy, limits)
        else:
            _precompute_all(_files(problems), out, runs, accuracy, limits)


def _precompute_one(problem: Path, out: Path, runs: SweepEngine, accuracy: float, limits: dict[str, Any]) -> None:
    model = _model(problem)
    states = f"{sum(model.size.states):,} states, {model.size.pairs:,} pairs a sweep"
    say(errors(), f"{problem}: {states}, about {model.size.memory / 1e6:.0f} MB, {sweep_work(model):.1f} units of work a sweep")
    lines: list[str] = []

    def tell(now: Iteration) -> None:
        lines.append(f"sweep {now.sweeps}: costs known to {now.error_bound:.3g} B, {now.seconds[-1]:.1f} s")
        say(errors(), lines[-1])

    try:
        result = precompute_policy(model, runs, out, accuracy=accuracy, **limits, after_sweep=tell)
    except KeyboardInterrupt:
        say(errors(), f"interrupted; the same command goes on from the last sweep that {out} holds")
        raise
    figures = f"costs known to {result.error_bound:.3g} B after {result.sweeps} sweeps, {sum(result.seconds):.1f} s"
    if result.error_bound > accuracy * model.total_state:
        again = "to go on"
        if not lines:
            figures, again = "the limit is shorter than a sweep, and what was done of it is lost", "with a longer limit"
        say(output(), f"{out}: not finished, {figures}; run the same command again {again}", "yellow")
        raise typer.Exit(ExitCode.NOTHING_FOUND)
    say(output(), f"{out}: {states}; {figures}")


def _precompute_all(files: list[Path], out: Path, runs: SweepEngine, accuracy: float, limits: dict[str, Any]) -> None:
    models: dict[str, PolicyModel] = {}
    unread = 0
    for file in files:
        try:
            problem = _problem(file)
            models[file.stem] = PolicyModel.of(problem, problem.reachable_counts)
        except EdrpError as error:
            unread += 1
            report(error, str(file))
    with counting(errors(), "policies") as tell:
        done = precompute_policies(
            models, runs, out, accuracy=accuracy, **limits, watch=lambda finished: tell(Count(finished, len(models)))
        )
    for one in done:
        if one.fault:
            say(errors(), f"{one.name}: {one.fault}", "red")
    seconds = sum(one.seconds for one in done)
    finished = sum(one.finished for one in done)
    states = sum(one.states for one in done if one.finished)
    say(output(), f"{out}: {finished} of {len(files)} policies, {states:,} states, {seconds:.1f} core-seconds of sweeps")
    if unread or any(one.fault for one in done):
        raise typer.Exit(ExitCode.BAD_INPUT)
    if finished < len(done):
        say(output(), "not finished in time; run the same command again to go on", "yellow")
        raise typer.Exit(ExitCode.NOTHING_FOUND)


def _files(problems: list[Path]) -> list[Path]:
    """Files of problems, those of folders included, whose names without suffix differ."""
    files = [file for place in problems for file in (sorted(place.glob("*.json")) if place.is_dir() else [place])]
    names = Counter(file.stem for file in files)
    why = "names two problems; each needs a name of its own, which its folder gets"
    if faults := [Fault("problems", name, why) for name, times in names.items() if times > 1]:
        raise InvalidInstanceError(faults)
    if not files:
        raise InvalidInstanceError([Fault("problems", str(problems[0]), "holds no file *.json")])
    return files


@policy.command("decide")
def decide(
    folder: Annotated[Path, argument("Folder of the policy.")],
    before: Annotated[str, option("Current intervals of the nodes as JSON, such as [[0,8],[8,64]], or a file.", "--from")],
    nodes: Annotated[int, option("Number of nodes after the migration.", min=1)],
    out: Annotated[Path | None, out_option("Output file for the solution.")] = None,
    force: Force = False,
) -> None:
    """Decide a migration by a precomputed policy, which minimises state moved now and, discounted, expected later."""
    if out is not None:
        refuse_target(out, replace=force)
    wanted = MigrationPolicyProblem(**stored_parameters(folder), intervals=_intervals(before), nodes=nodes)
    with working(errors(), f"opening {folder}"):
        solution = solve(wanted, StoredPolicy.name, policy=folder)
    print_solution(output(), str(folder), wanted, solution)
    if out is not None:
        make_parent(out)
        write_json(out, solution.to_document(), replace=force)


def _problem(source: Path) -> MigrationPolicyProblem:
    problem = load(source)
    if not isinstance(problem, MigrationPolicyProblem):
        raise InvalidInstanceError([Fault("kind", problem.kind, "must be migration-policy")], str(source))
    return problem


def _model(source: Path) -> PolicyModel:
    problem = _problem(source)
    model = PolicyModel.of(problem, problem.reachable_counts)
    if 0 in model.size.states:
        for clash in problem.clashes():
            say(errors(), f"{source}: {clash}", "red")
        raise typer.Exit(ExitCode.INFEASIBLE)
    if model.size.memory > memory_limit():
        raise ProblemTooLargeError(too_many_states(model), alternative(problem, "pmc"))
    return model


@contextmanager
def _engine(local: bool, master: str, memory: str, threads: int | None, tasks: int | None) -> Iterator[SweepEngine]:
    if local:
        yield Threads(threads or os.cpu_count() or 1)
        return
    with spark_session(master, memory=memory, in_python=True) as session:
        yield Spark(session, tasks)


def _intervals(text: str) -> Any:
    if not text.lstrip().startswith("["):
        text = read_whole(text)
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        why = f"is no JSON ({error}); give the tasks of each node as [[first, end], …]"
        raise InvalidInstanceError([Fault("--from", repr(text[:60]), why)]) from None
