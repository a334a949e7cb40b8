"""Slots as resources of nodes, and in words which operators need those that are missing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product

from edrp.engines.observation import NodeObservation, Observation, OperatorObservation
from edrp.placement.edrp import EdrpProblem

MAX_SLOT_RULES = 64
"""Most combinations of operators, one of each slot-sharing group, for which slots are counted exactly."""


def with_added_nodes(observation: Observation, count: int) -> Observation:
    """The observation with `count` more nodes (`added-1`, …), each with as many slots as the largest node, all of them free."""
    slots = max(node.slots for node in observation.nodes)
    added = (NodeObservation(f"added-{number}", slots, slots, {}) for number in range(1, count + 1))
    return replace(observation, nodes=(*observation.nodes, *added))


def slot_resources(operators: Sequence[OperatorObservation]) -> dict[str, list[str]]:
    """Resources of which a replica of each operator takes 1, and a node has as many as slots.

    A slot holds one replica of every operator of its slot-sharing group. A node with S slots therefore has room for certain
    replicas if, whichever operator of each group is taken, these have at most S replicas there: a resource per combination.
    Where there are too many combinations, no slot is shared in the model, which is on the safe side.

    >>> from types import SimpleNamespace as Seen
    >>> slot_resources([Seen(name="a", slot_group="x"), Seen(name="b", slot_group="x"), Seen(name="c", slot_group="y")])
    {'a': ['slots 1'], 'b': ['slots 2'], 'c': ['slots 1', 'slots 2']}
    """
    groups: dict[str, list[str]] = {}
    for operator in operators:
        groups.setdefault(operator.slot_group, []).append(operator.name)
    count = 1
    for members in groups.values():
        count *= len(members)
    if count > MAX_SLOT_RULES:
        return {operator.name: ["slots"] for operator in operators}
    taken: dict[str, list[str]] = {operator.name: [] for operator in operators}
    for number, combination in enumerate(product(*groups.values()), 1):
        for name in combination:
            taken[name].append(f"slots {number}")
    return taken


def slot_clashes(observation: Observation, problem: EdrpProblem, clashes: Sequence[str]) -> tuple[str, ...]:
    """Return the reasons why there is no plan: too few slots, by one operator of each group, else the method's own reasons.

    Parameters
    ----------
    problem
        The job as `placement_problem` gives it.
    clashes
        What clashes by the method, in which the resources of `slot_resources` become the operators that they stand for.
    """
    fewest = {operator.name: operator.min_replicas for operator in problem.application.operators}
    groups: dict[str, list[str]] = {}
    for observed in observation.operators:
        groups.setdefault(observed.slot_group, []).append(observed.name)
    largest = [max(members, key=fewest.__getitem__) for members in groups.values()]
    needed, available = sum(map(fewest.__getitem__, largest)), sum(observation.open_slots.values())
    if needed > available:
        counts = " + ".join(f"{fewest[name]} of {name}" for name in largest)
        return (f"slots: {counts} are needed, {needed} in all, and the job may have {available}",)
    users: dict[str, list[str]] = {}
    for name, resources in slot_resources(observation.operators).items():
        for resource in resources:
            users.setdefault(resource, []).append(name)
    parts = {clash: clash.partition(" of the nodes") for clash in clashes}
    short = [clash for clash in clashes if parts[clash][1] and parts[clash][0] in users]
    if len(short) > 1:  # not all of them were examined: which are needed is not known
        return (*(clash for clash in clashes if clash not in short), f"slots: the job may have {available}")
    return tuple(
        f"slots for {' + '.join(users[parts[clash][0]])}{parts[clash][2]}" if clash in short else clash for clash in clashes
    )
