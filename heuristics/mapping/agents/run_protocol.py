"""One mapping problem, solved by the protocol."""

from __future__ import annotations

from edrp.heuristics.mapping.agents.agent import MapAgent
from edrp.heuristics.mapping.agents.exchange import Exchange, ProtocolResult
from edrp.heuristics.mapping.agents.rules import PruningName, Rules
from edrp.mapping.path_mapping import MappingProblem


def run_protocol(
    problem: MappingProblem,
    *,
    pruning: PruningName = "least-cost",
    split_by_hops: bool = False,
    cooling: float = 0.5,
    neighbours: int = 1,
    most_messages: int | None = None,
    seed: int = 0,
    jitter: float = 0.0,
    ask_delay: float = 0.0,
    agent: type[MapAgent] = MapAgent,
) -> ProtocolResult:
    """Map and reserve a task on an otherwise idle network (bi-modal networks, Algs. 1-3).

    Parameters
    ----------
    problem
        Network, task, limits and cost.
    pruning
        Which maps a server sends on (section 4.1). "least-cost": those better than all before them with as many components
        mapped. "annealed": others too, with probability exp(-cooling (prefix + 1)). "random": all, each to some `neighbours`
        drawn at random. "none": all, which finds every map.
    split_by_hops
        Whether maps that have used different numbers of empty hops are compared apart.
    cooling, neighbours
        Of "annealed" and of "random".
    most_messages
        After so many map messages no further one is sent.
    seed, jitter, ask_delay, agent
        As of `Exchange`.

    Raises
    ------
    InvalidInstanceError
        Naming each argument that cannot be.

    Examples
    --------
    >>> problem = MappingProblem(
    ...     network={
    ...         "nodes": [{"name": "a", "capacity": 0}, {"name": "b", "capacity": 3}, {"name": "c", "capacity": 9}],
    ...         "links": [{"source": "a", "target": "b", "bandwidth": 10, "cost": 1},
    ...                   {"source": "b", "target": "c", "bandwidth": 10, "cost": 5}],
    ...     },
    ...     task={"source": "a", "delivery": "c", "bandwidths": [4, 2, 1],
    ...           "components": [{"name": "decode", "capacity": 3}, {"name": "join", "capacity": 3}]},
    ... )
    >>> result = run_protocol(problem)
    >>> problem.evaluate(result.decision).objective
    6.0
    >>> result.messages["map"], result.messages["ack"], len(result.terminated)
    (12, 12, 1)
    """
    rules = Rules.of(
        problem,
        pruning=pruning,
        split_by_hops=split_by_hops,
        cooling=cooling,
        neighbours=neighbours,
        most_messages=most_messages,
    )
    exchange = Exchange(problem.network, rules, jitter=jitter, seed=seed, ask_delay=ask_delay, agent=agent)
    task = exchange.submit(problem.task, seed=seed)
    exchange.run()
    return exchange.result(task)
