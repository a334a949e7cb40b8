"""Migration policies of the keyed operators of a job, from a history of its load."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from edrp.core.arrays import Floats
from edrp.core.errors import Fault, InvalidInstanceError
from edrp.mdp.chain.transition_matrix import TransitionMatrix, load_levels
from edrp.migration.policy import MigrationPolicyProblem
from edrp.migration.rescale.documents import KeyedOperator, KeyedTasks, multiplied, possible_replicas
from edrp.migration.rescale.problem import RescaleProblem

MAX_POLICY_TASKS = 32
"""Maximum number of groups of neighbouring tasks in a policy; partitions of more could not be enumerated."""


def operator_policies(
    problem: RescaleProblem,
    observed: ArrayLike,
    load: float,
    *,
    tolerance: float,
    discount: float = 0.8,
    levels: int = 10,
    max_tasks: int = MAX_POLICY_TASKS,
) -> dict[str, MigrationPolicyProblem]:
    """Build a problem of kind `migration-policy` for each keyed operator whose number of replicas changes with the load.

    The nodes of the policy are the operator's replicas. Each level of the observed loads asks for the fewest replicas with which
    every split within the tolerance is stable at its largest load on the slowest candidate, so that whatever the policy decides
    can be run; where no number of them is enough, for as many as have a split. The transition matrix is estimated from how these
    numbers followed each other. State moves whenever its replica changes, as on equal nodes with one replica each.

    Parameters
    ----------
    problem
        The job. Ranges are free, whatever it says.
    observed : shape (n,)
        Loads at equal distances of time, oldest first, in any unit; the last one is to be served now.
    load
        The load that the document describes, in the same unit.
    tolerance
        τ: a replica may hold (1 + τ) times the average work.
    discount
        γ: weight of the next migration.
    levels
        Number of load levels.
    max_tasks
        Approximate number of groups of equal work into which neighbouring tasks are joined; boundaries of `current` stay.

    Raises
    ------
    InvalidInstanceError
        For loads as in `load_scenarios`, and an operator none of whose splits keeps the tolerance.

    Examples
    --------
    >>> queue = {"model": "mm1", "service_rate": 10.0}
    >>> tasks = {"work": [2, 1, 1, 2], "state_size": [5, 1, 1, 5]}
    >>> job = RescaleProblem(
    ...     application={"operators": [
    ...         {"name": "count", "latency": queue, "external_rate": 9.0, "max_replicas": 4, "tasks": tasks}]},
    ...     network={"nodes": [{"name": "a"}, {"name": "b"}]}, weights={"response_time": 1.0}, limits={"response_time": 1.0},
    ... )
    >>> policy = operator_policies(job, [9, 16, 9, 16], 9.0, tolerance=0.2)["count"]
    >>> policy.node_counts, policy.transitions, policy.nodes
    ((1, 2), ((0.0, 1.0), (1.0, 0.0)), 2)
    """
    loads, level = load_levels(observed, load, levels)
    level_numbers = np.unique(level).tolist()
    described = problem.replace(ranges="free", tolerance=tolerance, scenarios=(), current=None)
    min_load = loads[loads > 0].min(initial=load)  # which a level without any load needs, too
    factors = [max(float(loads[level == number].max()), min_load) / load for number in level_numbers]
    at_levels = [described.replace(application=multiplied(problem.application, factor)) for factor in factors]
    policies = {}
    for index, operator in enumerate(problem.application.operators):
        if operator.tasks is None:
            continue
        cuts = _group_boundaries(problem, operator, max_tasks)
        work, state_size = ([sum(of[a:b]) for a, b in pairwise(cuts)] for of in (operator.tasks.work, operator.tasks.state_size))
        joined = operator.replace(tasks=KeyedTasks(work=work, state_size=state_size))
        numbers = dict(zip(level_numbers, _replicas(at_levels, joined, f"application.operators[{index}].tasks"), strict=True))
        if len(set(numbers.values())) > 1:
            history = [numbers[at] for at in level.tolist()]
            policies[operator.name] = _policy_problem(problem, joined, cuts, history, tolerance, discount)
    return policies


def _replicas(at_levels: list[RescaleProblem], operator: KeyedOperator, place: str) -> list[int]:
    """Choose the number of replicas at each level of the load, in ascending order."""
    assert at_levels[0].tolerance is not None
    split = possible_replicas(at_levels[0], operator)
    if not split:
        why = f"{operator.name} has no split within the tolerance that is stable at the least load; allow more of it, or replicas"
        raise InvalidInstanceError([Fault(place, "", why)])
    largest = [min(1.0, (1 + at_levels[0].tolerance) / replicas) for replicas in split]
    nodes, numbers = at_levels[0].network.by_name, []
    slowest = min(nodes[name].speedup for name in operator.candidates or nodes)
    for at in at_levels:
        load = at.application.load(operator.name)
        stable = (r for r, share in zip(split, largest, strict=True) if at.is_stable(operator, load * share, r, slowest))
        numbers.append(next(stable, split[-1]))
    return numbers


def _group_boundaries(problem: RescaleProblem, operator: KeyedOperator, max_tasks: int) -> list[int]:
    """Choose boundaries of groups of about equal work; those of the current ranges are among them."""
    assert operator.tasks is not None
    before: Floats = np.array(operator.tasks.work_before)
    goals = before[-1] * np.arange(1, max_tasks) / max_tasks
    chosen = {0, operator.tasks.count, *np.searchsorted(before, goals).tolist()}
    if operator.tasks.count <= max_tasks:
        chosen = set(range(operator.tasks.count + 1))
    if problem.current is not None and operator.name in problem.current:
        chosen |= {end for key_range in problem.current.ranges(operator.name) for end in key_range.tasks}
    return sorted(chosen)


def _policy_problem(
    problem: RescaleProblem, joined: KeyedOperator, cuts: list[int], history: list[int], tolerance: float, discount: float
) -> MigrationPolicyProblem:
    assert joined.tasks is not None
    matrix = TransitionMatrix.estimate(history)
    intervals = [(0, joined.tasks.count)]
    if problem.current is not None and joined.name in problem.current:
        intervals = [
            (cuts.index(first), cuts.index(end)) for first, end in (r.tasks for r in problem.current.ranges(joined.name))
        ]
    return MigrationPolicyProblem(
        work=joined.tasks.work,
        state_size=joined.tasks.state_size,
        intervals=intervals,
        nodes=history[-1],
        tolerance=tolerance,
        allow_empty=False,
        node_counts=matrix.node_counts.tolist(),
        transitions=matrix.probabilities.tolist(),
        discount=discount,
    )
