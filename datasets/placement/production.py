"""Production Storm topologies as placement problems on the clusters from which they come.

The data are 136 anonymised topologies of three clusters, published with Apache Storm as the input of its test of the
resource-aware scheduler. Per component they say parallelism, inputs with grouping, CPU and memory; the
hosts of the clusters are those that the same test describes (`CLUSTERS`). Assumptions where the data say
nothing are documented at `instance_document` and `assumed_rates`, and are constants there.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import networkx as nx
from pydantic import Field, TypeAdapter, ValidationError

from edrp.core.document import Document, Name, NonNegative, unit
from edrp.core.errors import Fault, InvalidInstanceError
from edrp.core.wording import invalid, suggestion
from edrp.datasets.traces.data_folder import data_file
from edrp.placement.ordering import topological_layers

TOPOLOGIES_FILE = "storm_production_topologies.json"
"""Name of the file in the data folder."""

SPOUT_RATE = 1.0
"""Tuples/s that each executor of a spout emits. All rates scale with it."""

TO_EVERY_TASK = 3
"""Number of the grouping `all` in Storm's interface: every task of the consumer gets every tuple."""

MEBIBYTE = 2**20
"""Bytes that Storm calls a MB, as the options of the Java machine do."""

WITHIN_RACK_DELAY = 5e-5
"""One-way delay in seconds between hosts of one rack: a usual figure of data centres."""

BETWEEN_RACKS_DELAY = 2.5e-4
"""One-way delay in seconds between racks: half the usual round trip within a data centre, 0.5 ms."""


class ProductionInput(Document):
    """A stream that a component receives; the number of the grouping is that of Storm's interface."""

    source: Name = Field(alias="from", description="component that emits")
    stream: Name = Field(description="one of the named streams of that component")
    grouping_field: tuple[int, ...] = Field(description="number of the grouping", **unit("1"))


class ProductionComponent(Document):
    """A spout or a bolt; `parallelism` null is one executor, null needs take the topology's defaults."""

    kind: Literal["spout", "bolt"] = Field(description="whether it brings tuples or receives them")
    parallelism: Annotated[int, Field(ge=1)] | None = Field(description="executors", **unit("1"))
    inputs: tuple[ProductionInput, ...] = Field(description="what it receives")
    cpu_pcore: NonNegative | None = Field(description="percent of a core per executor", **unit("%"))
    onheap_mb: NonNegative | None = Field(description="memory per executor", **unit("MB"))
    offheap_mb: NonNegative | None = Field(description="further memory per executor", **unit("MB"))
    tasks: int = Field(description="not used: an executor runs all of its tasks", **unit("1"))

    @property
    def executors(self) -> int:
        """Number of instances."""
        return self.parallelism or 1


class ProductionTopology(Document):
    """One production topology; its `id` starts with the name of its cluster."""

    id: Name = Field(description="cluster/name")
    components: dict[Name, ProductionComponent] = Field(description="by name")
    workers: int | None = Field(None, description="not used: hosts are decided, not processes", **unit("1"))
    priority: int | None = Field(None, description="not used: topologies are placed alone", **unit("1"))
    strategy: str | None = Field(None, description="not used: the scheduler of then")
    comp_cpu_default: NonNegative = Field(description="where a component is silent", **unit("%"))
    comp_onheap_default: NonNegative = Field(description="where a component is silent", **unit("MB"))


def production_instances(folder: str | Path, kind: Literal["edrp", "latency-aware"] = "edrp") -> Iterator[tuple[str, str]]:
    """Instances (id, JSON text) of all production topologies, in the order of the file.

    Topologies that the model cannot express are yielded as they are, for the reader to refuse with its reason: one that is
    empty, and for kind `edrp` those with cycles (also of a component with itself: a feedback would have to be cut
    somewhere, and what is left would be another topology).

    Raises
    ------
    InvalidInstanceError
        When the file is not there, or is something else, or for another kind.
    """
    if kind not in MAKERS:
        raise InvalidInstanceError([Fault("kind", repr(kind), f"has no production topologies{suggestion(kind, MAKERS)}")])
    topologies, make = _read(data_file(TOPOLOGIES_FILE, folder)), MAKERS[kind]
    return ((topology.id, json.dumps(make(topology), ensure_ascii=False)) for topology in topologies)


def instance_document(topology: ProductionTopology) -> dict[str, Any]:
    """Write a topology as a document of kind `edrp`: one operator per component, one replica per executor.

    * `min_replicas` = `max_replicas` = parallelism: the number is given, the hosts are decided.
    * Resources per executor: `cpu` in cores, `memory` in bytes (on and off the heap together).
    * Every host of the topology's cluster is a node, every rack a zone; the cluster is empty otherwise.
    * Each spout executor brings one tuple/s, which flow on as `assumed_rates` says.
    * No service rates are known: operators have no latency, response time is that of the network.
    * Network usage and response time weigh the same, each relative to the worst there can be (all
      pairs of executors in different racks), so that the objective lies in [0, 1] and no limit ever binds.

    Raises
    ------
    InvalidInstanceError
        When the id names none of the `CLUSTERS`.
    """
    described = _application(topology)
    rates = {(stream["source"], stream["target"]): stream["rate"] for stream in described["streams"]}
    in_flight = sum(rate or 0.0 for rate in rates.values()) * BETWEEN_RACKS_DELAY
    graph = nx.DiGraph(rates.keys())
    steps = max(1, int(nx.dag_longest_path_length(graph)) if nx.is_directed_acyclic_graph(graph) else len(rates))
    for operator in described["operators"]:
        operator["min_replicas"] = operator["max_replicas"] = operator.pop("instances")
    return {
        "kind": "edrp",
        "application": described,
        "network": _network(topology.id),
        "weights": {"network_usage": 0.5, "response_time": 0.5},
        "limits": {"network_usage": in_flight or BETWEEN_RACKS_DELAY, "response_time": steps * BETWEEN_RACKS_DELAY},
    }


def latency_aware_document(topology: ProductionTopology) -> dict[str, Any]:
    """Write a topology as a document of kind `latency-aware`: one operator per component, one instance per executor.

    Rates, needs and hosts are those of `instance_document`; weights and utilisation are the paper's. Streams that go
    back, also from a component to itself, stay: tuples that come back are not sent on again.

    Raises
    ------
    InvalidInstanceError
        When the id names none of the `CLUSTERS`.
    """
    return {"kind": "latency-aware", "application": _application(topology), "network": _network(topology.id)}


MAKERS: dict[str, Callable[[ProductionTopology], dict[str, Any]]] = {
    "edrp": instance_document,
    "latency-aware": latency_aware_document,
}
"""Functions that write a topology as a document, by kind of problem."""


def _read(path: Path) -> list[ProductionTopology]:
    try:
        return TypeAdapter(list[ProductionTopology]).validate_json(path.read_bytes())
    except ValidationError as error:
        raise invalid(error, list[ProductionTopology], str(path)) from None


def _application(topology: ProductionTopology) -> dict[str, Any]:
    """Build operators with instances and streams with rates; without rates where an input names no component."""
    components = topology.components
    pairs = [(received.source, name) for name, component in components.items() for received in component.inputs]
    all_named = {source for source, _ in pairs} <= set(components)
    rates = assumed_rates(components) if all_named else dict.fromkeys(pairs)
    operators = [
        {
            "name": name,
            "resources": _needs(topology, component),
            "instances": component.executors,
            "external_rate": component.executors * SPOUT_RATE if all_named and component.kind == "spout" else 0.0,
        }
        for name, component in components.items()
    ]
    streams = [{"source": source, "target": target, "rate": rate} for (source, target), rate in rates.items()]
    return {"operators": operators, "streams": streams}


def _needs(topology: ProductionTopology, component: ProductionComponent) -> dict[str, float]:
    cpu = topology.comp_cpu_default if component.cpu_pcore is None else component.cpu_pcore
    on_heap = topology.comp_onheap_default if component.onheap_mb is None else component.onheap_mb
    return {"cpu": cpu / 100, "memory": (on_heap + (component.offheap_mb or 0.0)) * MEBIBYTE}


def assumed_rates(components: Mapping[str, ProductionComponent]) -> dict[tuple[str, str], float | None]:
    """Assume rates where none were measured, in tuples/s between each two connected components.

    Each spout executor brings `SPOUT_RATE`. A component sends on as many tuples as it receives (copies of a tuple count
    once), in equal parts over those of its named streams that someone receives; every receiver of a stream gets all of
    it, and with the grouping "all" each of its executors does. Where streams form cycles, tuples that come back are not
    sent on again.
    """
    named: dict[str, set[str]] = {name: set() for name in components}
    for component in components.values():
        for received in component.inputs:
            named[received.source].add(received.stream)
    passed = {name: c.executors * SPOUT_RATE if c.kind == "spout" else 0.0 for name, c in components.items()}
    pairs = [(received.source, name) for name, component in components.items() for received in component.inputs]
    order = [name for layer in topological_layers(list(components), pairs) for name in layer]
    position = {name: index for index, name in enumerate(order)}
    for name in order:
        forward = [received for received in components[name].inputs if position[received.source] < position[name]]
        passed[name] += sum(passed[received.source] / len(named[received.source]) for received in forward)
    rates = dict.fromkeys(pairs, 0.0)
    for name, component in components.items():
        for received in component.inputs:
            copies = component.executors if TO_EVERY_TASK in received.grouping_field else 1
            rates[received.source, name] += passed[received.source] / len(named[received.source]) * copies
    return dict(rates)


def _network(topology: str) -> dict[str, Any]:
    cluster = topology.split("/")[0]
    if cluster not in CLUSTERS:
        raise InvalidInstanceError(
            [Fault("id", topology, f"names no known cluster{suggestion(topology.partition('/')[0], CLUSTERS)}")]
        )
    return network_document(CLUSTERS[cluster])


class EqualHosts(NamedTuple):
    """Equal hosts of one rack: CPU in percent of a core, memory in MB, as Storm gives them."""

    rack: str
    number: int
    cpu_percent: float
    memory_mb: float


CLUSTERS: dict[str, tuple[EqualHosts, ...]] = {
    "largeCluster01": tuple(
        EqualHosts(f"r{rack:03d}", 41, cpu - less, memory)
        for rack, (cpu, memory) in enumerate([(3600, 178_000)] * 12 + [(2400, 118_100)] * 2 + [(1200, 42_480)] * 2)
        for less in (0, 100)  # half of a rack's hosts have one core less
    ),
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
