"""The constants that all runs of the report of bi-modal networks share, and where the paper had to be mended."""

from __future__ import annotations

from edrp.datasets.families.mapping import platforms
from edrp.datasets.families.mapping.power_law_networks import MEGABIT
from edrp.mapping.bimodal_scenario import BimodalScenario
from edrp.report.setting import COLUMNS, OURS, PAPER, constant_rows
from edrp.report.tables import Table

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
"""Where the constants of a scenario come from."""

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
    rows = tuple(constant_rows(BimodalScenario, ORIGINS))
    return (Table("Constants of a run", COLUMNS, rows, open=True), _platform_table())


def _platform_table() -> Table:
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
    return Table("Platforms and traces", ("what", "value", "from"), rows, open=True)


def _range(ends: tuple[float, float], unit: float) -> str:
    return f"{ends[0] / unit:g} to {ends[1] / unit:g}"
