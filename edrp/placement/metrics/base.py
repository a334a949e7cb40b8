"""The interface of a metric, and what it needs of a problem and of the builder of a program."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from edrp.core.arrays import Floats, Ints
from edrp.core.document import Positive
from edrp.core.problem import RULES
from edrp.core.program import Linear, Program
from edrp.placement.application import StreamGraph
from edrp.placement.deployment import Deployment
from edrp.placement.network import Network


class MeasuredProblem(Protocol):
    """The part of a problem that metrics read."""

    @property
    def application(self) -> StreamGraph:
        """Operators and streams."""

    @property
    def network(self) -> Network:
        """Nodes and links."""


class MetricArrays(Protocol):
    """The arrays of a compiled problem that metrics read (see `edrp.placement.compiled.Compiled`)."""

    @property
    def problem(self) -> MeasuredProblem:
        """The problem that was compiled."""

    @property
    def nodes(self) -> tuple[str, ...]:
        """Names by index."""

    @property
    def stream_rate(self) -> Floats:
        """Tuples/s, shape (streams,)."""

    @property
    def replica_cost(self) -> Floats:
        """Money/h of one replica, shape (operators,)."""

    @property
    def node_loss(self) -> Floats:
        """−ln of the availability, shape (nodes,)."""

    @property
    def delay(self) -> Floats:
        """Seconds between nodes, shape (nodes, nodes); infinite without link."""

    @property
    def link_cost(self) -> Floats:
        """Money/h per tuple/s between nodes, shape (nodes, nodes)."""

    @property
    def link_availability(self) -> Floats:
        """Probability that a link works, shape (nodes, nodes)."""


class Counted(Protocol):
    """Deployments as numbers of replicas, in one problem or in every period (`edrp.placement.counted_values`)."""

    periods: Sequence[Any]
    first: Any
    counts: Ints
    total: Ints

    @property
    def latency(self) -> Floats:
        """Seconds of a replica on a node of speed-up 1, shape (deployments, periods, operators)."""

    @property
    def delay(self) -> Floats:
        """Seconds between nodes, shape (nodes, nodes)."""

    @property
    def downtimes(self) -> Floats:
        """Seconds of the change from the current deployment to each, shape (deployments,)."""

    def sent(self, table: Floats) -> Floats:
        """Σ over streams of rate × the mean of a table of pairs of nodes, shape (deployments, periods)."""

    def incoming(self, operator: int) -> Ints:
        """Streams to an operator that lie on paths."""


class Expressions(Protocol):
    """Placement quantities as linear expressions of a program's columns, which its builder offers to metrics.

    Columns that a metric asks for are bounded from one side only (the program presses them down), which
    is all that minimisation and upper limits need.
    """

    program: Program
    compiled: MetricArrays

    def replica_sum(self, weights: Floats) -> Linear:
        """Σ over operators i of `weights[i]` × number of replicas of i."""

    def stream_pair_sum(self, weights: Floats) -> Linear:
        """Σ over streams e and nodes u, v of `weights[e, u, v]` × share of e that flows from u to v (EDRP, eq. 4)."""

    def response_time(self) -> Linear:
        """A column that is at least every path's delay (EDRP, eqs. 5–7, 13)."""

    def downtime(self) -> Linear:
        """A column that is at least every operator's downtime (EDRP, eqs. 10–11, 14; for Storm eq. 33)."""

    def peak_load(self, resource: str | None) -> Linear:
        """A column that is at least every node's share of its capacity of a shared resource, or of any of them."""

    def node_in_use(self) -> Ints:
        """Shape (nodes,): columns that are 1 where any replica runs."""

    def link_in_use(self) -> Ints:
        """Shape (nodes, nodes): columns that are 1 where any stream flows from u to v; -1 on the diagonal."""

    def own_metric(self, name: str, written: Any) -> Linear:
        """What a metric of your own has written (`edrp.placement.metrics.own.WrittenMetric`)."""


class Metric(Protocol):
    """One quality of a deployment. Smaller is better, unless `normalised` and `meets` say otherwise."""

    name: str
    unit: str

    def part_in(self, problem: Any) -> str:
        """Part of problems that a method has to know so as to take the metric."""

    def evaluate(self, problem: Any, deployment: Any) -> float:
        """The value in plain code, close to the source's equation; infinite where it has none."""

    def linearise(self, expressions: Expressions) -> Linear:
        """The same quantity, on the scale of `scaled`, over the columns of a program."""

    def scaled(self, value: float) -> float:
        """The value on the scale in which it enters a weighted sum (EDRP, eq. 12)."""

    def unscaled(self, value: float) -> float:
        """The value that is this on that scale."""

    def zero_because(self, problem: Any) -> str:
        """Why the scaled value is 0 for every deployment, so that weights and limits have no effect; empty where it may differ.

        Names the field that would have to be given.
        """


class EdrpMetric(Metric, Protocol):
    """A metric of this package for problems of kind `edrp`.

    Attributes
    ----------
    weight_text, limit_text, limit_type : descriptions of its fields in weights and limits, and what limits may be.
    """

    weight_text: str
    limit_text: str
    limit_type: Any

    def over_counts(self, deployments: Counted) -> Floats:
        """The scaled value of many deployments, shape (deployments, periods)."""

    def ceiling(self, compiled: Any) -> float:
        """A scaled value that no deployment exceeds, from the arrays of a problem."""


def carries_nothing(problem: MeasuredProblem) -> bool:
    """Whether no stream carries tuples from one node to another, whatever the deployment."""
    application = problem.application
    return len(problem.network.nodes) == 1 or not any(application.rate(s.source, s.target) for s in application.streams)


def without_delays(problem: MeasuredProblem) -> str:
    """Why streams never wait for the network, in words; empty where they may."""
    network = problem.network
    if not problem.application.streams:
        return "there are no streams"
    if len(network.nodes) == 1:
        return "there is a single node"
    return "" if any(link.delay for link in (*network.links, *network.classes)) else "no link has a delay"


TIMES, TRAFFIC, DOWNTIME, IN_USE, PEAKS = "response time", "costs and traffic", "downtime", "nodes and links in use", "peak loads"
OWN, OVER_STREAMS, DEVICES = "own metrics", "own metrics over streams", "devices"
PACKAGE_METRICS = frozenset({TIMES, TRAFFIC, DOWNTIME, IN_USE, PEAKS})
SEARCHED = PACKAGE_METRICS | {OWN, RULES}
PARTS = SEARCHED | {OVER_STREAMS, DEVICES}
"""What a method has to know of metrics, as parts of problems (`Problem.parts`); all of those of this package, what searches
evaluate, and what programs express."""


class PlainMetric:
    """A metric that enters the weighted sum as it is and is limited from above; `part` is what methods have to know."""

    part: str
    weight_text: str = ""
    limit_text: str = ""
    limit_type: Any = Positive

    def part_in(self, problem: Any) -> str:
        """What methods have to know of the metric in a problem."""
        return self.part

    def scaled(self, value: float) -> float:
        """The value itself."""
        return value

    def unscaled(self, value: float) -> float:
        """The value itself."""
        return value


@dataclass(frozen=True, slots=True)
class PathPart:
    """One leg of the critical path: an operator or a stream, with its seconds."""

    name: str
    seconds: float
    is_stream: bool


class PathMetric(PlainMetric):
    """A metric whose value is the time along the slowest path."""

    part = TIMES

    @abstractmethod
    def critical_path(self, problem: MeasuredProblem, deployment: Deployment) -> tuple[PathPart, ...]:
        """The slowest path, leg by leg."""
