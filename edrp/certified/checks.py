"""Checks of the library: files, decisions by two evaluators, certificates in exact arithmetic, and what stays unchecked."""

from __future__ import annotations

import gzip
import hashlib
import json
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from edrp.certificates import checker, programs
from edrp.certified.records import CERTIFIED, KnownBound, Row, StoredFile
from edrp.core.errors import EdrpError, Fault, InvalidInstanceError
from edrp.core.files import read_regular
from edrp.core.instances import loads, loads_solution
from edrp.core.problem import Problem
from edrp.core.solution import resolution

MAX_TEXT = 2**28
"""Characters of an uncompressed file; more, such as a bomb of zeros would give, are refused."""


class Instance(NamedTuple):
    """An instance as its file states it: the problem, the document with exact numbers, its hash, and the text."""

    problem: Problem
    document: dict[str, Any]
    hash: str
    text: str


class Judgement(NamedTuple):
    """What a check found: the id of the row, the first thing that does not hold or "", and sentences on what was not checked."""

    name: str
    fault: str
    unchecked: tuple[str, ...]


def wrong(place: str, value: object, why: str) -> InvalidInstanceError:
    """The error that says what is wrong where in a record, a file or a submission."""
    return InvalidInstanceError([Fault(place, str(value), why)])


def packed(path: str, text: str) -> tuple[StoredFile, bytes]:
    """A text compressed, always to the same bytes, and its entry in a record; {} in the path becomes part of the digest."""
    data = gzip.compress(text.encode(), 9, mtime=0)
    digest = hashlib.sha256(data).hexdigest()
    return StoredFile(path=path.format(digest[:8]), sha256=digest), data


def read_stored(folder: Path, file: StoredFile) -> str:
    """The text of a file of the library.

    Raises
    ------
    InvalidInstanceError
        When it is missing, its bytes are others than were recorded, or it leads out of the folder.
    """
    path = folder / file.path
    if not path.resolve().is_relative_to(folder.resolve()):
        raise wrong(file.path, "", "leads out of the library")
    content = read_regular(path)
    if hashlib.sha256(content).hexdigest() != file.sha256:
        raise wrong(file.path, "", "is not the file that was recorded: its SHA-256 is another")
    try:
        unpack = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
        text = unpack.decompress(content, MAX_TEXT).decode()
    except (zlib.error, UnicodeDecodeError) as error:
        raise wrong(file.path, "", f"is no compressed text: {error}") from None
    if not unpack.eof:
        raise wrong(file.path, "", f"is cut, or holds more than {MAX_TEXT} bytes")
    return text


def read_instance(text: str, source: str = "") -> Instance:
    """An instance from its text; all its faults are raised as `InvalidInstanceError`."""
    problem = loads(text, source)
    with naming_refusals("instance"):
        document = checker.parse(text)
        return Instance(problem, document, checker.instance_hash(document), text)


@contextmanager
def naming_refusals(place: str) -> Iterator[None]:
    """Turn what the checker refuses in the block into an error about `place`."""
    try:
        yield
    except checker.Refused as error:
        raise wrong(place, "", str(error)) from None
    except checker.MALFORMED as error:
        raise wrong(place, "", f"is malformed ({type(error).__name__}: {str(error)[:100]})") from None


def evaluate_twice(instance: Instance, solution: Any) -> tuple[float, tuple[str, ...]]:
    """Objective of a decision by the evaluator and by that of the checker, and what the second one does not know.

    Raises
    ------
    InvalidInstanceError
        When there is no decision, it breaks a limit (which is named), or both disagree.
    """
    problem = instance.problem
    if solution.kind != f"{problem.kind}-solution":
        raise wrong("kind", solution.kind, f"must be {problem.kind}-solution")
    if solution.decision is None:
        raise wrong("decision", "", "is missing")
    evaluation = problem.evaluate(problem.read_decision(solution.decision))
    if not evaluation.feasible:
        raise wrong("decision", "", f"breaks a limit: {'; '.join(evaluation.broken)}")
    value, evaluate = evaluation.objective, checker.EVALUATE.get(problem.kind)
    if evaluate is None:
        return value, (f"the checker does not evaluate decisions of kind {problem.kind}",)
    document = checker.parse(json.dumps(solution.to_document()))
    decision = document[checker.DECISION[problem.kind]] if problem.kind in checker.DECISION else document
    with naming_refusals("decision"):
        try:
            other = float(evaluate(instance.document, decision))
        except (checker.Unknown, checker.Unsupported) as unknown:
            return value, (f"the checker does not evaluate this decision: {unknown}",)
    if abs(value - other) > resolution(value) + problem.resolution:
        raise wrong("decision", "", f"is worth {value!r} by the evaluator, {other!r} by the checker")
    return value, ()


def check_certificate(instance: Instance, solution: Any, certificate: str) -> tuple[str, str]:
    """Evidence and format of a certificate, which the checker accepts, by what `edrp check` does.

    Raises
    ------
    InvalidInstanceError
        With the first thing that does not hold.
    """
    texts = {"instance": instance.text, "solution": json.dumps(solution.to_document()), "certificate": certificate}
    with TemporaryDirectory(prefix="edrp-") as folder:
        for name, text in texts.items():
            (Path(folder) / name).write_text(text)
        with naming_refusals("certificate"):
            proven = programs.check_files(*(str(Path(folder) / name) for name in texts))
            header = checker.parse(certificate.split("\n", 1)[0])
    if header["claim"] != "optimal":
        raise wrong("claim", header["claim"], "must be optimal")
    return ("stated program" if isinstance(proven, checker.Stated) else "full proof"), header["format"]


def check_row(folder: Path, name: str, row: Row) -> Judgement:
    """Check all that a record says of an instance."""
    try:
        return Judgement(name, "", tuple(_unchecked(folder, name, row)))
    except EdrpError as error:
        return Judgement(name, str(error.faults[0]) if isinstance(error, InvalidInstanceError) else str(error), ())


def read_row_instance(folder: Path, name: str, row: Row) -> Instance:
    """The instance of a row.

    Raises
    ------
    InvalidInstanceError
        When the file is damaged or missing, or is of another hash or kind than the record says.
    """
    instance = read_instance(read_stored(folder, row.instance.file), row.instance.file.path)
    if instance.hash != row.instance.hash:
        raise wrong("instance.hash", row.instance.hash, f"the instance has the hash {instance.hash}")
    if instance.problem.kind != name.partition("/")[0]:
        raise wrong("kind", instance.problem.kind, f"must be that in the id {name}")
    return instance


def _unchecked(folder: Path, name: str, row: Row) -> Iterator[str]:
    """What cannot be checked of a row; errors where what can does not hold."""
    instance = read_row_instance(folder, name, row)
    # Sides do not cross, and values get better from old to new.
    values = [decision.value for decision in row.decisions]
    if any(newer > older + resolution(older) for newer, older in pairwise(values)):
        raise wrong("decisions", values[:3], "must be best first")
    for index, bound in enumerate(row.bounds):
        if row.best is not None and bound.evidence != "refuted" and bound.value > row.best.value + resolution(row.best.value):
            why = f"is above the best decision that is known, {row.best.value!r}: the sides cross"
            raise wrong(f"bounds[{index}].value", bound.value, why)
    if row.best is None:
        yield "no decision is known"
        return
    file = row.best.file
    if file is None:
        raise wrong("decisions[0].file", "", "is missing: a decision needs evidence")
    solution = loads_solution(read_stored(folder, file), file.path)
    value, unknown = evaluate_twice(instance, solution)
    if row.status != "full proof":  # whose certificate is about the decision, too
        yield from unknown
    for place, stated in (("decisions[0].value", row.best.value), (f"objective of {file.path}", solution.objective)):
        if stated is None or abs(value - stated) > resolution(value) + instance.problem.resolution:
            raise wrong(place, stated, f"the decision is worth {value!r}")
    if solution.status == "optimal" and not row.closed:
        raise wrong(f"status of {file.path}", solution.status, "must be feasible where no certificate proves more")
    if row.bound is None:
        yield "no bound is known"
        return
    yield from _check_bound(folder, instance, solution, row.bound)


def _check_bound(folder: Path, instance: Instance, solution: Any, bound: KnownBound) -> Iterator[str]:
    if bound.evidence not in CERTIFIED:
        yield "the bound, which is claimed, not certified"
        return
    if bound.file is None:
        raise wrong("bounds.file", "", f'is missing: "{bound.evidence}" needs a certificate')
    if abs(bound.value - solution.objective) > resolution(bound.value) + instance.problem.resolution:
        raise wrong("bounds.value", bound.value, f"must be the objective of the decision, {solution.objective!r}")
    proven = check_certificate(instance, solution, read_stored(folder, bound.file))
    if proven != (bound.evidence, bound.format):
        stated = f"{bound.evidence}, {bound.format}"
        raise wrong("bounds.evidence", stated, f"the certificate is a {proven[0]} in the format {proven[1]}")
    if bound.evidence == "stated program":
        yield "that the certificate's program is that of the instance is the word of edrp, which built it again"
