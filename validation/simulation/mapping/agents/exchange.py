"""Carries messages between agents: delays of links, seeded jitter, and any number of tasks at once."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush
from typing import Any

from edrp import _native
from edrp.heuristics.mapping.map_rules import Rules, Specification
from edrp.mapping.mapping_arrays import MapFacts
from edrp.mapping.path_mapping import MappingProblem
from edrp.mapping.path_tasks import PathMap, PathTask
from edrp.mapping.server_network import DataLink, ServerNetwork
from edrp.validation.simulation.mapping.agents import agent as agents

AT_ONCE, IN_TIME = 0, 1
"""Order of messages that arrive at the same moment: those that take no time go first."""

SEEDS_APART = 1000
"""Distance between the seeds of consecutive tasks; the draws of a task take its seed and the three after it."""


@dataclass(slots=True)
class MappedTask:
    """A task, its portal (section 2), and what is seen of its mapping from outside.

    The portal sends the first map to the source. Once that is acknowledged no map is under way any more, so it tells the delivery
    to select among what has arrived. Once it knows whether the task is accepted, it lets all servers forget the mapping: the
    word goes to the source and from each server to those to whom it sent the specification, which reaches everyone.

    Attributes
    ----------
    accepted : the map that is reserved.
    short : for a task that is rejected, what each map that was tried lacked; nothing where no map was found.
    complete : maps of the whole task, in the order of arrival.
    messages : how many were sent, by kind. "spec" counts specifications, most of which travel with maps.
    terminated, decided : times (s) at which the portal learnt that no map is under way, and of the decision; one each.
    engagements : how often each server took part with maps outstanding; those above one are re-engagements.
    delays : seconds that maps take which are not acknowledged, by their numbers.
    """

    number: int
    specification: Specification
    accepted: agents.PartialMap | None = None
    short: tuple[str, ...] = ()
    complete: list[agents.PartialMap] = field(default_factory=list)
    messages: Counter[str] = field(default_factory=Counter)
    terminated: list[float] = field(default_factory=list)
    decided: list[float] = field(default_factory=list)
    engagements: Counter[str] = field(default_factory=Counter)
    delays: dict[int, float] = field(default_factory=dict)

    def receive(self, message: agents.Message, time: float) -> agents.Message:
        """Handle a message to the portal, and return the message to send now."""
        task = self.specification.task
        match message:
            case agents.Ack():
                self.terminated.append(time)
                return agents.Select(self.number, agents.PORTAL, task.delivery)
            case agents.Confirm():
                self.accepted = message.map
            case agents.Reject():
                self.short = message.short
        self.decided.append(time)
        return agents.Forget(self.number, agents.PORTAL, task.source)

    @property
    def decision(self) -> PathMap | None:
        """The map that is reserved; None for a task that is rejected, or undecided."""
        return self.accepted.path_map if self.accepted else None

    @property
    def maps(self) -> tuple[PathMap, ...]:
        """Complete maps, best first."""
        return tuple(ranked.path_map for ranked in agents.ranking(self.specification, self.complete))

    @property
    def facts(self) -> tuple[MapFacts, ...]:
        """Properties of complete maps from which costs are computed, in the order of `maps`."""
        return tuple(ranked.facts for ranked in agents.ranking(self.specification, self.complete))


class Exchange:
    """Carries messages between the servers of a network.

    A message takes the delay of the link that it goes over, or over the public network the sum of both access delays; with
    `jitter` (0 to 1), that share of the delay is drawn for every message (of one second, where there is no delay), so that
    messages overtake one another. Messages that arrive at the same time do so in the order of sending. Work takes no time.

    Asking for a specification takes `ask_delay` seconds, and so does the answer. Zero is at once, so that when a map is handled
    does not depend on what it has overtaken.
    """

    def __init__(
        self,
        network: ServerNetwork,
        rules: Rules | None = None,
        *,
        jitter: float = 0.0,
        seed: int = 0,
        ask_delay: float = 0.0,
        agent: type[agents.MapAgent] = agents.MapAgent,
    ) -> None:
        self.network, self.rules = network, rules or Rules()
        self.jitter, self.seed, self.ask_delay = jitter, seed, ask_delay
        links: dict[str, dict[str, DataLink]] = {name: {} for name in network.by_name}
        order = {name: index for index, name in enumerate(links)}
        for (source, target), link in sorted(network.arcs.items(), key=lambda arc: order[arc[0][1]]):
            links[source][target] = link
        self.agents = {server.name: agent(server, links[server.name], network.nodes) for server in network.nodes}
        self.results: list[MappedTask] = []
        self.time = 0.0
        self._queue: list[tuple[float, int, int, agents.Message]] = []
        self._sent = 0

    def submit(self, task: PathTask, at: float = 0.0, *, seed: int | None = None) -> int:
        """Submit a task, which its portal begins to map at a time (s), and return its number."""
        number = len(self.results)
        drawn = self.seed + SEEDS_APART * number if seed is None else seed
        mapped = MappedTask(number, Specification(task, self.rules, drawn))
        self.results.append(mapped)
        self._send(
            mapped, agents.Map(number, agents.PORTAL, task.source, agents.PartialMap(((task.source,),)), mapped.specification), at
        )
        return number

    @property
    def busy(self) -> bool:
        """Whether any message is on its way."""
        return bool(self._queue)

    def run(self) -> None:
        """Carry messages until none is on its way."""
        while self.busy:
            self.step()

    def step(self) -> agents.Message:
        """Deliver the next message, send what follows from it, and return it."""
        self.time, _, _, message = heappop(self._queue)
        mapped = self.results[message.task]
        if message.receiver == agents.PORTAL:
            answers = [mapped.receive(message, self.time)]
        else:
            agent, max_messages = self.agents[message.receiver], mapped.specification.rules.max_messages
            if isinstance(message, agents.Select) and message.task in agent.states:
                mapped.complete = agent.states[message.task].complete
            if max_messages is not None:
                agent.allowance = max_messages - mapped.messages["map"]
            answers = agent.receive(message)
        for answer in answers:
            self._send(mapped, answer, self.time)
        return message

    def _send(self, mapped: MappedTask, message: agents.Message, now: float) -> None:
        if isinstance(message, agents.Map):
            message = replace(message, number=mapped.messages["map"])
            mapped.messages["spec"] += message.specification is not None
        if isinstance(message, agents.Ack) and message.final:
            mapped.engagements[message.sender] += 1
        lag = self._lag(mapped, message)
        mapped.messages[message.kind] += 1
        heappush(
            self._queue, (now + lag, AT_ONCE if isinstance(message, agents.Ask | agents.Spec) else IN_TIME, self._sent, message)
        )
        self._sent += 1

    def _lag(self, mapped: MappedTask, message: agents.Message) -> float:
        """Return the seconds that a message takes; an acknowledgement takes those of its map, apart from jitter."""
        seed = mapped.specification.seed
        match message:
            case agents.Ask() | agents.Spec():
                return self.ask_delay
            case agents.Map():
                counter = 2 * message.number
                delay = mapped.delays[message.number] = self._delay(message)
            case agents.Ack():
                counter = 2 * message.number + 1
                delay = mapped.delays.pop(message.number)
            case _:
                seed, counter, delay = seed + 3, mapped.messages.total(), self._delay(message)
        if not self.jitter:
            return delay
        return delay * (1 - self.jitter) + self.jitter * (delay if delay > 0 else 1.0) * _native.draw_by_counter(seed, counter)

    def _delay(self, message: agents.Message) -> float:
        """Return the delay between two servers: over the link between them where there is one, else over the public network."""
        ends = message.sender, message.receiver
        if agents.PORTAL in ends:
            return 0.0
        link = self.network.arcs.get(ends) or self.network.arcs.get(ends[::-1])
        if link is None or (isinstance(message, agents.Map) and message.public):
            return sum(self.network.by_name[end].access_delay for end in ends)
        return link.delay


def run_protocol(
    problem: MappingProblem,
    *,
    seed: int = 0,
    agent: type[agents.MapAgent] = agents.MapAgent,
    jitter: float = 0.0,
    ask_delay: float = 0.0,
    **pruning: Any,
) -> MappedTask:
    """Map and reserve a task on an otherwise idle network (bi-modal networks, Algs. 1-3).

    `pruning` are fields of `Rules` that say which maps a server sends on; the other arguments are those of `Exchange`.
    """
    rules = Rules.of(problem, **pruning)
    exchange = Exchange(problem.network, rules, jitter=jitter, seed=seed, ask_delay=ask_delay, agent=agent)
    exchange.submit(problem.task, seed=seed)
    exchange.run()
    return exchange.results[0]
