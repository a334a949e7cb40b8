"""Certificates of solutions: the writer for the method that found the answer, and the checker, which has the last word."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from fractions import Fraction
from itertools import count
from math import ceil, inf
from pkgutil import resolve_name
from typing import Any

from edrp.certificates import checker
from edrp.core.budget import deadline, look, now, setting, units_left
from edrp.core.certificates import Certified, NotCertifiedError, RawCertificate
from edrp.core.errors import OutOfTimeError
from edrp.core.kinds import get_kind

MAX_CHECKED_LABELS = 300_000
"""Labels that the checker may have to look at in one search."""

LABELS_PER_SECOND = 1_000
"""About half of those that it looks at in a second where many are at one place."""


def certify_label_setting(problem: Any, solution: Any) -> RawCertificate:
    """A certificate, not yet checked, of the cheapest map, or that there is none.

    Rounds as in the method itself: nothing is tracked at first, then what the cheapest map of a round overloads.

    Raises
    ------
    NotCertifiedError
        For another cost than the additive one, and for too many labels.
    """
    tracked: list[tuple[str, ...]] = []
    try:
        maps = checker.Maps(checker.parse(problem.model_dump_json()))
        target = inf if solution.objective is None else _target(maps, Fraction(solution.objective))
        while True:
            look("the certificate")
            _, path = maps.search(tracked, target, int(min(MAX_CHECKED_LABELS, LABELS_PER_SECOND * units_left())))
            if path is None:
                return RawCertificate("label-setting", [[list(resource) for resource in tracked]])
            missing = [resource for resource in maps.follow(path)[1] if resource not in tracked]
            if not missing:
                raise NotCertifiedError("the checker finds a cheaper map")
            tracked += missing
    except checker.Refused as error:
        raise NotCertifiedError(str(error)) from None


def _target(maps: checker.Maps, bound: Fraction) -> int:
    return ceil((bound - checker.TOLERANCE) * maps.unit)


Writer = Callable[[Any, Any], RawCertificate]
"""Writes a certificate of a solution, or raises `NotCertifiedError`; it calls `budget.look`."""

WRITERS: dict[str, str] = {
    "column-generation": "edrp.certificates.column_generation:certify_column_generation",
    "eliminate": "edrp.certificates.elimination:certify_eliminate",
    "label-setting": "edrp.certificates.certify:certify_label_setting",
    "pmc": "edrp.mdp.policy.pmc:certify_pmc",
    "ssm": "edrp.mdp.single_step.ssm:certify_ssm",
}
"""Writer for answers of a method, as "package.module:function"; where none succeeds, a program of the kind is certified."""

KIND_WRITERS: dict[str, str] = {"latency-aware": WRITERS["column-generation"]}
"""Writer for answers of all other methods to problems of a kind, before that for programs."""

PROGRAM_WRITER = "edrp.certificates.programs:write_program_certificate"
"""Writer for answers to problems of kinds that have programs, whatever method found them."""


STATED = "the certificate proves a program that it states; that this is the program of the problem is the word of edrp"
"""Note on certificates that the checker alone accepts with exit code 4."""

STEPS_PER_LOOK = 16
"""Steps of the checker, some microseconds each, between two looks at the clock."""

NO_VIPR = "VIPR states programs, and kind {} has none; without --vipr there may be a certificate of another format"

WRITER_SHARE = 0.6
"""Share of the time that is left for a writer where another could follow."""


def certify(problem: Any, solution: Any, text: str | None = None, program: bool = False) -> Certified:
    """A certificate of an optimal or infeasible solution that the checker accepts, or why there is none.

    Parameters
    ----------
    problem, solution
        A problem and a checked solution of it.
    text
        The instance as its file states it, which may leave out what has a default; None for what `save` would write.
    program
        Whether it must be a certificate of a program, which can be written as VIPR.
    """
    if problem.stage_count:
        return Certified(None, "certificates know no priorities")
    document = checker.parse(problem.model_dump_json() if text is None else text)
    hashes = dict.fromkeys(checker.instance_hash(stated) for stated in (document, *_stated(problem)))
    reasons = [NO_VIPR.format(problem.kind)] if program and not get_kind(problem.kind).formulations else []
    writers = _writers(problem.kind, solution.method, program)
    for writer in writers:
        try:
            with setting(checker.looking, _clock()):
                with deadline(now() + (1.0 if writer is writers[-1] else WRITER_SHARE) * units_left()):
                    certificate = certificate_text(hashes, solution, writer(problem, solution))
                verdict = checker.check(document, checker.parse(json.dumps(solution.to_document())), certificate.splitlines())
        except NotCertifiedError as error:
            reasons.append(str(error))
        except checker.Refused as error:
            reasons.append(f"the checker does not accept the certificate: {error}")
        except OutOfTimeError:
            look("the certificate")
            reasons.append("the proof of the method itself was not finished in time")
        else:
            return Certified(certificate, STATED if isinstance(verdict, checker.Stated) else "")
    return Certified(None, "; ".join(reasons) or f"there is no certificate of answers of {solution.method}")


def _clock() -> Callable[[], None]:
    """What looks at the clock once in `STEPS_PER_LOOK` steps of the checker."""
    steps = count(1)

    def tick() -> None:
        if next(steps) % STEPS_PER_LOOK == 0:
            look("the certificate")

    return tick


def _stated(problem: Any) -> list[dict[str, Any]]:
    """The documents that state a problem: with all defaults written out, and without what it was not given."""
    return [checker.parse(problem.model_dump_json(exclude_unset=unset)) for unset in (False, True)]


def _writers(kind: str, method: str, program: bool) -> list[Writer]:
    """Writers for the methods in a name such as "auto: eliminate", or else for the kind, then the one for programs."""
    names = [] if program else re.split(r": | \(", method)
    places = [WRITERS[name] for name in reversed(names) if name in WRITERS]
    if not places and not program and kind in KIND_WRITERS:
        places = [KIND_WRITERS[kind]]
    return [resolve_name(path) for path in (*places, *([PROGRAM_WRITER] if get_kind(kind).formulations else []))]


def certificate_text(hashes: Iterable[str], solution: Any, unchecked: RawCertificate) -> str:
    """A certificate as text; its header has the hashes of the documents that state the instance."""
    header: dict[str, Any] = {
        "format": unchecked.format,
        "version": checker.VERSION,
        "instance": list(hashes),
        "claim": solution.status,
    }
    if solution.status == "optimal":
        header["bound"] = str(Fraction(solution.objective))
    rows = [{**header, **unchecked.header}, *unchecked.lines]
    return "".join(json.dumps(row, separators=(",", ":")) + "\n" for row in rows)
