"""Figs. 7 to 9 of bi-modal networks, run anew, with a verdict on every sentence that the paper draws from them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Console

from edrp.batch.progress import Report
from edrp.core.files import write_whole
from edrp.validation.papers.bimodal.claims import statements
from edrp.validation.papers.bimodal.mapping import HEURISTICS, map_all
from edrp.validation.papers.bimodal.mapping_claims import mapping_statements
from edrp.validation.papers.bimodal.plan import NETWORKS, Extent, groups
from edrp.validation.papers.bimodal.progress import Overall
from edrp.validation.papers.bimodal.runs import Samples, observe
from edrp.validation.papers.bimodal.sections import Found, sections, verdicts
from edrp.validation.papers.bimodal.sensitivity import VARIANTS, sensitivity
from edrp.validation.papers.bimodal.tables import (
    choice_tables,
    mapping_table,
    network_tables,
    optimum_table,
    overview_table,
    reallocation_tables,
    sensitivity_table,
    statement_in_words,
    statement_table,
)
from edrp.validation.report.intervals import interval
from edrp.validation.report.page import Page, render, require_page_packages
from edrp.validation.report.printing import console_table, csv_text, markdown_table

ROWS, REPORT, TABLES = "rows", "report.html", "tables.md"


def investigate(extent: Extent, *, out: Path | None = None, progress: Report | None = None, **how: Any) -> Found:
    """Run everything that Figs. 7 to 9 need, and compare what comes of it with the paper.

    Parameters
    ----------
    extent
        How much.
    out
        Folder for the rows, where the same call again runs only what is missing; None for none.
    progress
        Called with how far all batches together are.
    how
        Where to run, as of `solve_batch`: `spark` or `n_jobs`.

    Raises
    ------
    BackendUnavailableError
        Before any run: without a package that the report needs, where there is a folder for it.
    EdrpError
        When a run failed, naming the first.
    """
    if out is not None:
        require_page_packages()
    rows = None if out is None else out / ROWS
    if progress is not None:
        how["progress"] = Overall(progress, row_count(extent))
    mapped = map_all(extent, out=rows, **how)
    samples = observe(extent, out=rows, **how)
    return Found(
        extent=extent,
        samples=samples,
        mapped=mapped,
        statements=[*mapping_statements(mapped), *statements(samples)],
        sensitivities=sensitivity(extent, out=rows, **how),
    )


def row_count(extent: Extent) -> int:
    """Rows of all batches.

    One network at one point is run in ten ways with both networks, in one with each alone; a task is mapped by five methods:

    >>> row_count(Extent(networks=1, rates=(60.0,), links=(99,), sizes=(30,), instances=1))
    17
    """
    figures = sum(len(group.cells) for group in groups(extent)) * extent.networks
    mapped = len(extent.sizes) * extent.instances * (1 + len(HEURISTICS))
    return figures + mapped + len(VARIANTS) * len(NETWORKS) * extent.sensitive


def say(console: Console, found: Found) -> None:
    """Print tables and verdicts."""
    shown = [mapping_table(found.mapped), optimum_table(found.mapped), *reallocation_tables(found.sweep)]
    shown += [overview_table(found.sweep, by_links) for by_links in (False, True)]
    shown += choice_tables(found.sweep)
    if found.sensitivities:
        shown.append(sensitivity_table(found.sensitivities))
    console.print(*map(console_table, shown))
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
        "Bi-modal networks: Figs. 7 to 9",
        "Stream tasks mapped on servers that are joined by dedicated links and the public network, simulated beside the paper.",
        list(verdicts(found)),
        list(sections(found, out, command)),
        datetime.now(UTC),
    )
    write_whole(out / REPORT, render(page))
    records = {
        "statements": list(_statement_records(found)),
        "mapping": list(_mapping_records(found)),
        "networks": list(_metric_records(found.samples)),
        "sensitivity": [
            {"setting": name, **record} for name, own in found.sensitivities.items() for record in _metric_records(own)
        ],
    }
    for name, rows in records.items():
        if rows:
            write_whole(out / f"{name}.csv", csv_text(rows))
    write_whole(out / "tables.json", json.dumps(records, indent=2, ensure_ascii=False) + "\n")
    write_whole(out / TABLES, _markdown(found))


def _markdown(found: Found) -> str:
    """The tables for a document such as docs/benchmarks.md."""
    tables = [statement_table(found.statements), mapping_table(found.mapped), optimum_table(found.mapped)]
    tables += [*reallocation_tables(found.sweep), *choice_tables(found.sweep)]
    tables += network_tables(found.sweep)
    if found.sensitivities:
        tables.append(sensitivity_table(found.sensitivities))
    return "\n".join([*verdicts(found), "", *map(markdown_table, tables)])


def _statement_records(found: Found) -> Iterator[dict[str, Any]]:
    """Findings as rows of a CSV file: shares, not per cent; infinite ends of ranges and intervals are left out."""
    for statement in found.statements:
        for each in statement.findings:
            yield {
                "statement": statement.sentence,
                "section": statement.section,
                "finding": each.where,
                **{name: _finite(value) for name, value in each.value._asdict().items()},
                "least": _finite(each.least),
                "most": _finite(each.most),
                "verdict": each.verdict,
            }


def _mapping_records(found: Found) -> Iterator[dict[str, Any]]:
    """Every task of Fig. 7 and heuristic as a row of a CSV file."""
    for servers, mapped in found.mapped.items():
        for name in HEURISTICS:
            for index, (optimum, bound) in enumerate(zip(mapped.optimum.tolist(), mapped.bound.tolist(), strict=True)):
                cost = float(mapped.costs[name][index])
                yield {
                    "servers": servers,
                    "heuristic": name,
                    "optimum": optimum,
                    "bound": bound,
                    "cost": None if cost != cost else cost,  # NaN where no map was found
                    "messages": float(mapped.messages[name][index]),
                }


def _metric_records(samples: Samples) -> Iterator[dict[str, Any]]:
    """Every metric at every point as rows of a CSV file."""
    for cell, metrics in samples.items():
        for name, values in metrics.items():
            place = {"networks": cell.networks, "tasks_per_hour": cell.rate, "links": cell.links, "way": cell.way}
            yield {**place, "metric": name, "runs": values.size, **interval(values)._asdict()}


def _finite(value: float | None) -> float | None:
    return None if value is None or value in (float("inf"), float("-inf")) else value
