"""`edrp migrate`: move tasks of live operators while their job goes on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from edrp.cli.app import ExitCode
from edrp.cli.capture import Job, Rest
from edrp.cli.display.jobs import job_line, migrate_lines, outcome_line, step_parts
from edrp.cli.display.plan import migration_plan_document, rescale_plan_document
from edrp.cli.options import ForceFolder, choice_option, command_group, finite_option, option, out_option, output_folder
from edrp.cli.terminal import errors, output, say, show
from edrp.cli.watch import AllowRemote
from edrp.core.files import refuse_target
from edrp.core.instances import save
from edrp.core.solution import write_json
from edrp.engines.applying import Note
from edrp.engines.clock import SystemClock, stopping_on_signals
from edrp.engines.errors import EngineError, StoppedError
from edrp.engines.flink.client import is_loopback, read_address
from edrp.engines.flink.migrating import driver
from edrp.engines.flink.migrating.control_log import ControlLog, Mode, control_path, read_log_file
from edrp.engines.flink.migrating.discovery import LiveJob, LiveReader, with_work_between
from edrp.engines.flink.migrating.moves import Steps, forecasts, reversed_steps, task_moves
from edrp.engines.flink.migrating.plan_files import PlannedSteps, read_plan
from edrp.engines.flink.migrating.planning import LoadPlan, PlanMethod, PlanWish, plan_from_loads
from edrp.engines.watch_journal import MIGRATION_FORMAT, WatchJournal
from edrp.mdp.transfer.migration_plan import MigrationPlan

FILES = ("problem.json", "solution.json", "plan.json")
"""Files of a plan that was made from measured loads."""

migrate = command_group()


@dataclass(frozen=True, slots=True)
class _Order:
    """Options of a migration.

    Attributes
    ----------
    plan, wish : a plan that was read, or what one is to reach; neither where a plan is to be taken back.
    place : of errors about the plan.
    seconds : for which loads are observed; 0 for all that was counted so far.
    """

    plan: PlannedSteps | None
    wish: PlanWish | None
    operator: str | None
    transfer: driver.Transfer
    place: str
    seconds: float
    out: Path | None
    force: bool

    @property
    def origin(self) -> str | None:
        """Digest of what is asked for; None where a plan is to be taken back."""
        asked = self.plan or self.wish
        return None if asked is None else asked.origin


LiveOperator = Annotated[
    str | None, option("Live operator whose tasks move; default: the only one, or all with --method rescale.")
]
JournalFile = Annotated[Path | None, option("Journal of steps as planned and measured; an existing one is continued.")]
PlanFolder = Annotated[Path | None, out_option("Output folder for the problem and the plan of --method.")]


@migrate.command("flink")
def migrate_flink(
    rest: Rest,
    job: Job = None,
    operator: LiveOperator = None,
    plan: Annotated[Path | None, option("Plan that `edrp plan -o` has written.")] = None,
    method: Annotated[
        PlanMethod | None,
        choice_option(PlanMethod, "Plan from measured loads instead: ssm, oms or pmc one operator, rescale all at once."),
    ] = None,
    workers: Annotated[
        list[str] | None,
        option("Number of workers that are to hold tasks; default: as many as now.", metavar="[OPERATOR=]NUMBER"),
    ] = None,
    then: Annotated[
        list[int] | None, option("Number of workers after the next change, once for each; for method oms.", min=1)
    ] = None,
    tolerance: Annotated[float, finite_option("How much more than the average worker the busiest may have.")] = 0.2,
    policy: Annotated[Path | None, option("Folder of a stored policy; for method pmc.")] = None,
    max_move_ins: Annotated[
        int | None, option("Maximum number of tasks that move to a worker in one step; default: all at once.", min=1)
    ] = None,
    seconds: Annotated[float, finite_option("Length of the observation of loads in seconds; 0: all counted so far.")] = 30.0,
    pace: Annotated[int, option("Rate at which a worker sends state, in bytes/s; 0: no limit.", min=0)] = 0,
    mode: Annotated[Mode, choice_option(Mode, "Whether tasks that stay go on meanwhile (live), or all pause.")] = "live",
    control: Annotated[Path | None, option("Control log as this machine sees it; default: the file that the job names.")] = None,
    journal: JournalFile = None,
    apply: Annotated[bool, option("Send the plan and follow it; default: a dry run.", "--apply")] = False,
    abort: Annotated[bool, option("Abort the plan that is under way and move its tasks back.", "--abort")] = False,
    out: PlanFolder = None,
    force: ForceFolder = False,
    allow_remote: AllowRemote = False,
) -> None:
    """Move tasks of live operators of a job of Apache Flink."""
    read_address(rest)
    if apply and not allow_remote and not is_loopback(rest):
        raise EngineError("--apply", f"{rest} is another machine; add --allow-remote if that is meant")
    if [plan is not None, method is not None, abort].count(True) != 1:
        raise EngineError("edrp migrate", "needs one of --plan FILE, --method METHOD and --abort")
    _refuse_without_method(method, workers=workers, then=then, policy=policy, max_move_ins=max_move_ins, out=out)
    if journal is not None:
        refuse_target(journal)
    wish = None
    if method is not None:
        wish = PlanWish(method, _read_workers(workers or ()), tuple(then or ()), tolerance, max_move_ins, policy)
    order = _Order(
        plan=None if plan is None else read_plan(plan),
        wish=wish,
        operator=operator,
        transfer=driver.Transfer(pace, mode),
        place=str(plan) if plan is not None else f"--method {method}",
        seconds=seconds,
        out=out,
        force=force,
    )
    clock = SystemClock()
    reader = LiveReader(rest, job, clock)
    try:
        with stopping_on_signals(clock):
            live = reader.discover()
            driver.refuse_unsafe(live, rest)
            say(output(), job_line(live))
            path = control_path(live.control, control)
            if apply:
                _apply(reader, live, path, order, journal)
            else:
                _show(reader, live, path, order)
    except StoppedError as error:
        say(errors(), str(error), "yellow")
        raise typer.Exit(ExitCode.INTERRUPTED) from None


def _show(reader: LiveReader, job: LiveJob, path: Path, order: _Order) -> None:
    """Show what would be sent."""
    log = read_log_file(path)
    pace = order.transfer.pace
    if order.origin is None:
        plan = driver.plan_to_take_back(log, job, str(path))
        pace = plan.pace
        steps = reversed_steps(plan.steps, {name: live.table for name, live in job.operators.items()})
        say(output(), f"Plan {plan.key} would be aborted, {plan.sender}; back would move what has moved, by now:")
    else:
        if under_way := driver.unfinished_plan(log, job, order.origin, str(path)):
            say(output(), f"This plan is under way as {under_way.key}, {under_way.sender}; --apply follows it to its end")
            return
        job, steps = _steps(reader, job, order)
    show(output(), step_parts(steps, forecasts(steps, job, pace), job, pace))
    say(output(), "dry run, nothing is sent; --apply sends it")


def _apply(reader: LiveReader, job: LiveJob, path: Path, order: _Order, journal: Path | None) -> None:
    """Send a plan, go on with one or take one back, and follow it."""
    with ControlLog(path) as control, _noting(reader, journal) as note:
        if order.origin is None:
            outcome = driver.take_back(reader, control, job, note)
        elif under_way := driver.unfinished_plan(control.log, job, order.origin, str(path)):
            outcome = driver.go_on(reader, control, job, under_way, note)
        else:
            job, steps = _steps(reader, job, order)
            pace = order.transfer.pace
            show(output(), step_parts(steps, forecasts(steps, job, pace), job, pace))
            outcome = driver.carry_out(reader, control, job, steps, order.origin, order.transfer, note)
        say(output(), outcome_line(outcome))


def _steps(reader: LiveReader, job: LiveJob, order: _Order) -> tuple[LiveJob, Steps]:
    """The job as observed, and the steps that are to be sent."""
    plan = order.plan
    if order.wish is not None:
        if order.seconds:
            began = reader.clock.time()
            reader.clock.sleep(order.seconds)
            job = with_work_between(job, reader.discover(), reader.clock.time() - began)
        made = plan_from_loads(job, order.wish, order.operator, order.transfer.pace, order.place)
        _write(made, order)
        plan = made.steps
    assert plan is not None
    steps = task_moves(plan, job, order.operator, order.place)
    driver.refuse_large_tasks(steps, job, order.transfer.pace)
    return job, steps


def _write(made: LoadPlan, order: _Order) -> None:
    """Write the problem, its solution and the plan, as `edrp solve` and `edrp plan` read and write them."""
    plan = made.plan
    with output_folder(order.out, order.force, FILES) as stage:
        if stage is not None:
            save(made.problem, stage / FILES[0])
            save(made.solution, stage / FILES[1])
            document = migration_plan_document(plan) if isinstance(plan, MigrationPlan) else rescale_plan_document(plan)
            write_json(stage / FILES[2], document)


@contextmanager
def _noting(reader: LiveReader, journal: Path | None) -> Iterator[Note]:
    """Write facts to the journal, if there is one, and say them."""
    kept = None if journal is None else WatchJournal(journal, MIGRATION_FORMAT)

    def note(kind: str, **facts: Any) -> None:
        entry = {"at": round(reader.clock.time(), 3), "kind": kind, **facts}
        if kept is not None:
            kept.write(entry)
        for line in migrate_lines(entry):
            say(output(), line)

    with kept or nullcontext():
        yield note


def _refuse_without_method(method: PlanMethod | None, **given: Any) -> None:
    """Refuse options of planning where nothing is planned, and `--then` beside any method but oms."""
    for name, value in given.items():
        if method is None and value:
            option = f"--{name.replace('_', '-')}"
            raise EngineError(option, "goes with --method, which plans; a plan that is given was planned by `edrp plan`")
    if given["then"] and method != "oms":
        raise EngineError("--then", "goes with --method oms, which plans a known sequence")


def _read_workers(words: Sequence[str]) -> dict[str, int]:
    """Numbers of workers by operator, "" for those of all others.

    >>> _read_workers(["3", "counter=2"])
    {'': 3, 'counter': 2}
    """
    workers: dict[str, int] = {}
    for word in words:
        name, _, number = word.rpartition("=")
        if not number.isdecimal() or int(number) < 1:
            raise EngineError(f"--workers {word!r}", "must be NUMBER or OPERATOR=NUMBER, such as counter=3")
        if name in workers:
            raise EngineError(f"--workers {word!r}", f"gives {name or 'all operators'} a second time")
        workers[name] = int(number)
    return workers
