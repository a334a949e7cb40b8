"""The leaderboard: methods and other solvers on all rows of the library at several work limits, as a page of stored rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from subprocess import run
from typing import TYPE_CHECKING, Any

from edrp.backends import backends
from edrp.batch import read_rows, solve_batch
from edrp.certified.library import Library
from edrp.core.kinds import get_kind
from edrp.core.solution import installed_versions, relative_gap
from edrp.core.tolerances import BENCHMARK_OPTIMUM
from edrp.validation.benchmark.measures import NEAR_GAP, compare_runs
from edrp.validation.benchmark.suites import KIND_METHODS

if TYPE_CHECKING:
    import pandas as pd

WORK_LIMITS = (1.0, 10.0, 100.0)
"""Units of work of the columns."""

OTHERS = ("scip", "gurobi")
"""Solvers that users would take instead, on the program of a kind, where they are installed."""

SHARES = (
    "A cell says, after so many units of [work](../explanation/work.md) for each row, on which share of the rows in % a method "
    "reaches the best known value / comes within 1 % of it / proves its answer. Methods are those of `edrp benchmark`; "
    "SCIP and Gurobi solve the program that `highs` solves, Gurobi where its licence takes it. What a method does not take, or "
    "does not answer in time, counts as not reached."
)
"""How to read the page."""


def run_leaderboard(
    library: Library,
    out: Path,
    work_limits: Sequence[float] = WORK_LIMITS,
    *,
    kinds: Sequence[str] = (),
    progress: Callable[[Any], None] | None = None,
    **where: Any,
) -> Path:
    """Solve the rows of some kinds (or all) by all methods, least work first, and write a page of what is stored.

    Rows go to a folder in `out` for each kind and limit, the page to `leaderboard.md`; the same call goes on. `where` is
    `spark` or `n_jobs`, as of `solve_batch`.
    """
    for limit, kind in product(work_limits, kinds or library.kinds):
        others = [name for name in OTHERS if name in backends() and get_kind(kind).formulations]
        texts = {row.name: row.instance.text for row in library.select(kind)}
        folder, methods = out / f"{kind}-{limit:g}", dict.fromkeys([*KIND_METHODS[kind], *others])
        solve_batch(texts, list(methods), out=folder, work_limit=limit, progress=progress, **where)
    page = out / "leaderboard.md"
    page.write_text("\n".join(leaderboard_lines(library, out, work_limits)) + "\n")
    return page


def leaderboard_lines(library: Library, out: Path, work_limits: Sequence[float]) -> Iterator[str]:
    """Lines of the page, of what is stored in a folder."""
    versions = ", ".join(f"{name} {version}" for name, version in installed_versions("highspy", "pyscipopt", "gurobipy").items())
    # The commit of this checkout; "unknown" outside one.
    asked = run(["git", "rev-parse", "--short", "HEAD"], cwd=Path(__file__).parent, capture_output=True, text=True, check=False)
    made = f"Made on {datetime.now(UTC).date().isoformat()} with {versions}, commit {asked.stdout.strip() or 'unknown'}."
    yield from ("# Leaderboard of the library", "", f"{made} {SHARES}")
    for kind in library.kinds:
        known = {row.name: row.record for row in library.select(kind)}
        folders = {limit: out / f"{kind}-{limit:g}" for limit in work_limits}
        stored = {limit: compare_runs(read_rows(folder), known) for limit, folder in folders.items() if folder.exists()}
        runs = {limit: table for limit, table in stored.items() if len(table)}
        missing = [f"{limit:g}" for limit in work_limits if limit not in runs]
        not_run = f"; not run with {' and '.join(missing)} units of work" if missing else ""
        yield from ("", f"## {kind}", "", f"{len(known)} rows{not_run}.", "", *(_method_table(runs, len(known)) if runs else ()))
    yield from ("", "## Open rows", "", "| row | best | bound | gap | decision by | bound by |", "|---|---|---|---|---|---|")
    for name, row in library.items():
        best, bound = row.record.best, row.record.bound
        if best and row.record.status == "open":
            gap = f"{100 * relative_gap(best.value, bound.value):.3g} %" if bound else ""
            proven = f"{bound.value:.9g} | {gap} | {best.method} | {bound.method}" if bound else f"none | | {best.method} |"
            yield f"| {name} | {best.value:.9g} | {proven} |"
    yield from ("", "## Who closed what", "", "| method | rows |", "|---|---|")
    closed = Counter(row.record.bound.method for row in library.values() if row.record.closed and row.record.bound)
    yield from (f"| {method} | {count} |" for method, count in closed.most_common())


def _method_table(runs: dict[float, pd.DataFrame], rows: int) -> Iterator[str]:
    """A line per method, the best at the largest limit first; a cell says of how many rows it is if not of all."""
    yield "".join(f"| {head} " for head in ("method", *(f"work {limit:g}" for limit in runs))) + "|"
    yield "|---" * (1 + len(runs)) + "|"
    cells: dict[str, list[tuple[list[float], str]]] = {}
    for number, table in enumerate(runs.values()):
        for method, group in table.groupby("method"):
            shares = [(group["excess"] <= gap).mean() for gap in (BENCHMARK_OPTIMUM, NEAR_GAP)] + [group["proven"].mean()]
            text = " / ".join(f"{100 * share:.0f}" for share in shares) + (f" of {len(group)}" if len(group) < rows else "")
            cells.setdefault(str(method), [([], "") for _ in runs])[number] = (shares, text)
    for method, found in sorted(cells.items(), key=lambda item: item[1][-1], reverse=True):
        yield f"| `{method}` " + "".join(f"| {text} " for _, text in found) + "|"
