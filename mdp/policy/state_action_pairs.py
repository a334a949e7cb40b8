"""A migration process as a general Markov decision process, for solvers that know nothing of migrations."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse

from edrp.core.arrays import Floats, Ints
from edrp.core.budget import refuse_beyond_memory
from edrp.mdp.matching import gain_between
from edrp.mdp.policy.process import PolicyModel


class StateActionPairs(NamedTuple):
    """All pairs of a state and an action that is allowed in it, in the order of both.

    A state is a partition together with the number of nodes that is required next; an action is the partition taken.

    Attributes
    ----------
    state, action : shape (pairs,)
    reward : shape (pairs,), −c(P, Q) in bytes.
    transition : shape (pairs, states), sparse; rows sum to 1.
    chance : shape (partitions, states), sparse: probability of each state after a partition, so that C = −chance @ value.
    """

    state: Ints
    action: Ints
    reward: Floats
    transition: sparse.csr_array
    chance: sparse.csr_array


def state_action_pairs(model: PolicyModel) -> StateActionPairs:
    """List the pairs of a model that fit into memory; 24 bytes and one row of transitions a pair.

    Raises
    ------
    ProblemTooLargeError
        When they do not fit.
    """
    successors = [model.successors(source) for source in range(len(model.counts))]
    sizes = np.array(model.size.states)
    pairs = sum(int(sizes[source] * sizes[target]) for source, targets in enumerate(successors) for target in targets)
    width = max(targets.size for targets in successors)
    refuse_beyond_memory(pairs * (24.0 + 16 * width), f"{pairs:.4g} state–action pairs", "use PMC, which does not list them")
    base = np.concatenate([[0], np.cumsum(sizes)])
    first_state = np.concatenate([[0], np.cumsum([targets.size for targets in successors] * sizes)])
    chance = _chances(model, successors, sizes, first_state)
    states, actions, rewards = [], [], []
    for source, rows in enumerate(model.partitions):
        for row, before in enumerate(rows):
            for column, target in enumerate(successors[source]):
                after = model.partitions[target]
                costs = [model.total_state - gain_between(model.tasks.state_before, before, partition) for partition in after]
                states.append(np.full(len(after), first_state[source] + row * successors[source].size + column))
                actions.append(base[target] + np.arange(len(after)))
                rewards.append(-np.array(costs))
    action = np.concatenate(actions)
    return StateActionPairs(np.concatenate(states), action, np.concatenate(rewards), chance[action], chance)


def _chances(model: PolicyModel, successors: list[Ints], sizes: Ints, first_state: Ints) -> sparse.csr_array:
    width = np.repeat([targets.size for targets in successors], sizes)
    starts = np.concatenate([[0], np.cumsum(width)])
    shares = [np.tile(model.transitions[source, targets], sizes[source]) for source, targets in enumerate(successors)]
    shape = (int(sizes.sum()), int(first_state[-1]))
    return sparse.csr_array((np.concatenate(shares), np.arange(shape[1]), starts), shape=shape)
