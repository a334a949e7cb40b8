"""The checker of certificates: one file that trusts nobody and needs nothing but Python 3.11 or later.

    python checker.py INSTANCE SOLUTION CERTIFICATE

reads an instance file, a solution document of it and a certificate, and prints `proven: …` (exit code 0), or the first thing
that does not hold (exit code 2). All arithmetic is exact: numbers are the rationals that the files state.

Limits
    An instance or solution of more than `MAX_DOCUMENT` bytes, a certificate of more than `MAX_CERTIFICATE`, a line of more
    than `MAX_LINE`, a number of more than `MAX_DIGITS` characters or with an exponent beyond `MAX_EXPONENT`, NaN and infinity
    are refused. A certificate is read line by line: memory stays below 50 times the largest line and document.

Header
    A certificate is a text of JSON lines. The first is an object:

    format    one of the keys of `FORMATS`
    version   1
    instance  hash of the instance (see `instance_hash`)
    claim     "optimal" or "infeasible", the `status` of the solution
    bound     of an optimal solution, as "p/q": no decision is better than this − 1e-6 (`TOLERANCE`)

    The checker evaluates the decision of the solution itself where `EVALUATE` knows the kind of problem: it must keep to all
    limits, and its value must be the solution's objective and the bound, to 1e-9 of the value (`SAME`).
    The other lines are the format's: its function in `FORMATS` reads them all, raises `Refused` where something does not hold,
    and returns what has been proven, in words.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

VERSION = 1
MAX_DOCUMENT, MAX_CERTIFICATE, MAX_LINE = 2**26, 2**28, 2**24
MAX_DIGITS, MAX_EXPONENT = 400, 400
TOLERANCE, SAME, SLACK = Fraction(1, 10**6), Fraction(1, 10**9), 1 + Fraction(1, 10**9)
"""By how much a better decision may be missed; relative error of a stated value; what limits on decisions are multiplied by."""


class Refused(Exception):  # noqa: N818 - the word that the checker says
    """The first thing that does not hold."""


def need(holds: object, why: str) -> None:
    """Refuse with this sentence unless something holds."""
    if not holds:
        raise Refused(why)


# --- reading ---


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
    """The value of a JSON text; numbers with a point or an exponent become fractions."""
    try:
        return json.loads(text, parse_int=_integer, parse_float=_rational, parse_constant=_constant)
    except (ValueError, RecursionError) as error:
        raise Refused(f"no JSON: {str(error)[:100]}") from None


def fraction(value: Any) -> Fraction:
    """A number of a document, or a text "p/q", exactly."""
    if isinstance(value, str) and re.fullmatch(r"-?\d{1,4000}(/[1-9]\d{0,3999})?", value):
        return Fraction(value)
    need(isinstance(value, int | Fraction) and not isinstance(value, bool), f"{str(value)[:40]!r} is no number")
    return Fraction(value)


def read_document(path: str) -> dict[str, Any]:
    """The JSON object of a file."""
    file = Path(path)
    need(file.stat().st_size <= MAX_DOCUMENT, f"{path}: more than {MAX_DOCUMENT} bytes")
    document = parse(file.read_text("utf-8"))
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
    """SHA-256 of the instance's canonical JSON: sorted keys, no spaces, numbers as the shortest fraction "p/q" or "p"."""

    def canonical(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: canonical(part) for key, part in value.items()}
        if isinstance(value, list):
            return [canonical(part) for part in value]
        return f"={Fraction(value)}" if isinstance(value, int | Fraction) and not isinstance(value, bool) else value

    text = json.dumps(canonical(problem), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


# --- formats ---

Check = Callable[[dict[str, Any], Any, dict[str, Any], Iterator[Any]], str]

DECISION = {
    "edrp": "deployment",
    "latency-aware": "deployment",
    "migration": "intervals",
    "migration-policy": "intervals",
    "enactment": "hosts",
    "leasing": "hosts",
    "link-allocation": "allocations",
}
"""Where the solution document of a kind keeps the decision; of other kinds the decision is the whole document."""

EVALUATE: dict[str, Callable[[dict[str, Any], Any], Fraction]] = {}
"""Objective of a decision that keeps to all limits, by kind of problem; `Refused` where it does not."""

FORMATS: dict[str, Check] = {}
"""Functions of problem, decision, header and the remaining lines (parsed), by format."""


def check(problem: dict[str, Any], solution: dict[str, Any], lines: Iterable[str]) -> str:
    """What a certificate proves of a solution, in words; `Refused` where something does not hold."""
    rest = (parse(line) for line in lines)
    header, kind = next(rest, None), problem.get("kind")
    need(isinstance(header, dict), "the certificate is empty, or its first line is no object")
    need(header.get("format") in FORMATS, f"format {str(header.get('format'))[:40]!r} is none of {', '.join(FORMATS)}")
    need(header.get("version") == VERSION, f"version {str(header.get('version'))[:40]}; version {VERSION} is read")
    need(header.get("instance") == instance_hash(problem), "the certificate is of another instance")
    need(solution.get("kind") == f"{kind}-solution", f"the solution is no {kind}-solution")
    need(header.get("claim") in ("optimal", "infeasible"), "claim: must be optimal or infeasible")
    status = str(solution.get("status"))[:40]
    need(header["claim"] == status, f"the certificate claims {header['claim']}, the solution {status}")
    decision = solution.get(DECISION[str(kind)]) if kind in DECISION else solution
    if header["claim"] == "optimal":
        _check_value(problem, decision, fraction(solution.get("objective")), fraction(header.get("bound")))
    return FORMATS[header["format"]](problem, decision, header, rest)


def _check_value(problem: dict[str, Any], decision: Any, objective: Fraction, bound: Fraction) -> None:
    """The decision keeps to the limits, and its value is the stated objective, and the bound."""
    evaluate = EVALUATE.get(problem["kind"])
    value = objective if evaluate is None else evaluate(problem, decision)
    allowed = SAME * max(1, abs(value))
    need(abs(value - objective) <= allowed, f"the decision is worth {float(value)!r}, the solution says {float(objective)!r}")
    need(abs(value - bound) <= allowed, f"the decision is worth {float(value)!r}, the certificate says {float(bound)!r}")


def main(arguments: list[str]) -> int:
    """Check the files of a command line; the exit code."""
    if len(arguments) != 3:
        print("usage: python checker.py INSTANCE SOLUTION CERTIFICATE", file=sys.stderr)  # noqa: T201 - a program of its own
        return 2
    try:
        instance, solution, certificate = arguments
        said, code = f"proven: {check(read_document(instance), read_document(solution), read_lines(certificate))}", 0
    except (Refused, OSError, UnicodeDecodeError) as error:
        said, code = f"not proven: {error}", 2
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, ArithmeticError) as error:
        said, code = f"not proven: something is malformed ({type(error).__name__}: {str(error)[:100]})", 2
    print(said)  # noqa: T201
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
