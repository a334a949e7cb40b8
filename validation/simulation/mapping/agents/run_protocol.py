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
    seed, jitter, ask_delay, agent
        See `Exchange`.
    pruning
        Fields of `Rules` that say which maps a server sends on: `pruning`, `split_by_hops`, `cooling`, `neighbours` and
        `max_messages`.

    Raises
    ------
    InvalidInstanceError
        Naming each argument that cannot be.
    """
    rules = Rules.of(problem, **pruning)
    exchange = Exchange(problem.network, rules, jitter=jitter, seed=seed, ask_delay=ask_delay, agent=agent)
    task = exchange.submit(problem.task, seed=seed)
    exchange.run()
    return exchange.result(task)
