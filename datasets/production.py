"""Production Storm topologies as deployment problems: where every executor runs, on the cluster it came from.

The data are 136 anonymised topologies of three clusters, published with Apache Storm as the input of its test of the
resource-aware scheduler. Per component they say parallelism, inputs with grouping, CPU and memory; the
hosts of the clusters are those that the same test describes (`CLUSTERS`). What no part of the data says is decided
here, as constants and in the docstring of `instance_document`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import networkx as nx
from pydantic import Field, TypeAdapter, ValidationError

from edrp.documents.base import Document, Name, NonNegative
from edrp.errors import Fault, InvalidInstanceError
from edrp.wording import invalid

FILE = "storm_production_topologies.json"
"""Name of the file in the data folder."""

WITHIN_RACK = 5e-5
"""One-way delay in seconds between hosts of one rack; not in the data, a usual figure of data centres."""

BETWEEN_RACKS = 2.5e-4
"""One-way delay in seconds between racks; half of the usual round trip within a data centre, 0.5 ms."""

SPOUT_RATE = 1.0
"""Tuples/s that each executor of a spout brings; not in the data. All rates scale with it."""

MEBIBYTE = 2**20

TO_EVERY_TASK = 3
"""Number of the grouping `all` in Storm's interface: every task of the consumer gets every tuple."""


class Hosts(NamedTuple):
    """Equal hosts of one rack: CPU in percent of a core, memory in MB, as Storm gives them."""

    rack: str
    number: int
    cpu_percent: float
    memory_mb: float


def _first_cluster() -> tuple[Hosts, ...]:
    sizes = [(3600, 178_000)] * 12 + [(2400, 118_100)] * 2 + [(1200, 42_480)] * 2
    # Half of a rack's hosts have one core less.
    return tuple(
        Hosts(f"r{rack:03d}", 41, cpu - less, memory) for rack, (cpu, memory) in enumerate(sizes) for less in (0, 100)
    )


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


class Input(Document):
    """A stream that a component receives; the number of the grouping is that of Storm's interface."""

    source: Name = Field(alias="from", description="component that emits")
    stream: Name = Field(description="one of the named streams of that component")
    grouping_field: tuple[int, ...] = Field(description="number of the grouping", json_schema_extra={"unit": "1"})


class Component(Document):
    """A spout or a bolt; `parallelism` null is one executor, null needs take the topology's defaults."""

    kind: Literal["spout", "bolt"] = Field(description="whether it brings tuples or receives them")
    parallelism: Annotated[int, Field(ge=1)] | None = Field(description="executors", json_schema_extra={"unit": "1"})
    inputs: tuple[Input, ...] = Field(description="what it receives")
    cpu_pcore: NonNegative | None = Field(description="percent of a core per executor", json_schema_extra={"unit": "%"})
    onheap_mb: NonNegative | None = Field(description="memory per executor", json_schema_extra={"unit": "MB"})
    offheap_mb: NonNegative | None = Field(description="further memory per executor", json_schema_extra={"unit": "MB"})
    tasks: int = Field(description="not used: an executor runs all of its tasks", json_schema_extra={"unit": "1"})

    @property
    def executors(self) -> int:
        """Number of executors."""
        return self.parallelism or 1


class Topology(Document):
    """One production topology; its `id` starts with the name of its cluster."""

    id: Name = Field(description="cluster/name")
    components: dict[Name, Component] = Field(description="by name")
    workers: int | None = Field(None, description="not used: hosts are decided, not processes", json_schema_extra={"unit": "1"})
    priority: int | None = Field(None, description="not used: topologies are placed alone", json_schema_extra={"unit": "1"})
    strategy: str | None = Field(None, description="not used: the scheduler of then")
    comp_cpu_default: NonNegative = Field(description="where a component is silent", json_schema_extra={"unit": "%"})
    comp_onheap_default: NonNegative = Field(description="where a component is silent", json_schema_extra={"unit": "MB"})


def production_instances(folder: str | Path) -> Iterator[tuple[str, str]]:
    """Instances (id, JSON text) of all production topologies, in the order of the file.

    Topologies that the model cannot express are yielded as they are, for the reader to refuse with its reason: those
    with cycles (also of a component with itself: a feedback would have to be cut somewhere, and what is left would be
    another topology), and one that is empty.

    Parameters
    ----------
    folder
        Where `storm_production_topologies.json` is.

    Raises
    ------
    InvalidInstanceError
        When the file is not there, or is something else.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> sizes = {"parallelism": 2, "cpu_pcore": None, "onheap_mb": 512.0, "offheap_mb": None, "tasks": 2}
    >>> defaults = {"comp_cpu_default": 10.0, "comp_onheap_default": 128.0}
    >>> reader = {"kind": "spout", "inputs": [], **sizes}
    >>> with TemporaryDirectory() as folder:
    ...     topology = {"id": "largeCluster03/one", "components": {"reader": reader}, **defaults}
    ...     _ = Path(folder, FILE).write_text(json.dumps([topology]))
    ...     [(name, text)] = production_instances(folder)
    >>> name, json.loads(text)["application"]["operators"][0]["resources"]
    ('largeCluster03/one', {'cpu': 0.1, 'memory': 536870912.0})
    """
    path = Path(folder) / FILE
    for topology in _read(path):
        yield topology.id, json.dumps(instance_document(topology), ensure_ascii=False)


def instance_document(topology: Topology) -> dict[str, Any]:
    """Write a topology as a document of kind `edrp`: one operator per component, one replica per executor.

    * `min_replicas` = `max_replicas` = parallelism: the number is given, the hosts are decided.
    * Resources per executor: `cpu` in cores, `memory` in bytes (on and off the heap together).
    * Every host of the topology's cluster is a node, every rack a zone; the cluster is empty otherwise.
    * Each spout executor brings `SPOUT_RATE` tuples/s. A component sends on as many tuples as it receives
      (copies of a tuple count once), in equal parts over those of its named streams that someone receives; every
      receiver of a stream gets all of it, and with the grouping `all` each of its executors does.
    * No service rates are known: operators have no latency, response time is that of the network.
    * Network usage and response time weigh the same, each relative to the worst there can be (all
      pairs of executors in different racks), so that the objective lies in [0, 1] and no limit ever binds.

    Raises
    ------
    InvalidInstanceError
        When the id names none of the `CLUSTERS`.

    Examples
    --------
    >>> sizes = {"parallelism": 4, "cpu_pcore": 50.0, "onheap_mb": 512.0, "offheap_mb": None, "tasks": 4}
    >>> reader = {"kind": "spout", "inputs": [], **sizes}
    >>> writer = {"kind": "bolt", "inputs": [{"from": "reader", "stream": "default", "grouping_field": [2]}], **sizes}
    >>> defaults = {"comp_cpu_default": 10.0, "comp_onheap_default": 128.0}
    >>> topology = Topology(id="largeCluster03/one", components={"reader": reader, "writer": writer}, **defaults)
    >>> document = instance_document(topology)
    >>> document["application"]["streams"], len(document["network"]["nodes"])
    ([{'source': 'reader', 'target': 'writer', 'rate': 4.0}], 80)
    """
    rates = _rates(topology)
    streams = [{"source": source, "target": target, "rate": rate} for (source, target), rate in rates.items()]
    in_flight = sum(rate for rate in rates.values() if rate is not None) * BETWEEN_RACKS
    steps = max(1, _longest_path(rates))
    return {
        "kind": "edrp",
        "application": {
            "operators": [_operator(topology, name, component) for name, component in topology.components.items()],
            "streams": streams,
        },
        "network": _network(topology.id),
        "weights": {"network_usage": 0.5, "response_time": 0.5},
        "limits": {"network_usage": in_flight or BETWEEN_RACKS, "response_time": steps * BETWEEN_RACKS},
    }


def _read(path: Path) -> list[Topology]:
    if not path.is_file():
        raise InvalidInstanceError([Fault(str(path), "", "there is no such file; give the folder that holds it")])
    try:
        return TypeAdapter(list[Topology]).validate_json(path.read_bytes())
    except ValidationError as error:
        raise invalid(error, list[Topology], str(path)) from None


def _operator(topology: Topology, name: str, component: Component) -> dict[str, Any]:
    cpu = topology.comp_cpu_default if component.cpu_pcore is None else component.cpu_pcore
    on_heap = topology.comp_onheap_default if component.onheap_mb is None else component.onheap_mb
    return {
        "name": name,
        "resources": {"cpu": cpu / 100, "memory": (on_heap + (component.offheap_mb or 0.0)) * MEBIBYTE},
        "min_replicas": component.executors,
        "max_replicas": component.executors,
        "external_rate": component.executors * SPOUT_RATE if component.kind == "spout" else 0.0,
    }


def _network(topology: str) -> dict[str, Any]:
    cluster = topology.split("/")[0]
    if cluster not in CLUSTERS:
        raise InvalidInstanceError([Fault("id", topology, f"names no known cluster; there are {', '.join(CLUSTERS)}")])
    nodes: list[dict[str, Any]] = []
    for hosts in CLUSTERS[cluster]:
        free = {"cpu": hosts.cpu_percent / 100, "memory": hosts.memory_mb * MEBIBYTE}
        taken = sum(node["zone"] == hosts.rack for node in nodes)
        names = [f"{hosts.rack}h{number:03d}" for number in range(taken, taken + hosts.number)]
        nodes += [{"name": name, "zone": hosts.rack, "resources": free} for name in names]
    return {"nodes": nodes, "within_zone": {"delay": WITHIN_RACK}, "between_zones": {"delay": BETWEEN_RACKS}}


def _rates(topology: Topology) -> dict[tuple[str, str], float | None]:
    """Tuples/s between each two joined components, all named streams together; None for all where there is a cycle."""
    components = topology.components
    inputs = [(each.source, name, each) for name, component in components.items() for each in component.inputs]
    pairs = [(source, target) for source, target, _ in inputs]
    graph = nx.DiGraph(pairs)
    if not nx.is_directed_acyclic_graph(graph) or not set(graph) <= set(components):
        return dict.fromkeys(pairs)
    named: dict[str, set[str]] = {name: set() for name in components}
    for source, _, each in inputs:
        named[source].add(each.stream)
    passed = {name: c.executors * SPOUT_RATE if c.kind == "spout" else 0.0 for name, c in components.items()}
    rates: dict[tuple[str, str], float | None] = dict.fromkeys(pairs, 0.0)
    for target in nx.topological_sort(graph):
        for each in components[target].inputs:
            sent = passed[each.source] / len(named[each.source])
            passed[target] += sent
            copies = components[target].executors if TO_EVERY_TASK in each.grouping_field else 1
            rates[each.source, target] = (rates[each.source, target] or 0.0) + sent * copies
    return rates


def _longest_path(pairs: dict[tuple[str, str], float | None]) -> int:
    graph = nx.DiGraph(pairs.keys())
    return int(nx.dag_longest_path_length(graph)) if nx.is_directed_acyclic_graph(graph) else len(pairs)
