"""Fields of the instances that the checker evaluates by itself."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from .reading import need

_PLACED = {
    "application": "operators streams",
    "application.operators": "name state_size code_size resources candidates external_rate selectivity",
    "application.streams": "source target rate partitioning usage",
    "network": "nodes links symmetric store within_zone between_zones",
    "network.nodes": "name coordinates resources capacity speedup spawn_time availability zone store_delay store_bandwidth",
    "network.links": "source target delay bandwidth cost availability",
    "network.within_zone": "delay bandwidth cost availability",
    "network.between_zones": "delay bandwidth cost availability",
    "network.store": "delay bandwidth local_bandwidth",
}
_SERVERS = {
    "network": "nodes links symmetric",
    "network.nodes": "name coordinates capacity total_capacity services uplink downlink access_delay",
    "network.links": "source target bandwidth cost delay",
}
_METRICS = "response_time cost downtime network_usage availability peak_load peak_loads"
_TASKS = "kind work state_size intervals nodes tolerance allow_empty"
FIELDS: dict[str, dict[str, str]] = {
    "edrp": {
        **_PLACED,
        "": "kind application network current weights limits synchronisation_time reconfiguration priorities",
        "application.operators": f"{_PLACED['application.operators']} latency cost max_replicas min_replicas usage",
        "application.operators.latency": "model service_rate replicas capacities coefficients rates latencies",
        "weights": _METRICS,
        "limits": _METRICS,
    },
    "latency-aware": {
        **_PLACED,
        "": "kind application network current weights utilisation",
        "application.operators": f"{_PLACED['application.operators']} instances",
        "weights": "latency supervisors colocation events",
    },
    "migration": {"": _TASKS},
    "migration-policy": {"": f"{_TASKS} node_counts transitions discount"},
    "link-allocation": {
        **_SERVERS,
        "": "kind network flows max_links forwarding_price public_share keep",
        "flows": "name source target rate price route",
    },
    "mapping": {
        **_SERVERS,
        "": "kind network task max_empty_hops empty_hops bandwidth cost public_cost",
        "task": "source delivery components bandwidths rate price",
        "task.components": "name shrinkage capacity cpu_factor service",
    },
}
"""Fields of instances by kind and place. Objects at other places are by name: of resources, operators or metrics."""
FLAGS, SIGNED = (
    {"allow_empty", "keep", "network.symmetric"},
    {"network.nodes.coordinates", "application.operators.latency.coefficients"},
)


def check_fields(known: dict[str, str], value: Any, place: str = "") -> None:
    """A part of an instance has no field that the checker does not know, and is of the sign and type that it takes."""
    if isinstance(value, list):
        for part in value:
            check_fields(known, part, place)
    elif isinstance(value, dict):
        for name, part in value.items():
            need(place not in known or name in known[place].split(), f"{place or 'instance'}: has no field {name[:40]!r}")
            check_fields(known, part, f"{place}.{name}".lstrip("."))
    else:
        need(isinstance(value, bool) == (place in FLAGS), f"{place}: {str(value)[:40]!r} is of another type")
        need(not isinstance(value, int | Fraction) or value >= 0 or place in SIGNED, f"{place}: is below 0")
