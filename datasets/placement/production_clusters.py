"""The hosts of the clusters that the production topologies come from, as Storm's test of its scheduler describes them."""

from __future__ import annotations

from edrp.datasets.placement.storm_documents.inventory import Hosts


def _first_cluster() -> tuple[Hosts, ...]:
    sizes = [(3600, 178_000)] * 12 + [(2400, 118_100)] * 2 + [(1200, 42_480)] * 2
    # Half of a rack's hosts have one core less.
    return tuple(Hosts(f"r{rack:03d}", 41, cpu - less, memory) for rack, (cpu, memory) in enumerate(sizes) for less in (0, 100))


CLUSTERS: dict[str, tuple[Hosts, ...]] = {
    "largeCluster01": _first_cluster(),
    "largeCluster02": (
        Hosts("r001", 78, 1100, 42_461),
        Hosts("r002", 146, 3500, 181_362),
        Hosts("r003", 18, 3500, 181_362),
        Hosts("r004", 120, 3500, 181_362),
        Hosts("r005", 24, 3500, 181_362),
        Hosts("r005", 16, 4700, 177_748),
        Hosts("r006", 12, 1800, 88_305),
        Hosts("r006", 368, 3500, 181_205),
        Hosts("r007", 62, 4700, 177_748),
        Hosts("r008", 50, 3500, 181_348),
        Hosts("r008", 64, 4700, 177_748),
        Hosts("r009", 74, 4700, 177_748),
        Hosts("r010", 74, 4700, 177_748),
        Hosts("r011", 10, 4700, 177_748),
        Hosts("r012", 78, 2300, 120_688),
        Hosts("r013", 150, 4700, 177_748),
        Hosts("r014", 76, 3500, 181_362),
        Hosts("r015", 38, 4700, 174_431),
        Hosts("r016", 78, 3500, 181_375),
        Hosts("r017", 72, 3500, 181_362),
        Hosts("r018", 80, 3500, 181_362),
        Hosts("r019", 76, 3500, 181_362),
        Hosts("r020", 78, 2300, 120_696),
        Hosts("r021", 80, 2300, 120_696),
    ),
    "largeCluster03": (Hosts("r001", 40, 1100, 58_829), Hosts("r002", 40, 1100, 58_829)),
}
"""Hosts of each cluster by rack: 1,312 in 16 racks, 1,922 in 21, 80 in 2."""
