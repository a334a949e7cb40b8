"""Solve one mapping problem by the protocol."""

from __future__ import annotations

from typing import Any

from edrp.heuristics.mapping.rules import Rules
from edrp.mapping.path_mapping import MappingProblem
from edrp.validation.simulation.mapping.agents.agent import MapAgent
from edrp.validation.simulation.mapping.agents.exchange import Exchange, ProtocolResult


def run_protocol(
    problem: MappingProblem,
    *,
    seed: int = 0,
    jitter: float = 0.0,
    ask_delay: float = 0.0,
    agent: type[MapAgent] = MapAgent,
    **pruning: Any,
) -> ProtocolResult:
    """Map and reserve a task on an otherwise idle network (bi-modal networks, Algs. 1-3).

    Parameters
    ----------
    problem
        Network, task, limits and cost.
    seed, jitter, ask_delay, agent
        See `Exchange`.
    pruning
        Fields of `Rules` that say which maps a server sends on: `pruning`, `split_by_hops`, `cooling`, `neighbours` and
        `max_messages`.

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
    rules = Rules.of(problem, **pruning)
    exchange = Exchange(problem.network, rules, jitter=jitter, seed=seed, ask_delay=ask_delay, agent=agent)
    task = exchange.submit(problem.task, seed=seed)
    exchange.run()
    return exchange.result(task)
