"""Clusters as lists of hosts by rack, with the capacities that Storm's supervisors declare, as networks with zones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from pydantic import Field, TypeAdapter, ValidationError, model_validator

from edrp.core.document import Document, Faults, Name, NonNegative
from edrp.core.wording import invalid
from edrp.datasets.placement.storm_documents.components import MEBIBYTE
from edrp.datasets.placement.storm_documents.sources import parse_yaml
from edrp.placement.network import LinkClass, Network

WITHIN_RACK = 5e-5
"""One-way delay in seconds between hosts of one rack by default: a usual figure of data centres."""

BETWEEN_RACKS = 2.5e-4
"""One-way delay in seconds between racks by default: half the usual round trip within a data centre, 0.5 ms."""

Count = Annotated[int, Field(ge=1, le=100_000)]


class Hosts(NamedTuple):
    """Equal hosts of one rack: CPU in percent of a core, memory in MB, as Storm gives them; a name where it is one host."""

    rack: str
    number: int
    cpu_percent: float
    memory_mb: float
    name: str | None = None


class HostEntry(Document):
    """Equal hosts of a rack with the settings of their `storm.yaml`."""

    cpu: NonNegative = Field(
        validation_alias="supervisor.cpu.capacity", description="percent of a core", json_schema_extra={"unit": "%"}
    )
    memory: NonNegative = Field(
        validation_alias="supervisor.memory.capacity.mb", description="of a host", json_schema_extra={"unit": "MB"}
    )
    count: Count = Field(1, description="how many such hosts", json_schema_extra={"unit": "1"})
    name: Name | None = Field(None, description="of a single host; null: rack, h and a number")

    @model_validator(mode="after")
    def _check(self) -> HostEntry:
        faults = Faults("host")
        if self.name is not None and self.count > 1:
            faults.add(("name",), self.name, f"names {self.count} hosts; give `count` 1, or leave the name out")
        faults.raise_if_any()
        return self


class Inventory(Document):
    """Hosts by rack, and the links within and between racks."""

    racks: Annotated[dict[Name, tuple[HostEntry, ...]], Field(min_length=1)] = Field(description="hosts by rack")
    within_rack: LinkClass = Field(LinkClass(delay=WITHIN_RACK), description="link of two hosts of one rack")
    between_racks: LinkClass = Field(LinkClass(delay=BETWEEN_RACKS), description="link of hosts of different racks")

    @property
    def hosts(self) -> list[Hosts]:
        """All entries, rack by rack."""
        entries = [(rack, entry) for rack, listed in self.racks.items() for entry in listed]
        return [Hosts(rack, entry.count, entry.cpu, entry.memory, entry.name) for rack, entry in entries]


FIELDS_OF_TEST = ("supervisorCnt", "rackId", "slotCnt", "memoryMb", "cpuPercent")
"""Fields of an entry in Storm's test of the resource-aware scheduler, in their order."""


class TestEntry(Document):
    """An entry of the form in which Storm's test of the resource-aware scheduler lists a cluster."""

    __test__ = False  # no test, whatever pytest thinks of its name

    number: Count = Field(validation_alias="supervisorCnt", description="hosts", json_schema_extra={"unit": "1"})
    rack: Name = Field(validation_alias="rackId", description="of the hosts")
    slots: int | None = Field(
        None,
        validation_alias="slotCnt",
        description="not used: hosts are decided, not processes",
        json_schema_extra={"unit": "1"},
    )
    memory: NonNegative = Field(validation_alias="memoryMb", description="of a host", json_schema_extra={"unit": "MB"})
    cpu: NonNegative = Field(validation_alias="cpuPercent", description="percent of a core", json_schema_extra={"unit": "%"})

    @model_validator(mode="before")
    @classmethod
    def _named(cls, entry: Any) -> Any:
        """A row of five values is an entry, too."""
        if isinstance(entry, (list, tuple)) and len(entry) == len(FIELDS_OF_TEST):
            return dict(zip(FIELDS_OF_TEST, entry, strict=True))
        return entry


def read_inventory(path: str | Path) -> Network:
    """Read a cluster from a YAML or JSON file.

    Either hosts by rack, with the settings of their `storm.yaml` (percent of a core, MB), and perhaps links::

        racks:
          r001:
            - {count: 40, supervisor.cpu.capacity: 1100, supervisor.memory.capacity.mb: 58829}
          r002:
            - {name: big, supervisor.cpu.capacity: 4700, supervisor.memory.capacity.mb: 177748}
        within_rack: {delay: 0.00005}
        between_racks: {delay: 0.00025}

    or a list of entries as in Storm's test of the resource-aware scheduler, each with the fields `supervisorCnt`,
    `rackId`, `slotCnt`, `memoryMb`, `cpuPercent`, or with these five values in this order.

    Parameters
    ----------
    path
        The file.

    Returns
    -------
    Network
        One node per host, with `cpu` in cores and `memory` in bytes; every rack is a zone.

    Raises
    ------
    InvalidInstanceError
        All faults of the file with their places.
    BackendUnavailableError
        When PyYAML is not installed.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "cluster.yaml")
    ...     _ = path.write_text("[[78, r001, 12, 42461, 1100], [146, r002, 36, 181362, 3500]]")
    ...     network = read_inventory(path)
    >>> len(network.nodes), network.nodes[0].name, network.nodes[0].resources["cpu"]
    (224, 'r001h000', 11.0)
    """
    content = parse_yaml(path)
    as_in_test = isinstance(content, list)
    form: Any = Annotated[list[TestEntry], Field(min_length=1)] if as_in_test else Inventory
    try:
        read = TypeAdapter(form).validate_python(content)
    except ValidationError as error:
        raise invalid(error, list[TestEntry] if as_in_test else Inventory, str(path)) from None
    if as_in_test:
        return Network(**network_document(Hosts(entry.rack, entry.number, entry.cpu, entry.memory) for entry in read))
    return Network(**network_document(read.hosts, read.within_rack.model_dump(), read.between_racks.model_dump()))


def network_document(
    hosts: Iterable[Hosts], within_rack: dict[str, Any] | None = None, between_racks: dict[str, Any] | None = None
) -> dict[str, Any]:
    """A network with one node per host and one zone per rack; hosts are numbered rack by rack.

    >>> document = network_document([Hosts("r1", 2, 400.0, 1.0), Hosts("r1", 1, 800.0, 1.0)])
    >>> [(node["name"], node["resources"]["cpu"]) for node in document["nodes"]]
    [('r1h000', 4.0), ('r1h001', 4.0), ('r1h002', 8.0)]
    """
    taken: Counter[str] = Counter()
    nodes: list[dict[str, Any]] = []
    for equal in hosts:
        free = {"cpu": equal.cpu_percent / 100, "memory": equal.memory_mb * MEBIBYTE}
        numbers = range(taken[equal.rack], taken[equal.rack] + equal.number)
        taken[equal.rack] += equal.number
        names = [f"{equal.rack}h{number:03d}" for number in numbers] if equal.name is None else [equal.name]
        nodes += [{"name": name, "zone": equal.rack, "resources": free} for name in names]
    return {
        "nodes": nodes,
        "within_zone": within_rack or {"delay": WITHIN_RACK},
        "between_zones": between_racks or {"delay": BETWEEN_RACKS},
    }
