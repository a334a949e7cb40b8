"""The decentralised mapping algorithms as methods for problems of kind `mapping` (bi-modal networks, section 4)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from typing import Annotated, Any

from pydantic import Field

from edrp.core.budget import spend
from edrp.core.methods import Method, Options
from edrp.core.problem import RULES
from edrp.core.solution import Answer, StoppedBecause
from edrp.heuristics.mapping.flood import Flood, FloodResult, FoundMap
from edrp.heuristics.mapping.map_rules import PruningName, Rules
from edrp.mapping.mapping_arrays import path_map
from edrp.mapping.path_mapping import MappingProblem, mapping_arrays
from edrp.mapping.path_tasks import PathMap

TRIED_HOP_UNITS = 3e-5
"""Units of work per hop of a map that is tried."""

Messages = Annotated[int, Field(ge=1, le=100_000_000)]


@dataclass(frozen=True, slots=True)
class ProcessMapParameters:
    """Parameters of "process-map"; `max_messages`: map messages after which no further one is sent, and nothing is proven."""

    max_messages: Messages = 1_000_000


@dataclass(frozen=True, slots=True)
class LeastCostParameters:
    """Parameters of "least-cost-map".

    Attributes
    ----------
    split_by_hops : whether maps that have used different numbers of empty hops are compared apart.
    jitter : share of each delay that is drawn for each message, so that messages overtake one another.
    """

    split_by_hops: bool = False
    jitter: Annotated[float, Field(ge=0, le=1)] = 0.0


@dataclass(frozen=True, slots=True)
class AnnealedParameters:
    """Parameters; `cooling`: a map no better than others passes with probability exp(-cooling (prefix + 1))."""

    cooling: Annotated[float, Field(ge=0)] = 0.5
    max_messages: Messages = 1_000_000


@dataclass(frozen=True, slots=True)
class RandomNeighbourParameters:
    """Parameters; `neighbours`: number of random neighbours that get a map; above 1, maps multiply up to `max_messages`."""

    neighbours: Annotated[int, Field(ge=1, le=64)] = 1
    max_messages: Messages = 1_000_000


class MappingProtocol(Method):
    """Base of the mapping protocol's methods, which differ in how servers prune the maps that they send on.

    The delivery server tries the maps that reach it in the order of the cost and takes the first that the network can carry.
    All servers' agents run in this process as one compiled program; `Answer.size` has the messages that they would exchange.
    """

    kinds = ("mapping",)
    takes = frozenset({RULES})
    pruning: PruningName

    def run(self, problem: MappingProblem, options: Options) -> Answer:
        """Exchange all messages of one mapping, then try the complete maps one after the other."""
        parameters: Any = self.read_parameters(options)
        tables = mapping_arrays(problem)
        fields = asdict(parameters)
        jitter = fields.pop("jitter", 0.0)
        flood = Flood(tables.network, Rules.of(problem, pruning=self.pruning, **fields), jitter=jitter, public=tables.public)
        result = flood.run(tables.task, options.seed, options.started + options.limit)
        for rank, candidate in enumerate(self.candidates(result)):
            if rank and options.remaining <= 0:  # the first one is tried in any case
                return replace(self.answer(result, None, None), stopped_because="time_limit")
            spend(TRIED_HOP_UNITS * len(candidate.routes))
            decision = path_map(tables.network, candidate.nodes, candidate.routes, candidate.public)
            evaluation = problem.evaluate(decision)
            if evaluation.feasible:
                return self.answer(result, decision, evaluation.objective)
        return self.answer(result, None, None)

    def candidates(self, result: FloodResult) -> Iterable[FoundMap]:
        """Return complete maps in the order in which they are tried."""
        return result

    def answer(self, result: FloodResult, decision: PathMap | None, value: float | None) -> Answer:
        """Build the answer: the map, the reason to stop, and the number of messages."""
        stopped: StoppedBecause = "iteration_limit" if result.capped else "finished"
        notes = [f"no map was sent after the first {result.messages['map']}"] if result.capped else []
        if not result.finished:
            stopped = "time_limit"
            notes.append(f"time was up after {result.messages['ack']} of {result.messages['map']} map messages sent so far")
        if decision is None:
            kept_back = f"none of the {len(result)} maps that reached the delivery is within all limits and rules"
            notes.append(kept_back if len(result) else "no map of the whole task reached its delivery")
        size = {**{f"{kind}_messages": count for kind, count in result.messages.items()}, "complete_maps": len(result)}
        return Answer("none" if decision is None else "feasible", stopped, decision, value, size=size, notes=tuple(notes))


class ProcessMap(MappingProtocol):
    """ProcessMap (Alg. 1; with the public network, Alg. 3): every map is sent on, so that every one is found.

    Unless it is stopped, its answer is proven. The number of maps grows so fast with the size of network and task that this is
    of use for a handful of servers and components only.
    """

    name = "process-map"
    summary = "decentralised: servers send on every map; exact unless stopped, for a handful of servers"
    parameters = ProcessMapParameters
    pruning: PruningName = "none"

    def candidates(self, result: FloodResult) -> Iterable[FoundMap]:
        """Return complete maps by their objective alone, exactly."""
        return (result.unrolled(number) for number in result.by_objective)

    def answer(self, result: FloodResult, decision: PathMap | None, value: float | None) -> Answer:
        """Add the proof where every message was sent and handled."""
        answer = super().answer(result, decision, value)
        if answer.stopped_because != "finished":
            return answer
        if decision is None:
            return replace(answer, status="infeasible", notes=())
        return replace(answer, status="optimal", bound=value)


class LeastCostMap(MappingProtocol):
    """LeastCostMap (section 4.1.1): a server sends on a map that costs less than all before it with as many components mapped."""

    name = "least-cost-map"
    summary = "decentralised: servers send on maps that are better than all before them with as many components mapped"
    parameters = LeastCostParameters
    pruning: PruningName = "least-cost"


class AnnealedLeastCostMap(MappingProtocol):
    """AnnealedLeastCostMap (section 4.1.2): maps that are no better pass too, the less likely the more components are mapped."""

    name = "annealed-least-cost-map"
    summary = "least-cost-map that lets worse maps pass with a probability that falls with the components mapped"
    parameters = AnnealedParameters
    pruning: PruningName = "annealed"


class RandomNeighbor(MappingProtocol):
    """RandomNeighbor (section 4.1.3): a map goes to a few neighbours drawn at random."""

    name = "random-neighbor"
    summary = "decentralised: servers send each map to a few neighbours drawn at random"
    parameters = RandomNeighbourParameters
    pruning: PruningName = "random"


METHODS = (ProcessMap(), LeastCostMap(), AnnealedLeastCostMap(), RandomNeighbor())
"""Methods for problems of kind `mapping`."""
