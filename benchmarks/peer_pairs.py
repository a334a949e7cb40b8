"""A pair of calls or of whole commands that answer the same question: `edrp` and a peer, measured in turn.

A row is a family where it can be one: each seed draws another instance. Each side of calls has a process of its own, which
prepares an instance and then makes one call after the other; each command is a new process. The files of `pairs/` register the
pairs, and `peers.py` measures them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from resource import RUSAGE_CHILDREN, RUSAGE_SELF, getrusage
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

from registry import import_folder

SCRIPT = Path(__file__).resolve().parent / "peers.py"
ONE_THREAD = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL", "POLARS")}

LAUNCHER = """
import os, sys
process = os.spawnvp(os.P_NOWAIT, sys.argv[1], sys.argv[1:])
_, status, use = os.wait4(process, 0)
print(f"\\n[{os.waitstatus_to_exitcode(status)}, {use.ru_utime + use.ru_stime}, {use.ru_maxrss}]")
"""
"""Starts a command and prints its exit code, seconds and memory; Linux counts the peak of whoever forks to a process, too."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The answer of a side, as far as it has one: objective, proven bound, and anything else worth a word."""

    objective: float | None = None
    bound: float | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Call:
    """A call inside a process that stays: `prepare` makes it, of a seed where instances are drawn, and is not timed."""

    name: str
    prepare: Callable[..., Callable[[], Outcome]]


def solves(make: Callable[..., Any], method: str = "auto", **limits: Any) -> Callable[..., Callable[[], Outcome]]:
    """What prepares a solve by a method of `edrp`; the first call, which is not counted, imports its modules."""

    def prepare(*seed: int) -> Callable[[], Outcome]:
        import edrp

        problem = make(*seed)

        def call() -> Outcome:
            solution = edrp.solve(problem, method, **limits)
            return Outcome(solution.objective, solution.bound, solution.status)

        return call

    return prepare


@dataclass(frozen=True, slots=True)
class Command:
    """A whole process from start to end, with all processes that it starts; its words may name files in a scratch folder."""

    name: str
    words: Callable[[Path], Sequence[str]]


@dataclass(frozen=True, slots=True)
class Pair:
    """One row of the table.

    Attributes
    ----------
    name
        Name of the row.
    goal
        The figure that `edrp` has to reach, in words.
    ours, peer
        The sides; without a peer, `edrp` is measured alone.
    needs
        Modules without which the peer is left out.
    drawn
        Whether both sides are prepared with a seed, which draws the instance.
    """

    name: str
    goal: str
    ours: Call | Command
    peer: Call | Command | None = None
    needs: tuple[str, ...] = ()
    drawn: bool = False


@dataclass(frozen=True, slots=True)
class Measured:
    """One run: seconds of the processor (with child processes) and of the clock, peak memory in bytes, and the answer."""

    processor: float
    clock: float
    memory: float
    outcome: Outcome


PAIRS: dict[str, Pair] = {}
MODULES: dict[str, str] = {}
"""The module that registers each pair: a side's process imports no other, since libraries of two peers may not go together."""


def register(pair: Pair) -> None:
    """Add a pair, under a name that is free."""
    if pair.name in PAIRS:
        raise ValueError(f"there is a pair named {pair.name!r} already")
    PAIRS[pair.name] = pair
    MODULES[pair.name] = sys._getframe(1).f_globals["__name__"]


def load_pairs() -> dict[str, Pair]:
    """Import all files of `pairs/`, which register themselves."""
    import_folder("pairs")
    return PAIRS


def used_here() -> float:
    """Seconds of the processor that this process and its children that have ended have used."""
    return sum(part.ru_utime + part.ru_stime for part in map(getrusage, (RUSAGE_SELF, RUSAGE_CHILDREN)))


def used_below() -> float:
    """Seconds that processes below this one have used which still run, as Java; to look them up takes milliseconds itself."""
    ticks, parents = {}, {}
    for file in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            fields = file.read_text().rpartition(") ")[2].split()
            parents[int(file.parent.name)] = int(fields[1])
            ticks[int(file.parent.name)] = sum(map(int, fields[11:15]))
    below = [os.getpid()]
    for process in below:
        below += [child for child, parent in parents.items() if parent == process]
    return sum(ticks.get(process, 0) for process in below[1:]) / os.sysconf("SC_CLK_TCK")


def serve(call: Call, side: str) -> None:
    """Prepare for a line with a list of seeds, make one call for others; standard output carries the measurements alone.

    An error of a peer, as of a licence that takes small programs only, is its answer; one of `edrp` ends the process.
    """
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # solvers print there
    for line in sys.stdin:
        if line.startswith("["):
            run = call.prepare(*json.loads(line))
            continue
        below, here, begin = used_below(), used_here(), perf_counter()
        try:
            outcome = run()
        except Exception as error:
            if side == "ours":
                raise
            outcome = Outcome(note=f"{type(error).__name__}: {error}")
        clock, processor = perf_counter() - begin, used_here() - here
        processor += used_below() - below
        memory = 1024 * max(getrusage(RUSAGE_SELF).ru_maxrss, getrusage(RUSAGE_CHILDREN).ru_maxrss)
        print(json.dumps([processor, clock, memory, asdict(outcome)]), file=answers, flush=True)


@contextmanager
def calls(pair: Pair, side: str) -> Iterator[Callable[..., Measured]]:
    """A process that makes the calls of a side, one for each call of what is returned; with a seed, of a new instance."""
    words = [sys.executable, str(SCRIPT), "--serve", side, "--only", pair.name, "--module", MODULES[pair.name]]
    surroundings = os.environ | ONE_THREAD | {"PYTHONPATH": str(SCRIPT.parent)}  # which workers of Spark inherit
    process = subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=surroundings
    )
    assert process.stdin
    assert process.stdout
    assert process.stderr

    def run(*seed: int) -> Measured:
        print(*([list(seed)] if seed else []), "run", sep="\n", file=process.stdin, flush=True)
        line = process.stdout.readline()
        if not line:
            raise RuntimeError(f"{pair.name}, {side}: {process.stderr.read()[-2000:]}")
        processor, clock, memory, outcome = json.loads(line)
        return Measured(processor, clock, memory, Outcome(**outcome))

    try:
        if not pair.drawn:
            print([], file=process.stdin)
        yield run
    finally:
        process.stdin.close()
        process.terminate()
        process.wait()
        process.stdout.close()
        process.stderr.close()


@contextmanager
def commands(command: Command) -> Iterator[Callable[..., Measured]]:
    """Whole processes of a command, one for each call of what is returned."""
    with TemporaryDirectory() as scratch:
        words = list(command.words(Path(scratch)))

        def run() -> Measured:
            begin = perf_counter()
            launched = [sys.executable, "-S", "-c", LAUNCHER, *words]
            ended = subprocess.run(
                launched, cwd=scratch, capture_output=True, text=True, env=os.environ | ONE_THREAD, check=False
            )
            *printed, last = ended.stdout.splitlines()
            code, processor, memory = json.loads(last)
            if code:
                raise RuntimeError(f"{command.name}: exit code {code}: {' '.join([*printed, ended.stderr])[-2000:]}")
            return Measured(processor, perf_counter() - begin, 1024 * memory, Outcome())

        yield run


def runs(pair: Pair, side: str) -> Any:
    """The context in which a side of a pair is run."""
    subject = getattr(pair, side)
    return commands(subject) if isinstance(subject, Command) else calls(pair, side)


def median_run(measured: Sequence[Measured]) -> Measured:
    """Medians of all figures, with the last answer."""
    figures = (median(getattr(run, name) for run in measured) for name in ("processor", "clock", "memory"))
    return Measured(*figures, measured[-1].outcome)


def measure(pair: Pair, repeats: int, seeds: Sequence[int] = ()) -> list[dict[str, Measured | None]]:
    """Run both sides in turn, seed after seed where instances are drawn, and take medians; a peer that is not installed is None.

    The first run of each side, which imports what it needs, is not counted.
    """
    lacks = pair.peer is None or not all(map(find_spec, pair.needs))
    measured = []
    with ExitStack() as opened:
        sides = [opened.enter_context(runs(pair, side)) for side in (["ours"] if lacks else ["ours", "peer"])]
        for number, seed in enumerate(seeds if pair.drawn else [None]):
            drawn = () if seed is None else (seed,)
            first = [side(*drawn) for side in sides]
            turns = [[side() for side in sides] for _ in range(repeats if number == 0 else repeats - 1)]
            ours, *peer = map(median_run, zip(*(turns if number == 0 else [first, *turns]), strict=True))
            measured.append({"ours": ours, "peer": peer[0] if peer else None})
    return measured
