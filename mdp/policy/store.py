"""Policies stored in folders: computed once, by any engine, and opened when a migration has to be decided.

A folder holds `parameters.json`, `costs.parquet` (one row a partition: its number of nodes, its boundaries, its projected
cost in bytes) and, written last, `manifest.json` with checksums; while it is being computed, a checkpoint in `sweeps/`.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
from numpy.typing import NDArray
from pyarrow import parquet

from edrp.core.budget import running
from edrp.core.errors import Fault, InvalidInstanceError, NoSuchFileError, OutOfTimeError
from edrp.core.files import (
    SET_ASIDE,
    DamagedFileError,
    naming_errors,
    read_sealed,
    read_unsealed,
    sealed,
    set_aside,
    warn_user,
    write_whole,
    writing,
)
from edrp.core.folders import refuse_folder
from edrp.core.tolerances import PROJECTED_COST_ACCURACY
from edrp.mdp.policy.pmc import Iteration, SweepEngine, iterate
from edrp.mdp.policy.process import MigrationPolicy, PolicyModel, build_model, differences, fingerprint, model_parameters
from edrp.migration.policy import MigrationPolicyProblem, ProjectedCosts


def to_lists(rows: NDArray[Any]) -> pyarrow.Array:
    """Convert an array of shape (rows, width) into one list per row.

    >>> to_lists(np.array([[0, 1, 4], [0, 2, 4]], dtype=np.int16)).to_pylist()
    [[0, 1, 4], [0, 2, 4]]
    """
    count, width = rows.shape
    offsets = np.arange(count + 1, dtype=np.int32) * width
    return pyarrow.ListArray.from_arrays(pyarrow.array(offsets, pyarrow.int32()), pyarrow.array(rows.ravel()))


def to_rows(lists: pyarrow.ChunkedArray, width: int) -> NDArray[Any]:
    """Convert lists of equal length into an array, the inverse of `to_lists`.

    Raises
    ------
    ValueError
        When the lists are not all of that width.
    """
    flat = pyarrow.chunked_array([chunk.flatten() for chunk in lists.chunks], lists.type.value_type).to_numpy()
    if flat.size != len(lists) * width:
        raise ValueError(f"holds {flat.size} entries for {len(lists)} rows of {width}")
    return np.asarray(flat.reshape(len(lists), width))


def write_classes(path: Path, classes: Iterable[dict[str, Any]]) -> str:
    """Write columns by node count to a file, which appears whole or not at all; return its SHA-256.

    Parameters
    ----------
    classes
        Columns for each node count; from a generator, so that only one table is in memory twice.

    Raises
    ------
    UnwritableError
        When the folder cannot be written to; what was at `path` stays.
    """
    with writing(path) as file:
        tables = (pyarrow.table(columns) for columns in classes)
        first = next(tables)
        with parquet.ParquetWriter(file, first.schema) as writer:
            for table in chain([first], tables):
                writer.write_table(table, row_group_size=max(1, table.num_rows))
        file.flush()
        file.seek(0)
        return hashlib.file_digest(file, "sha256").hexdigest()


def refuse_changed(path: Path, digest: str) -> None:
    """Refuse a file that is missing or differs from the one that was written.

    Raises
    ------
    DamagedFileError
        Naming the file.
    """
    if not path.is_file():
        raise DamagedFileError(str(path), "is missing")
    with path.open("rb") as file:
        if hashlib.file_digest(file, "sha256").hexdigest() != digest:
            raise DamagedFileError(str(path), "is damaged: its checksum is another")


ACTIONS_COLUMN = "replies"
"""Column of the actions; checkpoints of earlier versions have it under this name."""


@dataclass(frozen=True, slots=True)
class Checkpoints:
    """Checkpoints of an iteration in a folder: `sweep-0003.parquet` and, written last, `sweep-0003.json`.

    The table holds C and the actions of every state, so that the iteration continues with exactly the same numbers.
    """

    folder: Path
    model: PolicyModel

    def save(self, iteration: Iteration) -> None:
        """Write a checkpoint, then remove the previous one.

        Raises
        ------
        UnwritableError
            When the folder cannot be written to; the checkpoint before stays.
        """
        with naming_errors(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
        table = self.folder / f"sweep-{iteration.sweeps:04d}.parquet"
        digest = write_classes(table, (self._columns(iteration, index) for index in range(len(self.model.counts))))
        head = {
            "fingerprint": fingerprint(model_parameters(self.model)),
            "sweeps": iteration.sweeps,
            "error_bound": iteration.error_bound,
            "seconds": iteration.seconds,
            "sha256": digest,
        }
        write_whole(table.with_suffix(".json"), sealed(head) + "\n")
        for other in self.folder.glob("sweep-*"):
            if other.stem != table.stem:
                other.unlink()

    def latest(self) -> Iteration | None:
        """Read the last checkpoint that is whole and of this model, or None; a damaged one is set aside with a warning."""
        for head in sorted(self.folder.glob("sweep-*.json"), reverse=True):
            try:
                return self._read(head)
            except (InvalidInstanceError, ValueError, KeyError, OSError, pyarrow.ArrowException) as error:
                aside = ", ".join(str(set_aside(file)) for file in sorted(self.folder.glob(f"{head.stem}.*")))
                warn_user(f"checkpoint {head}: {error}; it is set aside as {aside}, and its sweeps are computed again")
        return None

    def remove(self) -> None:
        """Remove all checkpoints, and their folder if nothing else is in it."""
        for file in self.folder.glob("sweep-*"):
            file.unlink()
        if self.folder.is_dir() and not any(self.folder.iterdir()):
            self.folder.rmdir()

    def _columns(self, iteration: Iteration, index: int) -> dict[str, Any]:
        assert iteration.actions is not None, "a checkpoint is written after a sweep"
        nodes = np.full(self.model.size.states[index], self.model.counts[index], np.int32)
        return {
            "nodes": nodes,
            "cost": iteration.values[index],
            ACTIONS_COLUMN: to_lists(iteration.actions[index].astype(np.int32)),
        }

    def _read(self, path: Path) -> Iteration:
        head = read_sealed(path)
        if head["fingerprint"] != fingerprint(model_parameters(self.model)):
            raise ValueError("it is of other parameters")
        refuse_changed(path.with_suffix(".parquet"), head["sha256"])
        file = parquet.ParquetFile(path.with_suffix(".parquet"))
        groups = [file.read_row_group(index) for index in range(file.num_row_groups)]
        widths = [self.model.successors(source).size for source in range(len(self.model.counts))]
        values = [group.column("cost").to_numpy() for group in groups]
        actions = [to_rows(group.column(ACTIONS_COLUMN), width) for group, width in zip(groups, widths, strict=True)]
        if tuple(costs.size for costs in values) != self.model.size.states:
            raise ValueError("it has another number of states")
        return Iteration(
            [np.array(costs) for costs in values],
            [rows.astype(np.int64) for rows in actions],
            int(head["sweeps"]),
            float(head["error_bound"]),
            [float(seconds) for seconds in head["seconds"]],
        )


PARAMETERS, COSTS, MANIFEST, SWEEPS = "parameters.json", "costs.parquet", "manifest.json", "sweeps"
POLICY_FILES = (PARAMETERS, COSTS, MANIFEST, SWEEPS, SET_ASIDE)
POLICY_FORMAT = 2


def precompute_policy(
    model: PolicyModel,
    engine: SweepEngine,
    folder: str | Path,
    *,
    accuracy: float = PROJECTED_COST_ACCURACY,
    max_sweeps: int = 1000,
    time_limit: float | None = None,
    work_limit: float | None = None,
    after_sweep: Callable[[Iteration], None] | None = None,
) -> Iteration:
    """Compute projected costs into a folder, continuing where an earlier call was interrupted.

    The policy is written once C is known to `accuracy`. Stopped by a limit, the folder keeps its checkpoint for the next
    call. A folder that holds the finished policy already is left as it is, unless it is damaged.

    Parameters
    ----------
    model, engine, accuracy, max_sweeps
        As for `edrp.mdp.policy.pmc.iterate`.
    time_limit, work_limit
        Seconds and units of work (docs/explanation/work.md) after which to stop; what a sweep has not finished then is lost.
    folder
        Made if there is none.
    after_sweep
        Called after each sweep, once its checkpoint is written.

    Raises
    ------
    InvalidInstanceError
        When the folder belongs to other parameters.
    UnwritableError
        When the folder cannot be written to or the disk is full.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from edrp.mdp.policy.pmc import Threads
    >>> from edrp.mdp.partitions import Tasks
    >>> tasks = Tasks.of(np.ones(6), np.ones(6))
    >>> model = PolicyModel(tasks, (2, 3), 0.5, False, np.array([[0.0, 1.0], [1.0, 0.0]]), 0.5)
    >>> with TemporaryDirectory() as folder:
    ...     iteration = precompute_policy(model, Threads(1), folder)
    ...     round(load_policy(folder).costs.cost((0, 3, 6)), 6)
    2.0
    """
    path = Path(folder)
    parameters = model_parameters(model)
    _claim_folder(path, parameters)
    finished = _finished_iteration(path, accuracy * model.total_state)
    if finished is not None:
        return finished
    write_whole(path / PARAMETERS, sealed(parameters) + "\n")
    checkpoints = Checkpoints(path / SWEEPS, model)
    limits: dict[str, Any] = {"accuracy": accuracy, "max_sweeps": max_sweeps}
    with running(time_limit, work_limit):
        iteration = _iterate_with_checkpoints(model, engine, checkpoints, after_sweep, limits)
    if iteration.error_bound <= accuracy * model.total_state:
        save_policy(model, iteration, path)
        checkpoints.remove()
    return iteration


def _iterate_with_checkpoints(
    model: PolicyModel,
    engine: SweepEngine,
    checkpoints: Checkpoints,
    after_sweep: Callable[[Iteration], None] | None,
    limits: dict[str, Any],
) -> Iteration:
    """Continue from the last checkpoint, and write one after each sweep."""

    def keep(iteration: Iteration) -> None:
        checkpoints.save(iteration)
        if after_sweep is not None:
            after_sweep(iteration)

    try:
        return iterate(model, engine, state=checkpoints.latest(), after_sweep=keep, **limits)
    except OutOfTimeError:  # during the first sweep
        return Iteration.start(model)


def _claim_folder(path: Path, parameters: dict[str, Any]) -> None:
    """Check that a folder is new, empty or of the same parameters, and create it; damaged parameters are set aside."""
    refuse_folder(path)
    with naming_errors(path):
        path.mkdir(parents=True, exist_ok=True)
        others = sorted(entry.name for entry in path.iterdir() if entry.name not in POLICY_FILES and entry.suffix != ".partial")
    parameters_file = path / PARAMETERS
    try:
        stored = read_sealed(parameters_file) if os.path.lexists(parameters_file) else None
    except DamagedFileError as error:
        if not others:
            warn_user(f"{error}; it is set aside as {set_aside(parameters_file)}, and the policy is computed again")
            return
        stored = None
    if stored is not None:
        _refuse_others(path, stored, parameters)
    elif others:
        why = f"holds {others[0]} and no policy; choose a new or an empty folder"
        raise InvalidInstanceError([Fault("policy", str(path), why)])


def _finished_iteration(folder: Path, error: float) -> Iteration | None:
    """Load the result of a finished policy that is sound and exact enough, or None; damaged files are set aside."""
    if not (folder / MANIFEST).exists():
        return None
    try:
        policy, manifest = load_policy(folder), read_sealed(folder / MANIFEST)
    except InvalidInstanceError as damaged:
        aside = ""
        if isinstance(damaged, DamagedFileError) and os.path.lexists(damaged.path):
            aside = f"; it is set aside as {set_aside(Path(damaged.path))}"
        warn_user(f"computed again: {damaged}{aside}")
        return None
    if policy.costs.error_bound > error:
        return None
    return Iteration(list(policy.costs.values.values()), None, manifest["sweeps"], policy.costs.error_bound, manifest["seconds"])


def save_policy(model: PolicyModel, iteration: Iteration, folder: str | Path) -> None:
    """Write a policy; `load_policy` refuses the folder until the manifest is written, which comes last.

    Raises
    ------
    UnwritableError
        When the folder cannot be written to or the disk is full.
    """
    path = Path(folder)
    with naming_errors(path):
        path.mkdir(parents=True, exist_ok=True)
        (path / MANIFEST).unlink(missing_ok=True)
    parameters = model_parameters(model)
    write_whole(path / PARAMETERS, sealed(parameters) + "\n")

    def columns(index: int) -> dict[str, Any]:
        nodes = np.full(model.size.states[index], model.counts[index], np.int32)
        return {"nodes": nodes, "partition": to_lists(model.partitions[index]), "cost": iteration.values[index]}

    digest = write_classes(path / COSTS, (columns(index) for index in range(len(model.counts))))
    manifest = {
        "format": POLICY_FORMAT,
        "fingerprint": fingerprint(parameters),
        "states": sum(model.size.states),
        "error_bound": iteration.error_bound,
        "sweeps": iteration.sweeps,
        "seconds": iteration.seconds,
        "sha256": digest,
    }
    write_whole(path / MANIFEST, sealed(manifest) + "\n")


def load_policy(folder: str | Path, problem: MigrationPolicyProblem | None = None) -> MigrationPolicy:
    """Open a policy that `precompute_policy` or `edrp policy precompute` has written.

    Parameters
    ----------
    problem
        Problem whose work, state sizes, node counts, transitions, discount and tolerance the policy must have; None: any.

    Raises
    ------
    InvalidInstanceError
        When the folder holds no policy, one half written, damaged or of another format, or one for other parameters.
    """
    path = Path(folder)
    with _with_advice():
        manifest, parameters = _read_head(path)
        if problem is not None:
            refuse_other_problem(path, parameters, PolicyModel.of(problem, problem.reachable_counts))
        model = build_model(parameters)
        refuse_changed(path / COSTS, manifest["sha256"])
        return MigrationPolicy(model, _read_costs(path / COSTS, model, float(manifest["error_bound"])))


def stored_parameters(folder: str | Path) -> dict[str, Any]:
    """Read the parameters of the finished policy in a folder, without its costs; fields of a `MigrationPolicyProblem`.

    Raises
    ------
    InvalidInstanceError
        When the folder holds no policy, one half written or of another format.
    """
    with _with_advice():
        return _read_head(Path(folder))[1]


def refuse_other_problem(folder: Path, stored: dict[str, Any], model: PolicyModel) -> None:
    """Refuse a policy of other parameters; it may contain more numbers of nodes than the problem needs.

    Raises
    ------
    InvalidInstanceError
        Naming the parameters that differ.
    """
    stored_counts = stored["node_counts"]
    if set(model.counts) <= set(stored_counts):
        index = [stored_counts.index(count) for count in model.counts]
        transitions = np.asarray(stored["transitions"])[np.ix_(index, index)].tolist()
        stored = {**stored, "node_counts": list(model.counts), "transitions": transitions}
    _refuse_others(folder, stored, model_parameters(model))


def _read_head(folder: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Read manifest and parameters, and check that they belong together."""
    if not folder.exists():
        raise NoSuchFileError(str(folder), "make it with `edrp policy precompute`")
    if not (folder / MANIFEST).is_file():
        unfinished = "is half written; run `edrp policy precompute` again, it goes on where it was"
        why = unfinished if (folder / PARAMETERS).is_file() else "holds no policy; make one with `edrp policy precompute`"
        raise InvalidInstanceError([Fault("policy", str(folder), why)])
    earlier = read_unsealed(folder / MANIFEST)
    manifest = read_sealed(folder / MANIFEST) if earlier is None else earlier
    if manifest.get("format", POLICY_FORMAT) != POLICY_FORMAT:
        raise InvalidInstanceError(
            [Fault("format", str(manifest.get("format")), f"must be {POLICY_FORMAT}; compute the policy again")]
        )
    manifest, parameters = read_sealed(folder / MANIFEST), read_sealed(folder / PARAMETERS)
    if fingerprint(parameters) != manifest.get("fingerprint"):
        why = "do not belong to the costs in the folder; compute the policy again"
        raise InvalidInstanceError([Fault(PARAMETERS, str(folder), why)])
    return manifest, parameters


def _read_costs(path: Path, model: PolicyModel, error_bound: float) -> ProjectedCosts:
    """Read the table of costs, and check that its partitions are those of the model, in order."""
    try:
        file = parquet.ParquetFile(path)
        groups = [file.read_row_group(index) for index in range(file.num_row_groups)]
        for group, count, partitions in zip(groups, model.counts, model.partitions, strict=True):
            if not np.array_equal(to_rows(group.column("partition"), count + 1), partitions):
                raise ValueError(f"its partitions into {count} intervals are not those of the parameters")
        values = {count: np.array(group.column("cost").to_numpy()) for group, count in zip(groups, model.counts, strict=True)}
    except (ValueError, KeyError, pyarrow.ArrowException) as error:
        raise DamagedFileError(str(path), f"cannot be used: {error}") from None
    return ProjectedCosts(dict(zip(model.counts, model.partitions, strict=True)), values, error_bound)


def _refuse_others(folder: Path, stored: dict[str, Any], required: dict[str, Any]) -> None:
    differing = differences(stored, required)
    if differing:
        why = f"belongs to a policy of other {', '.join(differing)}; name another folder, or compute the policy again"
        raise InvalidInstanceError([Fault("policy", str(folder), why)])


@contextmanager
def _with_advice() -> Iterator[None]:
    """Add advice to the error of a damaged file."""
    try:
        yield
    except DamagedFileError as error:
        raise DamagedFileError(error.path, f"{error.why}; compute the policy again") from None
