"""Reading and writing files such that nothing half-written is ever seen, and nothing is replaced that was not meant to be.

Whatever the package writes goes through `writing`, `write_whole` or, where several files belong together, `filling`
(`edrp/core/folders.py`). A file that has changed since it was written, as a failing disk or a stranger leaves it, is noticed by
its checksum, named and set aside. So are lines of journals. Files of other formats than JSON are called what they are.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import stat
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from io import BufferedRandom
from itertools import islice
from pathlib import Path
from secrets import token_hex
from typing import Any, BinaryIO

from edrp.core.errors import Fault, InvalidInstanceError, NoSuchFileError, RecoveryWarning, UnwritableError, visible
from edrp.core.wording import nearest

PARTIAL = ".{}.partial"
"""Name of what is being written, with a random part: nobody can have put a link there."""

NO_HARD_LINKS = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)
"""Errors of file systems that know no second name of a file, such as FAT."""

KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFLNK: "a symbolic link",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def write_whole(path: str | Path, content: str | bytes, *, replace: bool = True) -> None:
    """Write a file; it appears whole or not at all.

    Parameters
    ----------
    path, replace
        As for `writing`.
    content
        Text, which is written as UTF-8, or bytes.

    Raises
    ------
    UnwritableError
        As by `writing`.
    """
    with writing(path, replace=replace) as file:
        file.write(content.encode("utf-8") if isinstance(content, str) else content)


def save_text(path: str | Path, text: str, *, force: bool = False) -> None:
    """Write a text file for a caller in Python; a file that says something else is replaced with `force` only.

    Raises
    ------
    UnwritableError
        When the place holds another file or none can be written there.
    """
    refuse_target(path)
    if not force and file_mode(Path(path)) is not None:
        if read_regular(path) == text.encode("utf-8"):
            return
        why = "exists already and holds something else; choose another name, or replace it with force=True"
        raise UnwritableError(str(path), why)
    write_whole(path, text, replace=force)


@contextmanager
def writing(path: str | Path, *, replace: bool = True) -> Iterator[BufferedRandom]:
    """A file to write to, which takes its place when the block ends well; on failure the place stays as it was.

    Parameters
    ----------
    path
        Path of the file. Nothing but a regular file is ever replaced; a symbolic link is neither followed nor replaced.
    replace
        Whether a file that is there may be replaced.

    Raises
    ------
    UnwritableError
        When the place holds something that must not be replaced, the folder cannot be written to or the disk is full.
    """
    target = Path(path)
    with naming_errors(target):
        refuse_target(target, replace=replace)
        partial = target.with_name(PARTIAL.format(token_hex(8)))
        descriptor = os.open(partial, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
        try:
            with os.fdopen(descriptor, "w+b") as file:
                yield file
            refuse_target(target, replace=replace)  # again: the block may have taken hours
            _publish(partial, target, replace)
        except BaseException:
            partial.unlink(missing_ok=True)
            raise


def _publish(partial: Path, target: Path, replace: bool) -> None:
    """Give a finished file its name; one that another process has put there since the last look stays unless it may go."""
    if replace:
        partial.replace(target)
        return
    try:
        target.hardlink_to(partial)
    except FileExistsError:
        refuse_target(target, replace=False)
        raise
    except OSError as error:
        if error.errno not in NO_HARD_LINKS:
            raise
        partial.replace(target)
    else:
        partial.unlink()


@contextmanager
def naming_errors(path: Path) -> Iterator[None]:
    """Turn an error of the operating system in the block into one sentence about `path`.

    Raises
    ------
    UnwritableError
        Instead of any other `OSError`.
    """
    try:
        yield
    except UnwritableError:
        raise
    except OSError as error:
        raise UnwritableError(str(path), f"cannot be written: {error.strerror or error}") from None


def refuse_target(path: str | Path, *, replace: bool = True) -> None:
    """Refuse a place where a file must not or cannot be written, so that this is known before any work.

    Raises
    ------
    UnwritableError
        Naming what is in the way, and what would be right.
    """
    target = Path(path)
    found = file_mode(target)
    if found is not None and not stat.S_ISREG(found):
        never = "" if stat.S_ISDIR(found) else ", which is never replaced"
        raise UnwritableError(str(path), f"is {KINDS.get(stat.S_IFMT(found), 'no regular file')}{never}; name a file")
    if found is not None and not replace:
        raise UnwritableError(str(path), "exists already; choose another name, or replace it with --force")
    parent = target.absolute().parent
    if not parent.is_dir():
        raise UnwritableError(str(path), f"there is no folder {parent}; create it first")
    if not os.access(parent, os.W_OK | os.X_OK):
        raise UnwritableError(str(path), f"cannot be written: no permission to write to {parent}")


def refuse_inputs(path: str | Path, inputs: Iterable[str | Path | None]) -> None:
    """Refuse a place for output that is an input as well, which not even `--force` is meant for.

    Raises
    ------
    UnwritableError
        Naming it.
    """
    place = os.path.realpath(path)
    if any(place == os.path.realpath(given) for given in inputs if given is not None):
        raise UnwritableError(str(path), "would overwrite an input; name another file")


def file_mode(path: Path) -> int | None:
    """Type and permissions of what is at a place, links not followed; None where nothing is.

    Raises
    ------
    UnwritableError
        When no file can have that name, such as one of 300 characters.
    """
    with naming_errors(path):
        try:
            return path.lstat().st_mode
        except FileNotFoundError:
            return None


def open_own(path: Path, flags: int) -> int:
    """Open a file of ours that is kept open, such as a journal, and return its descriptor; it is created where it is missing.

    Raises
    ------
    UnwritableError
        When the place holds a link or anything else that is no regular file, or cannot be written to.
    """
    with naming_errors(path):
        refuse_target(path)
        # A pipe that comes after the look makes the call fail rather than wait.
        return os.open(path, flags | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o666)


MAX_NEIGHBOURS = 1000
"""Largest number of names of a folder among which one is looked for that was meant."""


def refuse_missing(path: str | Path) -> None:
    """Refuse a file or folder that does not exist.

    Raises
    ------
    NoSuchFileError
        Naming it.
    """
    if not os.path.exists(path):  # noqa: PTH110 - unlike Path.exists, it takes names that are too long for a file
        raise _no_such_file(path)


def _no_such_file(path: str | Path) -> NoSuchFileError:
    """The error for a file or folder that does not exist, with the name next to it that was probably meant."""
    wanted, meant = Path(path), None
    with suppress(OSError):
        by_stem = {place.stem: place for place in islice(wanted.parent.iterdir(), MAX_NEIGHBOURS)}
        meant = by_stem.get(nearest(wanted.stem, by_stem) or "")
    return NoSuchFileError(str(path), f"did you mean '{meant}'?" if meant else "")


def read_content(path: str | Path) -> bytes:
    """All bytes of a file.

    Raises
    ------
    InvalidInstanceError
        When it does not exist or cannot be read.
    """
    with opened(path) as file:
        return file.read()


@contextmanager
def opened(path: str | Path) -> Iterator[BinaryIO]:
    """A file to read bytes from, for as long as the block lasts.

    Raises
    ------
    InvalidInstanceError
        When it does not exist or cannot be read.
    """
    try:
        with Path(path).open("rb") as file:
            yield file
    except FileNotFoundError:
        raise _no_such_file(path) from None
    except IsADirectoryError:
        raise InvalidInstanceError([Fault("file", "", f"is a folder; name its files, as in {path}/*.json")], str(path)) from None
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise InvalidInstanceError([Fault("file", str(path), f"cannot be read: {reason}")], str(path)) from None


def read_regular(path: str | Path) -> bytes:
    """All bytes of a regular file; a pipe or device, which could make the reader wait for ever, is refused.

    Raises
    ------
    InvalidInstanceError
        When it is no regular file or cannot be read.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            mode = os.fstat(descriptor).st_mode
            if stat.S_ISREG(mode):
                with os.fdopen(descriptor, "rb", closefd=False) as file:
                    return file.read()
        finally:
            os.close(descriptor)
        why = f"is {KINDS.get(stat.S_IFMT(mode), 'something else')}, not a regular file"
    except FileNotFoundError:
        if not os.path.islink(path):  # noqa: PTH114 - as above
            raise _no_such_file(path) from None
        why = "is a link to nothing"
    except OSError as error:
        why = f"cannot be read: {error.strerror or type(error).__name__}"
    raise InvalidInstanceError([Fault("file", str(path), why)], str(path))


def read_whole(path: str | Path) -> str:
    """Read a text file.

    Raises
    ------
    InvalidInstanceError
        When it does not exist, cannot be read, is empty or is not UTF-8.
    """
    return decode_text(read_content(path), str(path))


def decode_text(content: bytes, source: str) -> str:
    """The text of a file's bytes; `source` is named in errors.

    Raises
    ------
    InvalidInstanceError
        When there is nothing but white space, or what is there is not UTF-8; other formats are called what they are.
    """
    if not content or content.isspace():
        raise InvalidInstanceError([Fault("file", "", "is empty; it must hold one JSON document")], source)
    if why := binary_format(content, source):
        raise InvalidInstanceError([Fault("file", "", why)], source)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        where = f"byte {error.start}"
        raise InvalidInstanceError(
            [Fault(where, hex(content[error.start]), "is not UTF-8 text; save the file as UTF-8")], source
        ) from None


SET_ASIDE = "_damaged"
"""Subfolder for damaged files; readers of tables take no notice of what begins with an underscore."""

CHECKSUM = "checksum"


class DamagedFileError(InvalidInstanceError):
    """A file is not the one that was written.

    Parameters
    ----------
    path
        Its path.
    why
        The sign of the damage, and advice on what would be right.
    """

    def __init__(self, path: str, why: str) -> None:
        self.path = path
        self.why = why
        super().__init__([Fault("file", path, why)])

    def _text(self) -> str:
        return visible(f"{self.path} {self.why}")


def sealed(document: dict[str, Any]) -> str:
    """A document as JSON text that ends in a checksum of all the rest.

    >>> print(sealed({"sweeps": 3}))
    {
     "sweeps": 3,
     "checksum": "b2b7bdbd252686e7"
    }
    """
    digest = content_digest(json.dumps(document).encode())
    return json.dumps({**document, CHECKSUM: digest}, indent=1)


def read_sealed(path: Path) -> dict[str, Any]:
    """The document in a file that holds what `sealed` gave, and the end of the line.

    Raises
    ------
    DamagedFileError
        When the file cannot be read, or any of its bytes is another than was written.
    """
    try:
        content = read_regular(path)
        document = json.loads(content)
        del document[CHECKSUM]
        if f"{sealed(document)}\n".encode() == content:
            return dict(document)
    except InvalidInstanceError as error:
        raise DamagedFileError(str(path), error.faults[0].why) from None
    except (ValueError, KeyError, TypeError, RecursionError):
        pass
    raise DamagedFileError(str(path), "is damaged: its checksum is another")


def read_unsealed(path: Path) -> dict[str, Any] | None:
    """The document in a file as earlier versions wrote it, without a checksum; None where there is none."""
    try:
        document = json.loads(read_regular(path))
    except (InvalidInstanceError, ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) and CHECKSUM not in document else None


def content_digest(content: bytes) -> str:
    """First 16 hexadecimal digits of the SHA-256 of some bytes."""
    return hashlib.sha256(content).hexdigest()[:16]


def warn_user(message: str) -> None:
    """Say what is damaged or lost, and what becomes of it."""
    warnings.warn(visible(message), RecoveryWarning, stacklevel=2)


def set_aside(path: Path) -> Path:
    """Move a damaged file into a subfolder, and return its new path.

    Raises
    ------
    UnwritableError
        When the folder cannot be written to.
    """
    folder = path.parent / SET_ASIDE
    with naming_errors(folder):
        folder.mkdir(exist_ok=True)
        target, number = folder / path.name, 1
        while target.is_symlink() or target.exists():
            target, number = folder / f"{number}-{path.name}", number + 1
        path.replace(target)
    return target


BINARY = {
    b"\x1f\x8b": "is compressed with gzip; unpack it with gunzip",
    b"\x28\xb5\x2f\xfd": "is compressed with Zstandard; unpack it with unzstd",
    b"PK\x03\x04": "is a zip archive; unpack it, and name the JSON file in it",
    b"PAR1": "is a Parquet table; `edrp batch` reads tables of instances",
    b"%PDF": "is a PDF; it must hold one JSON document",
    b"\xff\xfe": "is UTF-16 text; save the file as UTF-8",
    b"\xfe\xff": "is UTF-16 text; save the file as UTF-8",
}
"""First bytes of files of other formats, and advice on them."""

WORKBOOK = "is an Excel workbook; a problem is one JSON document, whose fields `edrp schema KIND` lists"


def binary_format(content: bytes, source: str) -> str:
    """Name the format of a binary file by its first bytes, and say what to do; "" for text.

    >>> binary_format(b"PAR1...", "mine.parquet")
    'is a Parquet table; `edrp batch` reads tables of instances'
    """
    if content[:2] == b"PK" and source.lower().endswith(("xlsx", "xlsm")):
        return WORKBOOK
    return next((why for start, why in BINARY.items() if content.startswith(start)), "")


def text_format(text: str, source: str) -> str:
    r"""Name the format of a text that is no JSON, by the name of its file or its first line, and say what to do; "" if unknown.

    >>> text_format("operator,rate\nreader,900\n", "mine.csv")
    'is a table (CSV); a problem is one JSON document, whose fields `edrp schema KIND` lists'
    """
    lines = [line for line in text.split("\n", 50)[:50] if line.strip() and not line.startswith("#")]
    first, ending = lines[0] if lines else "", source.lower().rpartition(".")[2]
    if ending in ("yaml", "yml") or re.match(r"---\s*$|- |[\w-]+:(\s|$)", first):
        # PyYAML is no dependency of this package; most who write YAML have it.
        convert = "python -c 'import json, sys, yaml; json.dump(yaml.safe_load(sys.stdin), sys.stdout)'"
        files = f" < {source} > {Path(source).with_suffix('.json')}" if ending in ("yaml", "yml") else ""
        return f"is YAML, and JSON is read; convert it, for example with {convert}{files}"
    if ending in ("csv", "tsv") or re.match(r"[^{}\[\]<=]+[,;\t][^{}\[\]<=]*$", first):
        return "is a table (CSV); a problem is one JSON document, whose fields `edrp schema KIND` lists"
    return "is XML or HTML, and JSON is read" if first.lstrip().startswith("<") else ""


SEAL = f', "{CHECKSUM}": "%s"}}'
"""End of a line, with the checksum of the rest of it."""

SEAL_LENGTH = len(SEAL % content_digest(b""))


def sealed_line(row: dict[str, Any], key: str, default: Callable[[Any], Any] | None = None) -> bytes:
    r"""A row, which is not empty, as a line; `default` turns values that JSON does not have into ones that it has.

    >>> sealed_line({"n": 1}, "batch 7")
    b'{"n": 1, "checksum": "a12d5c3fdd9f9f6c"}\n'
    """
    content = json.dumps(row, default=default)[:-1].encode()
    return content + _seal(content, key) + b"\n"


def read_sealed_line(line: bytes, key: str) -> dict[str, Any]:
    """The row in a line without its end.

    Raises
    ------
    ValueError
        The line is not one that `sealed_line` gave for this key.
    """
    content, seal = line[:-SEAL_LENGTH], line[-SEAL_LENGTH:]
    if seal != _seal(content, key):
        raise ValueError("its checksum is another")
    row: dict[str, Any] = json.loads(content + b"}")
    return row


def _seal(content: bytes, key: str) -> bytes:
    return (SEAL % content_digest(key.encode() + content)).encode()
