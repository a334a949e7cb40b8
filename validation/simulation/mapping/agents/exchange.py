"""Carries messages between agents: delays of links, seeded jitter, and any number of tasks at once."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush

from edrp.core.errors import Fault, InvalidInstanceError
from edrp.core.wording import shown
from edrp.heuristics.mapping.rules import Rules, Specification
from edrp.mapping.costs import MapFacts, ranked
from edrp.mapping.counter_random import uniform
from edrp.mapping.path_tasks import PathMap, PathTask
from edrp.mapping.server_network import DataLink, ServerNetwork
from edrp.validation.simulation.mapping.agents.agent import UNLIMITED, Directory, MapAgent
from edrp.validation.simulation.mapping.agents.messages import (
    PORTAL,
    Ack,
    Ask,
    Begin,
    Confirm,
    End,
    Map,
    Message,
    Reject,
    Select,
    Spec,
)
from edrp.validation.simulation.mapping.agents.partial import PartialMap
from edrp.validation.simulation.mapping.agents.portal import Portal
from edrp.validation.simulation.mapping.agents.reservations import Reservation


@dataclass(frozen=True, slots=True)
class ProtocolResult:
    """Outcome of one task.

    Attributes
    ----------
    specification : the task, and how it was mapped.
    decision : the map that is reserved (or was, where the task has ended); None for a task that is rejected, or undecided.
    maps, facts : complete maps and what costs look at, best first.
    messages : how many were sent, by kind. "spec" counts specifications, most of which travel with maps.
    terminated : times at which the portal learnt that no map is under way, in seconds; one, after the mapping.
    decided : times at which the portal learnt of the decision.
    ended : whether the task has ended.
    short : for a task that is rejected, what each map that was tried lacked; nothing where no map was found.
    engagements : how often each server took part with maps outstanding; those above one are re-engagements.
    capped : whether the number of messages had come to its limit.
    """

    specification: Specification
    decision: PathMap | None
    maps: tuple[PathMap, ...]
    facts: tuple[MapFacts, ...]
    messages: Counter[str]
    terminated: tuple[float, ...]
    decided: tuple[float, ...]
    ended: bool
    short: tuple[str, ...]
    engagements: Counter[str]
    capped: bool


AT_ONCE, IN_TIME = 0, 1
"""Order of messages that arrive at the same moment: those that take no time go first."""

SEEDS_APART = 1000
"""Between the seeds of one task and the next; draws of a task take its seed and the three after it."""


@dataclass(slots=True)
class TaskLog:
    """Record of one task as seen from outside."""

    portal: Portal
    messages: Counter[str] = field(default_factory=Counter)
    terminated: list[float] = field(default_factory=list)
    decided: list[float] = field(default_factory=list)
    engagements: Counter[str] = field(default_factory=Counter)
    complete: tuple[PartialMap, ...] = ()
    ended: bool = False
    delays: dict[int, float] = field(default_factory=dict)

    @property
    def specification(self) -> Specification:
        """The task and its rules."""
        return self.portal.specification


class Exchange:
    """Carries messages between the servers of a network.

    A message takes the delay of the link that it goes over, or over the public network the sum of both access delays; with
    `jitter`, that share of the delay is drawn for every message (of one second, where there is no delay), so that messages
    overtake one another. Messages that arrive at the same time do so in the order of sending. Work on servers takes no time.

    Parameters
    ----------
    network
        The network with its free capacities and rates, before the tasks that are submitted here.
    jitter
        Between 0 and 1.
    seed
        Seed of delays and of the agents' draws.
    ask_delay
        Seconds that it takes to ask for a specification, and as many to answer. Zero is at once, so that when a map is handled
        does not depend on what it has overtaken.

    Raises
    ------
    InvalidInstanceError
        For a jitter or a delay that cannot be.
    """

    def __init__(
        self,
        network: ServerNetwork,
        rules: Rules | None = None,
        *,
        jitter: float = 0.0,
        seed: int = 0,
        ask_delay: float = 0.0,
        agent: type[MapAgent] = MapAgent,
    ) -> None:
        faults = [] if 0 <= jitter <= 1 else [Fault("jitter", shown(jitter), "must be between 0 and 1")]
        if not 0 <= ask_delay < math.inf:
            faults.append(Fault("ask_delay", shown(ask_delay), "must be 0 or more seconds"))
        if faults:
            raise InvalidInstanceError(faults, "exchange of messages")
        self.network = network
        self.rules = rules or Rules()
        self.jitter, self.seed, self.ask_delay = jitter, seed, ask_delay
        self.agents = build_agents(network, agent)
        self.time = 0.0
        self._logs: list[TaskLog] = []
        self._queue: list[tuple[float, int, int, Message]] = []
        self._sent = 0

    def submit(self, task: PathTask, at: float = 0.0, *, until: float = math.inf, seed: int | None = None) -> int:
        """Submit a task.

        Parameters
        ----------
        task
            Its source and delivery must be servers of the network.
        at
            When its portal begins to map it, in seconds.
        until
            When it ends and gives back what it holds.
        seed
            None: from that of the exchange and the number of the task.

        Raises
        ------
        InvalidInstanceError
            Naming an end of the task that is no server, or a time that has passed.
        """
        faults = [
            Fault(f"task.{end}", shown(getattr(task, end)), "is no node of the network")
            for end in ("source", "delivery")
            if getattr(task, end) not in self.agents
        ]
        if not self.time <= at < until:
            faults.append(Fault("at", shown(at), f"must be from {self.time:g} s on, which is now, and before the task ends"))
        if faults:
            raise InvalidInstanceError(faults, "task")
        number = len(self._logs)
        drawn = self.seed + SEEDS_APART * number if seed is None else seed
        self._logs.append(TaskLog(Portal(number, Specification(task, self.rules, drawn))))
        self._push(at, IN_TIME, Begin(number, PORTAL, PORTAL))
        if until < math.inf:
            self._push(until, IN_TIME, End(number, PORTAL, PORTAL))
        return number

    @property
    def busy(self) -> bool:
        """Whether any message is on its way, or a task has still to begin or to end."""
        return bool(self._queue)

    def run(self, until: float = math.inf) -> None:
        """Carry messages until none is on its way, or up to a time."""
        while self.busy and self._queue[0][0] <= until:
            self.step()

    def step(self) -> Message:
        """Deliver the next message, send what follows from it, and return it."""
        self.time, _, _, message = heappop(self._queue)
        log = self._logs[message.task]
        self._note(log, message)
        if message.receiver == PORTAL:
            answers = log.portal.receive(message)
        else:
            max_messages = log.specification.rules.max_messages
            allowance = UNLIMITED if max_messages is None else max_messages - log.messages["map"]
            answers = self.agents[message.receiver].receive(message, allowance)
        for answer in answers:
            self._send(log, answer)
        return message

    @property
    def results(self) -> tuple[ProtocolResult, ...]:
        """Outcomes of all tasks so far, in the order of submission."""
        return tuple(self.result(task) for task in range(len(self._logs)))

    def result(self, task: int) -> ProtocolResult:
        """Return the outcome of a task so far."""
        log = self._logs[task]
        specification = log.specification
        facts = [complete.facts for complete in log.complete]
        order = ranked(specification.rules.cost, facts, specification.max_links)
        accepted = log.portal.accepted
        max_messages = specification.rules.max_messages
        return ProtocolResult(
            specification=specification,
            decision=accepted.path_map if accepted else None,
            maps=tuple(log.complete[position].path_map for position in order),
            facts=tuple(facts[position] for position in order),
            messages=log.messages,
            terminated=tuple(log.terminated),
            decided=tuple(log.decided),
            ended=log.ended,
            short=log.portal.short,
            engagements=log.engagements,
            capped=max_messages is not None and log.messages["map"] >= max_messages,
        )

    def reservations(self) -> dict[str, Mapping[int, Reservation]]:
        """Return the current reservations of tasks by server."""
        return {name: dict(agent.reservations.held) for name, agent in self.agents.items()}

    def _note(self, log: TaskLog, message: Message) -> None:
        """Write down what has happened, as seen from outside."""
        match message:
            case Ack(receiver=""):
                log.terminated.append(self.time)
            case Select():
                log.complete = self.agents[message.receiver].complete_maps(message.task)
            case Confirm() | Reject():
                log.decided.append(self.time)
            case End():
                log.ended = True

    def _send(self, log: TaskLog, message: Message) -> None:
        """Count a message and put it on its way."""
        if isinstance(message, Map):
            message = replace(message, number=log.messages["map"])
            log.messages["spec"] += message.specification is not None
        if isinstance(message, Ack) and message.final:
            log.engagements[message.sender] += 1
        lag = self._lag(log, message)
        log.messages[message.kind] += 1
        self._push(self.time + lag, AT_ONCE if isinstance(message, Ask | Spec) else IN_TIME, message)

    def _lag(self, log: TaskLog, message: Message) -> float:
        """Return the seconds that a message takes."""
        seed = log.specification.seed
        match message:
            case Ask() | Spec():
                return self.ask_delay
            case Map():
                log.delays[message.number] = delay = self._delay(message.sender, message.receiver, public=message.public)
                return self._jittered(delay, seed, 2 * message.number)
            case Ack():
                return self._jittered(log.delays.pop(message.number), seed, 2 * message.number + 1)
        delay = self._delay(message.sender, message.receiver, public=False)
        return self._jittered(delay, seed + 3, log.messages.total())

    def _delay(self, sender: str, receiver: str, *, public: bool) -> float:
        """Return the delay between two servers: over the link between them where there is one, else over the public network."""
        if PORTAL in (sender, receiver):
            return 0.0
        arcs, servers = self.network.arcs, self.network.by_name
        link = arcs.get((sender, receiver)) or arcs.get((receiver, sender))
        return servers[sender].access_delay + servers[receiver].access_delay if public or link is None else link.delay

    def _jittered(self, delay: float, seed: int, counter: int) -> float:
        if not self.jitter:
            return delay
        return delay * (1 - self.jitter) + self.jitter * (delay if delay > 0 else 1.0) * uniform(seed, counter)

    def _push(self, time: float, rank: int, message: Message) -> None:
        heappush(self._queue, (time, rank, self._sent, message))
        self._sent += 1


def build_agents(network: ServerNetwork, agent: type[MapAgent] = MapAgent) -> dict[str, MapAgent]:
    """Build an agent for each server, by name, which knows the links that leave its server and who hosts which service."""
    directory = Directory({server.name: server.services for server in network.nodes})
    links: dict[str, dict[str, DataLink]] = {name: {} for name in network.by_name}
    place = {name: index for index, name in enumerate(links)}
    for (source, target), link in sorted(network.arcs.items(), key=lambda arc: place[arc[0][1]]):
        links[source][target] = link
    return {server.name: agent(server, links[server.name], directory) for server in network.nodes}
