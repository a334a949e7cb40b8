"""Components of a Storm topology, whatever document they were read from, and assumptions about them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from edrp.placement.ordering import topological_layers

SPOUT_RATE = 1.0
"""Tuples/s that each executor of a spout emits by default. All rates scale with it."""

MEBIBYTE = 2**20
"""Bytes that Storm calls a MB, as the options of the Java machine do."""

CPU_PERCENT = "topology.component.cpu.pcore.percent"
ON_HEAP_MB = "topology.component.resources.onheap.memory.mb"
OFF_HEAP_MB = "topology.component.resources.offheap.memory.mb"

STORM_NEEDS = {CPU_PERCENT: 10.0, ON_HEAP_MB: 128.0, OFF_HEAP_MB: 0.0}
"""Storm's default needs of an executor: percent of a core, MB."""

Rates = dict[tuple[str, str], float]
"""Tuples/s by sender and receiver."""


@dataclass(frozen=True, slots=True)
class StormInput:
    """A named stream of another component; `copied` (grouping "all") gives every executor each of its tuples."""

    source: str
    stream: str = "default"
    copied: bool = False


@dataclass(frozen=True, slots=True)
class StormComponent:
    """A spout, which brings tuples, or a bolt.

    Attributes
    ----------
    cpu, memory
        Cores and bytes that an executor needs.
    """

    spout: bool
    executors: int
    inputs: tuple[StormInput, ...]
    cpu: float
    memory: float

    @property
    def resources(self) -> dict[str, float]:
        """Need of an executor by name."""
        return {"cpu": self.cpu, "memory": self.memory}


def needs(configured: Mapping[str, float]) -> dict[str, float]:
    """Cores and bytes of an executor, by Storm's defaults where nothing is configured.

    >>> needs({CPU_PERCENT: 25.0})
    {'cpu': 0.25, 'memory': 134217728.0}
    """
    values = {**STORM_NEEDS, **configured}
    return {"cpu": values[CPU_PERCENT] / 100, "memory": (values[ON_HEAP_MB] + values[OFF_HEAP_MB]) * MEBIBYTE}


def assumed_rates(components: Mapping[str, StormComponent], spout_rate: float = SPOUT_RATE) -> Rates:
    """Rates where none were measured: the tuples of the spouts flow on.

    Each spout executor brings `spout_rate`. A component sends on as many tuples as it receives (copies of a tuple count
    once), in equal parts over those of its named streams that someone receives; every receiver of a stream gets all of
    it, and with the grouping "all" each of its executors does. Where streams form cycles, tuples that come back are not
    sent on again.

    Returns
    -------
    dict
        Tuples/s between each two joined components, all named streams together.

    Examples
    --------
    >>> work = dict(executors=3, cpu=0.1, memory=0.0)
    >>> spout = StormComponent(spout=True, inputs=(), **work)
    >>> bolt = StormComponent(spout=False, inputs=(StormInput("spout", "a"), StormInput("spout", "b", copied=True)), **work)
    >>> assumed_rates({"spout": spout, "bolt": bolt})
    {('spout', 'bolt'): 6.0}
    """
    named: dict[str, set[str]] = {name: set() for name in components}
    for component in components.values():
        for received in component.inputs:
            named[received.source].add(received.stream)
    passed = {name: component.executors * spout_rate if component.spout else 0.0 for name, component in components.items()}
    pairs = [(received.source, name) for name, component in components.items() for received in component.inputs]
    order = [name for layer in topological_layers(list(components), pairs) for name in layer]
    position = {name: index for index, name in enumerate(order)}
    for name in order:
        forward = [received for received in components[name].inputs if position[received.source] < position[name]]
        passed[name] += sum(passed[received.source] / len(named[received.source]) for received in forward)
    rates = dict.fromkeys(pairs, 0.0)
    for name, component in components.items():
        for received in component.inputs:
            copies = component.executors if received.copied else 1
            rates[received.source, name] += passed[received.source] / len(named[received.source]) * copies
    return rates


def topology_document(
    components: Mapping[str, StormComponent], rates: Mapping[tuple[str, str], float | None], brought: Mapping[str, float]
) -> dict[str, Any]:
    """An application of kind `latency-aware`, one operator per component and one instance per executor.

    Parameters
    ----------
    rates
        Tuples/s of the streams.
    brought
        Tuples/s that spouts bring.
    """
    operators = [
        {
            "name": name,
            "resources": component.resources,
            "instances": component.executors,
            "external_rate": brought.get(name, 0.0),
        }
        for name, component in components.items()
    ]
    streams = [{"source": source, "target": target, "rate": rate} for (source, target), rate in rates.items()]
    return {"operators": operators, "streams": streams}
