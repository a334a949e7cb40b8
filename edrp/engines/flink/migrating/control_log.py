"""The control log: the append-only file of lines from which a job takes plans (docs/reference/plans.md)."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from secrets import token_hex
from typing import Literal
from urllib.parse import quote, unquote, urlsplit

from edrp.core.errors import InvalidInstanceError
from edrp.core.files import file_mode, naming_errors, read_regular
from edrp.engines.errors import EngineError
from edrp.engines.flink.migrating.discovery import ControlState
from edrp.engines.flink.migrating.moves import Steps, TaskMove
from edrp.engines.watch_journal import HeldFile

Mode = Literal["live", "pause"]

IDENTIFIER = 12
"""Hexadecimal digits of the identifier of a plan."""

DRIVER = "# driver "

NO_DRIVER = ("", "", "")

WORDS = ("plan", "step", "move", "end", "abort")
"""First words of lines, next to "#"; a line that ends in "#" was spoiled by a writer that found it without an end."""


@dataclass(slots=True)
class LoggedPlan:
    """A plan in the log.

    Attributes
    ----------
    pace : bytes/s of each sender; 0 for no limit.
    host, process, origin : who sent it, and the digest of what was asked for.
    end : bytes of the log up to its end.
    aborted : whether the job is to begin no further step of it.
    """

    key: str
    pace: int
    mode: str
    host: str = ""
    process: str = ""
    origin: str = ""
    moves: list[list[TaskMove]] = field(default_factory=list)
    end: int = 0
    aborted: bool = False

    @property
    def steps(self) -> Steps:
        """The moves of each step."""
        return tuple(map(tuple, self.moves))

    @property
    def sender(self) -> str:
        """Who sent it, in words."""
        return f"sent by process {self.process} on {self.host}" if self.host else "sent by an unknown process"


@dataclass(slots=True)
class Log:
    """The plans of a log, in order.

    Attributes
    ----------
    plans : those whose last line is there; the job takes no others.
    size : in bytes.
    version : the highest version of a move, 0 without any.
    foreign : number of the first line that no writer of logs has written, from 1; 0 without any.
    mend : what has to be appended before anything else, since a writer died in the middle of a line or plan.
    """

    plans: list[LoggedPlan] = field(default_factory=list)
    size: int = 0
    version: int = 0
    foreign: int = 0
    mend: bytes = b""

    def unfinished(self, state: ControlState, place: str) -> LoggedPlan | None:
        """The plan of which the job has still something to do; None where all is done or aborted.

        Raises
        ------
        EngineError
            The job is at a place that the log does not have: it reads another one.
        """
        plans = {plan.key: plan for plan in self.plans}
        current = state.plan
        if state.offset > self.size or (current is not None and current.plan not in plans):
            why = "is not the log that the job reads, which is at a plan that this one does not hold"
            raise EngineError(place, f"{why}; name the log of the job by --control")
        if current is not None and not current.over:
            return plans[current.plan]
        over = None if current is None else current.plan
        return next((p for p in self.plans if p.end > state.offset and not p.aborted and p.key != over), None)


def read_log(content: bytes) -> Log:
    r"""Read the content of a log; what no writer writes is passed over, as the job does.

    >>> log = read_log(b"plan 0123456789ab 1 1 0 live\nstep 0\nmove 1 count 3 0 7\nend 0123456789ab\nplan 012")
    >>> log.plans[0].steps, log.version, log.mend
    (((TaskMove(operator='count', task=3, source=0, target=7),),), 1, b'#\n')
    """
    log, place = Log(size=len(content)), 0
    known: dict[str, LoggedPlan] = {}
    host, process, origin = NO_DRIVER
    opened: LoggedPlan | None = None
    *lines, tail = content.split(b"\n")
    for number, line in enumerate(lines, 1):
        place += len(line) + 1
        text = line.decode("ascii", "replace")
        words = text.split(" ")
        if text and words[0] not in WORDS and not text.startswith("#") and not text.endswith("#"):
            log.foreign = log.foreign or number
        try:
            if text.startswith(DRIVER):
                host, process, origin = words[2:5]
            elif words[0] == "plan" and len(words[1]) == IDENTIFIER:
                opened = known[words[1]] = LoggedPlan(words[1], int(words[4]), words[5], unquote(host), process, origin)
                host, process, origin = NO_DRIVER
            elif words[0] == "step" and opened is not None:
                opened.moves.append([])
            elif words[0] == "move":
                version, operator, numbers = int(words[1]), unquote(words[2]), map(int, words[3:6])
                log.version = max(log.version, version)
                if opened is not None:
                    opened.moves[-1].append(TaskMove(operator, *numbers))
            elif words[0] == "end" and opened is not None and words[1:] == [opened.key]:
                opened.end = place
                log.plans.append(opened)
                opened = None
            elif words[0] == "abort" and words[1] in known:
                known[words[1]].aborted = True
                opened = None if opened is known[words[1]] else opened
        except (ValueError, IndexError, TypeError):
            continue
    log.mend = (b"#\n" if tail else b"") + (b"" if opened is None else f"abort {opened.key}\n".encode())
    return log


def control_path(uri: str, given: Path | None) -> Path:
    """The path of a log on this machine.

    Raises
    ------
    EngineError
        The log of the job is not on this machine.
    """
    parts = urlsplit(uri)
    if given is None and parts.scheme not in ("", "file"):
        raise EngineError("--control", f"the job reads its control log from {uri}; name the same file as this machine sees it")
    path = given or Path(unquote(parts.path))
    if file_mode(path) is None:
        which = f"{path} is not here" if given else f"the job reads {uri}, which is not here"
        raise EngineError("--control", f"{which}; name the control log of the job as this machine sees it, or create it empty")
    return path


class ControlLog(HeldFile):
    """The control log of a job, held by one command alone.

    Parameters
    ----------
    path
        Path of the log, which exists.

    Raises
    ------
    EngineError
        Another command holds it, or it cannot be read.
    UnwritableError
        It cannot be written.
    """

    def __init__(self, path: Path) -> None:
        with naming_errors(path):
            file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC | os.O_NONBLOCK)
        in_use = "is in use: another command moves tasks of this job; wait for its end, or stop it and go on with --abort"
        super().__init__(path, file, in_use)

    def _begin(self) -> None:
        self.log = read_log_file(self.path)

    def append_plan(self, steps: Iterable[Iterable[TaskMove]], origin: str, pace: int, mode: Mode) -> LoggedPlan:
        """Append a whole plan by one write; it is on the disk when this returns.

        Raises
        ------
        UnwritableError
            It is not, and what is there of it is mended by the next command.
        """
        moves = [list(step) for step in steps]
        key, version = token_hex(IDENTIFIER // 2), self.log.version
        host = quote(platform.node() or "unknown", safe="")
        lines = [f"{DRIVER}{host} {os.getpid()} {origin}", f"plan {key} {len(moves)} {sum(map(len, moves))} {pace} {mode}"]
        for number, step in enumerate(moves):
            lines.append(f"step {number}")
            for move in step:
                version += 1
                lines.append(f"move {version} {quote(move.operator, safe='')} {move.task} {move.source} {move.target}")
        lines.append(f"end {key}")
        self._append("".join(f"{line}\n" for line in lines).encode())
        return self.log.plans[-1]

    def append_abort(self, plan: LoggedPlan) -> None:
        """Tell the job to begin no further step of a plan."""
        self._append(f"abort {plan.key}\n".encode())
        plan.aborted = True

    def _append(self, content: bytes) -> None:
        self._append_whole(self.log.mend + content)
        self.log = read_log_file(self.path)


def read_log_file(path: Path) -> Log:
    """Read a log.

    Raises
    ------
    EngineError
        It cannot be read, or holds something else: what the job or the user names may be any file.
    """
    try:
        log = read_log(read_regular(path))
    except InvalidInstanceError as error:
        raise EngineError(str(path), error.faults[0].why) from None
    if log.foreign:
        raise EngineError(str(path), f"line {log.foreign} is of no control log; name the control log of the job by --control")
    return log
