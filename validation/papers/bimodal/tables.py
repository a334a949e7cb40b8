"""Tables of the report of bi-modal networks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from edrp.core.arrays import Floats
from edrp.datasets.families.mapping import platforms
from edrp.datasets.families.mapping.power_law_networks import MEGABIT
from edrp.mapping.bimodal_scenario import BimodalScenario
from edrp.report.estimates import estimate_mean, estimate_share
from edrp.report.formatting import COLUMNS, FACTOR, NONE, NUMBER, OURS, PAPER, constant_rows
from edrp.report.tables import Table
from edrp.validation.papers.bimodal.claims import messages_per_server
from edrp.validation.papers.bimodal.extent import (
    CHOICES,
    CHOSEN,
    DEFAULT_RATE,
    FIXED,
    FIXED_CHOICES,
    INSTANT_CHOICES,
    NETWORKS,
    SPANNING,
    WAYS,
    Cell,
)
from edrp.validation.papers.bimodal.mapping_runs import HEURISTICS, RANDOM_2, Mapped, MappedBySize
from edrp.validation.papers.bimodal.runs import COUNT, MEASURES, PERCENT, Samples, SampleSweep
from edrp.validation.papers.bimodal.statistics import estimate_exponent

COMPARED = ("acceptance", "deviation", "elongation", "link_utilisation", "server_work", "messages")
"""Metrics by which choices of maps and settings are compared."""

REALLOCATED = ("throughput", "acceptance", "link_utilisation", "deviation", "server_utilisation")
"""Metrics of Fig. 8."""

OVERVIEW = {
    "acceptance": NETWORKS,
    "deviation": ("both", "public"),
    "elongation": ("both", "public"),
    "link_utilisation": ("both", "dedicated"),
}
"""Metrics, and the networks for which they say something."""

SENSITIVE = {"both": COMPARED[:3], "dedicated": COMPARED[:1], "public": COMPARED[:3]}
"""Networks, and the metrics that are shown of them under each setting."""

NETWORK_HEADINGS = {"both": "both", "dedicated": "ded.", "public": "public"}
METRIC_HEADINGS = {"acceptance": "accept", "deviation": "dev.", "elongation": "elong.", "link_utilisation": "links"}


def mapping_table(mapped: MappedBySize) -> Table:
    """Fig. 7: by size and heuristic cost over optimum and bound, share mapped, messages."""
    rows = tuple(
        (f"{servers} servers\n{name}", *_mapping_cells(mapped_tasks, name))
        for servers, mapped_tasks in mapped.items()
        for name in HEURISTICS
    )
    columns = ("servers, heuristic", "cost over\noptimum", "worst", "cost over\nbound", "mapped\n[%]", "messages")
    return Table("Fig. 7: costs, tasks mapped, messages", columns, rows, columns[1:], open=True)


def _mapping_cells(mapped: Mapped, name: str) -> tuple[str, ...]:
    to_optimum, to_bound = (mapped.ratio(name, cost) for cost in (mapped.optimum, mapped.bound))
    costs = [FACTOR.above_interval(estimate_mean(ratio)) if ratio.size else NONE for ratio in (to_optimum, to_bound)]
    worst = f"{to_optimum.max():.2f}" if to_optimum.size else NONE
    share = PERCENT._replace(spec=".0f").above_interval(estimate_share(int(mapped.found(name).sum()), mapped.optimum.size))
    return costs[0], worst, costs[1], share, COUNT.number(mapped.messages[name].mean())


def optimum_table(mapped: MappedBySize) -> Table:
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


def exponent_table(mapped: MappedBySize) -> Table:
    """Growth of the messages with the number of servers; the heuristic whose messages are capped is left out."""
    names = [name for name in HEURISTICS if name != RANDOM_2]
    rows = tuple((name, NUMBER.with_interval(estimate_exponent(*messages_per_server(mapped, name)))) for name in names)
    return Table("Exponents of messages in the number of servers", ("heuristic", "exponent (95 %)"), rows, ("exponent (95 %)",))


def reallocation_tables(sweep: SampleSweep) -> tuple[Table, ...]:
    """Fig. 8: by rate, with and without re-allocation, and the differences network by network."""
    return tuple(_reallocation_table(sweep, metric) for metric in REALLOCATED)


def _reallocation_table(sweep: SampleSweep, metric: str) -> Table:
    measure, rows = MEASURES[metric], []
    for rate in sweep.rates:
        on, off = (sweep.at(metric, rate=rate, way=way) for way in (CHOSEN, FIXED))
        difference = measure.unit.signed.with_interval(estimate_mean(on - off))
        rows.append((f"{rate:g}", _cell(metric, on), _cell(metric, off), difference))
    columns = ("tasks/h", "re-allocated", "never", "difference (95 %)")
    return Table(f"Fig. 8: {measure.title}", columns, tuple(rows), columns, open=True)


def overview_table(sweep: SampleSweep, by_links: bool) -> Table:
    """The means of Fig. 9 in one table, which has to fit 80 columns."""
    shown = [(metric, name) for metric, networks in OVERVIEW.items() for name in networks]
    rows = tuple(
        (
            _varied(cell, by_links),
            *(_mean(metric, sweep.samples[cell._replace(networks=name)][metric]) for metric, name in shown),
        )
        for cell in _points(sweep, by_links)
    )
    headings = (f"{METRIC_HEADINGS[metric]}\n{NETWORK_HEADINGS[name]}" for metric, name in shown)
    columns = ("links" if by_links else "rate", *headings)
    caption = f"Fig. 9, {_axis(by_links)[1]}: acceptance, deviation, elongation, use of links [%]"
    return Table(caption, columns, rows, columns, open=True)


def network_tables(sweep: SampleSweep) -> tuple[Table, ...]:
    """Fig. 9: each metric over rates and over numbers of links, for both networks and each alone."""
    return tuple(_network_table(sweep, metric, by_links) for by_links in (False, True) for metric in MEASURES)


def _network_table(sweep: SampleSweep, metric: str, by_links: bool) -> Table:
    rows = tuple(
        (_varied(cell, by_links), *(_cell(metric, sweep.samples[cell._replace(networks=name)][metric]) for name in NETWORKS))
        for cell in _points(sweep, by_links)
    )
    varied, fixed = _axis(by_links)
    columns = (varied, *NETWORKS)
    return Table(f"{MEASURES[metric].title} by {varied}, {fixed}", columns, rows, columns)


def _points(sweep: SampleSweep, by_links: bool) -> list[Cell]:
    """Cells of the rates, or of the numbers of links."""
    if by_links:
        return [Cell("", DEFAULT_RATE, links) for links in sweep.links]
    return [Cell("", rate, SPANNING) for rate in sweep.rates]


def _varied(cell: Cell, by_links: bool) -> str:
    return f"{cell.links if by_links else cell.rate:g}"


def _axis(by_links: bool) -> tuple[str, str]:
    """The quantity that is varied, and the other one with its value."""
    return ("links", f"{DEFAULT_RATE:g} tasks/h") if by_links else ("tasks/h", f"{SPANNING} links")


def choice_tables(sweep: SampleSweep) -> Iterator[Table]:
    """Ways to choose among maps at the default point, on the same networks: means, and differences from the printed way."""
    settings = (
        (CHOICES, "links re-allocated"),
        (FIXED_CHOICES, "links never re-allocated"),
        (INSTANT_CHOICES, "links re-allocated, messages take no time"),
    )
    for ways, setting in settings:
        if all(map(sweep.has, ways)):
            yield _choice_table(sweep, ways, setting)
            yield _choice_differences(sweep, ways, setting)


def _choice_table(sweep: SampleSweep, ways: Sequence[str], setting: str) -> Table:
    rows = tuple((MEASURES[metric].title, *(_cell(metric, sweep.at(metric, way=way)) for way in ways)) for metric in COMPARED)
    columns = ("", *(WAYS[way].heading for way in ways))
    return Table(f"Choices of maps, {setting}", columns, rows, columns[1:], open=True)


def _choice_differences(sweep: SampleSweep, ways: Sequence[str], setting: str) -> Table:
    printed, *others = ways

    def difference(metric: str, way: str) -> str:
        values = sweep.at(metric, way=way) - sweep.at(metric, way=printed)
        return MEASURES[metric].unit.signed.above_interval(estimate_mean(values), " to ")

    rows = tuple((MEASURES[metric].title, *(difference(metric, way) for way in others)) for metric in COMPARED)
    columns = ("", *(WAYS[way].heading for way in others))
    return Table(f"Against the printed order, network by network, {setting}", columns, rows, columns[1:], open=True)


def sensitivity_table(variants: Mapping[str, Samples]) -> Table:
    """Acceptance, deviation and elongation under each setting."""
    shown = [(metric, networks) for networks, metrics in SENSITIVE.items() for metric in metrics]
    rows = tuple(
        (name, *(_mean(metric, samples[Cell(networks)][metric]) for metric, networks in shown))
        for name, samples in variants.items()
    )
    columns = ("setting", *(f"{METRIC_HEADINGS[metric]}\n{NETWORK_HEADINGS[networks]}" for metric, networks in shown))
    return Table("One constant changed at a time: acceptance, deviation, elongation [%]", columns, rows, columns[1:], open=True)


def _cell(metric: str, values: Floats) -> str:
    """A mean, and below it its interval."""
    return MEASURES[metric].unit.above_interval(estimate_mean(values))


def _mean(metric: str, values: Floats) -> str:
    return MEASURES[metric].unit.number(float(values.mean()))


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
