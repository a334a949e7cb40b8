"""Running topologies as captured by Storm's load generator (`CaptureLoad`): YAML with measured rates."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError, field_validator

from edrp.core.document import Document, Name, NonNegative
from edrp.core.errors import Fault, InvalidInstanceError
from edrp.core.wording import invalid, shown, suggestion
from edrp.datasets.placement.storm_documents.components import (
    CPU_PERCENT,
    OFF_HEAP_MB,
    ON_HEAP_MB,
    Rates,
    StormComponent,
    needs,
    topology_document,
)
from edrp.datasets.placement.storm_documents.sources import parse_yaml
from edrp.placement.application import Topology
from edrp.placement.latency import MAX_REPLICAS


class Foreign(Document):
    """A document of others: fields that are not used here may be anything."""

    model_config = ConfigDict(extra="ignore")


class Rate(Foreign):
    """A measured rate; its spread is not used."""

    mean: NonNegative = Field(description="of what each executor sends", json_schema_extra={"unit": "tuples/s"})


class OutputStream(Foreign):
    """A named stream that a component sends on."""

    stream: Name = Field("default", validation_alias="streamId", description="unique in the component")
    rate: Rate = Field(description="of each executor")


class LoadComponent(Foreign):
    """A spout or a bolt."""

    id: Name = Field(description="unique in the topology")
    parallelism: Annotated[int, Field(ge=1, le=MAX_REPLICAS)] = Field(1, description="executors", json_schema_extra={"unit": "1"})
    cpu: NonNegative | None = Field(
        None, validation_alias="cpuLoad", description="percent of a core per executor", json_schema_extra={"unit": "%"}
    )
    memory: NonNegative | None = Field(
        None, validation_alias="memoryLoad", description="on the heap, per executor", json_schema_extra={"unit": "MB"}
    )
    streams: tuple[OutputStream, ...] = Field((), description="what it sends")


class Grouping(Foreign):
    """How the tuples of a stream are shared out."""

    type: Literal["SHUFFLE", "FIELDS", "ALL", "GLOBAL", "LOCAL_OR_SHUFFLE", "NONE", "PARTIAL_KEY"] = Field(
        "SHUFFLE", description="with ALL, every executor gets every tuple"
    )
    stream: Name = Field("default", validation_alias="streamId", description="named stream of the sender")

    @field_validator("type", mode="before")
    @classmethod
    def _upper(cls, name: Any) -> Any:
        return name.upper() if isinstance(name, str) else name


class LoadStream(Foreign):
    """A stream between two components."""

    source: Name = Field(validation_alias="from", description="component that sends")
    target: Name = Field(validation_alias="to", description="component that receives")
    grouping: Grouping = Field(Grouping(), description="how tuples are shared out")


class Settings(Foreign):
    """Configuration of the whole topology, as far as it counts here."""

    cpu: NonNegative | None = Field(None, validation_alias=CPU_PERCENT, description="where a component is silent")
    on_heap: NonNegative | None = Field(None, validation_alias=ON_HEAP_MB, description="where a component is silent")
    off_heap: NonNegative | None = Field(None, validation_alias=OFF_HEAP_MB, description="of every executor")


class LoadCapture(Foreign):
    """One captured topology."""

    name: str | None = Field(None, description="of the topology")
    config: Settings = Field(Settings.model_validate({}), description="of the topology")
    spouts: Annotated[tuple[LoadComponent, ...], Field(min_length=1)] = Field(description="components that bring tuples")
    bolts: tuple[LoadComponent, ...] = Field((), description="components that receive tuples")
    streams: tuple[LoadStream, ...] = Field((), description="between components")


def read_load_capture(path: str | Path) -> Topology:
    """Read a topology that Storm's `CaptureLoad` has written.

    One operator per spout and bolt with `parallelism` instances. `cpu` in cores is `cpuLoad` / 100, `memory` in bytes is
    `memoryLoad` plus the configured memory off the heap; needs that are not named are the configuration's
    defaults, then Storm's. The rate of a stream is the sum over all executors of its sender (with the grouping ALL,
    as often as there are receivers); all named streams of two components together make one stream. A spout brings what
    it emits.

    Parameters
    ----------
    path
        The YAML file.

    Raises
    ------
    InvalidInstanceError
        All faults of the file with their places.
    BackendUnavailableError
        When PyYAML is not installed.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> text = '''
    ... spouts: [{id: read, parallelism: 2, cpuLoad: 50.0, streams: [{streamId: words, rate: {mean: 30.0}}]}]
    ... bolts: [{id: count}]
    ... streams: [{from: read, to: count, grouping: {type: FIELDS, streamId: words}}]
    ... '''
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "capture.yaml").write_text(text)
    ...     topology = read_load_capture(Path(folder, "capture.yaml"))
    >>> topology.rate("read", "count"), topology.by_name["read"].resources["cpu"]
    (60.0, 0.5)
    """
    try:
        capture = TypeAdapter(LoadCapture).validate_python(parse_yaml(path))
    except ValidationError as error:
        raise invalid(error, LoadCapture, str(path)) from None
    faults = _faults(capture)
    if faults:
        raise InvalidInstanceError(faults, str(path))
    rates = _rates(capture)
    brought = {spout.id: sum(stream.rate.mean for stream in spout.streams) * spout.parallelism for spout in capture.spouts}
    components = {
        component.id: _component(component, capture.config, spout=part is capture.spouts)
        for part in (capture.spouts, capture.bolts)
        for component in part
    }
    return Topology(**topology_document(components, rates, brought))


def _component(described: LoadComponent, config: Settings, *, spout: bool) -> StormComponent:
    needed = {
        CPU_PERCENT: config.cpu if described.cpu is None else described.cpu,
        ON_HEAP_MB: config.on_heap if described.memory is None else described.memory,
        OFF_HEAP_MB: config.off_heap,
    }
    known = {name: value for name, value in needed.items() if value is not None}
    return StormComponent(spout, described.parallelism, (), **needs(known))


def _rates(capture: LoadCapture) -> Rates:
    components = {component.id: component for component in (*capture.spouts, *capture.bolts)}
    sent = {
        (name, output.stream): output.rate.mean * component.parallelism
        for name, component in components.items()
        for output in component.streams
    }
    rates: Rates = {}
    for stream in capture.streams:
        copies = components[stream.target].parallelism if stream.grouping.type == "ALL" else 1
        pair = stream.source, stream.target
        rates[pair] = rates.get(pair, 0.0) + copies * sent[stream.source, stream.grouping.stream]
    return rates


def _faults(capture: LoadCapture) -> list[Fault]:
    """Names that are repeated or missing."""
    faults = []
    streams: dict[str, set[str]] = {}
    for part in ("spouts", "bolts"):
        for index, component in enumerate(getattr(capture, part)):
            if component.id in streams:
                faults.append(Fault(f"{part}[{index}].id", shown(component.id), "is there already; ids must be unique"))
            streams[component.id] = {output.stream for output in component.streams}
    for index, stream in enumerate(capture.streams):
        for end, name in (("from", stream.source), ("to", stream.target)):
            if name not in streams:
                faults.append(Fault(f"streams[{index}].{end}", shown(name), f"is no spout or bolt{suggestion(name, streams)}"))
        sent = streams.get(stream.source)
        named = stream.grouping.stream
        if sent is not None and named not in sent:
            why = f"is no stream that {stream.source!r} sends{suggestion(named, sent)}"
            faults.append(Fault(f"streams[{index}].grouping.streamId", shown(named), why))
    return faults
