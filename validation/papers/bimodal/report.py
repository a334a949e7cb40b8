"""Figs. 7 to 9 of bi-modal networks, run again, with a verdict on every sentence that the paper draws from them.

Figures are SVG files: means with 95 % confidence bands.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from edrp.batch.journal import Report as ReportProgress
from edrp.core.arrays import Floats
from edrp.datasets.families.mapping import platforms
from edrp.datasets.families.mapping.power_law_networks import MEGABIT
from edrp.mapping.bimodal_scenario import BimodalScenario
from edrp.report.estimates import Estimate, estimate_mean, estimate_share
from edrp.report.figures import Curve, Panel, draw_panels, mean_curve
from edrp.report.formatting import COLUMNS, FACTOR, NONE, NUMBER, OURS, PAPER, constant_rows
from edrp.report.page import Figure, Section, how_run, require_packages
from edrp.report.publication import Report
from edrp.report.statements import Statement, finding_table, statement_table
from edrp.report.tables import Table
from edrp.validation.papers.batches import DOCUMENTED, Overall
from edrp.validation.papers.bimodal import runs
from edrp.validation.papers.bimodal.claims import AIM, CLAIMS, MAPPING_CLAIMS, estimate_exponent, messages_per_server
from edrp.validation.papers.claims import judged

COMPARED = ("acceptance", "deviation", "elongation", "link_utilisation", "server_work", "messages")
"""Metrics by which choices of maps and settings are compared."""

REALLOCATED = ("throughput", "acceptance", "link_utilisation", "deviation", "server_utilisation")
"""Metrics of Fig. 8."""

OVERVIEW = {
    "acceptance": runs.NETWORKS,
    "deviation": ("both", "public"),
    "elongation": ("both", "public"),
    "link_utilisation": ("both", "dedicated"),
}
"""Metrics, and the networks for which they say something."""

SENSITIVE = {"both": COMPARED[:3], "dedicated": COMPARED[:1], "public": COMPARED[:3]}
"""Networks, and the metrics that are shown of them under each setting."""

NETWORK_HEADINGS = {"both": "both", "dedicated": "ded.", "public": "public"}
METRIC_HEADINGS = {"acceptance": "accept", "deviation": "dev.", "elongation": "elong.", "link_utilisation": "links"}


def mapping_table(mapped: runs.MappedBySize) -> Table:
    """Fig. 7: by size and heuristic cost over optimum and bound, share mapped, messages."""
    rows = tuple(
        (f"{servers} servers\n{name}", *_mapping_cells(mapped_tasks, name))
        for servers, mapped_tasks in mapped.items()
        for name in runs.HEURISTICS
    )
    columns = ("servers, heuristic", "cost over\noptimum", "worst", "cost over\nbound", "mapped\n[%]", "messages")
    return Table("Fig. 7: costs, tasks mapped, messages", columns, rows, columns[1:], open=True)


def _mapping_cells(mapped: runs.Mapped, name: str) -> tuple[str, ...]:
    to_optimum, to_bound = (mapped.ratio(name, cost) for cost in (mapped.optimum, mapped.bound))
    costs = [FACTOR.above_interval(estimate_mean(ratio)) if ratio.size else NONE for ratio in (to_optimum, to_bound)]
    worst = f"{to_optimum.max():.2f}" if to_optimum.size else NONE
    share = runs.PERCENT._replace(spec=".0f").above_interval(estimate_share(int(mapped.found(name).sum()), mapped.optimum.size))
    return costs[0], worst, costs[1], share, runs.COUNT.number(mapped.messages[name].mean())


def optimum_table(mapped: runs.MappedBySize) -> Table:
    """The distance of the paper's bound from the optimum, and the number of tasks that can be mapped."""
    rows = tuple(
        (
            f"{servers} servers",
            str(mapped_tasks.optimum.size),
            FACTOR.with_interval(estimate_mean(mapped_tasks.optimum / mapped_tasks.bound)),
        )
        for servers, mapped_tasks in mapped.items()
        if mapped_tasks.optimum.size
    )
    columns = ("", "tasks that can be mapped", "optimum over the paper's bound")
    return Table("The optimum and the paper's bound", columns, rows, columns[1:], open=True)


def exponent_table(mapped: runs.MappedBySize) -> Table:
    """Growth of the messages with the number of servers; the heuristic whose messages are capped is left out."""
    names = [name for name in runs.HEURISTICS if name != runs.RANDOM_2]
    rows = tuple((name, NUMBER.with_interval(estimate_exponent(*messages_per_server(mapped, name)))) for name in names)
    return Table("Exponents of messages in the number of servers", ("heuristic", "exponent (95 %)"), rows, ("exponent (95 %)",))


def reallocation_tables(sweep: runs.SampleSweep) -> Iterator[Table]:
    """Fig. 8: by rate, with and without re-allocation, and the differences network by network."""
    columns = ("tasks/h", "re-allocated", "never", "difference (95 %)")
    for metric in REALLOCATED:
        measure, rows = runs.MEASURES[metric], []
        for rate in sweep.rates:
            on, off = (sweep.at(metric, rate=rate, way=way) for way in (runs.CHOSEN, runs.FIXED))
            difference = measure.unit.signed.with_interval(estimate_mean(on - off))
            rows.append((f"{rate:g}", _cell(metric, on), _cell(metric, off), difference))
        yield Table(f"Fig. 8: {measure.title}", columns, tuple(rows), columns, open=True)


def overview_table(sweep: runs.SampleSweep, by_links: bool) -> Table:
    """The means of Fig. 9 in one table, which has to fit 80 columns."""
    shown = [(metric, name) for metric, networks in OVERVIEW.items() for name in networks]
    rows = tuple(
        (
            point,
            *(_mean(metric, sweep.samples[cell._replace(networks=name)][metric]) for metric, name in shown),
        )
        for point, cell in _points(sweep, by_links)
    )
    headings = (f"{METRIC_HEADINGS[metric]}\n{NETWORK_HEADINGS[name]}" for metric, name in shown)
    columns = ("links" if by_links else "rate", *headings)
    caption = f"Fig. 9, {_axis(by_links)[1]}: acceptance, deviation, elongation, use of links [%]"
    return Table(caption, columns, rows, columns, open=True)


def network_tables(sweep: runs.SampleSweep) -> Iterator[Table]:
    """Fig. 9: each metric over rates and over numbers of links, for both networks and each alone."""
    for by_links, metric in product((False, True), runs.MEASURES):
        rows = tuple(
            (point, *(_cell(metric, sweep.samples[cell._replace(networks=name)][metric]) for name in runs.NETWORKS))
            for point, cell in _points(sweep, by_links)
        )
        varied, fixed = _axis(by_links)
        columns = (varied, *runs.NETWORKS)
        yield Table(f"{runs.MEASURES[metric].title} by {varied}, {fixed}", columns, rows, columns)


def _points(sweep: runs.SampleSweep, by_links: bool) -> list[tuple[str, runs.Cell]]:
    """Numbers of links, or rates, as text, and their cells."""
    if by_links:
        return [(f"{links:g}", runs.Cell("", runs.DEFAULT_RATE, links)) for links in sweep.links]
    return [(f"{rate:g}", runs.Cell("", rate, runs.SPANNING)) for rate in sweep.rates]


def _axis(by_links: bool) -> tuple[str, str]:
    """The quantity that is varied, and the other one with its value."""
    return ("links", f"{runs.DEFAULT_RATE:g} tasks/h") if by_links else ("tasks/h", f"{runs.SPANNING} links")


def choice_tables(sweep: runs.SampleSweep) -> Iterator[Table]:
    """Ways to choose among maps at the default point, on the same networks: means, and differences from the printed way."""
    settings = (
        (runs.CHOICES, "links re-allocated"),
        (runs.FIXED_CHOICES, "links never re-allocated"),
        (runs.INSTANT_CHOICES, "links re-allocated, messages take no time"),
    )
    for ways, setting in settings:
        if all(map(sweep.has, ways)):
            yield _choice_table(sweep, ways, setting)
            yield _choice_differences(sweep, ways, setting)


def _choice_table(sweep: runs.SampleSweep, ways: Sequence[str], setting: str) -> Table:
    rows = tuple(
        (runs.MEASURES[metric].title, *(_cell(metric, sweep.at(metric, way=way)) for way in ways)) for metric in COMPARED
    )
    columns = ("", *(runs.WAYS[way].heading for way in ways))
    return Table(f"Choices of maps, {setting}", columns, rows, columns[1:], open=True)


def _choice_differences(sweep: runs.SampleSweep, ways: Sequence[str], setting: str) -> Table:
    printed, *others = ways

    def difference(metric: str, way: str) -> str:
        values = sweep.at(metric, way=way) - sweep.at(metric, way=printed)
        return runs.MEASURES[metric].unit.signed.above_interval(estimate_mean(values), " to ")

    rows = tuple((runs.MEASURES[metric].title, *(difference(metric, way) for way in others)) for metric in COMPARED)
    columns = ("", *(runs.WAYS[way].heading for way in others))
    return Table(f"Against the printed order, network by network, {setting}", columns, rows, columns[1:], open=True)


def sensitivity_table(variants: Mapping[str, runs.Samples]) -> Table:
    """Acceptance, deviation and elongation under each setting."""
    shown = [(metric, networks) for networks, metrics in SENSITIVE.items() for metric in metrics]
    rows = tuple(
        (name, *(_mean(metric, samples[runs.Cell(networks)][metric]) for metric, networks in shown))
        for name, samples in variants.items()
    )
    columns = ("setting", *(f"{METRIC_HEADINGS[metric]}\n{NETWORK_HEADINGS[networks]}" for metric, networks in shown))
    return Table("One constant changed at a time: acceptance, deviation, elongation [%]", columns, rows, columns[1:], open=True)


def _cell(metric: str, values: Floats) -> str:
    """A mean, and below it its interval."""
    return runs.MEASURES[metric].unit.above_interval(estimate_mean(values))


def _mean(metric: str, values: Floats) -> str:
    return runs.MEASURES[metric].unit.number(float(values.mean()))


ORIGINS = {
    "max_empty_hops": OURS,
    "empty_hops": OURS,
    "reallocation_interval": OURS,
    "reallocation_links": OURS,
    "forwarding_price": OURS,
    "flow_interval": PAPER,
    "variation": PAPER,
    "variation_base": PAPER,
    "buffer": OURS,
    "window": OURS,
}
"""Origins of the constants of a scenario."""

MENDED = (
    "Alg. 1 starts at one component more: a map must also be sent on as it is, so the loop begins at 0.",
    "A server that sends nothing on must acknowledge at once, or the end of the search is never detected; one that has given its "
    "last acknowledgement is engaged again later and keeps its costs until the source has finished.",
    "The flag by which a neighbour is known to have the specification can be overtaken by another map; the receiver asks for it.",
    "Alg. 3 neither updates its table nor counts what it sends over the public network, and keeps the source from using it.",
    "A map that is complete at the delivery server is not extended any further.",
    "Load-balance factors within 0.1 count as equal only in the final choice: as a rule for pruning this is not transitive.",
    "Alg. 4 gives up routes that it cannot make again; here no flow ends worse than it began.",
)
"""Repairs that the printed algorithms needed to work."""


def setting_tables() -> tuple[Table, ...]:
    """Every constant of the scenarios, and of the platforms and traces.

    >>> [table.caption for table in setting_tables()]
    ['Constants of a run', 'Platforms and traces']
    """
    constants = Table("Constants of a run", COLUMNS, tuple(constant_rows(BimodalScenario, ORIGINS)), open=True)
    rows = (
        ("servers", str(platforms.SERVERS), PAPER),
        ("dedicated links", f"{_range(platforms.LINK_BANDWIDTHS, MEGABIT)} Mbps, preferring servers that have many", PAPER),
        ("uplinks and downlinks", f"{_range(platforms.ACCESS_BANDWIDTHS, MEGABIT)} Mbps", PAPER),
        ("services", f"1 + number of links, drawn from {platforms.SERVICES}", PAPER),
        ("capacity", f"{platforms.INSTANCES_PER_SERVICE:g} instances of each service (k), each on one unit", PAPER),
        ("tasks", f"{platforms.COMPONENTS} different services each, between two servers at random", PAPER),
        ("source rate", f"{platforms.SOURCE_RATE / MEGABIT:g} Mbps", PAPER),
        ("data at the source", f"{platforms.MEAN_DATA / 1e6:g} MB in the mean, exponential", f"{PAPER}; {OURS}: exponential"),
        ("bytes out per byte in", f"{platforms.SHRINKAGE:g} of every service", OURS),
    )
    return constants, Table("Platforms and traces", ("what", "value", "from"), rows, open=True)


def _range(ends: tuple[float, float], unit: float) -> str:
    return f"{ends[0] / unit:g} to {ends[1] / unit:g}"


RATES, LINKS, SERVERS = "tasks per hour", "dedicated links", "servers"


def draw_mapping(mapped: runs.MappedBySize, path: Path) -> None:
    """Fig. 7: cost over the optimum and over the paper's bound, share of the tasks that are mapped, messages."""

    def curves(values: Callable[[runs.Mapped, str], Floats]) -> dict[str, Curve]:
        return {name: mean_curve({size: values(tasks, name) for size, tasks in mapped.items()}) for name in runs.HEURISTICS}

    def share(mapped: runs.Mapped, name: str) -> Estimate:
        return estimate_share(int(mapped.found(name).sum()), mapped.optimum.size).transformed(lambda share: 100 * share)

    shares: dict[str, Curve] = {name: {size: share(tasks, name) for size, tasks in mapped.items()} for name in runs.HEURISTICS}
    to_optimum = curves(lambda tasks, name: tasks.ratio(name, tasks.optimum))
    to_bound = curves(lambda tasks, name: tasks.ratio(name, tasks.bound))
    messages = curves(lambda tasks, name: tasks.messages[name])
    panels = [
        Panel("(a) cost over the optimum", SERVERS, "times the optimum", to_optimum, floor=1.0),
        Panel("(a) cost over the paper's bound", SERVERS, "times the bound", to_bound, floor=1.0),
        Panel("(b) messages", SERVERS, "maps sent per task", messages, scales=("log", "log")),
        Panel("tasks that are mapped", SERVERS, "share of those that can be [%]", shares),
    ]
    draw_panels(panels, path, columns=2)


def draw_reallocation(sweep: runs.SampleSweep, path: Path) -> None:
    """Fig. 8: throughput, use of dedicated links and deviation over the rate, with and without re-allocation."""
    ways = {"re-allocated every 10 s": runs.CHOSEN, "never re-allocated": runs.FIXED}
    panels = [
        _panel(letter, RATES, metric, {name: sweep.by_rate(metric, way=way) for name, way in ways.items()})
        for letter, metric in (("a", "throughput"), ("b", "link_utilisation"), ("c", "deviation"))
    ]
    draw_panels(panels, path, columns=3)


def draw_networks(sweep: runs.SampleSweep, path: Path) -> None:
    """Fig. 9: both networks and each alone, over the rate (at the spanning tree) and over the number of links."""
    varied = {RATES: sweep.by_rate, LINKS: sweep.by_links}
    shown = (
        *((LINKS, "throughput"), (LINKS, "acceptance"), (RATES, "server_utilisation"), (LINKS, "server_utilisation")),
        *((RATES, "link_utilisation"), (LINKS, "link_utilisation"), (RATES, "deviation"), (LINKS, "deviation")),
        (RATES, "elongation"),
    )
    panels = []
    for letter, (x, metric) in zip("abcdefghi", shown, strict=True):
        networks = ("both", "dedicated") if metric == "link_utilisation" else runs.NETWORKS
        panels.append(_panel(letter, x, metric, {name: varied[x](metric, name) for name in networks}))
    draw_panels(panels, path, columns=3)


def _panel(letter: str, x: str, metric: str, curves: Mapping[str, Mapping[float, Floats]]) -> Panel:
    measure = runs.MEASURES[metric]
    shown = {name: mean_curve(samples, measure.unit.scale) for name, samples in curves.items()}
    fixed = f"{runs.SPANNING} links" if x == RATES else f"{runs.DEFAULT_RATE:g} tasks/h"
    return Panel(f"({letter}) {metric.replace('_', ' ')}, {fixed}", x, measure.title, shown)


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

    extent: runs.Extent
    samples: runs.Samples
    mapped: runs.MappedBySize
    statements: Sequence[Statement]
    variants: Mapping[str, runs.Samples]

    @property
    def sweep(self) -> runs.SampleSweep:
        """Samples by the quantity that is varied."""
        return runs.SampleSweep(self.samples)


def investigate(
    extent: runs.Extent, *, out: Path | None = None, progress: ReportProgress | None = None, **how: Any
) -> BimodalResults:
    """Run everything that Figs. 7 to 9 need, and judge the paper's sentences on it.

    Rows are kept in a folder, if any, where the same call again runs only what is missing; `how` says where to run, as in
    `solve_batch`. Packages that the report needs are missed before any run, and the first run that fails is named.
    """
    if out is not None:
        require_packages(jinja2="report", matplotlib="plot")
    rows = None if out is None else out / ROWS
    if progress is not None:
        how["progress"] = Overall(progress, row_count(extent))
    mapped = runs.map_all(extent, out=rows, **how)
    samples = runs.observe(extent, out=rows, **how)
    statements = [*judged(MAPPING_CLAIMS, mapped), *judged(CLAIMS, runs.SampleSweep(samples))]
    return BimodalResults(extent, samples, mapped, statements, runs.sensitivity(extent, out=rows, **how))


def row_count(extent: runs.Extent) -> int:
    """Rows of all batches.

    One network at one point is run in ten ways with both networks, in one with each alone; a task is mapped by five methods:

    >>> row_count(runs.Extent(networks=1, rates=(60.0,), links=(99,), sizes=(30,), instances=1))
    17
    """
    figures = sum(len(group.cells) for group in runs.groups(extent)) * extent.networks
    mapped = len(extent.sizes) * extent.instances * (1 + len(runs.HEURISTICS))
    return figures + mapped + len(runs.VARIANTS) * len(runs.NETWORKS) * extent.sensitive


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
        f"sending after {runs.MAX_MESSAGES} messages.",
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
        tuple(reallocation_tables(sweep)),
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


def _mapping_records(mapped_by_size: runs.MappedBySize) -> Iterator[dict[str, Any]]:
    for (servers, mapped), name in product(mapped_by_size.items(), runs.HEURISTICS):
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


def _metric_records(samples: runs.Samples) -> Iterator[dict[str, Any]]:
    for cell, metrics in samples.items():
        for name, values in metrics.items():
            point = {"networks": cell.networks, "tasks_per_hour": cell.rate, "links": cell.links, "way": cell.way}
            yield {**point, "metric": name, "runs": values.size, **estimate_mean(values)._asdict()}
