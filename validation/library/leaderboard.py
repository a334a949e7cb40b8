"""The leaderboard: methods and backends on all rows of the library, at several work limits, as a page made of stored rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from edrp.backends import backends
from edrp.batch import read_rows, solve_batch
from edrp.certified.library import CertifiedInstance, Library
from edrp.certified.records import CERTIFIED
from edrp.core.kinds import get_kind
from edrp.core.solution import installed_versions, relative_gap
from edrp.core.tolerances import BENCHMARK_OPTIMUM
from edrp.validation.benchmark.measures import NEAR_GAP, compare_runs
from edrp.validation.benchmark.suites import KIND_METHODS

if TYPE_CHECKING:
    import pandas as pd

WORK_LIMITS = (1.0, 10.0, 100.0)
"""Units of work of the columns."""

COMPARED = ("scip", "gurobi")
"""Backends that users would take instead, on the program of a kind, where they are installed."""


def compared_methods(kind: str) -> list[str]:
    """Methods of a kind on the leaderboard: those of its suite, and other solvers on its program."""
    others = [name for name in COMPARED if name in backends() and get_kind(kind).formulations]
    return list(dict.fromkeys([*KIND_METHODS.get(kind, ("auto",)), *others]))


def run_leaderboard(
    library: Library,
    out: Path,
    work_limits: Sequence[float] = WORK_LIMITS,
    *,
    kind: str | None = None,
    progress: Callable[[Any], None] | None = None,
    **where: Any,
) -> Path:
    """Solve all rows by all methods, and write `leaderboard.md` of all rows that are stored; the same call goes on.

    Parameters
    ----------
    out
        Folder of the rows, a folder for each kind and limit, and of the page.
    work_limits
        Units of work for each run.
    kind
        Kind that is run; None for all.
    where
        `spark` or `n_jobs`, as of `solve_batch`.

    Returns
    -------
    Path
        Of the page.
    """
    for name in [kind] if kind else kinds_of(library):
        texts = {row.name: row.text for row in library.select(name)}
        for limit in work_limits:
            folder = out / f"{name}-{limit:g}"
            solve_batch(texts, compared_methods(name), out=folder, work_limit=limit, progress=progress, **where)
    page = out / "leaderboard.md"
    page.write_text("\n".join(leaderboard_lines(library, out, work_limits)) + "\n")
    return page


def kinds_of(library: Library) -> list[str]:
    """Kinds of the rows of a library, each once."""
    return list(dict.fromkeys(name.partition("/")[0] for name in library))


def leaderboard_lines(library: Library, out: Path, work_limits: Sequence[float]) -> Iterator[str]:
    """Lines of the page, of what is stored in a folder."""
    versions = ", ".join(f"{name} {version}" for name, version in installed_versions("highspy", "numpy").items())
    yield f"Made on {datetime.now(UTC).date().isoformat()} with {versions}."
    for kind in kinds_of(library):
        rows = library.select(kind)
        known = {row.name: row.record for row in rows}
        folders = {limit: out / f"{kind}-{limit:g}" for limit in work_limits}
        runs = {limit: compare_runs(read_rows(folder), known) for limit, folder in folders.items() if folder.exists()}
        if runs:
            yield from (
                "",
                f"## {kind}",
                "",
                f"{len(rows)} rows. Cells: best known value reached / within 1 % / proven, in %.",
                "",
            )
            yield from _method_table(runs)
    yield from (
        "",
        "## Open rows",
        "",
        "| row | best known | bound | gap | decision by | bound by |",
        "|---|---|---|---|---|---|",
    )
    yield from (line for row in library.values() if (line := _open_line(row)))
    yield from ("", "## Who closed what", "", "| method | rows |", "|---|---|")
    closed = [row.record.bound.method for row in library.values() if row.record.bound and row.record.bound.evidence in CERTIFIED]
    yield from (f"| {method} | {closed.count(method)} |" for method in sorted(set(closed), key=closed.count, reverse=True))


def _method_table(runs: dict[float, pd.DataFrame]) -> Iterator[str]:
    """A line per method, the best at the largest limit first."""
    yield "".join(f"| {head} " for head in ("method", *(f"{limit:g} units" for limit in runs))) + "|"
    yield "|---" * (1 + len(runs)) + "|"
    shares: dict[str, list[tuple[float, float, float]]] = {}
    for number, table in enumerate(runs.values()):
        for method, group in table.groupby("method"):
            shares.setdefault(str(method), [(np.nan,) * 3] * len(runs))[number] = (
                float((group["excess"] <= BENCHMARK_OPTIMUM).mean()),
                float((group["excess"] <= NEAR_GAP).mean()),
                float(group["proven"].mean()),
            )
    for method, cells in sorted(shares.items(), key=lambda item: item[1][-1], reverse=True):
        yield f"| `{method}` " + "".join(f"| {' / '.join(f'{100 * share:.0f}' for share in cell)} " for cell in cells) + "|"


def _open_line(row: CertifiedInstance) -> str:
    best, bound = row.record.best, row.record.bound
    if row.record.closed or best is None:
        return ""
    if bound is None:
        return f"| {row.name} | {best.value:.9g} | | | {best.method} | |"
    gap = f"{100 * relative_gap(best.value, bound.value):.3g} %"
    return f"| {row.name} | {best.value:.9g} | {bound.value:.9g} | {gap} | {best.method} | {bound.method}, {bound.evidence} |"
