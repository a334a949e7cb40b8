"""What was written and has changed since, as a failing disk or a stranger leaves it: noticed, named and set aside."""

from __future__ import annotations

import hashlib
import json
import warnings
from pathlib import Path
from typing import Any

from edrp.core.errors import Fault, InvalidInstanceError, RecoveryWarning, visible
from edrp.core.files import naming_errors, read_regular

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
        What shows it, and what would be right.
    """

    def __init__(self, path: str, why: str) -> None:
        self.path = path
        self.why = why
        super().__init__([Fault("file", path, why)])

    def _text(self) -> str:
        return visible(f"{self.path} {self.why}")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.path, self.why)


def sealed(document: dict[str, Any]) -> str:
    """A document as JSON text that ends in a checksum of all the rest.

    >>> print(sealed({"sweeps": 3}))
    {
     "sweeps": 3,
     "checksum": "b2b7bdbd252686e7"
    }
    """
    digest = digest_of(json.dumps(document).encode())
    return json.dumps({**document, CHECKSUM: digest}, indent=1)


def read_sealed(path: Path) -> dict[str, Any]:
    """The document in a file that holds what `sealed` gave.

    Raises
    ------
    DamagedFileError
        When the file cannot be read, or any of its bytes is another than was written.
    """
    try:
        content = read_regular(path)
        document = json.loads(content)
        del document[CHECKSUM]
        if sealed(document).encode() == content.rstrip(b"\n"):
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


def digest_of(content: bytes) -> str:
    """First 16 hexadecimal digits of the SHA-256 of some bytes."""
    return hashlib.sha256(content).hexdigest()[:16]


def warn_of(message: str) -> None:
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
