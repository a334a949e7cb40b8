"""Topologies as Storm itself keeps them: `stormcode.ser` (a Thrift struct) and `stormconf.ser` (JSON), compressed."""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from edrp.core.errors import Fault, InvalidInstanceError
from edrp.core.wording import shown, suggestion
from edrp.datasets.placement.storm_documents.components import (
    CPU_PERCENT,
    OFF_HEAP_MB,
    ON_HEAP_MB,
    SPOUT_RATE,
    StormComponent,
    StormInput,
    assumed_rates,
    needs,
    topology_document,
)
from edrp.datasets.placement.storm_documents.sources import read_filled
from edrp.datasets.placement.storm_documents.thrift_structs import STORM_TOPOLOGY, read_struct
from edrp.placement.application import Topology
from edrp.placement.latency import MAX_REPLICAS

GZIP, JAVA = b"\x1f\x8b", b"\xac\xed"
"""First bytes of compressed data, and of a serialized Java object."""

MAX_BYTES = 100 * 2**20
"""Decompressed; Storm itself takes no more."""

RESOURCES = "topology.component.resources.map"
"""Where newer versions of Storm put needs, too, by the names that its scheduler uses (or by the old ones)."""

NAMES_IN_MAP = {CPU_PERCENT: "cpu.pcore.percent", ON_HEAP_MB: "onheap.memory.mb", OFF_HEAP_MB: "offheap.memory.mb"}

TASKS, MAX_TASKS = "topology.tasks", "topology.max.task.parallelism"

SYSTEM = "__"
"""Names of components begin so that Storm adds by itself; they are in no topology that a user submits."""


def read_serialized(code: str | Path, conf: str | Path | None = None, *, spout_rate: float = SPOUT_RATE) -> Topology:
    """Read a topology from Storm's own files.

    Parameters
    ----------
    code
        `stormcode.ser`, as Nimbus keeps it.
    conf
        `stormconf.ser`, the configuration of the whole topology; without it, Storm's defaults hold.
    spout_rate
        Tuples/s of each executor of a spout, as the files hold no rates.

    Raises
    ------
    InvalidInstanceError
        Naming the file and the field.

    Examples
    --------
    >>> read_serialized("word-count-1-1700000000-stormcode.ser", "word-count-1-1700000000-stormconf.ser")  # doctest: +SKIP
    """
    source = str(code)
    try:
        settings = None if conf is None else decode_conf(read_filled(conf))
    except InvalidInstanceError as error:
        raise InvalidInstanceError(error.faults, str(conf)) from None
    try:
        return decode_topology(read_filled(code), settings, spout_rate=spout_rate)
    except InvalidInstanceError as error:
        raise InvalidInstanceError(error.faults, source) from None


def decode_topology(code: bytes, conf: Mapping[str, Any] | None = None, *, spout_rate: float = SPOUT_RATE) -> Topology:
    """Decode Storm's struct `StormTopology`.

    One operator per spout and bolt with one instance per executor: its parallelism hint, but no more than its tasks
    (`topology.tasks`, `topology.max.task.parallelism`). `cpu` in cores and `memory` in bytes (on and off the heap) are
    those of the component's `json_conf`, else of the topology's configuration, else Storm's defaults. The struct holds no
    rates; see `assumed_rates` for how tuples are assumed to flow. Components that Storm adds by itself are left out.

    Parameters
    ----------
    code
        Bytes of the struct in Thrift's binary protocol, compressed or not.
    conf
        Configuration of the whole topology, as `decode_conf` gives it.
    spout_rate
        Tuples/s of each executor of a spout.

    Raises
    ------
    InvalidInstanceError
        Naming every field at fault, such as `bolts['count'].common.json_conf`; of bytes that are no such struct, the first.
    BackendUnavailableError
        When the package `thrift` is not installed.

    Examples
    --------
    >>> code = bytes.fromhex(
    ...     "0d00010b0c0000000100000004726561640c00020d00010c0c000000000d00020b0c000000000800030000000400000d0002"
    ...     "0b0c0000000000"
    ... )
    >>> spout = decode_topology(code, {"topology.component.cpu.pcore.percent": 50.0}).operators[0]
    >>> spout.name, spout.instances, spout.resources["cpu"]
    ('read', 4, 0.5)
    """
    if code.startswith(JAVA):
        why = "is a serialized Java object, not a Thrift struct; submit the topology to a later version of Storm"
        raise InvalidInstanceError([Fault("file", "", why)])
    struct = read_struct(_decompressed(code), STORM_TOPOLOGY)
    described = [
        (f"{part}[{name!r}].common", name, part == "spouts", fields["common"])
        for part in ("spouts", "bolts")
        for name, fields in struct[part]
    ]
    faults: list[Fault] = []
    settings = _numbers(conf or {}, "conf", faults)
    components: dict[str, StormComponent] = {}
    streams = {name: {stream for stream, _ in common["streams"]} for _, name, _, common in described}
    for path, name, spout, common in described:
        if name in components:
            faults.append(Fault(path, shown(name), "is a spout or a bolt already; names must be unique"))
        received = _inputs(common["inputs"], path, streams, faults)
        components[name] = _component(common, path, spout, received, settings, faults)
    if not components:
        faults.append(Fault("spouts", "", "there are neither spouts nor bolts; a topology needs at least one component"))
    if faults:
        raise InvalidInstanceError(faults)
    brought = {name: component.executors * spout_rate for name, component in components.items() if component.spout}
    return Topology(**topology_document(components, assumed_rates(components, spout_rate), brought))


def decode_conf(content: bytes) -> dict[str, Any]:
    """Decode Storm's configuration of a topology: JSON, compressed or not.

    >>> decode_conf(b'{"topology.tasks": 2}')
    {'topology.tasks': 2}
    """
    try:
        settings = json.loads(_decompressed(content))
    except (ValueError, RecursionError) as error:
        raise InvalidInstanceError([Fault("file", "", f"is not JSON: {error}")]) from None
    if not isinstance(settings, dict):
        raise InvalidInstanceError([Fault("file", shown(settings), "must be an object of settings")])
    return settings


def _decompressed(content: bytes) -> bytes:
    if not content.startswith(GZIP):
        return content
    stream = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
    try:
        plain = stream.decompress(content, MAX_BYTES)
    except zlib.error as error:
        raise InvalidInstanceError([Fault("file", "", f"is damaged: {error}")]) from None
    if stream.unconsumed_tail:
        raise InvalidInstanceError([Fault("file", "", f"holds more than {MAX_BYTES} bytes, which Storm itself refuses")])
    if not stream.eof:
        raise InvalidInstanceError([Fault("file", "", "is cut off: the compressed data have no end")])
    return plain


def _inputs(
    pairs: list[tuple[dict[str, str], dict[str, Any]]], place: str, streams: dict[str, set[str]], faults: list[Fault]
) -> tuple[StormInput, ...]:
    inputs = []
    for index, (stream, grouping) in enumerate(pairs):
        source, name = stream["componentId"], stream["streamId"]
        if source.startswith(SYSTEM):
            continue
        if source not in streams:
            faults.append(Fault(f"{place}.inputs[{index}]", shown(source), f"is no spout or bolt{suggestion(source, streams)}"))
        elif name not in streams[source]:
            why = f"is no stream of {source!r}{suggestion(name, streams[source])}"
            faults.append(Fault(f"{place}.inputs[{index}]", shown(name), why))
        inputs.append(StormInput(source, name, copied="all" in grouping))
    return tuple(inputs)


def _component(
    common: dict[str, Any],
    place: str,
    spout: bool,
    inputs: tuple[StormInput, ...],
    settings: Mapping[str, float],
    faults: list[Fault],
) -> StormComponent:
    own = _own_conf(common.get("json_conf"), f"{place}.json_conf", faults)
    configured = {**settings, **_numbers(own, f"{place}.json_conf", faults)}
    hint = common.get("parallelism_hint", 1)
    executors = int(min(hint, configured.get(TASKS, hint), configured.get(MAX_TASKS, hint)))
    if not 1 <= executors <= MAX_REPLICAS:
        why = f"must come to at least 1 and at most {MAX_REPLICAS} executors, with its tasks"
        faults.append(Fault(f"{place}.parallelism_hint", str(executors), why))
    return StormComponent(spout, executors, inputs, **needs(configured))


def _own_conf(text: str | None, place: str, faults: list[Fault]) -> dict[str, Any]:
    if not text:
        return {}
    try:
        settings = json.loads(text)
    except (ValueError, RecursionError) as error:
        faults.append(Fault(place, shown(text), f"is not JSON: {error}"))
        return {}
    if isinstance(settings, dict):
        return settings
    faults.append(Fault(place, shown(text), "must be an object of settings"))
    return {}


def _numbers(conf: Mapping[str, Any], place: str, faults: list[Fault]) -> dict[str, float]:
    """The settings that are used here; those in the map of resources take precedence over the plain ones."""
    mapped = conf.get(RESOURCES) or {}
    if not isinstance(mapped, dict):
        faults.append(Fault(f"{place}[{RESOURCES!r}]", shown(mapped), "must be an object of numbers by name"))
        mapped = {}
    numbers: dict[str, float] = {}
    for name in (*NAMES_IN_MAP, TASKS, MAX_TASKS):
        values = (mapped.get(NAMES_IN_MAP.get(name, "")), mapped.get(name), conf.get(name))
        value = next((value for value in values if value is not None), None)
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < math.inf:
            faults.append(Fault(f"{place}[{name!r}]", shown(value), "must be a number of at least 0"))
        else:
            numbers[name] = value
    return numbers
