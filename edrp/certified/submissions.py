"""Submissions: a solution or a certificate of anybody's becomes a record of the library once it is checked."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from edrp.certificates import checker
from edrp.certified.checks import (
    Instance,
    check_certificate,
    evaluate_twice,
    packed,
    read_row_instance,
    read_stored,
    wrong,
)
from edrp.certified.library import RECORDS, Library, unknown_row
from edrp.certified.records import BestKnown, KnownBound, KnownDecision, Row, StoredFile
from edrp.core.files import read_whole, write_whole
from edrp.core.folders import alone, refuse_folder
from edrp.core.instances import loads_solution
from edrp.core.kinds import SOLUTION, get_kind
from edrp.core.solution import resolution

COMMON: dict[str, Any] = {
    "status": "feasible", "stopped_because": "finished", "objective": None, "bound": None, "gap": None, "metrics": {},
    "broken": [], "clashes": [], "seconds": {}, "size": {}, "seed": 0, "versions": {},
}  # fmt: skip
"""Fields of a solution that a submission may leave out."""


class Submission(NamedTuple):
    """What was submitted, not yet checked: fields of a solution document, text of a certificate, id of the row, and who found it.

    The id may be None where the files state it, and `by` empty where the solution names its method.
    """

    solution: dict[str, Any] | None
    certificate: str | None
    row: str | None
    by: str = ""
    seed: int | None = None
    work_limit: float | None = None


class Receipt(NamedTuple):
    """Outcome of a submission: whether the record has changed, and why (not), in a sentence with both values."""

    row: str
    accepted: bool
    sentence: str


def read_submission(paths: Sequence[str | Path], row: str | None = None, by: str = "") -> Submission:
    """Read a solution, a certificate, or both, in any order.

    A solution is a document with the `kind` of the row and "-solution", and the fields of the decision; all others may be left
    out. Its `bound` is a claim, and what it says of `row` (the id) and `instance` (a hash) must agree with the library.

    Raises
    ------
    InvalidInstanceError
        When a file is neither, or two are the same.
    """
    solution: dict[str, Any] | None = None
    certificate: str | None = None
    for path in paths:
        text = read_whole(path)
        document = _json(text) or _json(text.split("\n", 1)[0])
        if document is not None and "claim" in document and certificate is None:
            certificate = text
        elif document is not None and str(document.get("kind", "")).endswith(SOLUTION) and solution is None:
            solution = document
        else:
            raise wrong(str(path), "", "must be one solution document (with its kind), one certificate, or one of each")
    return Submission(solution, certificate, row, by)


def _json(text: str) -> dict[str, Any] | None:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def submit(library: Library, submission: Submission) -> Receipt:
    """Check a submission and write the record; several processes may submit at once.

    Raises
    ------
    InvalidInstanceError
        For an unknown row, an older version of the instance, another kind, a decision that breaks a limit (which is named), and
        a certificate that does not hold.
    UnwritableError
        When the folder cannot be written to.
    """
    refuse_folder(library.folder)
    with alone(library.folder):
        library.refresh()
        records = library.records
        name = _row_name(records, submission)
        instance = read_row_instance(library.folder, name, records.rows[name])
        change = _Change(library.folder, name, records.rows[name], instance, submission)
        sentence = change.apply()
        if change.row != records.rows[name]:
            write_row(library.folder, records, name, change.row, change.content)
        library.refresh()
    return Receipt(name, change.row != records.rows[name], sentence)


def write_row(folder: Path, records: BestKnown, name: str, row: Row | None, content: dict[str, bytes]) -> BestKnown:
    """Write the files of a row (None: of one that goes), then all records, then remove what they no longer name."""
    rows = {other: kept for other, kept in records.rows.items() if other != name} | ({} if row is None else {name: row})
    kept = set() if row is None else {file.path for file in row.files}
    for path in kept & content.keys():
        (folder / path).parent.mkdir(exist_ok=True)
        write_whole(folder / path, content[path])
    updated = BestKnown(rows=dict(sorted(rows.items())))
    write_whole(folder / RECORDS, updated.model_dump_json(indent=1) + "\n")
    for file in records.rows[name].files if name in records.rows else ():
        if file.path not in kept:
            (folder / file.path).unlink(missing_ok=True)
    return updated


def _row_name(records: BestKnown, submission: Submission) -> str:
    """The id of the row that a submission is for; what it says of it must agree."""
    solution = submission.solution or {}
    header = _json((submission.certificate or "").split("\n", 1)[0]) or {}
    stated = header.get("instance")
    hashes = [text for text in (*(stated if isinstance(stated, list) else ()), solution.get("instance")) if isinstance(text, str)]
    by_hash = {row.instance.hash: name for name, row in records.rows.items()}
    name = submission.row or solution.get("row") or next((by_hash[text] for text in hashes if text in by_hash), None)
    if name is not None and (not isinstance(name, str) or name not in records.rows):
        raise unknown_row(name, records)
    for known, row in records.rows.items():
        if any(text in row.instance.earlier for text in hashes) and name in (None, known):
            current = f"version {row.instance.version} is current"
            raise wrong("instance", "", f"is an earlier version of the instance of {known}; {current}")
    if name is None:
        why = "the certificate is of no instance of the library" if hashes else "name the row, which a solution does not say"
        raise wrong("row", "", why)
    if hashes and records.rows[name].instance.hash not in hashes:
        raise wrong("instance", "", f"the submission is of another instance than {name}")
    return name


class _Change:
    """A row on its way from what is recorded to what a submission makes of it, and the files to be written, by path."""

    def __init__(self, folder: Path, name: str, row: Row, instance: Instance, submission: Submission) -> None:
        self.folder, self.name, self.row, self.instance, self.submission = folder, name, row, instance, submission
        self.content: dict[str, bytes] = {}

    def apply(self) -> str:
        """Take the decision, the certificate and the claimed bound, each where it holds and is better; say which."""
        stated = self.submission.solution
        solution = None if stated is None else self._read_solution(stated)
        claim = None if stated is None else stated.get("bound")
        sentences = []
        if solution is not None and (solution.decision is not None or claim is None):
            sentences.append(self._take_decision(solution))
        if self.submission.certificate is not None:
            sentences.append(self._take_certificate(solution, self.submission.certificate))
        elif claim is not None:
            sentences.append(self._take_claim(claim, solution))
        return "; ".join(filter(None, sentences))

    def _read_solution(self, stated: dict[str, Any]) -> Any:
        """The solution document, with what it may leave out."""
        kind = f"{self.instance.problem.kind}{SOLUTION}"
        if stated.get("kind") != kind:
            raise wrong("kind", stated.get("kind"), f"must be {kind}")
        fields = {**COMMON, "method": self.submission.by or "not named", **stated}
        for name, field in get_kind(self.instance.problem.kind).solution.model_fields.items():
            if field.is_required() and name not in fields:
                fields[name] = None if "None" in str(field.annotation) else []
        fields = {name: value for name, value in fields.items() if name not in ("row", "instance")}
        return loads_solution(json.dumps(fields), self.name)

    def _take_decision(self, solution: Any) -> str:
        value, _ = evaluate_twice(self.instance, solution)
        if solution.objective is not None and abs(solution.objective - value) > self._room(value):
            raise wrong("objective", solution.objective, f"the decision is worth {value!r}")
        best = self.row.best
        if best is not None:
            if worse := self._worse_stage(solution):
                return f"refused: {worse}"
            room, left = self._room(best.value), float(checker.TOLERANCE) if self.row.closed else 0.0
            if abs(value - best.value) <= room and (self.submission.certificate or solution.bound is not None):
                return ""
            if value >= best.value - left - room:
                return f"refused: the decision is worth {value!r}, and one that is worth {best.value!r} is known"
            if self.row.closed:
                why = f"is below {best.value!r}, of which a certificate proves that nothing is better: please report this"
                raise wrong("objective", value, why)
        self._store_decision(solution, value, "feasible")
        above = value + self._room(value)
        bounds = (bound.replace(evidence="refuted") if bound.value > above else bound for bound in self.row.bounds)
        self.row = self.row.replace(bounds=tuple(bounds))
        return f"accepted: objective {value!r}" + ("" if best is None else f" instead of {best.value!r}")

    def _worse_stage(self, solution: Any) -> str:
        """The first priority in which a decision is worse than the known one, or "": its objective alone would say nothing."""
        problem, best = self.instance.problem, self.row.best
        stages = getattr(problem, "priorities", ())
        if best is None or best.file is None or not stages:
            return ""
        known = loads_solution(read_stored(self.folder, best.file), best.file.path)
        new, old = (problem.evaluate(problem.read_decision(answer.decision)).metrics for answer in (solution, known))
        worse = (stage.metric for stage in stages if new[stage.metric] > old[stage.metric] + self._room(old[stage.metric]))
        return next((f"{name}, which counts first, is {new[name]!r}, and {old[name]!r} is known" for name in worse), "")

    def _take_certificate(self, solution: Any, text: str) -> str:
        best, before = self.row.best, self.row
        if solution is None or solution.decision is None:
            if best is None or best.file is None:
                raise wrong("certificate", "", "needs a solution, and none is known")
            solution = loads_solution(read_stored(self.folder, best.file), best.file.path)
        value, _ = evaluate_twice(self.instance, solution)
        if best is not None and value > best.value + self._room(best.value):
            return f"refused: the certificate is of a decision worth {value!r}, and one that is worth {best.value!r} is known"
        proven = self._document(solution, value, "optimal")
        evidence, form = check_certificate(self.instance, proven, text)
        if before.closed and before.bound is not None and (evidence == "stated program" or before.bound.evidence == evidence):
            return f"refused: a {before.bound.evidence} of {before.bound.value!r} is known"
        self._store_decision(solution, value, "optimal")
        file = self._store("certificate", "gz", text)
        bound = KnownBound(value=value, evidence=evidence, format=form, **self._found(solution, file))  # type: ignore[arg-type]
        self._add_bound(bound)
        return f"accepted: {evidence} that nothing is better than {value!r}"

    def _take_claim(self, claim: Any, solution: Any) -> str:
        if isinstance(claim, bool) or not isinstance(claim, (int, float)):
            raise wrong("bound", claim, "must be a number")
        best, known = self.row.best, self.row.bound
        if best is not None and claim > best.value + self._room(best.value):
            raise wrong("bound", claim, f"is above {best.value!r}, the objective of a decision that is known: the sides cross")
        if known is not None and (self.row.closed or claim <= known.value + self._room(known.value)):
            how = "certified" if self.row.closed else "claimed"
            return f"refused: the bound {claim!r} is not better than {known.value!r}, which is {how}"
        self._add_bound(KnownBound(value=float(claim), evidence="claimed", **self._found(solution, None)))
        return f"claimed, without a certificate: nothing is better than {claim!r}"

    def _room(self, value: float) -> float:
        return resolution(value) + self.instance.problem.resolution

    def _found(self, solution: Any, file: StoredFile | None) -> dict[str, Any]:
        """Fields of a decision or bound that say who found it."""
        return {
            "method": self.submission.by or solution.method,
            "seed": self.submission.seed,
            "work_limit": self.submission.work_limit,
            "versions": solution.versions,
            "date": datetime.now(UTC).date().isoformat(),
            "file": file,
        }

    def _document(self, solution: Any, value: float, status: str) -> Any:
        """The solution as the library keeps it: as evaluated here, and with no claim beyond its evidence."""
        problem = self.instance.problem
        decision = problem.read_decision(solution.decision)
        fields = {**COMMON, "status": status, "objective": value, "metrics": problem.evaluate(decision).metrics}
        fields |= {"bound": value if status == "optimal" else None, "gap": 0.0 if status == "optimal" else None}
        fields |= {"broken": (), "clashes": (), "method": self._found(solution, None)["method"], "seed": solution.seed}
        fields |= {"versions": solution.versions, "proof": "checked certificate" if status == "optimal" else None}
        return problem.solution(decision, fields)

    def _store_decision(self, solution: Any, value: float, status: str) -> None:
        """Put a decision first; one of the same value takes the place of the one before."""
        text = json.dumps(self._document(solution, value, status).to_document())
        found = KnownDecision(value=value, **self._found(solution, self._store("solution", "json.gz", text)))
        before = self.row.decisions
        if before and abs(before[0].value - value) <= self._room(value):
            found, before = before[0].replace(value=value, file=found.file), before[1:]
        self.row = self.row.replace(decisions=(found, *(decision.replace(file=None) for decision in before)))

    def _add_bound(self, bound: KnownBound) -> None:
        self.row = self.row.replace(bounds=(bound, *(earlier.replace(file=None) for earlier in self.row.bounds)))

    def _store(self, what: str, ending: str, text: str) -> StoredFile:
        """Note a file to be written, whose name has part of its digest: nothing that is there is ever replaced."""
        file, data = packed(f"{self.name}.{what}.{{}}.{ending}", text)
        self.content[file.path] = data
        return file
