"""`edrp watch`: advise on a running job again and again, and apply the advice where that is allowed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal

import typer

from edrp.cli.app import ExitCode
from edrp.cli.capture import GoalsFile, Job, NetworkFile, Rest
from edrp.cli.display.jobs import watch_lines
from edrp.cli.options import choice_option, command_group, finite_option, option
from edrp.cli.terminal import output, say
from edrp.core.files import refuse_target
from edrp.engines.applying import Migration, RestartableProgram, WatchSettings
from edrp.engines.clock import SystemClock, stopping_on_signals
from edrp.engines.day_control import DaySettings
from edrp.engines.errors import EngineError
from edrp.engines.flink.client import is_loopback, read_address
from edrp.engines.forecast import DAY, read_history
from edrp.engines.goals import read_goals, read_network
from edrp.engines.protocol import get_engine
from edrp.engines.watch_journal import WatchJournal
from edrp.engines.watching import ChangeLimits, Mode, WatchAims, Watcher

MIN_EVERY = 5.0
"""Fewest seconds of an observation: counters are refreshed about once a second."""

Apply = Annotated[
    Mode | None,
    choice_option(
        Mode,
        "Apply the advice: replicas by a rescale, replicas and places by a savepoint (redeploy), or moves of tasks of live "
        "operators while tuples flow; default: a dry run.",
    ),
]
AllowRemote = Annotated[bool, option("Allow changes to a cluster on another machine.", "--allow-remote")]
ProgramArguments = Annotated[
    list[str] | None,
    option("Argument of the program; {replicas:OPERATOR} is replaced by a number, {places} by OPERATOR=RESOURCE,…"),
]

Decide = Literal["now", "day"]

Silence = Annotated[
    float | None, finite_option("Seconds for which a change silences the job, until one is measured; default: what is predicted.")
]

watch = command_group()


@watch.command("flink")
def watch_flink(
    rest: Rest,
    journal: Annotated[Path, option("Journal of observations, predictions and actions; an existing one is continued.")],
    every: Annotated[float, finite_option("Length of each observation in seconds.", min=MIN_EVERY)] = 60.0,
    job: Job = None,
    goals: GoalsFile = None,
    network: NetworkFile = None,
    rounds: Annotated[int | None, option("Number of observations; default: until Ctrl-C.", min=1)] = None,
    apply: Apply = None,
    max_downtime: Annotated[float | None, finite_option("Maximum downtime of a change in seconds; required by --apply.")] = None,
    cooldown: Annotated[float | None, finite_option("Minimum time between two changes in seconds; required by --apply.")] = None,
    replicas: Annotated[
        list[str] | None,
        option(
            "Minimum and maximum number of replicas of an operator, or of all others; required by --apply.",
            metavar="[OPERATOR=]FLOOR:CEILING",
        ),
    ] = None,
    program: Annotated[str | None, option("Identifier of the uploaded jar (GET /jars); required by redeploy.")] = None,
    savepoints: Annotated[str | None, option("Folder for savepoints; required by redeploy.")] = None,
    entry_class: Annotated[str | None, option("Entry class of the jar; default: that of its manifest.")] = None,
    program_arg: ProgramArguments = None,
    demand: Annotated[
        list[str] | None,
        option("Resource that an operator demands without {places}; default: that of its own name.", metavar="OPERATOR=RESOURCE"),
    ] = None,
    pace: Annotated[int, option("Rate at which a worker sends state with live, in bytes/s; 0: no limit.", min=0)] = 0,
    control: Annotated[
        Path | None, option("Control log of live as this machine sees it; default: the file that the job names.")
    ] = None,
    allow_remote: AllowRemote = False,
    decide: Annotated[
        Decide, choice_option(Decide, "Weigh each minute alone (now), or plan the hours to come by a forecast of the load (day).")
    ] = "now",
    history: Annotated[
        Path | None, option("CSV file of past rates with the columns time,rate; required by --decide day.")
    ] = None,
    season: Annotated[float | None, finite_option("Seconds after which the load repeats itself; default: a day.", min=1)] = None,
    horizon: Annotated[float | None, finite_option("Seconds that are planned; default: half a season.", min=1)] = None,
    late_price: Annotated[
        float | None, finite_option("Price of a late tuple in replica-seconds; default: what replicas need for three tuples.")
    ] = None,
    late_after: Annotated[float | None, finite_option("Delay in seconds from which a tuple is late; default: any.")] = None,
    silence: Silence = None,
) -> None:
    """Watch a job of Apache Flink."""
    read_address(rest)
    of_day = {"--season": season, "--horizon": horizon, "--late-price": late_price, "--late-after": late_after}
    of_day["--silence"] = silence
    day = _day_settings(decide, apply, history, of_day)
    limits = ChangeLimits(apply, max_downtime, cooldown, _read_bounds(replicas or ()))
    _refuse_unlimited(limits, rest, allow_remote)
    arguments, demands = tuple(program_arg or ()), _read_demands(demand or ())
    started = None if program is None else RestartableProgram(program, savepoints or "", entry_class, arguments, demands)
    _refuse_unstartable(limits, started)
    migration = _migration(apply, pace, control)
    aims = WatchAims(read_goals(goals), read_network(network), limits, day)
    refuse_target(journal)
    clock = SystemClock()
    if day is not None:
        day.refuse_future(clock.time())
    running = get_engine("flink").running_job(rest, WatchSettings(job, every, started, migration), clock)
    with stopping_on_signals(clock), WatchJournal(journal) as kept:
        done = Watcher(running, kept, aims, clock, _print_entry).run(every, rounds)
    raise typer.Exit(ExitCode.SOLVED if done else ExitCode.INTERRUPTED)


def _migration(apply: str | None, pace: int, control: Path | None) -> Migration | None:
    """How tasks of live operators move; None where none do."""
    if apply == "live":
        return Migration(pace, control)
    if pace or control:
        raise EngineError("--pace" if pace else "--control", "goes with --apply live, which moves tasks")
    return None


def _day_settings(
    decide: Decide, mode: Mode | None, history: Path | None, options: Mapping[str, float | None]
) -> DaySettings | None:
    """Settings of `--decide day`, or None; options of it are refused without it."""
    if decide == "now":
        given = next((name for name, value in {"--history": history, **options}.items() if value is not None), None)
        if given is not None:
            raise EngineError(given, "goes with --decide day")
        return None
    if history is None:
        raise EngineError("--decide day", "needs --history FILE, a CSV file of past rates with the columns time,rate")
    if mode == "live":
        raise EngineError("--decide day", "goes with a dry run, --apply rescale or --apply redeploy; live moves are not planned")
    past = read_history(history, options["--season"] or DAY)
    late_after = options["--late-after"] or 0.0
    return DaySettings(past, options["--horizon"], options["--late-price"], late_after, options["--silence"])


def _print_entry(entry: dict[str, object]) -> None:
    for line in watch_lines(entry):
        say(output(), line)


def _refuse_unlimited(limits: ChangeLimits, rest: str, allow_remote: bool) -> None:
    """Refuse to apply anything without limits, or where the user may not expect it."""
    if limits.mode is None:
        return
    if limits.max_downtime is None:
        raise EngineError("--apply", "needs --max-downtime SECONDS, the most that a change may stop the job for")
    if limits.cooldown is None:
        raise EngineError("--apply", "needs --cooldown SECONDS, in which no change follows another")
    if not allow_remote and not is_loopback(rest):
        raise EngineError("--apply", f"{rest} is another machine; add --allow-remote if that is meant")


def _refuse_unstartable(limits: ChangeLimits, program: RestartableProgram | None) -> None:
    """Refuse to stop what could not be started again."""
    if limits.mode != "redeploy":
        return
    if program is None:
        raise EngineError("--apply redeploy", "needs --program JAR_ID, what is run again (GET /jars lists the uploaded ones)")
    if not program.savepoints:
        raise EngineError(
            "--apply redeploy", "needs --savepoints FOLDER, as the cluster names it, such as s3://bucket/savepoints"
        )


def _read_demands(words: Sequence[str]) -> dict[str, str]:
    """Resources by operator.

    >>> _read_demands(["Source: reader=reader"])
    {'Source: reader': 'reader'}
    """
    pairs = [word.rpartition("=") for word in words]
    for word, (operator, _, resource) in zip(words, pairs, strict=True):
        if not operator or not resource:
            raise EngineError(f"--demand {word!r}", "must be OPERATOR=RESOURCE, such as counter=site-a")
    return {operator: resource for operator, _, resource in pairs}


def _read_bounds(words: Sequence[str]) -> dict[str, tuple[int, int]]:
    """Floors and ceilings by operator, "" for those of all others.

    >>> _read_bounds(["1:8", "counter=2:4"])
    {'': (1, 8), 'counter': (2, 4)}
    """
    bounds: dict[str, tuple[int, int]] = {}
    for word in words:
        name, _, numbers = word.rpartition("=")
        floor, _, ceiling = numbers.partition(":")
        if not floor.isdecimal() or not ceiling.isdecimal() or not 1 <= int(floor) <= int(ceiling):
            raise EngineError(f"--replicas {word!r}", "must be FLOOR:CEILING or OPERATOR=FLOOR:CEILING, such as counter=1:8")
        if name in bounds:
            raise EngineError(f"--replicas {word!r}", f"gives {name or 'all operators'} a second time")
        bounds[name] = (int(floor), int(ceiling))
    return bounds
