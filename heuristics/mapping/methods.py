"""The mapping protocol as one compiled program, without the agents, and its algorithms as methods (bi-modal networks, §4)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from math import inf
from typing import Annotated, Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from edrp import _native
from edrp.core import budget
from edrp.core.arrays import Ints
from edrp.core.budget import spend
from edrp.core.errors import Fault, InvalidInstanceError
from edrp.core.methods import Method, Options, read_parameters
from edrp.core.problem import RULES
from edrp.core.solution import Answer, StoppedBecause
from edrp.core.wording import shown
from edrp.heuristics.mapping.flood_memory import (
    CAPPED,
    COMPLETE,
    HANDLED,
    MAPS,
    PUBLIC,
    REQUESTED,
    SENT,
    SPECIFICATIONS,
    FloodMemory,
    FloodNetwork,
    FloodRules,
    delays_differ,
    initial_memory,
    with_capacity,
)
from edrp.heuristics.mapping.map_rules import PruningName, Rules
from edrp.mapping.mapping_arrays import COSTS, MapFacts, NetworkArrays, TaskArrays, objective, path_map, ranked
from edrp.mapping.path_mapping import MappingProblem, mapping_arrays
from edrp.mapping.path_tasks import PathMap


class FoundMap(NamedTuple):
    """A complete map of a task, found by a flood.

    Attributes
    ----------
    nodes : server of each component.
    routes : servers of each hop, a single one for a hop that stays there.
    public : whether each hop goes over the public network.
    facts : what costs look at.
    """

    nodes: tuple[int, ...]
    routes: tuple[tuple[int, ...], ...]
    public: tuple[bool, ...]
    facts: MapFacts


@dataclass(frozen=True)
class FloodResult(Sequence[FoundMap]):
    """Complete maps in the order in which the delivery server would reserve them, with the messages that they took.

    Attributes
    ----------
    messages : number of messages by kind.
    finished : whether every message was handled and acknowledged; not when time was up.
    capped : whether messages were kept back because there were too many.
    columns : facts of the complete maps, in the order in which they were found: an array for each field of `MapFacts`.
    cost, most_links : what maps are ranked by.
    steps, ends : maps step by step (dtype `edrp.heuristics.mapping.flood_memory.MAP`), and the last step of each complete one.
    """

    messages: dict[str, int]
    finished: bool
    capped: bool
    columns: tuple[Any, ...]
    cost: str
    max_links: int
    steps: NDArray[Any]
    ends: Ints

    def __len__(self) -> int:
        """Return the number of complete maps."""
        return len(self.ends)

    @overload
    def __getitem__(self, rank: int) -> FoundMap: ...

    @overload
    def __getitem__(self, rank: slice) -> list[FoundMap]: ...

    def __getitem__(self, rank: int | slice) -> FoundMap | list[FoundMap]:
        """Return the map of that rank, 0 for the best."""
        if isinstance(rank, slice):
            return [self[position] for position in range(*rank.indices(len(self)))]
        return self.unrolled(self.ranking[rank])

    @cached_property
    def facts(self) -> list[MapFacts]:
        """Facts of the complete maps, in the order in which they were found."""
        return [MapFacts(*values) for values in zip(*(column.tolist() for column in self.columns), strict=True)]

    @property
    def by_objective(self) -> list[int]:
        """Maps by their objective alone, as numbers of those found before them."""
        # There may be a hundred thousand maps: the formula takes arrays as well as numbers.
        values: Any = objective(self.cost, MapFacts(*self.columns), self.max_links)
        order: list[int] = np.argsort(values, kind="stable").tolist()
        return order

    @cached_property
    def ranking(self) -> list[int]:
        """Maps best first, as numbers of those found before them."""
        return ranked(self.cost, self.facts, self.max_links) if self.cost == "load-balance" else self.by_objective

    def unrolled(self, number: int) -> FoundMap:
        """Return a complete map by its number in order of discovery, traced back from its last step."""
        nodes: list[int] = []
        routes: list[list[int]] = [[]]
        public: list[bool] = [False]
        position = int(self.ends[number])
        while position >= 0:
            step = self.steps[position]
            node = int(step["node"])
            routes[-1].append(node)
            for _ in range(int(step["placed"])):
                nodes.append(node)
                routes.append([node])
                public.append(False)
            public[-1] = public[-1] or int(step["arc"]) == PUBLIC
            position = int(step["parent"])
        return FoundMap(
            nodes=tuple(reversed(nodes)),
            routes=tuple(tuple(reversed(route)) for route in reversed(routes)),
            public=tuple(reversed(public)),
            facts=MapFacts(*(column[number].item() for column in self.columns)),
        )


PRUNINGS: tuple[PruningName, ...] = ("none", "least-cost", "annealed", "random")
"""Names of the prunings, in the order of their numbers in compiled code."""

MESSAGES_PER_CHECK = 2_000
"""Messages handled between two checks of the clock."""

MESSAGE_UNITS, RANDOM_MESSAGE_UNITS, COMPLETE_MAP_UNITS = 3e-7, 6e-7, 1.5e-6
"""Units of work per message, per message that is sent on to neighbours drawn at random, and per complete map."""

DEFAULT_MAX_MESSAGES = 1_000_000
"""Map messages after which no further one is sent, unless the rules say otherwise."""


class Flood:
    """Maps tasks on a network as the agents of the mapping protocol do: the same maps, the same messages.

    The free capacities and rates are read again for every task, so that a simulator may change the arrays in between. Arrays of
    the size of the network and of the mapping are kept from one task to the next; a flood serves one thread at a time.

    Parameters
    ----------
    network
        Capacities and rates that are free, by server and arc.
    rules
        Limits, cost and pruning. Where they do not limit the messages, `DEFAULT_MAX_MESSAGES` does.
    jitter
        Share of each delay that is drawn for each message; 0: links pass messages first in, first out.
    public
        Whether uplinks are used at all.

    Raises
    ------
    InvalidInstanceError
        Naming each argument that cannot be, and what would be right.
    """

    def __init__(self, network: NetworkArrays, rules: Rules | None = None, *, jitter: float = 0.0, public: bool = True) -> None:
        if not 0 <= jitter <= 1:
            raise InvalidInstanceError([Fault("jitter", shown(jitter), "must be between 0 and 1")], "flood of maps")
        checked = read_parameters(Rules, asdict(rules or Rules()), "flood")
        fields = asdict(checked)
        fields["max_messages"] = checked.max_messages or DEFAULT_MAX_MESSAGES
        self.network = network
        self.cost = checked.cost
        self._rules = FloodRules(
            **{**fields, "cost": COSTS.index(checked.cost), "pruning": PRUNINGS.index(checked.pruning)},
            public_network=public,
            jitter=float(jitter),
            max_links=0,
            timed=False,
            seed=0,
        )
        self._memory: FloodMemory | None = None

    def run(self, task: TaskArrays, seed: int = 0, until: float = inf) -> FloodResult:
        """Map a task by exchanging all messages.

        Parameters
        ----------
        seed
            Seed of all draws: delays with jitter, maps that pass an annealed pruning, neighbours.
        until
            When to stop, on the clock of limits (`edrp.core.budget.now`); what was found by then is returned.
        """
        hops, rules, network = len(task.bandwidths), self._rules, self.network
        rules = rules._replace(
            max_links=hops + rules.max_empty_hops * (1 if rules.total_hops else hops),
            timed=rules.jitter > 0 or delays_differ(network, public=rules.public_network),
            seed=(seed + 2**63) % 2**64 - 2**63,  # its last 64 bits
        )
        arrays = FloodNetwork.of(network)
        memory = initial_memory(self._memory, arrays, task, rules)
        counts = memory.counts
        units = RANDOM_MESSAGE_UNITS if PRUNINGS[rules.pruning] == "random" else MESSAGE_UNITS
        while counts[HANDLED] < counts[SENT] and not budget.passed(until):
            memory, before = with_capacity(memory, hops), int(counts[HANDLED])
            _native.advance_flood(arrays, task, rules, memory, MESSAGES_PER_CHECK)
            budget.spend(units * (int(counts[HANDLED]) - before))
        self._memory = memory
        return self._result(memory, rules.max_links)

    def _result(self, memory: FloodMemory, max_links: int) -> FloodResult:
        """Copy the steps of complete maps; the memory is reused for the next task."""
        counts, ends = memory.counts, memory.complete[: memory.counts[COMPLETE]]
        budget.spend(COMPLETE_MAP_UNITS * len(ends))
        marked = np.zeros(counts[MAPS], np.bool_)
        _native.mark_map_ancestors(memory.maps, ends, marked)
        new_positions = np.cumsum(marked) - 1
        steps = memory.maps[: counts[MAPS]][marked]
        steps["parent"] = np.where(steps["parent"] < 0, -1, new_positions[steps["parent"]])
        last = new_positions[ends]
        complete = steps[last]
        load = complete["load"] / np.maximum(complete["servers"], 1)
        columns = (complete["cost"], complete["links"], complete["public_hops"], complete["dedicated_hops"], load)
        handled, sent = int(counts[HANDLED]), int(counts[SENT])
        requested = int(counts[REQUESTED])
        return FloodResult(
            messages={"map": sent, "ack": handled, "spec": int(counts[SPECIFICATIONS]) + requested, "ask": requested},
            finished=handled == sent,
            capped=bool(counts[CAPPED]),
            columns=columns,
            cost=self.cost,
            max_links=max_links,
            steps=steps,
            ends=last,
        )


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
