"""A general solver of Markov decision processes finds the same projected costs."""

from __future__ import annotations

import numpy as np
import pytest

from edrp.mdp.partitions import Tasks
from edrp.mdp.policy.pmc import Threads, iterate
from edrp.mdp.policy.process import PolicyModel
from edrp.mdp.policy.state_action_pairs import state_action_pairs


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
    pairs = state_action_pairs(model)
    process = DiscreteDP(pairs.reward, pairs.transition, 0.9, pairs.state, pairs.action)
    value = process.solve(method="policy_iteration").v
    ours = np.concatenate(iterate(model, Threads(1)).values)
    assert ours == pytest.approx(-(pairs.chance @ value), rel=1e-9, abs=1e-9)
