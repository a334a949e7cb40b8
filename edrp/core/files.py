"""Reading and writing files such that nothing half-written is ever seen."""

from __future__ import annotations

from pathlib import Path

from edrp.core.errors import Fault, InvalidInstanceError, NoSuchFileError


def write_whole(path: str | Path, text: str) -> None:
    """Write `text` next to its place and move it there; on failure the place stays as it was.

    Raises
    ------
    OSError
        When the folder cannot be written to or the disk is full.
    """
    target = Path(path)
    partial = target.with_name(target.name + ".partial")
    try:
        partial.write_text(text, encoding="utf-8")
        partial.replace(target)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


def refuse_missing(path: str | Path) -> None:
    """Refuse a file or folder that does not exist.

    Raises
    ------
    NoSuchFileError
        Naming it.
    """
    if not Path(path).exists():
        raise NoSuchFileError(str(path))


def read_content(path: str | Path) -> bytes:
    """All bytes of a file.

    Raises
    ------
    InvalidInstanceError
        When it does not exist or cannot be read.
    """
    try:
        return Path(path).read_bytes()
    except FileNotFoundError:
        raise NoSuchFileError(str(path)) from None
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise InvalidInstanceError([Fault("file", str(path), f"cannot be read: {reason}")], str(path)) from None


def read_whole(path: str | Path) -> str:
    """Read a text file.

    Raises
    ------
    InvalidInstanceError
        When it does not exist, cannot be read, is empty or is not UTF-8.
    """
    source = str(path)
    content = read_content(path)
    if not content.strip():
        raise InvalidInstanceError([Fault("file", "", "is empty; it must hold one JSON document")], source)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        where = f"byte {error.start}"
        raise InvalidInstanceError(
            [Fault(where, hex(content[error.start]), "is not UTF-8 text; save the file as UTF-8")], source
        ) from None
