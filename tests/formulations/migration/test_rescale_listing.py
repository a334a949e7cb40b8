"""What the rest of a split costs at least, which prunes the listing of alternatives."""

import numpy as np
import pytest

from edrp import _native
from edrp.formulations.migration.rescale.decomposition.model import SplitLayer


def random_layer(random, tasks, *, mean=False, levels=3, nodes=3):
    """Shares of which some are 0, levels that permit more and more, and prices."""
    work = random.integers(0, 4, tasks) + (np.arange(tasks) == 0)
    share = np.append(0, np.cumsum(work)) / work.sum()
    seconds = np.zeros(1) if mean else np.sort(random.random(levels))
    caps = np.sort(random.uniform(0.1, 0.8, (seconds.size, nodes)), axis=0)
    ranges = random.random((tasks + 1, tasks + 1)) if mean else np.zeros((0, 0))
    layer = SplitLayer(share, caps, seconds, ranges, random.uniform(0.5, 2, nodes), 0, int(random.integers(2, tasks + 2)))
    return layer, random.random(nodes), random.normal(0, 1, (nodes, tasks + 1)).cumsum(axis=1)


def by_trying_all(layer, unit, q, on, price):
    togo = np.full((layer.seconds.size, layer.share.size), np.inf)
    togo[:, -1] = 0.0
    for level in range(layer.seconds.size):
        for a in range(layer.share.size - 2, -1, -1):
            for u in np.flatnonzero(on):
                for b in range(a + 1, layer.share.size):
                    if b - a <= layer.longest and layer.share[b] - layer.share[a] <= layer.caps[level, u]:
                        mean = price * layer.range_seconds[a, b] / layer.speedup[u] if layer.range_seconds.size else 0.0
                        togo[level, a] = min(togo[level, a], unit[u] + q[u, b] - q[u, a] + mean + togo[level, b])
    togo += price * layer.seconds[:, np.newaxis]
    return np.minimum.accumulate(togo[::-1], axis=0)[::-1]


@pytest.mark.parametrize("seed", range(40))
def test_costs_to_go_are_least(seed):
    random = np.random.default_rng(seed)
    layer, unit, q = random_layer(random, int(random.integers(2, 12)), mean=seed % 4 == 0)
    on, price = random.random(3) < 0.8, float(random.random())
    togo = _native.costs_to_go(layer, unit, q, on, price)
    np.testing.assert_allclose(togo, by_trying_all(layer, unit, q, on, price))


def test_costs_to_go_of_many_tasks_take_a_few_steps_for_each():
    """A kernel does not look at the clock: with steps that grow with the square, this would take hours, not milliseconds."""
    layer, unit, q = random_layer(np.random.default_rng(3), 100_000)
    togo = _native.costs_to_go(layer._replace(longest=100_001), unit, q, np.ones(3, bool), 0.5)
    assert togo.shape == (3, 100_001)
