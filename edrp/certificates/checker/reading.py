"""Reading within limits: numbers, JSON texts, documents, and the lines of a certificate with its claim and its trees."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from fractions import Fraction
from pathlib import Path
from typing import Any

VERSION = 1
MAX_DOCUMENT, MAX_CERTIFICATE, MAX_LINE = 2**26, 2**28, 2**24
MAX_SECONDS = 1800
MAX_DIGITS, MAX_EXPONENT, MAX_PARTITIONS, MAX_STATES, MAX_PARTS, MAX_OPEN = 400, 400, 10**6, 10**6, 10**7, 10**4
TOLERANCE, SAME, SLACK = Fraction(1, 10**6), Fraction(1, 10**9), 1 + Fraction(25, 10**14)
"""Amount by which a better decision may be missed; relative error of a stated value; factor on the limits of decisions."""
NEVER = float("inf")
"""More than every cost."""


class Refused(Exception):  # noqa: N818 - the word that the checker says
    """The first thing that does not hold."""


class Unknown(Refused):
    """Something that the checker does not know; a program that the certificate states may still be proven."""


class Unsupported(Refused):
    """Something that no certificate can be about."""


MALFORMED = (KeyError, TypeError, ValueError, IndexError, AttributeError, ArithmeticError, StopIteration, RecursionError)
"""Errors that reading a document raises that is not as it should be."""


looking: ContextVar[Callable[[], object]] = ContextVar("looking", default=lambda: None)
"""Called at every step that something is needed for; raises where whoever asks the checker has no time left."""


def need(holds: object, why: str) -> None:
    """Refuse with this sentence unless something holds."""
    looking.get()()
    if not holds:
        raise Refused(why)


def unique(pairs: Iterable[tuple[Any, Any]]) -> dict[Any, Any]:
    """A dict of pairs whose keys all differ."""
    by_key: dict[Any, Any] = {}
    for key, value in pairs:
        need(key not in by_key, f"{str(key)[:100]} is given twice")
        by_key[key] = value
    return by_key


def _integer(text: str) -> int:
    need(len(text) <= MAX_DIGITS, f"a number of {len(text)} digits; {MAX_DIGITS} are read")
    return int(text)


def _rational(text: str) -> Fraction:
    need(len(text) <= MAX_DIGITS, f"a number of {len(text)} digits; {MAX_DIGITS} are read")
    exponent = re.search(r"[eE]([-+]?\d+)", text)
    need(exponent is None or abs(int(exponent[1])) <= MAX_EXPONENT, f"the number {text}; exponents to {MAX_EXPONENT} are read")
    return Fraction(text)


def _constant(text: str) -> None:
    raise Refused(f"{text} is no number")


def parse(text: str) -> Any:
    """The value of a JSON text; numbers with a point or an exponent become fractions, and no field may be given twice."""
    try:
        return json.loads(text, parse_int=_integer, parse_float=_rational, parse_constant=_constant, object_pairs_hook=unique)
    except (ValueError, RecursionError) as error:
        raise Refused(f"no JSON: {str(error)[:100]}") from None


def fraction(value: Any) -> Fraction:
    """A number of a document, or a text "p/q", exactly."""
    if isinstance(value, str) and re.fullmatch(r"-?[0-9]{1,4000}(/[1-9][0-9]{0,3999})?", value):
        return Fraction(value)
    need(isinstance(value, int | Fraction) and not isinstance(value, bool), f"{str(value)[:40]!r} is no number")
    return Fraction(value)


def read_text(path: str) -> str:
    """The text of an instance or solution."""
    with Path(path).open("rb") as file:  # whose size is not known beforehand where it is a pipe
        content = file.read(MAX_DOCUMENT + 1)
    need(len(content) <= MAX_DOCUMENT, f"{path}: more than {MAX_DOCUMENT} bytes")
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise Refused(f"{path}: no text in UTF-8") from None


def read_document(path: str, text: str) -> dict[str, Any]:
    """The JSON object that the text of a file is."""
    try:
        document = parse(text)
    except Refused as error:
        raise Refused(f"{path}: {error}") from None
    need(isinstance(document, dict), f"{path}: no JSON object")
    return dict(document)


def read_lines(path: str) -> Iterator[str]:
    """The lines of a certificate, one after the other."""
    need(Path(path).stat().st_size <= MAX_CERTIFICATE, f"{path}: more than {MAX_CERTIFICATE} bytes")
    with Path(path).open(encoding="utf-8") as file:
        while line := file.readline(MAX_LINE + 1):
            need(len(line) <= MAX_LINE, f"a line of more than {MAX_LINE} characters")
            yield line


def instance_hash(problem: dict[str, Any]) -> str:
    """SHA-256 of the instance's canonical JSON: sorted keys, no spaces, numbers as the shortest fraction "=p/q" or "=p".

    A text that begins with "=" has one more in front, so that it is no number.
    """

    def canonical(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: canonical(part) for key, part in value.items()}
        if isinstance(value, list):
            return [canonical(part) for part in value]
        number = isinstance(value, int | Fraction) and not isinstance(value, bool)
        return f"={Fraction(value)}" if number else f"={value}" if isinstance(value, str) and value[:1] == "=" else value

    text = json.dumps(canonical(problem), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def claimed_bound(header: dict[str, Any]) -> Fraction | None:
    """The bound that a certificate claims; None for the claim that nothing is feasible."""
    return fraction(header["bound"]) if header["claim"] == "optimal" else None


def refuted(bound: Fraction | None) -> str:
    """Return in words the property that no decision has if the claim is proven: feasible, or below the bound."""
    return "feasible" if bound is None else f"below {float(bound)!r} − 1e-6"


def tree_nodes(stack: list[Any], lines: Iterator[Any]) -> Iterator[tuple[Any, Any]]:
    """Nodes of a tree in pre-order, each with its line; the loop over them puts the children of a node onto the stack."""
    while stack:
        node, line = stack.pop(), next(lines, None)
        need(isinstance(line, list) and line, "the tree ends before all of it is closed")
        need(len(stack) < MAX_OPEN, f"a tree with more than {MAX_OPEN} open nodes")
        yield node, line
    need(next(lines, None) is None, "there are lines after the tree")


def counted_leaves(count: int) -> str:
    """A number of leaves in words."""
    return f"{count} {'leaf' if count == 1 else 'leaves'}"
