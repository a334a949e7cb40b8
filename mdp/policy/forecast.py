"""Estimate of the time of a sweep of PMC, from a sample of its searches."""

from __future__ import annotations

from time import perf_counter

import numpy as np

from edrp.mdp.policy.model import PolicyModel
from edrp.mdp.policy.pmc import discounted_values, sweep_rows

SAMPLE = 128
"""States searched from for each node count; neighbours in the search order, which share work as they do in a sweep."""


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
    discounted = discounted_values(model, [np.zeros(count) for count in model.size.states])
    seconds = 0.0
    for source, order in enumerate(model.orders):
        shape = (order.size, model.successors(source).size)
        costs, actions = np.empty(shape), np.empty(shape, np.int64)
        middle = max(0, (order.size - SAMPLE) // 2)
        rows = order[middle : middle + SAMPLE]
        times = []
        for sample in (rows[:1], rows[:1], rows):  # the first call loads the kernel, the second is the overhead of a call
            began = perf_counter()
            sweep_rows(model, discounted, source, sample, None, costs, actions)
            times.append(perf_counter() - began)
        seconds += max(0.0, times[2] - times[1]) * order.size / max(1, rows.size - 1)
    return seconds
