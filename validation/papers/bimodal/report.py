"""Figs. 7 to 9 of bi-modal networks, run again, with a verdict on every sentence that the paper draws from them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from edrp.batch.journal import Report as ReportProgress
from edrp.report.estimates import estimate_mean
from edrp.report.page import Figure, Section, how_run, require_packages
from edrp.report.publication import Report
from edrp.report.statements import Statement, finding_table, statement_table
from edrp.report.tables import Table
from edrp.validation.papers.batches import DOCUMENTED, Overall
from edrp.validation.papers.bimodal.claims import AIM, CLAIMS, MAPPING_CLAIMS
from edrp.validation.papers.bimodal.extent import NETWORKS, Extent, groups
from edrp.validation.papers.bimodal.figures import draw_mapping, draw_networks, draw_reallocation
from edrp.validation.papers.bimodal.mapping_runs import HEURISTICS, MAX_MESSAGES, MappedBySize, map_all
from edrp.validation.papers.bimodal.runs import VARIANTS, Samples, SampleSweep, observe, sensitivity
from edrp.validation.papers.bimodal.tables import (
    MENDED,
    choice_tables,
    exponent_table,
    mapping_table,
    network_tables,
    optimum_table,
    overview_table,
    reallocation_tables,
    sensitivity_table,
    setting_tables,
)
from edrp.validation.papers.claims import judged

ROWS = "rows"
FLOW = {"drawn": "drawn every 10 ms", "expected": "at their expectation"}

HOW_JUDGED = (
    "A sentence holds where each of its findings does, and a finding where its whole 95 % interval is in the range that is asked "
    "for. Intervals are Student's t over the networks, of differences network by network where runs share networks and tasks; "
    "those of crossings are percentiles over 2000 resamplings of the networks, those of shares Wilson's. They are not corrected "
    "for the number of findings. “Aim” marks what is asked for beyond the paper. Where the paper has no number, the sentence "
    "says how its words are read. The default point is 60 tasks per hour and 99 links, a spanning tree of the servers."
)

WHY_THESE = (
    "One setting for all runs. What the paper does not print is marked as ours. A stream without buffers runs at the pace of its "
    "slowest hop, which alone explains most of the elongation; σ is that of the logarithm to base 2, as the paper's "
    "“between a quarter and four times” says."
)


@dataclass(frozen=True, slots=True)
class BimodalResults:
    """Everything that was run and judged: variants are samples with one constant changed, by name; empty where none were run."""

    extent: Extent
    samples: Samples
    mapped: MappedBySize
    statements: Sequence[Statement]
    variants: Mapping[str, Samples]

    @property
    def sweep(self) -> SampleSweep:
        """Samples by the quantity that is varied."""
        return SampleSweep(self.samples)


def investigate(extent: Extent, *, out: Path | None = None, progress: ReportProgress | None = None, **how: Any) -> BimodalResults:
    """Run everything that Figs. 7 to 9 need, and judge the paper's sentences on it.

    Rows are kept in a folder, if any, where the same call again runs only what is missing; `how` says where to run, as in
    `solve_batch`. Packages that the report needs are missed before any run, and the first run that fails is named.
    """
    if out is not None:
        require_packages(jinja2="report", matplotlib="plot")
    rows = None if out is None else out / ROWS
    if progress is not None:
        how["progress"] = Overall(progress, row_count(extent))
    mapped = map_all(extent, out=rows, **how)
    samples = observe(extent, out=rows, **how)
    statements = [*judged(MAPPING_CLAIMS, mapped), *judged(CLAIMS, SampleSweep(samples))]
    return BimodalResults(extent, samples, mapped, statements, sensitivity(extent, out=rows, **how))


def row_count(extent: Extent) -> int:
    """Rows of all batches.

    One network at one point is run in ten ways with both networks, in one with each alone; a task is mapped by five methods:

    >>> row_count(Extent(networks=1, rates=(60.0,), links=(99,), sizes=(30,), instances=1))
    17
    """
    figures = sum(len(group.cells) for group in groups(extent)) * extent.networks
    mapped = len(extent.sizes) * extent.instances * (1 + len(HEURISTICS))
    return figures + mapped + len(VARIANTS) * len(NETWORKS) * extent.sensitive


def report(results: BimodalResults) -> Report:
    """The report of finished runs."""
    mapped, sweep = results.mapped, results.sweep
    overviews = [overview_table(sweep, by_links) for by_links in (False, True)]
    choices = list(choice_tables(sweep))
    mapping = [mapping_table(mapped), optimum_table(mapped), *reallocation_tables(sweep)]
    variants = [sensitivity_table(results.variants)] if results.variants else []
    return Report(
        "Bi-modal networks: Figs. 7 to 9",
        "Stream tasks mapped on servers that are joined by dedicated links and the public network, compared with the paper.",
        verdicts=list(verdicts(results)),
        statements=results.statements,
        shown=[*mapping, *overviews, *choices, *variants],
        documented=[statement_table(results.statements), *mapping, *choices, *network_tables(sweep), *variants],
        sections=lambda drawings, command: sections(results, drawings, command),
        records={
            "statements": list(_finding_records(results.statements)),
            "mapping": list(_mapping_records(mapped)),
            "networks": list(_metric_records(results.samples)),
            "sensitivity": [
                {"setting": name, **record} for name, samples in results.variants.items() for record in _metric_records(samples)
            ],
        },
    )


def verdicts(results: BimodalResults) -> Iterator[str]:
    """The results in a few sentences."""
    networks = f"{results.extent.networks} networks a point"
    for sentences, from_paper in (("sentences of the paper", True), ("aims of our own", False)):
        chosen = [statement for statement in results.statements if (statement.section != AIM) == from_paper]
        counts = Counter(statement.verdict for statement in chosen)
        yield (
            f"Of {len(chosen)} {sentences}, {counts['holds']} hold, {counts['does not hold']} do not, and "
            f"{counts['undecided']} are undecided over {networks}."
        )
    deviation, elongation = (
        " against ".join(f"{100 * results.sweep.at(metric, networks).mean():.0f} %" for networks in ("both", "public"))
        for metric in ("deviation", "elongation")
    )
    yield f"At the default point tasks deviate by {deviation} with the public network alone, and take {elongation} longer."
    failed = [statement.sentence for statement in results.statements if statement.verdict == "does not hold"]
    if failed:
        yield f"What does not hold: {'; '.join(failed)}."


def sections(results: BimodalResults, drawings: Path, command: str) -> Iterator[Section]:
    """The sections of the page; figures are drawn into a folder and inlined."""
    yield Section("What the paper says", (HOW_JUDGED,), tables=(statement_table(results.statements),))
    extent, mapped, sweep = results.extent, results.mapped, results.sweep
    yield _drawn(
        "Fig. 7: heuristics for mapping",
        f"{extent.instances} tasks of ten components for each number of servers, delivered first in, first out. "
        "Ratios are over the tasks for which a heuristic finds a map, shares of all tasks that can be mapped. The optimum is "
        "proven by label setting; the paper compares with a bound that ignores bandwidths. RandomNeighbor with k = 2 stops "
        f"sending after {MAX_MESSAGES} messages.",
        "Cost of four heuristics over the optimum and over the paper's bound, tasks mapped and messages, by servers",
        drawings / "fig7-heuristics.svg",
        partial(draw_mapping, mapped),
        [mapping_table(mapped), optimum_table(mapped), *([exponent_table(mapped)] if len(mapped) > 1 else [])],
    )
    yield _drawn(
        "Fig. 8: re-allocation of links",
        f"Both networks, {extent.networks} of them at each rate, with links re-allocated every 10 s and never.",
        "Throughput, use of dedicated links and deviation over the rate of arrivals, with and without re-allocation",
        drawings / "fig8-reallocation.svg",
        partial(draw_reallocation, sweep),
        reallocation_tables(sweep),
    )
    yield _drawn(
        "Fig. 9: both networks and each alone",
        f"{extent.networks} networks at each point, traces of {extent.tasks} tasks, the public network {FLOW[extent.flow]}. "
        "All points of a seed share their tasks, and links are added to the same platform.",
        "Throughput, acceptance, use of servers and links, deviation and elongation of both networks and each alone",
        drawings / "fig9-networks.svg",
        partial(draw_networks, sweep),
        [*(overview_table(sweep, by_links) for by_links in (False, True)), *network_tables(sweep)],
    )
    yield Section(
        "Choices of maps",
        (
            "Runs at the default point on the same networks with the same tasks, which differ in which maps are looked for and "
            "reserved: the least load and then the most dedicated and fewest public hops, as printed; the fewest public hops and "
            "then the least load, as in all figures; the fewest public hops and then the fewest links, also with up to 3 empty "
            "hops on each hop.",
        ),
        tables=tuple(choice_tables(sweep)),
    )
    if results.variants:
        sentence = f"Means over {results.extent.sensitive} networks; “{DOCUMENTED}” is over the same. All in %."
        yield Section("Sensitivity", (sentence,), tables=(sensitivity_table(results.variants),))
    yield Section("Every finding", (), tables=tuple(map(finding_table, results.statements)))
    yield Section("Setting", (WHY_THESE,), tables=setting_tables())
    yield Section("What the printed algorithms needed", MENDED)
    yield how_run(command, _settings(results))


def _drawn(
    heading: str, sentence: str, words: str, path: Path, draw: Callable[[Path], object], tables: Sequence[Table]
) -> Section:
    draw(path)
    return Section(heading, (sentence,), figure=Figure(words, path), tables=tables)


def _settings(results: BimodalResults) -> dict[str, str]:
    extent, seconds = results.extent, results.sweep.at("seconds")
    spent = sum(float(metrics["seconds"].sum()) for metrics in results.samples.values())
    return {
        "networks a point": f"{extent.networks} (seeds 1 to {extent.networks})",
        "tasks a trace": str(extent.tasks),
        "arrivals per hour": ", ".join(f"{rate:g}" for rate in extent.rates),
        "dedicated links": ", ".join(map(str, extent.links)),
        "public network": FLOW[extent.flow],
        "tasks to map a size": str(extent.instances),
        "one trace, both networks, default point": f"{np.median(seconds):.1f} s in the median, {seconds.max():.1f} s at worst",
        "all traces of Figs. 8 and 9": f"{spent / 60:.0f} min of one core",
    }


def _finding_records(statements: Sequence[Statement]) -> Iterator[dict[str, Any]]:
    """Findings as rows of a CSV file: shares, not per cent; infinite ends of ranges and intervals are left out."""
    for judgement, finding in ((statement, finding) for statement in statements for finding in statement.findings):
        named = {"statement": judgement.sentence, "section": judgement.section, "finding": finding.where}
        values = {**finding.value._asdict(), "least": finding.minimum, "most": finding.maximum}
        finite = {name: None if value is None or math.isinf(value) else value for name, value in values.items()}
        yield {**named, **finite, "verdict": finding.verdict}


def _mapping_records(mapped_by_size: MappedBySize) -> Iterator[dict[str, Any]]:
    """Every task of Fig. 7 and heuristic as a row of a CSV file."""
    for servers, mapped in mapped_by_size.items():
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
            point = {"networks": cell.networks, "tasks_per_hour": cell.rate, "links": cell.links, "way": cell.way}
            yield {**point, "metric": name, "runs": values.size, **estimate_mean(values)._asdict()}
