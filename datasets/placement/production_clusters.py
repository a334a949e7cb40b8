"""The hosts of the clusters that the production topologies come from, as Storm's test of its scheduler describes them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple

MEBIBYTE = 2**20
"""Bytes that Storm calls a MB, as the options of the Java machine do."""

WITHIN_RACK_DELAY = 5e-5
"""One-way delay in seconds between hosts of one rack: a usual figure of data centres."""

BETWEEN_RACKS_DELAY = 2.5e-4
"""One-way delay in seconds between racks: half the usual round trip within a data centre, 0.5 ms."""


class EqualHosts(NamedTuple):
    """Equal hosts of one rack: CPU in percent of a core, memory in MB, as Storm gives them."""

    rack: str
    number: int
    cpu_percent: float
    memory_mb: float


def _first_cluster() -> tuple[EqualHosts, ...]:
    sizes = [(3600, 178_000)] * 12 + [(2400, 118_100)] * 2 + [(1200, 42_480)] * 2
    # Half of a rack's hosts have one core less.
    return tuple(
        EqualHosts(f"r{rack:03d}", 41, cpu - less, memory) for rack, (cpu, memory) in enumerate(sizes) for less in (0, 100)
    )


CLUSTERS: dict[str, tuple[EqualHosts, ...]] = {
    "largeCluster01": _first_cluster(),
    "largeCluster02": (
        EqualHosts("r001", 78, 1100, 42_461),
        EqualHosts("r002", 146, 3500, 181_362),
        EqualHosts("r003", 18, 3500, 181_362),
        EqualHosts("r004", 120, 3500, 181_362),
        EqualHosts("r005", 24, 3500, 181_362),
        EqualHosts("r005", 16, 4700, 177_748),
        EqualHosts("r006", 12, 1800, 88_305),
        EqualHosts("r006", 368, 3500, 181_205),
        EqualHosts("r007", 62, 4700, 177_748),
        EqualHosts("r008", 50, 3500, 181_348),
        EqualHosts("r008", 64, 4700, 177_748),
        EqualHosts("r009", 74, 4700, 177_748),
        EqualHosts("r010", 74, 4700, 177_748),
        EqualHosts("r011", 10, 4700, 177_748),
        EqualHosts("r012", 78, 2300, 120_688),
        EqualHosts("r013", 150, 4700, 177_748),
        EqualHosts("r014", 76, 3500, 181_362),
        EqualHosts("r015", 38, 4700, 174_431),
        EqualHosts("r016", 78, 3500, 181_375),
        EqualHosts("r017", 72, 3500, 181_362),
        EqualHosts("r018", 80, 3500, 181_362),
        EqualHosts("r019", 76, 3500, 181_362),
        EqualHosts("r020", 78, 2300, 120_696),
        EqualHosts("r021", 80, 2300, 120_696),
    ),
    "largeCluster03": (EqualHosts("r001", 40, 1100, 58_829), EqualHosts("r002", 40, 1100, 58_829)),
}
"""Hosts of each cluster by rack: 1,312 in 16 racks, 1,922 in 21, 80 in 2."""


def network_document(hosts: Iterable[EqualHosts]) -> dict[str, Any]:
    """A network with one node per host and one zone per rack; hosts are numbered rack by rack.

    >>> document = network_document([EqualHosts("r1", 2, 400.0, 1.0), EqualHosts("r1", 1, 800.0, 1.0)])
    >>> [(node["name"], node["resources"]["cpu"]) for node in document["nodes"]]
    [('r1h000', 4.0), ('r1h001', 4.0), ('r1h002', 8.0)]
    """
    hosts_of_rack: Counter[str] = Counter()
    nodes: list[dict[str, Any]] = []
    for group in hosts:
        free = {"cpu": group.cpu_percent / 100, "memory": group.memory_mb * MEBIBYTE}
        numbers = range(hosts_of_rack[group.rack], hosts_of_rack[group.rack] + group.number)
        hosts_of_rack[group.rack] += group.number
        nodes += [{"name": f"{group.rack}h{number:03d}", "zone": group.rack, "resources": free} for number in numbers]
    return {"nodes": nodes, "within_zone": {"delay": WITHIN_RACK_DELAY}, "between_zones": {"delay": BETWEEN_RACKS_DELAY}}
