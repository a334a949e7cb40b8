"""Certificates of solutions: the writer for the method that found the answer, and the checker, which has the last word."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from fractions import Fraction
from pkgutil import resolve_name
from typing import Any

from edrp.core.certificates import Certified, Draft, NotCertifiedError
from edrp.core.kinds import get_kind
from edrp.validation.oracles import checker

Writer = Callable[[Any, Any], Draft]
"""Makes the draft of a certificate from a problem and its solution, or raises `NotCertifiedError`; it calls `budget.look`."""

WRITERS: dict[str, str] = {
    "eliminate": "edrp.certificates.elimination:certify_eliminate",
    "label-setting": "edrp.certificates.mapping:certify_label_setting",
    "pmc": "edrp.mdp.policy.certificate:certify_pmc",
    "ssm": "edrp.mdp.single_step.certificate:certify_ssm",
}
"""Writer for answers of a method, as "package.module:function"; where none succeeds, a program of the kind is certified."""

PROGRAM_WRITER = "edrp.certificates.programs:write_program_certificate"
"""Writer for answers to problems of kinds that have programs, whatever method found them."""


def certify(problem: Any, solution: Any, text: str | None = None) -> Certified:
    """A certificate of an optimal or infeasible solution that the checker accepts, or why there is none.

    Parameters
    ----------
    problem, solution
        A problem and a checked solution of it.
    text
        The instance as its file states it, which may leave out what has a default; None for what `save` would write.
    """
    if problem.stage_count:
        return Certified(None, "certificates know no priorities")
    document = checker.parse(problem.model_dump_json() if text is None else text)
    reasons = []
    for writer in _writers(problem.kind, solution.method):
        try:
            certificate = draft_text(document, solution, writer(problem, solution))
            checker.check(document, checker.parse(json.dumps(solution.to_document())), certificate.splitlines())
        except NotCertifiedError as error:
            reasons.append(str(error))
        except checker.Refused as error:
            reasons.append(f"the checker does not accept the certificate: {error}")
        else:
            return Certified(certificate)
    return Certified(None, "; ".join(reasons) or f"there is no certificate of answers of {solution.method}")


def _writers(kind: str, method: str) -> list[Writer]:
    """Writers for the methods in a name such as "auto: eliminate", then the one for programs."""
    names = re.split(r": | \(", method)
    places = [WRITERS[name] for name in reversed(names) if name in WRITERS]
    return [resolve_name(place) for place in (*places, *([PROGRAM_WRITER] if get_kind(kind).formulations else []))]


def draft_text(document: dict[str, Any], solution: Any, draft: Draft) -> str:
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
