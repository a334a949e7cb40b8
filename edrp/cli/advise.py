"""`edrp advise`: what to change of a running job, what that brings and costs, and how it is done."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from edrp.cli.app import ExitCode
from edrp.cli.capture import Every, GoalsFile, Job, NetworkFile, Seconds
from edrp.cli.display.jobs import advice_page, advice_parts
from edrp.cli.options import ForceFolder, argument, command_group, option, out_option, output_folder
from edrp.cli.terminal import output, progress, say, show
from edrp.core.files import refuse_inputs, refuse_target, write_whole
from edrp.core.folders import refuse_folder
from edrp.core.instances import save
from edrp.core.problem import Problem
from edrp.engines.advice import Advice, advise
from edrp.engines.capture import Capture, read_capture
from edrp.engines.errors import EngineError
from edrp.engines.fit import fit_job
from edrp.engines.flink.calls import KUBECTL, PATCH, SCRIPT, UNDO
from edrp.engines.flink.capturing import CaptureSettings, capture_job
from edrp.engines.goals import read_goals, read_network
from edrp.engines.model import latency_aware_problem, migration_problem
from edrp.engines.protocol import get_engine
from edrp.report.page import require_packages

PROBLEM, KEYED, PLACES = "edrp.json", "rescale.json", "latency-aware.json"
"""Files that are written for a job, the second where key groups are known; besides, one of kind `migration` per operator with
state whose replicas change."""

advise_app = command_group()


@advise_app.command("flink")
def advise_flink(
    file: Annotated[Path | None, argument("Capture of the job; without it, --rest is required.", metavar="[CAPTURE]")] = None,
    rest: Annotated[str | None, option("Address of the REST API, from which a capture is made first.", "--rest")] = None,
    network: NetworkFile = None,
    goals: GoalsFile = None,
    metadata: Annotated[
        Path | None, option("File _metadata of a checkpoint, which contains the state of each key group.")
    ] = None,
    out: Annotated[Path | None, out_option("Output folder for the problems, the calls and the patches.")] = None,
    html: Annotated[Path | None, option("Output file for the advice as a page.")] = None,
    job: Job = None,
    seconds: Seconds = 60.0,
    every: Every = 5.0,
    force: ForceFolder = False,
) -> None:
    """Advise on a job of Apache Flink."""
    wanted, delays = read_goals(goals), read_network(network)
    if html is not None:
        require_packages(jinja2="report")
        refuse_target(html, replace=force)
        refuse_inputs(html, (file, network, goals, metadata))
    if out is not None:
        refuse_folder(out, [PROBLEM, PLACES, SCRIPT, PATCH, UNDO], force=force)
    engine, captured = get_engine("flink"), _capture(file, rest, job, seconds, every)
    seen = engine.observe(captured)
    states = {} if metadata is None else engine.key_group_sizes(str(metadata), seen)
    advice = advise(fit_job(seen, states), wanted, delays)
    rule = engine.rule_replicas(advice.fit, wanted.rate_factor, version=wanted.autoscaler)
    rule_name = f"{engine.rule_name} {wanted.autoscaler}"
    made = advice.plan if advice.recommended else seen.deployment
    calls = engine.calls(seen, made, captured.address)
    if html is not None:
        write_whole(html, advice_page(advice, rule, rule_name, calls), replace=force)
    files = _files(advice)
    with output_folder(out, force, [*files, *calls]) as folder:
        if folder is not None:
            for name, problem in files.items():
                save(problem, folder / name)
            for name, lines in calls.items():
                write_whole(folder / name, "\n".join(lines) + "\n")
    shown = calls if out is None else {}
    show(output(), advice_parts(advice, rule, rule_name, shown))  # last: a pipe that nobody reads ends the command
    if out is not None and advice.recommended:
        for sentence in _ways(out, calls):
            say(output(), sentence)
    raise typer.Exit(ExitCode.INFEASIBLE if advice.verdict == "stuck" else ExitCode.SOLVED)


def _ways(out: Path, calls: dict[str, list[str]]) -> Iterator[str]:
    """How to use the files that carry out the advice; of those that do nothing, why."""
    why = {name: " ".join(line[2:] for line in lines if line.startswith("# ")) for name, lines in calls.items()}
    script = f"sh {out / SCRIPT}; to undo it: sh {out / SCRIPT} undo." if "" in calls[SCRIPT] else why[SCRIPT]
    yield f"To make the change: {script}"
    patch = f"{KUBECTL} {out / PATCH}" if "spec:" in calls[PATCH] else why[PATCH]  # which says how to undo it, too
    yield f"Under the Kubernetes operator: {patch}"


def _capture(file: Path | None, rest: str | None, job: str | None, seconds: float, every: float) -> Capture:
    """The capture in the file, or one that is made now."""
    if (file is None) == (rest is None):
        raise EngineError("edrp advise flink", "give either a capture or --rest, the address of a cluster")
    if file is not None:
        return read_capture(file)
    assert rest is not None
    with progress(f"capturing for {seconds:g} s"):
        return capture_job(rest, CaptureSettings(job, seconds, every))


def _files(advice: Advice) -> dict[str, Problem]:
    """Problems by name of file: the job, its places, and the key groups of every operator with state whose replicas change."""
    files: dict[str, Problem] = {PROBLEM: advice.problem, PLACES: latency_aware_problem(advice.problem, advice.plan)}
    if advice.keyed is not None:
        files[KEYED] = advice.keyed
    for number, (fitted, seen) in enumerate(zip(advice.fit.operators, advice.fit.observation.operators, strict=True), 1):
        replicas = advice.plan.degree(fitted.name)
        if fitted.state_size and replicas != fitted.replicas and not fitted.source:
            files[f"migration-{number}.json"] = migration_problem(fitted, seen, replicas)
    return files
