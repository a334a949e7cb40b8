"""Certificates as the core knows them: raw, as their writers make them, or a checked text that goes with a solution."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from edrp.core.budget import deadline, now, step_begins
from edrp.core.errors import EdrpError, OutOfTimeError
from edrp.core.plugins import own
from edrp.core.solution import Solution

MAX_WORK = 60.0
"""Units of work at most for a certificate, writing and checking together."""


class NotCertifiedError(EdrpError):
    """A writer finds no certificate of an answer that may be right; the message says why."""


@dataclass(frozen=True, slots=True)
class RawCertificate:
    """A certificate before the checker has seen it.

    Attributes
    ----------
    format
        Name of its format, a key of `FORMATS` of the checker.
    lines
        Lines after the header, a JSON value each: texts, integers, lists and dicts. Fractions are texts "p/q".
    header
        Fields of the header beyond `format`, `version`, `instance`, `claim` and `bound`, or instead of those.
    """

    format: str
    lines: Sequence[Any]
    header: dict[str, Any] = field(default_factory=dict)


class CertificateRequest(NamedTuple):
    """Claim that is to be certified.

    Attributes
    ----------
    text : the instance as its file states it; None where there is no file but what `save` would write.
    program : whether it must be a certificate of a program, which can be written as VIPR.
    """

    text: str | None = None
    program: bool = False


class Certified(NamedTuple):
    """A checked certificate and what it leaves open, or None and why there is none."""

    certificate: str | None
    why: str = ""


def with_certificate(problem: Any, solution: Any, request: CertificateRequest, units: float = MAX_WORK) -> Any:
    """The solution with a checked certificate, or with a note why it has none; as it is where nothing is claimed.

    Parameters
    ----------
    problem, solution
        A problem and a checked solution of it.
    request
        What is to be certified, and how.
    units
        Work that there is for it.
    """
    if solution.status not in ("optimal", "infeasible"):
        return solution
    step_begins.get()("writing and checking a certificate")
    try:
        with deadline(now() + min(units, MAX_WORK)):
            found: Certified = own("edrp.certificates")(problem, solution, *request)
    except OutOfTimeError as error:
        found = Certified(None, str(error))
    if found.certificate is None:
        return _changed(solution, notes=(*solution.notes, f"not certified: {found.why}"))
    notes = (*solution.notes, found.why) if found.why else solution.notes
    certified = _changed(solution, proof="checked certificate", notes=notes)
    certified._certificate = found.certificate
    return certified


def _changed(solution: Solution, **changes: Any) -> Any:
    return solution.model_copy(update=changes)
