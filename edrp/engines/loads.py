"""Loads of operators and streams: what arrives, and what would arrive if all kept up with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from edrp.engines.observation import Observation, StreamObservation

SATURATED = 0.98
"""Share of time busy from which on an operator has nothing to spare."""

DISAGREEMENT = 0.02
"""Share by which a saturated operator must receive less than is sent to it before the rest counts as piling up in buffers."""


@dataclass(frozen=True, slots=True)
class Passing:
    """Current traffic of an operator.

    Attributes
    ----------
    rate : tuples/s that all replicas receive; of a source, that they send.
    sent : tuples/s that all replicas send.
    busy : share of time that the busiest replica is busy; 0 where that is not known.
    replicas : number of replicas.
    held : whether more may be offered than is sent, of a source that is full or waits for those after it.
    """

    rate: float
    sent: float
    busy: float
    replicas: int
    held: bool


@dataclass(frozen=True, slots=True)
class Loads:
    """Loads of a job.

    Attributes
    ----------
    growth : load of each operator over what it receives now; above 1 where it, or one before it, does not keep up.
    streams : tuples/s of each stream, with what piles up; of a broadcast, each tuple counts once.
    broadcast : tuples/s that every replica of an operator receives alike.
    first : tuples/s that only the first replica of an operator receives, by streams that send nothing to the others.
    unbounded : operators whose load may be larger: sources that are held, and those after them.
    """

    growth: Mapping[str, float]
    streams: Mapping[StreamObservation, float]
    broadcast: Mapping[str, float]
    first: Mapping[str, float]
    unbounded: frozenset[str]


def find_loads(observation: Observation, passing: Mapping[str, Passing]) -> Loads:
    """Follow what the sources send through the job.

    While the buffers before a saturated operator fill, it receives less than is sent to it. Its load is what is sent then, and
    those after it get as much more as it would send. What is sent to it is known of senders with a single stream.
    """
    return _Flow(observation, passing).loads()


class _Flow:
    """Traffic on the streams of one job."""

    def __init__(self, observation: Observation, passing: Mapping[str, Passing]) -> None:
        self._streams, self._passing = observation.streams, passing
        self._inputs = {name: [stream for stream in self._streams if stream.target == name] for name in passing}
        self._outputs = {name: [stream for stream in self._streams if stream.source == name] for name in passing}
        self._growth: dict[str, float] = {}

    def loads(self) -> Loads:
        growth = {name: self._grown(name) for name in self._passing}
        rates = {
            stream: self._offered(stream) if growth[stream.target] > 1.0 else self._arriving(stream) for stream in self._streams
        }
        broadcast, first = (
            {
                name: sum(stream.edges * rates[stream] for stream in inputs if stream.partitioning == how)
                for name, inputs in self._inputs.items()
            }
            for how in ("broadcast", "global")
        )
        return Loads(growth, rates, broadcast, first, self._unbounded())

    def _unbounded(self) -> frozenset[str]:
        unbounded: set[str] = set()
        waiting = [name for name, passing in self._passing.items() if passing.held]
        while waiting:
            name = waiting.pop()
            if name not in unbounded:
                unbounded.add(name)
                waiting += [stream.target for stream in self._outputs[name]]
        return frozenset(unbounded)

    def _grown(self, name: str) -> float:
        """Load over what is received; streams of a capture that run in a circle end there."""
        if name not in self._growth:
            self._growth[name] = 1.0
            received, inputs = self._passing[name].rate, self._inputs[name]
            offered = sum(self._offered(stream) * self._copies(stream) for stream in inputs)
            limited = self._passing[name].busy >= SATURATED or any(self._grown(stream.source) > 1.0 for stream in inputs)
            if limited and received > 0 and offered > received * (1.0 + DISAGREEMENT):
                self._growth[name] = offered / received
        return self._growth[name]

    def _offered(self, stream: StreamObservation) -> float:
        """Tuples/s that are sent, if the sender gets its load."""
        alone = len(self._outputs[stream.source]) == 1
        rate = self._passing[stream.source].sent if alone else self._arriving(stream)
        return rate * self._grown(stream.source)

    def _arriving(self, stream: StreamObservation) -> float:
        """Tuples/s now: all of the target where it has one input, else what the source sends.

        Sources with several streams may send different tuples on each: what is left is split in proportion to what they send.
        """
        received = self._passing[stream.target].rate
        inputs = self._inputs[stream.target]
        if len(inputs) == 1:
            return received / self._copies(stream)
        sent = {other: self._passing[other.source].sent for other in inputs}
        if len(self._outputs[stream.source]) == 1:
            return sent[stream]
        single_outputs = [other for other in inputs if len(self._outputs[other.source]) == 1]
        remaining = max(0.0, received - sum(sent[other] * self._copies(other) for other in single_outputs))
        split = [other for other in inputs if other not in single_outputs]
        total = sum(sent[other] * self._copies(other) for other in split)
        return remaining * (sent[stream] / total if total else 1.0 / sum(map(self._copies, split)))

    def _copies(self, stream: StreamObservation) -> int:
        """Times that the target receives each of its tuples."""
        return stream.edges * (self._passing[stream.target].replicas if stream.partitioning == "broadcast" else 1)
