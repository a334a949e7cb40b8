"""Flips single bits in what is kept for later, and sees whether any of it is read as if nothing had happened."""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from edrp.batch.folder import ResultFolder
from edrp.batch.journal import Journal
from edrp.batch.rows import solve_task
from edrp.batch.source import Fingerprint
from edrp.batch.stored import read_rows
from edrp.batch.tasks import Choice, Instance, Task
from edrp.core.errors import InvalidInstanceError, RecoveryWarning
from edrp.core.files import SET_ASIDE
from edrp.mdp.partitions import Tasks
from edrp.mdp.policy.pmc import Iteration, Threads, iterate
from edrp.mdp.policy.process import PolicyModel
from edrp.mdp.policy.store import Checkpoints, load_policy, precompute_policy, save_policy


@dataclass(frozen=True, slots=True)
class Flip:
    """One bit that was flipped, and what came of it.

    Attributes
    ----------
    what : kind of the file: results, journal, policy or checkpoint.
    file : name of the file.
    bit : number of the bit.
    fault : fault in how the flip was taken; empty where it was noticed and named, and all else was kept.
    """

    what: str
    file: str
    bit: int
    fault: str


@dataclass(frozen=True, slots=True)
class Kept:
    """A folder as it was written, and what reads it after one bit of a file in it was flipped.

    Attributes
    ----------
    take : called with a copy of the folder and with the damaged file; returns what is wrong with how it was taken, or "".
    """

    folder: Path
    take: Callable[[Path, Path], str]


def flip_bits(count: int, seed: int, place: Path) -> Iterator[Flip]:
    """Flip `count` bits, one at a time, in results, journals, policies and checkpoints in turn."""
    generator = np.random.default_rng(seed)
    sound_files = _write_all(place / "sound")
    names = list(sound_files)
    for number in range(count):
        name = names[number % len(names)]
        copy = place / "copy"
        shutil.copytree(sound_files[name].folder, copy)
        files = sorted(path for path in copy.rglob("*") if path.is_file() and path.stat().st_size)
        file = files[generator.integers(len(files))]
        content = bytearray(file.read_bytes())
        bit = int(generator.integers(8 * len(content)))
        content[bit // 8] ^= 1 << bit % 8
        file.write_bytes(content)
        yield Flip(name, file.name, bit, sound_files[name].take(copy, file))
        shutil.rmtree(copy)


def _write_all(place: Path) -> dict[str, Kept]:
    tasks = [Task(Instance(f"i{index}", "no JSON"), Choice.read("greedy"), 0) for index in range(12)]
    rows = [{**solve_task(task), "outcome": "infeasible", "finished_at": datetime(2024, 1, 1, tzinfo=UTC)} for task in tasks]
    for name in ("results", "journal"):
        folder = ResultFolder(place / name, Fingerprint(12, 7))
        for part in (0, 6):
            journal = Journal(folder.path, f"run-{part}", folder.batch)
            for row in rows[part : part + 6]:
                journal.write(row)
            if name == "results":
                journal.close()
    random = np.random.default_rng(5)
    loads = Tasks.of(random.lognormal(0, 0.3, 10), random.lognormal(0, 1, 10) * 1e6)
    model = PolicyModel(loads, (2, 3), 0.6, False, np.array([[0.0, 1.0], [0.5, 0.5]]), 0.8)
    sweeps: list[Iteration] = []
    iteration = iterate(model, Threads(1), after_sweep=sweeps.append)
    save_policy(model, iteration, place / "policy")
    Checkpoints(place / "checkpoint", model).save(sweeps[2])
    return {
        "results": Kept(place / "results", lambda copy, file: _take_rows(copy, file, rows)),
        "journal": Kept(place / "journal", lambda copy, file: _take_rows(copy, file, rows)),
        "policy": Kept(place / "policy", lambda copy, file: _take_policy(copy, file, model, iteration)),
        "checkpoint": Kept(place / "checkpoint", lambda copy, file: _take_checkpoint(copy, file, model)),
    }


def _take_rows(copy: Path, file: Path, rows: list[dict[str, Any]]) -> str:
    """A batch of the same instances goes on in the folder."""
    whole = {row["key"]: row["error_message"] for row in rows}
    with _warnings() as warned:
        before = read_rows(copy)
    if not file.name.startswith("_journal") and file.name not in " ".join(warned):
        return "read_rows does not name it"
    with _warnings() as warned:
        recovered = ResultFolder(copy, Fingerprint(12, 7)).recover().done
    if file.name not in " ".join(warned):
        return "is not named"
    if not any(path.name.endswith(file.name) for path in (copy / SET_ASIDE).glob("*")):
        return "is not set aside"
    after = read_rows(copy)
    for table in (before, after):
        pairs = zip(table["key"].to_pylist(), table["error_message"].to_pylist(), strict=True)
        if any(whole.get(key) != text for key, text in pairs):
            return "rows have changed"
    lost = 1 if file.name.startswith("_journal") else 6
    if recovered != set(after["key"].to_pylist()) or after.num_rows != len(recovered) or len(recovered) < len(rows) - 2 * lost:
        return f"{len(recovered)} of {len(rows)} rows are left"
    return ""


def _take_policy(copy: Path, file: Path, model: PolicyModel, iteration: Iteration) -> str:
    """The policy is opened, refused, and computed again."""
    try:
        load_policy(copy)
    except InvalidInstanceError as error:
        if file.name not in str(error) or "compute the policy again" not in str(error):
            return f"is refused with {error!r}"
    else:
        return "is opened"
    with _warnings() as warned:
        precompute_policy(model, Threads(1), copy)
    if file.name not in " ".join(warned) or not (copy / SET_ASIDE / file.name).exists():
        return "is not set aside"
    again = load_policy(copy).costs.values.values()
    return "" if all(map(np.array_equal, again, iteration.values)) else "other costs are computed"


def _take_checkpoint(copy: Path, file: Path, model: PolicyModel) -> str:
    """A job that was killed goes on."""
    with _warnings() as warned:
        checkpoint = Checkpoints(copy, model).latest()
    if checkpoint is not None:
        return "is used"
    if file.stem not in " ".join(warned) or not (copy / SET_ASIDE / file.name).exists():
        return "is not set aside"
    return ""


@contextmanager
def _warnings() -> Iterator[list[str]]:
    """Warnings while the block runs, which are printed nowhere."""
    messages: list[str] = []
    with warnings.catch_warnings(record=True, action="always", category=RecoveryWarning) as caught:
        try:
            yield messages
        finally:
            messages += [str(warning.message) for warning in caught]
