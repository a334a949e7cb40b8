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
    """An instance as its file states it: the problem, the document with exact numbers, and the text."""

    problem: Problem
    document: dict[str, Any]
    text: str

    @property
    def hash(self) -> str:
        """Hash of the document, as certificates state it."""
        return checker.instance_hash(self.document)


class Judgement(NamedTuple):
    """What a check of a row found.

    Attributes
    ----------
    name : id of the row.
    fault : the first thing that does not hold, or "".
    unchecked : what was not checked, in sentences.
    """

    name: str
    fault: str
    unchecked: tuple[str, ...]


def packed(text: str) -> bytes:
    """A text compressed, always to the same bytes."""
    return gzip.compress(text.encode(), 9, mtime=0)


def read_stored(folder: Path, file: StoredFile) -> str:
    """The text of a file of the library.

    Raises
    ------
    InvalidInstanceError
        When it is missing, its bytes are others than were recorded, or it leads out of the folder.
    """
    path = folder / file.path
    if not path.resolve().is_relative_to(folder.resolve()):
        raise _unreadable(file, "leads out of the library")
    content = read_regular(path)
    if hashlib.sha256(content).hexdigest() != file.sha256:
        raise _unreadable(file, "is not the file that was recorded: its SHA-256 is another")
    try:
        unpack = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
        text = unpack.decompress(content, MAX_TEXT).decode()
    except (zlib.error, UnicodeDecodeError) as error:
        raise _unreadable(file, f"is no compressed text: {error}") from None
    if not unpack.eof:
        raise _unreadable(file, f"is cut, or holds more than {MAX_TEXT} bytes")
    return text


def _unreadable(file: StoredFile, why: str) -> InvalidInstanceError:
    return InvalidInstanceError([Fault(file.path, "", why)])


def read_instance(text: str, source: str = "") -> Instance:
    """An instance from its text.

    Raises
    ------
    InvalidInstanceError
        Every fault of it.
    """
    problem = loads(text, source)
    with naming_refusals(source):
        return Instance(problem, checker.parse(text), text)


@contextmanager
def naming_refusals(source: str, place: str = "instance") -> Iterator[None]:
    """Turn what the checker refuses in the block into an error about `place`."""
    try:
        yield
    except checker.Refused as error:
        raise InvalidInstanceError([Fault(place, "", str(error))], source) from None
    except checker.MALFORMED as error:
        why = f"is malformed ({type(error).__name__}: {str(error)[:100]})"
        raise InvalidInstanceError([Fault(place, "", why)], source) from None


def evaluate_twice(instance: Instance, solution: Any, source: str) -> tuple[float, tuple[str, ...]]:
    """Objective of a decision by the evaluator and by that of the checker, and what the second one does not know.

    Raises
    ------
    InvalidInstanceError
        When there is no decision, it breaks a limit (which is named), or both disagree.
    """
    problem = instance.problem
    if solution.kind != f"{problem.kind}-solution":
        raise InvalidInstanceError([Fault("kind", solution.kind, f"must be {problem.kind}-solution")], source)
    if solution.decision is None:
        raise InvalidInstanceError([Fault("decision", "", "is missing")], source)
    evaluation = problem.evaluate(problem.read_decision(solution.decision))
    if not evaluation.feasible:
        raise InvalidInstanceError([Fault("decision", "", f"breaks a limit: {'; '.join(evaluation.broken)}")], source)
    value, evaluate = evaluation.objective, checker.EVALUATE.get(problem.kind)
    if evaluate is None:
        return value, (f"the checker does not evaluate decisions of kind {problem.kind}",)
    document = checker.parse(json.dumps(solution.to_document()))
    decision = document[checker.DECISION[problem.kind]] if problem.kind in checker.DECISION else document
    with naming_refusals(source, "decision"):
        try:
            other = float(evaluate(instance.document, decision))
        except (checker.Unknown, checker.Unsupported) as unknown:
            return value, (f"the checker does not evaluate this decision: {unknown}",)
    if abs(value - other) > resolution(value) + problem.resolution:
        why = f"is worth {value!r} by the evaluator, {other!r} by the checker"
        raise InvalidInstanceError([Fault("decision", "", why)], source)
    return value, ()


def check_certificate(instance: Instance, solution: Any, certificate: str, source: str) -> tuple[str, str]:
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
        with naming_refusals(source, "certificate"):
            proven = programs.check_files(*(str(Path(folder) / name) for name in texts))
            header = checker.parse(certificate.split("\n", 1)[0])
    if header["claim"] != "optimal":
        raise InvalidInstanceError([Fault("claim", header["claim"], "must be optimal")], source)
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
    source = row.instance.file.path
    instance = read_instance(read_stored(folder, row.instance.file), source)
    if instance.hash != row.instance.hash:
        raise InvalidInstanceError([Fault("hash", row.instance.hash, f"the instance has the hash {instance.hash}")], source)
    if instance.problem.kind != name.partition("/")[0]:
        raise InvalidInstanceError([Fault("kind", instance.problem.kind, f"must be that in the id {name}")], source)
    return instance


def _unchecked(folder: Path, name: str, row: Row) -> Iterator[str]:
    """What cannot be checked of a row; errors where what can does not hold."""
    instance = read_row_instance(folder, name, row)
    _check_history(row)
    if row.best is None:
        yield "no decision is known"
        return
    file = row.best.file
    if file is None:
        raise InvalidInstanceError([Fault("decisions[0].file", "", "is missing: a decision needs evidence")], name)
    solution = loads_solution(read_stored(folder, file), file.path)
    value, unknown = evaluate_twice(instance, solution, file.path)
    if row.status != "full proof":  # whose certificate is about the decision, too
        yield from unknown
    for place, stated in (("decisions[0].value", row.best.value), (f"objective of {file.path}", solution.objective)):
        if stated is None or abs(value - stated) > resolution(value) + instance.problem.resolution:
            raise InvalidInstanceError([Fault(place, repr(stated), f"the decision is worth {value!r}")], name)
    if row.bound is None:
        yield "no bound is known"
        return
    yield from _check_bound(folder, name, instance, solution, row.bound)


def _check_history(row: Row) -> None:
    """Sides do not cross, and values get better from old to new."""
    values = [decision.value for decision in row.decisions]
    if any(newer > older + resolution(older) for newer, older in pairwise(values)):
        raise InvalidInstanceError([Fault("decisions", str(values[:3]), "must be best first")])
    for index, bound in enumerate(row.bounds):
        if row.best is not None and bound.evidence != "refuted" and bound.value > row.best.value + resolution(row.best.value):
            why = f"is above the best decision that is known, {row.best.value!r}: the sides cross"
            raise InvalidInstanceError([Fault(f"bounds[{index}].value", repr(bound.value), why)])


def _check_bound(folder: Path, name: str, instance: Instance, solution: Any, bound: KnownBound) -> Iterator[str]:
    if bound.evidence not in CERTIFIED:
        yield f"bound {bound.value!r} by {bound.method}, not certified"
        return
    if bound.file is None:
        raise InvalidInstanceError([Fault("bounds.file", "", f'is missing: "{bound.evidence}" needs a certificate')], name)
    if abs(bound.value - solution.objective) > resolution(bound.value) + instance.problem.resolution:
        why = f"must be the objective of the decision that is proven optimal, {solution.objective!r}"
        raise InvalidInstanceError([Fault("bounds.value", repr(bound.value), why)], name)
    proven = check_certificate(instance, solution, read_stored(folder, bound.file), bound.file.path)
    if proven != (bound.evidence, bound.format):
        why = f"the certificate is a {proven[0]} in the format {proven[1]}"
        raise InvalidInstanceError([Fault("bounds.evidence", f"{bound.evidence}, {bound.format}", why)], name)
    if bound.evidence == "stated program":
        yield "that the certificate's program is that of the instance is the word of edrp, which built it again"
