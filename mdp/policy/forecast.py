"""How long a sweep of PMC will take, from a sample of its searches."""

from __future__ import annotations

from time import perf_counter

import numpy as np

from edrp.mdp.policy.model import PolicyModel
from edrp.mdp.policy.pmc import look_aheads, sweep_rows

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
        times = []
        for asked in (rows[:1], rows[:1], rows):  # the first call loads the kernel, the second shows what any call costs
            began = perf_counter()
            sweep_rows(model, ahead, source, asked, None, costs, replies)
            times.append(perf_counter() - began)
        seconds += max(0.0, times[2] - times[1]) * order.size / max(1, rows.size - 1)
    return seconds
