"""A general solver of Markov decision processes finds the same projected costs."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from edrp.mdp.matching import gain_between
from edrp.mdp.partitions import Tasks
from edrp.mdp.policy.pmc import Threads, iterate
from edrp.mdp.policy.process import PolicyModel


def state_action_pairs(model):
    """Every state, action, reward and transition, and the probability of each state after a partition."""
    successors = [model.successors(source) for source in range(len(model.counts))]
    sizes = np.array(model.size.states)
    base = np.concatenate([[0], np.cumsum(sizes)])
    first_state = np.concatenate([[0], np.cumsum([targets.size for targets in successors] * sizes)])
    chance = chances(model, successors, sizes, first_state)
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
    return np.concatenate(states), action, np.concatenate(rewards), chance[action], chance


def chances(model, successors, sizes, first_state):
    width = np.repeat([targets.size for targets in successors], sizes)
    starts = np.concatenate([[0], np.cumsum(width)])
    shares = [np.tile(model.transitions[source, targets], sizes[source]) for source, targets in enumerate(successors)]
    shape = (int(sizes.sum()), int(first_state[-1]))
    return sparse.csr_array((np.concatenate(shares), np.arange(shape[1]), starts), shape=shape)


@pytest.mark.parametrize("seed", range(20))
def test_quantecon_agrees(seed):
    from quantecon.markov import DiscreteDP  # here, since its import compiles

    generator = np.random.default_rng(seed)
    tasks = int(generator.integers(6, 10))
    work = generator.integers(1, 6, tasks).astype(float)
    counts = (2, 3, 4)
    transitions = generator.random((3, 3)) * (1 - np.eye(3) * generator.integers(0, 2))
    transitions /= transitions.sum(axis=1, keepdims=True)
    tolerance = float(generator.choice([0.8, 1.5]))
    model = PolicyModel(Tasks.of(work, generator.random(tasks)), counts, tolerance, bool(seed % 2), transitions, 0.9)
    assert 0 not in model.size.states
    state, action, reward, transition, chance = state_action_pairs(model)
    process = DiscreteDP(reward, transition, 0.9, state, action)
    value = process.solve(method="policy_iteration").v
    ours = np.concatenate(iterate(model, Threads(1)).values)
    assert ours == pytest.approx(-(chance @ value), rel=1e-9, abs=1e-9)
