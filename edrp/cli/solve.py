"""`edrp solve` and `edrp check`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from edrp.backends import backends
from edrp.cli.app import ExitCode, gravest, outcome_code
from edrp.cli.display.solution import print_solution
from edrp.cli.options import (
    PROGRAM_NAMES,
    Force,
    Method,
    Strict,
    TimeLimit,
    WorkLimit,
    argument,
    finite_option,
    known_program,
    make_parent,
    option,
    out_option,
    read_problem,
)
from edrp.cli.terminal import errors, output, progress, report, say
from edrp.core.certificates import CertificateRequest
from edrp.core.errors import EdrpError, Fault, InvalidInstanceError
from edrp.core.files import file_mode, read_whole, refuse_target, write_whole
from edrp.core.folders import refuse_folder
from edrp.core.problem import Problem
from edrp.core.solution import Solution, write_json
from edrp.core.solve import solve
from edrp.core.tolerances import OPTIMALITY_GAP


@dataclass(frozen=True, slots=True)
class Job:
    """One readable instance file and the places of its solution and certificates, if they are to be written."""

    source: Path
    problem: Problem
    target: Path | None
    certificate: Path | None = None
    vipr: Path | None = None


def solve_files(
    files: Annotated[list[Path], argument("Instance files.")],
    method: Method = "auto",
    program: Annotated[
        str | None,
        option(f"Program for a solver backend: {', '.join(PROGRAM_NAMES)}; default: that of the kind.", callback=known_program),
    ] = None,
    time_limit: TimeLimit = None,
    work_limit: WorkLimit = None,
    gap: Annotated[float, finite_option("Relative gap at which a solution counts as optimal.")] = OPTIMALITY_GAP,
    seed: Annotated[int, option("Seed of the random number generator.", min=0)] = 0,
    threads: Annotated[int, option("Number of threads of a solver backend.", min=1)] = 1,
    out: Annotated[
        Path | None, out_option("Output file for the solution; with several instances, output folder (<stem>.json each).")
    ] = None,
    certificate: Annotated[
        Path | None, option("Output file for the certificate, for `edrp check`; with several instances, a folder (<stem>.cert).")
    ] = None,
    vipr: Annotated[
        Path | None, option("Output file for the certificate of a program as VIPR 1.0; with several, a folder (<stem>.vipr).")
    ] = None,
    force: Force = False,
    strict: Strict = False,
) -> None:
    """Solve instances and print the decision, its metrics, and whether it is proven optimal.

    All files are read before the first one is solved. An invalid file does not stop the others.
    """
    taken = {os.path.realpath(file): file for file in files}
    places = [
        _targets(files, taken, place, force, option, suffix)
        for place, option, suffix in ((out, "--out", ".json"), (certificate, "--certificate", ".cert"), (vipr, "--vipr", ".vipr"))
    ]
    method = _method_for(method, program)
    jobs, codes = [], []
    for file, *targets in zip(files, *places, strict=True):
        try:
            problem = read_problem(file, strict)
            jobs.append(Job(file, problem, *targets))
        except EdrpError as error:
            report(error, str(file))
            codes.append(outcome_code(error))
    options = {"program": program, "gap": gap, "seed": seed, "threads": threads}
    options |= {"time_limit": time_limit, "work_limit": work_limit}
    interrupted = False
    for job in jobs:
        if interrupted:
            say(errors(), f"{job.source}: not solved, interrupted")
            codes.append(ExitCode.INTERRUPTED)
            continue
        code, interrupted = _run(job, method, options, force)
        codes.append(code)
    raise typer.Exit(gravest(codes))


def _run(job: Job, method: str, options: dict[str, Any], force: bool) -> tuple[ExitCode, bool]:
    """Solve, print and write one instance; return its exit code and whether the user interrupted it."""
    try:
        certify = job.certificate is not None or job.vipr is not None
        request = CertificateRequest(read_whole(job.source), job.vipr is not None) if certify else False
        with progress(f"solving {job.source}") as update:
            solution = solve(job.problem, method, progress=update, certify=request, **options)
    except KeyboardInterrupt:
        say(errors(), f"{job.source}: interrupted before anything was found")
        return ExitCode.INTERRUPTED, True
    except EdrpError as error:
        report(error, str(job.source))
        return outcome_code(error), False
    except MemoryError:
        why = f"not enough memory for method {method!r} on this instance; try another method"
        say(errors(), f"{job.source}: {why}", "red")
        return ExitCode.BAD_INPUT, False
    code = gravest([outcome_code(solution), *_write(job, solution, force)])  # before a pipe that nobody reads ends the command
    print_solution(output(), str(job.source), job.problem, solution)
    return code, solution.stopped_because == "interrupted"


def _write(job: Job, solution: Solution, force: bool) -> Iterator[ExitCode]:
    """Write what is to be written of a solution; what cannot be written is said and does not keep the rest from its place."""
    writers = [(job.target, _write_solution)]
    if solution.certificate is not None:
        writers += [(job.certificate, _write_certificate), (job.vipr, partial(_write_vipr, job.source))]
    for target, write in writers:
        if target is not None:
            try:
                make_parent(target)
                write(solution, target, force)
            except EdrpError as error:
                report(error)
                yield outcome_code(error)


def _write_solution(solution: Any, target: Path, force: bool) -> None:
    write_json(target, solution.to_document(), replace=force)


def _write_certificate(solution: Any, target: Path, force: bool) -> None:
    write_whole(target, solution.certificate, replace=force)


def _write_vipr(file: Path, solution: Any, target: Path, force: bool) -> None:
    """Write the certificate of a program as VIPR; `file` is the instance."""
    from edrp.certificates import checker
    from edrp.certificates.vipr import to_vipr

    write_whole(target, to_vipr(solution.certificate, checker.parse(read_whole(file))), replace=force)


def _method_for(method: str, program: str | None) -> str:
    """The method to run: asked for a program, the automatic choice is a solver backend."""
    if program is not None and method == "auto":
        return "highs"
    if program is not None and method not in backends():
        why = f"goes with a solver backend ({', '.join(backends())}), not with method {method!r}"
        raise InvalidInstanceError([Fault("--program", program, why)])
    return method


def _targets(
    files: list[Path], taken: dict[str, Path], out: Path | None, force: bool, option: str, suffix: str
) -> list[Path | None]:
    """Where each output of an option goes; refused, before anything is solved, where one would overwrite another file.

    `taken` are the real paths of all inputs, and of what goes elsewhere; those of this option are added.
    """
    if out is None:
        return [None] * len(files)
    file_mode(out)  # refuses impossible names
    if len(files) == 1 and not out.is_dir():
        targets = [out]
    else:
        if out.exists() and not out.is_dir():
            raise InvalidInstanceError([Fault(option, str(out), "must be a folder when several instances are solved")])
        refuse_folder(out)
        targets = [out / f"{file.stem}{suffix}" for file in files]
    for file, target in zip(files, targets, strict=True):
        place = os.path.realpath(target)  # unlike Path.resolve, it takes links that go round in circles
        if other := taken.get(place):
            raise InvalidInstanceError([Fault(option, str(target), f"would overwrite {other}; choose another place for {file}")])
        taken[place] = target
        if len(files) == 1 or target.parent.exists():
            refuse_target(target, replace=force)
    return list(targets)


def check_files(
    file: Annotated[Path, argument("Instance file.")],
    solution: Annotated[Path, argument("Solution document of the instance.")],
    certificate: Annotated[Path, argument("Certificate of the solution.")],
) -> None:
    """Check a certificate in exact arithmetic and print what it proves, or the first statement that does not hold.

    Exit codes: 0 proven, 4 proven about a stated program only, 2 not proven.
    """
    from edrp.certificates import checker, programs

    with progress(f"checking {certificate}"):
        said = checker.verdict(programs.check_files, str(file), str(solution), str(certificate))
    code = checker.exit_code(said)
    say(output(), said, {0: "green", 4: "yellow"}.get(code, "red"))
    raise typer.Exit(code)
