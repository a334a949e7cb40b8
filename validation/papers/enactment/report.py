"""Tables 3 to 6, Figs. 8 to 11 and every comparison of cost-efficient enactment, run anew and set beside the paper."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Console

from edrp.core.files import write_whole
from edrp.heuristics.enactment import POLICIES as ALL_POLICIES
from edrp.validation.oracles.enactment.queueing_check import queueing_check
from edrp.validation.papers.enactment.bounds import bounds_of
from edrp.validation.papers.enactment.cells import cells_of, error_of
from edrp.validation.papers.enactment.claims import statements
from edrp.validation.papers.enactment.print import cell_records, comparison_records, metric_records
from edrp.validation.papers.enactment.printed_tables import PATTERNS, POLICIES
from edrp.validation.papers.enactment.runs import Setting, enact, samples_of
from edrp.validation.papers.enactment.sections import Found, sections, verdicts
from edrp.validation.papers.enactment.sensitivity import sensitivity
from edrp.validation.papers.enactment.tables import (
    against_btu,
    check_table,
    error_table,
    paper_table,
    side_by_side,
    statement_in_words,
    statement_table,
)
from edrp.validation.report.page import Page, render, require_page_packages
from edrp.validation.report.printing import console_table, csv_text, markdown_table

ROWS, REPORT, TABLES = "rows", "report.html", "tables.md"
SENSITIVITY_SEEDS = 2


def investigate(
    *,
    seeds: int = 30,
    policies: Sequence[str] | None = None,
    out: Path | None = None,
    sensitive: bool = False,
    **how: Any,
) -> Found:
    """Run the policies under all patterns and units, and compare what comes of it with the paper.

    Parameters
    ----------
    seeds
        1 to so many, for each cell.
    policies
        By name, besides the paper's two; None for all that there are.
    out
        Folder for the rows, where the same call again runs only what is missing; None for none.
    sensitive
        Whether constants are changed one at a time as well.
    how
        Where to run, as of `enact`: `spark` or `n_jobs`, and `progress`.

    Raises
    ------
    BackendUnavailableError
        Before any run: without a package that the report needs, where there is a folder for it.
    """
    if out is not None:
        require_page_packages()
    others = [name for name in ALL_POLICIES if name not in POLICIES] if policies is None else policies
    setting, numbers, chosen = Setting(), range(1, seeds + 1), [*POLICIES, *others]
    # Other numbers of seeds are other instances, which a folder of results refuses.
    rows = None if out is None else out / ROWS / f"{seeds}-seeds"
    enacted = enact(chosen, numbers, setting=setting, out=rows, **how)
    samples = samples_of(enacted)
    return Found(
        setting=setting,
        seeds=numbers,
        policies=chosen,
        enacted=enacted,
        samples=samples,
        cells=list(cells_of(samples)),
        error=error_of(samples),
        statements=statements(samples),
        bounds=bounds_of(setting, numbers, n_jobs=how.get("n_jobs")),
        sensitivities=sensitivity(range(1, min(seeds, SENSITIVITY_SEEDS) + 1), **how) if sensitive else {},
        checks=queueing_check(),
    )


def say(console: Console, found: Found) -> None:
    """Print tables and verdicts."""
    for pattern in PATTERNS:
        console.print(console_table(paper_table(pattern, found.cells)))
    console.print(console_table(side_by_side(found.samples, found.bounds)), console_table(against_btu(found.samples)))
    if found.sensitivities:
        console.print(console_table(error_table(found.sensitivities)))
    console.print(console_table(check_table(found.checks)))
    for each in found.statements:
        console.print(statement_in_words(each))
    for sentence in verdicts(found):
        console.print(sentence, highlight=False)


def write(found: Found, out: Path, command: str) -> None:
    """Write page, figures and tables (CSV, JSON, Markdown) into a folder, which is made if needed.

    Parameters
    ----------
    found
        What to say.
    out
        Folder.
    command
        That repeats the run.
    """
    out.mkdir(parents=True, exist_ok=True)
    page = Page(
        "Cost-efficient enactment: Tables 3 to 6, Figs. 8 to 11",
        "Policies that lease hosts by billing time units (BTU), simulated at the grain of data items, beside the paper.",
        list(verdicts(found)),
        list(sections(found, out, command)),
        datetime.now(UTC),
    )
    write_whole(out / REPORT, render(page))
    records = {
        "tables": list(cell_records(found.cells)),
        "comparisons": list(comparison_records(found.statements)),
        "policies": list(metric_records(found.samples)),
    }
    for name, rows in records.items():
        write_whole(out / f"{name}.csv", csv_text(rows))
    document = {
        "seeds": list(found.seeds),
        "error": found.error._asdict(),
        **records,
        "bounds": [
            {"pattern": pattern, "unit_minutes": unit, **bounds._asdict()} for (pattern, unit), bounds in found.bounds.items()
        ],
        "sensitivity": {name: error._asdict() for name, error in found.sensitivities.items()},
    }
    write_whole(out / "tables.json", json.dumps(document, indent=2, ensure_ascii=False) + "\n")
    write_whole(out / TABLES, _markdown(found))


def _markdown(found: Found) -> str:
    """The tables for a document such as docs/benchmarks.md."""
    tables = [*(paper_table(pattern, found.cells) for pattern in PATTERNS), statement_table(found.statements)]
    tables += [side_by_side(found.samples, found.bounds), against_btu(found.samples)]
    if found.sensitivities:
        tables.append(error_table(found.sensitivities))
    return "\n".join([*verdicts(found), "", *map(markdown_table, tables)])
