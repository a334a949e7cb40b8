"""How long a sweep of PMC will take, from a sample of its searches."""

from __future__ import annotations

from time import perf_counter

import numpy as np

from edrp.mdp.pmc import look_aheads, sweep_rows
from edrp.mdp.policy_model import PolicyModel

SAMPLE = 128
"""States searched in each class; neighbours in the search order, which share work as they do in a sweep."""


def sweep_seconds(model: PolicyModel) -> float:
    """Estimated time that one core needs for the first sweep; later ones take about as long, or half as long again.

    Enumerates the states, so ask for `model.size` first.

    Examples
    --------
    >>> from edrp.mdp.tasks import Tasks
    >>> tasks = Tasks.of(np.ones(6), np.ones(6))
    >>> sweep_seconds(PolicyModel(tasks, (2, 3), 0.5, False, np.array([[0.0, 1.0], [1.0, 0.0]]), 0.5)) < 1
    True
    """
    ahead = look_aheads(model, [np.zeros(count) for count in model.size.states])
    seconds = 0.0
    for source, order in enumerate(model.orders):
        shape = (order.size, model.followers(source).size)
        costs, replies = np.empty(shape), np.empty(shape, np.int64)
        middle = max(0, (order.size - SAMPLE) // 2)
        rows = order[middle : middle + SAMPLE]
        sweep_rows(model, ahead, source, rows[:1], None, costs, replies)  # loads or compiles the kernel
        began = perf_counter()
        sweep_rows(model, ahead, source, rows, None, costs, replies)
        seconds += (perf_counter() - began) * order.size / max(1, rows.size)
    return seconds
