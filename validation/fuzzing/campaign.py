"""Many cases over several processes, in chunks that depend on the seed alone: can be stopped at any time and continued."""

from __future__ import annotations

import faulthandler
import json
import multiprocessing
import resource
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any

import hypothesis
import numpy as np
from hypothesis import HealthCheck, Phase

from edrp.backends import OWN_BACKENDS
from edrp.core.errors import EdrpError
from edrp.core.instances import loads
from edrp.core.kinds import kinds
from edrp.core.methods import methods
from edrp.validation.fuzzing.families import FAMILIES, UNLISTED
from edrp.validation.fuzzing.features import FEATURES, base_document
from edrp.validation.fuzzing.mutations import cases, methods_for
from edrp.validation.fuzzing.oracle import WAYS, Case, Find, judge

HANGING, WAITING = 300.0, 3000.0
"""Processor seconds after which a case counts as hanging, and seconds by the clock for one
that waits for something: on a busy machine, a case that takes half a minute of a processor takes ten."""

IMPORTED_ONCE = [__name__, "scipy.optimize", "networkx", "pandas", "cvxpy", "pyomo.environ", "gurobipy", "pyscipopt"]
"""Modules that no time limit of a case has to cover; those that are not installed are left out."""

MEMORY = 8 * 2**30
"""Bytes of address space of a process; more is a find."""

SECONDS_BETWEEN_POLLS = 0.05


@dataclass(frozen=True, slots=True)
class Campaign:
    """The cases to be drawn, and where their results are kept.

    Attributes
    ----------
    folder : for `chunks.jsonl`, a line for each finished chunk, and `finds`, two files for each find.
    seed : chunk i depends on the seed and i alone.
    kinds : kinds of problems, none for all.
    files : further documents to begin with.
    work_limit : units of work for each method.
    pairs : whether cases are those of pairs of features.
    feature : one that comes alone, in all kinds that have it, under all methods by name; "" for pairs.
    chunk : cases of one process; it ends after them, so that nothing that it leaves behind can matter to others. Loading
        modules and drawing what cases begin with takes about as long as a hundred cases, so chunks are larger than that.
    """

    folder: Path
    seed: int = 0
    kinds: tuple[str, ...] = ()
    files: tuple[Path, ...] = ()
    work_limit: float = 0.05
    pairs: bool = False
    feature: str = ""
    chunk: int = 500

    @property
    def chunks(self) -> Path:
        """File in which finished chunks are entered."""
        return self.folder / "chunks.jsonl"

    @property
    def finds(self) -> Path:
        """Folder in which finds are written."""
        return self.folder / "finds"

    def finished(self) -> list[dict[str, Any]]:
        """Finished chunks of the same seed and size; a line that was cut off is not counted."""
        lines = self.chunks.read_text().splitlines() if self.chunks.exists() else []
        chunks = [json.loads(line) for line in lines if line.endswith("}}")]
        own = self.seed, self.chunk, self.pairs, self.feature
        parts = (("seed", 0), ("size", None), ("pairs", False), ("feature", ""))
        return [chunk for chunk in chunks if tuple(chunk.get(*part) for part in parts) == own]

    def name(self, number: int) -> str:
        """Beginning of the names of the files of a chunk."""
        return f"{'pairs-' * self.pairs}{number:04d}"


@dataclass(slots=True)
class Summary:
    """A count of the outcomes of the cases so far."""

    cases: int = 0
    codes: Counter[str] = field(default_factory=Counter)
    signatures: Counter[str] = field(default_factory=Counter)

    def add(self, chunk: dict[str, Any]) -> None:
        """Add the counts of a chunk to the totals."""
        self.cases += chunk["cases"]
        self.codes.update(chunk["codes"])
        self.signatures.update(chunk["signatures"])

    def __str__(self) -> str:
        codes = ", ".join(f"{name} {count}" for name, count in self.codes.most_common())
        finds = "".join(f"\n  {count} × {signature}" for signature, count in self.signatures.most_common())
        return f"{self.cases} cases ({codes}), {self.signatures.total()} finds{finds}"


def run_chunk(
    campaign: Campaign, number: int, count: int, before_each: Callable[[int, Case], None] | None = None
) -> dict[str, Any]:
    """Draw and judge the cases of one chunk in this process, and write its finds.

    `before_each` is called before each case is judged, with the number of those before it.
    """
    summary = Summary()

    def each(case: Case) -> None:
        if summary.cases == count:
            return
        if before_each is not None:
            before_each(summary.cases, case)
        verdict = judge(case)
        summary.cases += 1
        summary.codes.update(code.name for code in verdict.codes)
        summary.signatures.update(find.signature for find in verdict.finds)
        for find in verdict.finds:
            _write(campaign, f"{campaign.name(number)}-{summary.cases:03d}", find)

    _draw(campaign, number, count, each)
    return _record(campaign, number, summary)


def _draw(campaign: Campaign, number: int, count: int, take: Callable[[Case], None]) -> None:
    if campaign.pairs:
        among = alone(campaign.feature) if campaign.feature else pairs()
        for place in range(count):
            take(pair_case(number * campaign.chunk + place, campaign.seed, campaign.work_limit, among))
        return

    @hypothesis.seed(campaign.seed * 1_000_003 + number)
    @hypothesis.settings(
        max_examples=count,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @hypothesis.given(cases(campaign.kinds, campaign.files, campaign.work_limit))
    def each(case: Case) -> None:
        take(case)

    each()


def _record(campaign: Campaign, number: int, summary: Summary) -> dict[str, Any]:
    codes, signatures = dict(summary.codes), dict(summary.signatures)
    counts = {"cases": summary.cases, "codes": codes, "signatures": signatures}
    drawn = {"seed": campaign.seed, "size": campaign.chunk, "pairs": campaign.pairs, "feature": campaign.feature}
    return {**drawn, "chunk": number, **counts}


def run_campaign(campaign: Campaign, count: int, processes: int = 1) -> Iterator[Summary]:
    """Run what is missing of `count` cases; yields the summary at the start and after each chunk."""
    campaign.finds.mkdir(parents=True, exist_ok=True)
    summary, finished = Summary(), set()
    for chunk in campaign.finished():
        summary.add(chunk)
        finished.add(chunk["chunk"])
    yield summary
    missing = iter([number for number in range(-(-count // campaign.chunk)) if number not in finished])
    running: dict[int, Any] = {}
    try:
        while True:
            while len(running) < processes and (number := next(missing, None)) is not None:
                running[number] = _started(campaign, number)
            if not running:
                return
            time.sleep(SECONDS_BETWEEN_POLLS)
            for number in [number for number, process in running.items() if not process.is_alive()]:
                summary.add(_entered(campaign, number, running.pop(number)))
                yield summary
    finally:
        for process in running.values():
            process.kill()
            process.join()


def _started(campaign: Campaign, number: int) -> Any:
    # The server imports everything once and is then copied for each chunk.
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(IMPORTED_ONCE)
    process = context.Process(target=_guarded, args=(campaign, number))
    process.start()
    return process


def _guarded(campaign: Campaign, number: int) -> None:
    """Run a chunk in a process that ends when a case hangs; the case is on disk then, the stack too. The result is a file."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that started this one
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    current = _current(campaign, number)
    with current.with_suffix(".stack").open("w") as stack:

        def before_each(done: int, case: Case) -> None:
            current.write_text(json.dumps({"number": done, **asdict(case)}))
            signal.setitimer(signal.ITIMER_PROF, HANGING)
            faulthandler.dump_traceback_later(WAITING, exit=True, file=stack)

        faulthandler.register(signal.SIGPROF, stack, chain=True)  # it then ends the process, as it does by default
        chunk = run_chunk(campaign, number, campaign.chunk, before_each)
        faulthandler.cancel_dump_traceback_later()
        signal.setitimer(signal.ITIMER_PROF, 0.0)
    _result(campaign, number).write_text(json.dumps(chunk) + "\n")


def _entered(campaign: Campaign, number: int, process: Any) -> dict[str, Any]:
    """The chunk of a process that ended, entered among the finished ones; where it died, its last case is a find."""
    result, current = _result(campaign, number), _current(campaign, number)
    if result.exists():
        line = result.read_text()
    else:
        signature = f"a process died (exit code {process.exitcode})"
        stack = current.with_suffix(".stack")
        reason = stack.read_text() if stack.exists() else signature
        summary = Summary(signatures=Counter([signature]))
        if current.exists():
            stored = json.loads(current.read_text())
            summary.cases = stored.pop("number")
            find = Find.from_json(json.dumps({"case": stored, "signature": signature, "reason": reason}))
            _write(campaign, f"{campaign.name(number)}-dead", find)
        line = json.dumps(_record(campaign, number, summary)) + "\n"
    with campaign.chunks.open("a") as file:
        file.write("\n" + line)  # perhaps after a line that was cut off
    for leftover in (result, current, current.with_suffix(".stack")):
        leftover.unlink(missing_ok=True)
    return json.loads(line)


def _current(campaign: Campaign, number: int) -> Path:
    return campaign.folder / f"current-{campaign.name(number)}.json"


def _result(campaign: Campaign, number: int) -> Path:
    return campaign.folder / f"result-{campaign.name(number)}.json"


def _write(campaign: Campaign, name: str, find: Find) -> None:
    """A find as it can be judged again, and its document as it can be given to `edrp solve`."""
    (campaign.finds / f"{name}.find").write_text(find.to_json())
    (campaign.finds / f"{name}.json").write_text(find.case.text, errors="surrogatepass")


def known_finds(folder: Path) -> Sequence[Path]:
    """Files of the finds in a folder, as `Find.from_json` reads them."""
    return sorted(folder.glob("*.find"))


DRAWS_OF_A_PAIR = 20
"""Documents that are drawn of a pair before it counts as one that no document can have."""

PROGRAMS = tuple(sorted(name for name in OWN_BACKENDS if name != "highs"))
"""Backends of which one is asked next to HiGHS and the methods of our own."""

ALL_FAMILIES = "families"

Pair = tuple[str, ...]
"""A kind, and two features or ways, or one feature, way or family."""


@cache
def pairs(without: tuple[str, ...] = ()) -> tuple[Pair, ...]:
    """All pairs of what applies to a kind, less those with some features or ways."""
    parts = {name: own for name, (_, own) in (*FEATURES.items(), *WAYS.items()) if name not in without}
    return tuple(
        (kind, *pair) for kind in kinds() for pair in combinations([name for name, own in parts.items() if kind in own], 2)
    )


def alone(part: str) -> tuple[Pair, ...]:
    """A feature or way without another one, or a family, for every kind that has it; "families" for all of them."""
    known = {**FEATURES, **WAYS, **FAMILIES}
    return tuple((kind, name) for name in (FAMILIES if part == ALL_FAMILIES else (part,)) for kind in known[name][1])


def pair_case(number: int, seed: int, work_limit: float, among: tuple[Pair, ...] | None = None) -> Case:
    """The case of a number: one of the pair whose turn it is, or of the next one that a document can have.

    >>> pair_case(0, 0, 1.0).pair
    'edrp: one operator × one node'
    """
    turns = pairs() if among is None else among
    for turn in range(number, number + len(turns)):
        kind, *parts = turns[turn % len(turns)]
        for draw in range(DRAWS_OF_A_PAIR):
            random = np.random.default_rng([seed, turn, draw])
            try:
                text = _text(kind, parts, random)
                loads(text)
            except (EdrpError, ValueError):
                continue
            ways = tuple(name for name in parts if name in WAYS)
            listed = not {*parts} & {*UNLISTED}
            named = f"{kind}: {' × '.join(parts)}"
            return Case(text, _methods(kind, parts, random), work_limit, pair=named, ways=ways, listed=listed)
    raise ValueError(f"no document can have any of {len(turns)} pairs")


def _text(kind: str, parts: list[str], random: np.random.Generator) -> str:
    drawn = int(random.integers(2**20))
    for name in parts:
        if name in FAMILIES:
            return str(FAMILIES[name][0](kind, drawn).model_dump_json())
    document = base_document(kind, drawn)
    for name in parts:
        if name in FEATURES:
            FEATURES[name][0](document, random)
    return json.dumps(document)


def _methods(kind: str, parts: list[str], random: np.random.Generator) -> tuple[str, ...]:
    """`auto`, exact methods of our own, HiGHS, another backend and a method that proves nothing; all methods for one feature.

    Where decisions are not listed, HiGHS and another backend.
    """
    exact, others = methods_for(kind, exact=True), methods_for(kind, exact=False)
    programs = [name for name in exact if name in PROGRAMS and name in methods(kind)]
    if {*parts} & {*UNLISTED}:
        return ("highs", str(random.choice(programs)))
    if len(parts) == 1:
        return ("auto", *methods_for(kind))
    some = [str(random.choice(names)) for names in (programs, others) if names]
    return ("auto", *(name for name in exact if name not in PROGRAMS), *some)
