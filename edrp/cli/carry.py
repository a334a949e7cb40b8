"""`edrp carry`: the largest multiple of its load that a deployment can carry."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from edrp.carrying.bottleneck import find_bottlenecks
from edrp.carrying.largest_rate import largest_rate
from edrp.cli import options
from edrp.cli.app import ExitCode, outcome_code
from edrp.cli.display.carry import carry_parts, carry_verdict
from edrp.cli.display.solution import STYLES
from edrp.cli.terminal import output, progress, say, show
from edrp.core.claims import SETTLED
from edrp.core.errors import Fault, InvalidArgumentError, UnsupportedProblemError
from edrp.core.files import refuse_inputs, refuse_target, write_whole
from edrp.core.folders import refuse_folder
from edrp.core.solution import write_json
from edrp.explorer.carrying import chart_page, gain_chart
from edrp.placement.edrp import EdrpProblem


def carry_file(
    file: Annotated[Path, options.argument("Instance file of kind edrp.")],
    scale: Annotated[
        list[str] | None,
        options.option('Source that grows, once for each: an operator, or "source -> target" for a stream; default: all.'),
    ] = None,
    what_if: Annotated[
        bool,
        options.option("Also find what one more of each resource, capacity, replica and limit, or a rule less, carries."),
    ] = False,
    method: Annotated[str, options.option("Solver backend of the programs.", "--method", "-m")] = "auto",
    time_limit: options.TimeLimit = None,
    work_limit: options.WorkLimit = None,
    seed: Annotated[int, options.option("Seed of the random number generator.", min=0)] = 0,
    out: Annotated[Path | None, options.out_option("Output file for the answer as JSON.")] = None,
    page: Annotated[Path | None, options.option("Output file for a page with a chart of the gains of --what-if.")] = None,
    certificate: Annotated[
        Path | None, options.option("Output folder for instances, solutions and certificates of both sides, for `edrp check`.")
    ] = None,
    force: options.Force = False,
    strict: options.Strict = False,
) -> None:
    """Find the largest multiple of all rates that a deployment carries, and one above which none does."""
    problem = options.read_problem(file, strict)
    if not isinstance(problem, EdrpProblem):
        raise UnsupportedProblemError(f"largest rates are those of kind 'edrp', {file} is of kind {problem.kind!r}")
    if page is not None and not what_if:
        raise InvalidArgumentError([Fault("--page", str(page), "goes with --what-if, whose gains it draws")])
    for target in (out, page):
        if target is not None:
            refuse_target(target, replace=force)
            refuse_inputs(target, (file,))
    if certificate is not None:
        refuse_folder(certificate, force=force)
    limits: dict[str, Any] = {"time_limit": time_limit, "work_limit": work_limit}
    with progress(f"looking for the largest rate of {file}"):
        largest = largest_rate(problem, scale=scale, method=method, seed=seed, **limits)
        notes = largest.certify(certificate, force=force) if certificate is not None else ()
        bottlenecks = find_bottlenecks(largest, method=method, **limits) if what_if else None
    if out is not None:  # before a pipe that nobody reads ends the command
        gains = {} if bottlenecks is None else {"gains": bottlenecks.to_document()}
        write_json(out, {**largest.to_document(), **gains}, replace=force)
    verdict = carry_verdict(largest)
    if page is not None and bottlenecks is not None:
        html = chart_page(file.name, verdict, gain_chart(bottlenecks), proven=largest.status in SETTLED)
        write_whole(page, html, replace=force)
    say(output(), str(file), "bold")
    say(output(), verdict, "green" if largest.status == "unbounded" else STYLES[largest.status])
    show(output(), [*carry_parts(largest, bottlenecks), *notes])
    if page is not None:
        say(output(), f"written to {page}")
    raise typer.Exit(ExitCode.SOLVED if largest.status == "unbounded" else outcome_code(largest))
