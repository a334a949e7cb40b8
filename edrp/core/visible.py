"""Texts that come from elsewhere, such as names, made fit for a terminal and for files."""

from __future__ import annotations

import re

HIDDEN = re.compile(
    "["
    "\x00-\x1f\x7f-\x9f"  # control characters, escape sequences of terminals among them
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # change the direction of what follows
    "\u200b\u2028\u2029\u2060-\u2064\ufeff\ufff9-\ufffb"  # invisible, or ending a line
    "\U000e0000-\U000e007f"  # tags
    "\ud800-\udfff"  # halves of characters
    "]"
)
"""Characters that a terminal obeys or that nobody sees."""


def visible(text: str) -> str:
    r"""A text of one line in which characters that a terminal would obey, or that nobody would see, are written as escapes.

    >>> print(visible("a\x1b[31mb\u202e\n"))
    a\x1b[31mb\u202e\n
    """
    return HIDDEN.sub(_escape, text)


def visible_lines(text: str) -> str:
    r"""As `visible`, but lines stay lines.

    >>> visible_lines("a\tb\nc")
    'a\\tb\nc'
    """
    return "\n".join(map(visible, text.split("\n")))


def encodable(text: str) -> str:
    r"""A text that files can hold: halves of characters, which are no Unicode text, are written as escapes.

    >>> encodable("a\ud800")
    'a\\ud800'
    """
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _escape(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode("ascii")
