"""Certificates of solutions: the writer for the method that found the answer, and the checker, which has the last word."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from edrp.core.certificates import Certified, Draft, NotCertifiedError
from edrp.core.plugins import imported
from edrp.validation.oracles import checker

Writer = Callable[[Any, Any], Draft]
"""Makes the draft of a certificate from a problem and its solution, or raises `NotCertifiedError`; it calls `clock.look`."""

WRITERS: dict[str, str] = {}
"""Writer for answers of a method, as "package.module:function"; where none fits, a program of the kind is certified."""


def certify(problem: Any, solution: Any) -> Certified:
    """A certificate of an optimal or infeasible solution that the checker accepts, or why there is none."""
    document = checker.parse(problem.model_dump_json())
    return certify_document(document, problem, solution)


def certify_document(document: dict[str, Any], problem: Any, solution: Any) -> Certified:
    """The same for an instance as its file states it, which may leave out defaults; `document` is from `checker.parse`."""
    reasons = []
    for writer in _writers(solution.method):
        try:
            text = _text(document, solution, writer(problem, solution))
            checker.check(document, checker.parse(json.dumps(solution.to_document())), text.splitlines())
        except NotCertifiedError as error:
            reasons.append(str(error))
        except checker.Refused as error:
            reasons.append(f"the checker does not accept the certificate: {error}")
        else:
            return Certified(text)
    return Certified(None, "; ".join(reasons) or f"there is no certificate of answers of {solution.method}")


def _writers(method: str) -> list[Writer]:
    """Writers for the methods in a name such as "auto: eliminate"."""
    names = re.split(r": | \(", method)
    return [imported(WRITERS[name]) for name in reversed(names) if name in WRITERS]


def _text(document: dict[str, Any], solution: Any, draft: Draft) -> str:
    """A draft with its header as the text of a certificate."""
    header: dict[str, Any] = {
        "format": draft.format,
        "version": checker.VERSION,
        "instance": checker.instance_hash(document),
        "claim": solution.status,
    }
    if solution.status == "optimal":
        header["bound"] = str(Fraction(solution.objective))
    rows = [{**header, **draft.header}, *draft.lines]
    return "".join(json.dumps(row, separators=(",", ":")) + "\n" for row in rows)
