"""Folders of files that belong together: all of them take their places, or none; what others wrote is not replaced."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex

from edrp.core.errors import InvalidInstanceError, UnwritableError
from edrp.core.files import PARTIAL, file_mode, naming_errors, read_regular, refuse_target, write_whole

RECORD = ".edrp-files.sha256"
"""Names and checksums of the files that we wrote into a folder, as `sha256sum --check` reads them."""


@contextmanager
def filling(folder: str | Path, *, force: bool = False) -> Iterator[Path]:
    """An empty folder to write to, whose files take their places in `folder` together when the block ends well.

    A file that is there already is replaced only if it is one that an earlier call wrote and nobody has changed since,
    or with `force`. On failure the folder stays as it was.

    Parameters
    ----------
    folder
        Path of the folder; created where it is missing.
    force
        Whether to replace files that others wrote.

    Raises
    ------
    UnwritableError
        When a file of the same name was written by others or is no regular file, the folder cannot be written to or the
        disk is full.
    """
    target = Path(folder)
    refuse_folder(target)
    with naming_errors(target):
        created = not target.exists()
        target.mkdir(parents=True, exist_ok=True)
        stage = target / PARTIAL.format(token_hex(8))
        stage.mkdir()
        try:
            with _named_as(target, stage):
                yield stage
            _publish(stage, target, force)
        finally:
            shutil.rmtree(stage, ignore_errors=True)
            if created:
                with suppress(OSError):  # it holds files
                    target.rmdir()


@contextmanager
def new_folder(folder: str | Path) -> Iterator[Path]:
    """An empty folder to write to, which takes its place when the block ends well, and is gone when it does not.

    Raises
    ------
    UnwritableError
        When the place holds anything but an empty folder, its parent cannot be written to or the disk is full.
    """
    target = Path(folder)
    refuse_used(target)
    with naming_errors(target):
        stage = target.with_name(PARTIAL.format(token_hex(8)))
        stage.mkdir()
        try:
            with _named_as(target, stage):
                yield stage
            refuse_used(target)
            stage.replace(target)
        finally:
            shutil.rmtree(stage, ignore_errors=True)


@contextmanager
def _named_as(target: Path, stage: Path) -> Iterator[None]:
    """Name what cannot be written in the block by the place that it was meant for."""
    try:
        yield
    except UnwritableError as error:
        raise UnwritableError(error.path.replace(str(stage), str(target), 1), error.why) from None


def refuse_used(folder: Path) -> None:
    """Refuse a place that holds anything but an empty folder, or where no folder can be created.

    Raises
    ------
    UnwritableError
        Naming what is in the way.
    """
    with naming_errors(folder):
        mode = file_mode(folder)
        if mode is None:
            refuse_target(folder)
        elif not stat.S_ISDIR(mode) or any(folder.iterdir()):
            raise UnwritableError(str(folder), "exists already; name a new or empty folder")


def refuse_folder(folder: str | Path, names: Iterable[str] = (), *, force: bool = False) -> None:
    """Refuse a folder that cannot be written to, or that holds files under these names that others wrote, before any work.

    Raises
    ------
    UnwritableError
        Naming what is in the way, and what would be right.
    """
    target = Path(folder)
    file_mode(target)  # refuses impossible names
    if not target.is_dir():
        if target.exists() or target.is_symlink():
            raise UnwritableError(str(folder), "must be a folder")
        above = next(parent for parent in target.absolute().parents if parent.exists())
        if not above.is_dir() or not os.access(above, os.W_OK | os.X_OK):
            raise UnwritableError(str(folder), f"cannot be created: no permission to write to {above}")
        return
    if not os.access(target, os.W_OK | os.X_OK):
        raise UnwritableError(str(folder), "cannot be written: no permission to write to it")
    _refuse_others(target, names, _record(target), force)


def _publish(stage: Path, target: Path, force: bool) -> None:
    """Move all files of one folder to another, after all of them have been found to be allowed."""
    files = sorted(path.relative_to(stage).as_posix() for path in stage.rglob("*") if not path.is_dir())
    if files:
        with alone(target):
            _move(files, stage, target, force)


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Wait until no other process moves files into a folder, and keep others waiting: the files of two never mix."""
    lock = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def _move(files: Iterable[str], stage: Path, target: Path, force: bool) -> None:
    record = _record(target)
    _refuse_others(target, files, record, force)
    for name in files:
        record[name] = hashlib.sha256((stage / name).read_bytes()).hexdigest()
    lines = "".join(f"{digest}  {name}\n" for name, digest in sorted(record.items()))
    write_whole(stage / RECORD, lines)
    refuse_target(target / RECORD)
    for name in [*files, RECORD]:
        (target / name).parent.mkdir(exist_ok=True)
        (stage / name).replace(target / name)


def _refuse_others(target: Path, names: Iterable[str], record: dict[str, str], force: bool) -> None:
    for name in names:
        path = target / name
        parent = file_mode(path.parent)
        if parent is not None and path.parent != target and not stat.S_ISDIR(parent):
            raise UnwritableError(str(path.parent), "is not a folder; choose another folder")
        if file_mode(path) is None:
            continue
        refuse_target(path)
        if not force and hashlib.sha256(read_regular(path)).hexdigest() != record.get(name):
            why = "was not written by this command, or changed since; choose another folder, or replace it with --force"
            raise UnwritableError(str(path), why)


def _record(folder: Path) -> dict[str, str]:
    """Checksums of the files of a folder as they were written; of what the record does not say or garbles, none."""
    try:
        lines = read_regular(folder / RECORD).decode("utf-8", "replace").splitlines()
    except InvalidInstanceError:
        return {}
    pairs = (line.split("  ", 1) for line in lines if "  " in line)
    return {name: digest for digest, name in pairs}
