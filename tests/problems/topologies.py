"""Production topologies in the form of their file."""

import json
from typing import Any

from edrp.core.instances import loads
from edrp.datasets.placement.production import ProductionTopology, instance_document
from edrp.placement.edrp import EdrpProblem

SHUFFLE, ALL = [2], [3]


def component(kind: str, executors: int | None, *inputs: str | tuple[str, str, list[int]], **other: Any) -> dict[str, Any]:
    """A component that receives from (component, named stream, grouping), or shuffled from a component's only stream."""
    full = [(given, "default", SHUFFLE) if isinstance(given, str) else given for given in inputs]
    received = [{"from": source, "stream": stream, "grouping_field": grouping} for source, stream, grouping in full]
    sizes = {"cpu_pcore": None, "onheap_mb": None, "offheap_mb": None, "tasks": 1, **other}
    return {"kind": kind, "parallelism": executors, "inputs": received, **sizes}


def topology(name: str = "largeCluster03/t", **components: dict[str, Any]) -> dict[str, Any]:
    return {"id": name, "components": components, "comp_cpu_default": 10.0, "comp_onheap_default": 128.0}


def many(executors: int, cluster: str = "largeCluster01") -> EdrpProblem:
    """A chain of three components of many executors, on 1,312 hosts."""
    document = topology(
        f"{cluster}/many",
        spout=component("spout", executors, cpu_pcore=100.0),
        bolt=component("bolt", executors, "spout", cpu_pcore=50.0),
        sink=component("bolt", executors // 2, "bolt", cpu_pcore=50.0),
    )
    return loads(json.dumps(instance_document(ProductionTopology.model_validate(document))))
