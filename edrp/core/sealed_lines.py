"""Lines of journals: JSON that ends in a checksum of the rest, and of a key that tells one journal from another."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from edrp.core.files import CHECKSUM, content_digest

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
