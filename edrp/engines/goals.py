"""Goals that the operator of a cluster has for a job."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import Field, PrivateAttr

from edrp.core.document import Document, Faults, Name, Positive, checks, unit
from edrp.core.errors import Fault, InvalidInstanceError
from edrp.core.files import read_whole
from edrp.placement.network import Network
from edrp.placement.rules import PlacementRule
from edrp.replanning.replanner import DowntimePolicy

DocumentType = TypeVar("DocumentType", bound=Document)
Replicas = Annotated[int, Field(ge=1)]

AutoscalerVersion = Literal["1.9", "1.10", "1.11", "1.12", "1.13", "1.14", "1.15", "1.16"]
"""Version of the Flink Kubernetes operator, by whose rules its autoscaler aligns numbers of replicas."""

NEWEST_AUTOSCALER: AutoscalerVersion = "1.16"


class ReplicaBounds(Document):
    """Floor and ceiling of an operator's number of replicas."""

    min_replicas: Replicas = Field(1, description="fewest replicas", **unit("1"))
    max_replicas: Replicas | None = Field(
        None, description="most replicas; null: as many as slots and the engine allow", **unit("1")
    )

    @checks("goals")
    def _check(self, faults: Faults) -> None:
        if self.max_replicas is not None and self.min_replicas > self.max_replicas:
            faults.add(("min_replicas",), self.min_replicas, f"must be at most max_replicas, which is {self.max_replicas}")


class Goals(Document):
    """Goals for a job.

    >>> Goals(operators={"counter": {"max_replicas": 4}}).operators["counter"].max_replicas
    4
    """

    busy_limit: Annotated[float, Field(gt=0, lt=1)] = Field(0.8, description="most that any replica may be busy", **unit("1"))
    rate_factor: Positive = Field(1.0, description="load to plan for, as a multiple of the load now", **unit("1"))
    response_time: Positive | None = Field(None, description="limit on the response time; null for none", **unit("s"))
    response_time_weight: Annotated[float, Field(ge=0, le=1)] = Field(
        0.01,
        description="weight of the response time against the number of replicas; with the default it decides among as many",
        **unit("1"),
    )
    delay_factor: Positive = Field(
        1.0,
        description="latency that a delay of the network adds, as a multiple of it; above 1 where streams wait for credits",
        **unit("1"),
    )
    replica_cost: Positive = Field(1.0, description="price of a replica", **unit("money/h"))
    added_nodes: Annotated[int, Field(ge=0, le=100)] = Field(
        0, description="nodes that can be started, each with as many slots as the largest has", **unit("1")
    )
    operators: dict[Name, ReplicaBounds] = Field(
        {}, description="bounds by operator; without one, sources never get fewer replicas"
    )
    rules: tuple[PlacementRule, ...] = Field((), description="rules of your own about where replicas run")
    autoscaler: AutoscalerVersion = Field(
        NEWEST_AUTOSCALER,
        description="version of the Flink Kubernetes operator with whose autoscaler the advice is compared; older ones as 1.9",
    )
    policy: DowntimePolicy = Field(DowntimePolicy(downtime_worth=3.0), description="when a plan is worth its downtime")
    _origin: str = PrivateAttr("goals")

    @property
    def origin(self) -> str:
        """The file that they were read from, or the word "goals"; faults that only a job shows name it."""
        return self._origin


def read_goals(path: Path | None) -> Goals:
    """Goals from a JSON file; the defaults without one.

    Raises
    ------
    InvalidInstanceError
        All faults of the file, each with its place.
    """
    if path is None:
        return Goals()
    goals = _read(Goals, _read_json(path), path)
    goals._origin = str(path)
    return goals


def read_network(path: Path | None) -> Network | None:
    """The network between the nodes of a cluster from a JSON file, or from a problem that has one.

    Raises
    ------
    InvalidInstanceError
        All faults of the file, each with its place.
    """
    if path is None:
        return None
    document = _read_json(path)
    network = document["network"] if isinstance(document, dict) and "network" in document else document
    return _read(Network, network, path)


def _read(form: type[DocumentType], value: Any, path: Path) -> DocumentType:
    """A value of a file as a document; faults name the file."""
    try:
        return form.model_validate(value)
    except InvalidInstanceError as error:
        raise InvalidInstanceError(error.faults, str(path)) from None


def _read_json(path: Path) -> Any:
    try:
        return json.loads(read_whole(path))
    except (ValueError, RecursionError) as error:
        if isinstance(error, InvalidInstanceError):
            raise
        raise InvalidInstanceError([Fault("file", "", f"is no JSON: {error}")], str(path)) from None
