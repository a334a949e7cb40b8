"""The mapping protocol, server by server (bi-modal networks, sections 3 and 4): agents that answer messages with messages.

`run_protocol` maps one task, `Exchange` any number of them at once on one network, with reservations. Both only carry messages
between agents, count them and look at the clock. A user with real servers runs one `MapAgent` on each, a `Portal` for each
task, and carries the messages by other means; messages may overtake one another, none may be lost, and maps are given numbers
as they leave.

Points that the paper's Algs. 1-3 leave open or get wrong, and the solutions here:

* The loop over components put on a server ends at all that are left, not one before: else the last one has no place.
* A server that sends nothing on acknowledges at once: else the end is never detected.
* A server that has sent its final acknowledgement keeps its table of costs until the portal knows the decision; maps that come
  back later would be sent over and over. Then the word to forget follows the ways of the specification.
* The specification travels with the first map from one server to another. A server that gets a map that has overtaken it asks.
* Maps over the public network are counted, specified and bounded as all others; the source may send them; the receiver
  puts a component there, or drops the map.
* Complete maps are kept at the delivery, not extended, and components must fit together with those
  that the same map has put on a server before.
* Tables hold exact keys, from infinity on, for every prefix, none included; what passes is strictly better. Load-balance
  factors within 0.1 count as equal when the delivery ranks complete maps, not before: such equality is not transitive.

Examples
--------
Two agents in one process; a list stands for the network:

>>> from dataclasses import replace
>>> from edrp.mapping.path_tasks import PathTask
>>> from edrp.mapping.server_network import ServerNetwork
>>> network = ServerNetwork(
...     nodes=[{"name": "camera", "capacity": 0}, {"name": "office", "capacity": 2}],
...     links=[{"source": "camera", "target": "office", "bandwidth": 1e6}],
... )
>>> task = PathTask(source="camera", delivery="office", rate=2e5, components=[{"name": "count", "capacity": 1}])
>>> agents = build_agents(network)
>>> portal = Portal(1, Specification(task, Rules()))
>>> maps, waiting = 0, [Begin(1, PORTAL, PORTAL)]
>>> while waiting:
...     message = waiting.pop(0)
...     to = portal if message.receiver == PORTAL else agents[message.receiver]
...     for answer in to.receive(message):
...         if isinstance(answer, Map):
...             answer, maps = replace(answer, number=maps), maps + 1
...         print(f"{answer.kind}: {answer.sender or 'portal'} → {answer.receiver or 'portal'}")
...         waiting.append(answer)
map: portal → camera
map: camera → office
map: office → camera
ack: camera → office
ack: office → camera
ack: camera → portal
select: portal → office
probe: office → camera
confirm: camera → portal
forget: portal → camera
forget: camera → office
forget: office → camera
>>> portal.accepted.nodes, agents["office"].reservations.free_capacity
(('office',), 1.0)
"""

from edrp.heuristics.mapping.rules import Rules, Specification
from edrp.validation.simulation.mapping.agents.agent import Directory, MapAgent
from edrp.validation.simulation.mapping.agents.exchange import Exchange, ProtocolResult, build_agents, run_protocol
from edrp.validation.simulation.mapping.agents.messages import PORTAL, Begin, End, Map, Message
from edrp.validation.simulation.mapping.agents.portal import Portal
from edrp.validation.simulation.mapping.agents.reservations import Reservation

__all__ = [
    "PORTAL",
    "Begin",
    "Directory",
    "End",
    "Exchange",
    "Map",
    "MapAgent",
    "Message",
    "Portal",
    "ProtocolResult",
    "Reservation",
    "Rules",
    "Specification",
    "build_agents",
    "run_protocol",
]
