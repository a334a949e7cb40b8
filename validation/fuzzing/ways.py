"""Ways to use a problem next to `solve`: commands and batches, which must come to an end that the user can understand."""

from __future__ import annotations

import atexit
import io
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout, suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from edrp.batch import solve_batch
from edrp.cli.app import ExitCode, run
from edrp.core.kinds import kinds
from edrp.core.solve import solve
from edrp.core.spark import spark_session
from edrp.core.tolerances import SAME_VALUE

ALLOWED = (ExitCode.SOLVED, ExitCode.BAD_INPUT, ExitCode.INFEASIBLE, ExitCode.NOTHING_FOUND)
"""Exit codes of commands that do what they promise, whatever they are given."""

PROVEN = (ExitCode.SOLVED, ExitCode.NOTHING_FOUND)
"""Exit codes of a check of a certificate: what is claimed is proven, or so is a stated program."""

Way = Callable[[Any, Path, str], None]
"""Uses a problem, which is in a file, with a work limit as text."""


def use(way: str, problem: Any, text: str, work_limit: float) -> None:
    """Use a problem in a way.

    Raises
    ------
    AssertionError
        Naming the command that does not end as it should.
    """
    with TemporaryDirectory() as folder, suppress(FileNotFoundError):
        file = Path(folder) / "problem.json"
        file.write_text(text)
        WAYS[way][0](problem, file, f"{work_limit:g}")


def _command(*arguments: object, allowed: tuple[ExitCode, ...] = ALLOWED) -> None:
    said, code = io.StringIO(), 0
    try:
        with redirect_stdout(said), redirect_stderr(said):
            run([str(argument) for argument in arguments])
    except SystemExit as end:
        code = int(end.code or 0)
    assert code in allowed, f"edrp {arguments[0]} ends with {code}: {' '.join(said.getvalue().split())}"


def _certificate(problem: Any, file: Path, limit: str) -> None:
    answer, certificate = file.with_name("answer.json"), file.with_name("answer.cert")
    _command("solve", file, "--out", answer, "--certificate", certificate, "--work-limit", limit)
    if certificate.exists():
        _command("check", file, answer, certificate, allowed=PROVEN)


def _batch(problem: Any, limit: str, **place: Any) -> None:
    rows = solve_batch({"one": problem, "other": problem}, work_limit=float(limit), certify=False, **place)
    table = rows.toArrow() if "spark" in place else rows
    for row in table.to_pylist():
        assert row["outcome"] != "failed", f"a row fails: {row['error_message']}"
        if row["outcome"] == "refused":
            continue
        alone, objective = solve(problem, work_limit=float(limit), seed=row["seed"]), row["objective"]
        assert row["status"] == alone.status, f"a row is {row['status']}, alone it is {alone.status}"
        same = objective == alone.objective or abs(objective - alone.objective) <= SAME_VALUE * max(1.0, abs(objective))
        assert same, f"a row has objective {objective!r}, alone it is {alone.objective!r}"


@cache
def _session() -> Any:
    """A session for all problems of this process."""
    context = spark_session("local[1]", memory="512m", in_python=True)
    session = context.__enter__()
    atexit.register(context.__exit__, None, None, None)
    return session


PLANNED = ("edrp-sequence", "migration", "migration-policy", "rescale")
WAYS: dict[str, tuple[Way, tuple[str, ...]]] = {
    "n_jobs": (lambda problem, file, limit: _batch(problem, limit, n_jobs=2), tuple(kinds())),
    "Spark": (lambda problem, file, limit: _batch(problem, limit, spark=_session()), tuple(kinds())),
    "certificate": (_certificate, tuple(kinds())),
    "explain": (lambda problem, file, limit: _command("explain", file, "--work-limit", limit), tuple(kinds())),
    "explore": (
        lambda problem, file, limit: _command("explore", file, "--out", file.with_name("page.html"), "--work-limit", limit),
        tuple(kinds()),
    ),
    "plan": (lambda problem, file, limit: _command("plan", file), PLANNED),
    "front": (lambda problem, file, limit: _command("front", file, "cost", "response_time", "--points", 3), ("edrp",)),
}
"""Ways with the kinds that can be used so."""
