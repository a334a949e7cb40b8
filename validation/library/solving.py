"""Solves and certifies the rows of the library that are not closed, and submits what it finds; it goes on where it stopped."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from edrp.batch.run import solve_batch
from edrp.certified.checks import packed
from edrp.certified.library import Library
from edrp.certified.submissions import Receipt, Submission, submit, write_row
from edrp.core.errors import EdrpError
from edrp.core.files import content_digest
from edrp.core.folders import alone
from edrp.report.progress import Count

MAX_STORED = 400_000
"""Bytes of a compressed certificate of the library; the bound of a longer one stays a claim."""


def solve_library(
    library: Library,
    work_limit: float,
    out: Path,
    *,
    kind: str | None = None,
    method: str = "auto",
    progress: Callable[[Count], None] = lambda count: None,
) -> Iterator[Receipt]:
    """Solve all rows of a kind (None: of all) that are not closed within units of work, their certificates included.

    Answers are submitted, and kept in the folder `out`: the same call again solves what is missing.
    """
    rows = [row for row in library.select(kind) if not row.record.closed]
    for done, row in enumerate(rows, 1):
        folder = out / content_digest(json.dumps([row.name, row.record.instance.hash, method, work_limit]).encode())
        answers = solve_batch({row.name: row.problem}, method, out=folder, n_jobs=1, work_limit=work_limit, certify=True)
        for answer in answers.select(["id", "seed", "solution", "certificate", "status", "error_message"]).to_pylist():
            yield _submitted(library, answer, work_limit)
        progress(Count(done, len(rows)))


def _submitted(library: Library, answer: dict[str, Any], work_limit: float) -> Receipt:
    """Submit an answer of a batch, or say why it is none."""
    name = answer["id"]
    if answer["status"] == "infeasible":
        with alone(library.folder):
            library.refresh()
            write_row(library.folder, library.records, name, None, {})
        library.refresh()
        return Receipt(name, False, "infeasible: the row is left out")
    if answer["solution"] is None:
        return Receipt(name, False, f"nothing: {answer['error_message']}")
    certificate = answer["certificate"]
    if certificate is not None and len(packed("certificate", certificate)[1]) > MAX_STORED:
        certificate = None
    solution = json.loads(answer["solution"])
    try:
        return submit(library, Submission(solution, certificate, name, seed=answer["seed"], work_limit=work_limit))
    except EdrpError as error:
        return Receipt(name, False, f"refused: {error}")
