"""Expected cost of each number of hosts over the paths that the load may take."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from edrp.core.arrays import Floats, Ints
from edrp.core.budget import spend
from edrp.core.kernels import kernel
from edrp.heuristics.enactment.demand_paths import LoadPaths

COST_UNITS = 1e-8
"""Units of work per number of hosts and level of the load."""


@dataclass(frozen=True, slots=True)
class HostCosts:
    """Costs of late items, and the delay until a new host serves.

    Attributes
    ----------
    rounds : to look ahead.
    lag : rounds from the end of the round that shows a need to the first in which a host leased for it serves.
    late : money for a round in which all items are late, per unit of load.
    overload_share : of the items, those late while any load waits.
    surprise_share : of the items, those late in the first round of an overload, when instances stand where they did before.
    utilisation : share of a capacity from which on some items are late.
    """

    rounds: int
    lag: int
    late: float
    overload_share: float
    surprise_share: float
    utilisation: float


def expected_costs(paths: LoadPaths, support: Floats, prices: Floats, serving: int, backlog: float, costs: HostCosts) -> Floats:
    """Expected cost of holding the first n hosts, for every n, over the rounds ahead.

    On a path, a host that is not held now is leased at the end of the first round that needs it, paid from then on, and serves
    after the lag. Load above what the hosts bear waits, at the end of the path for a host that is leased to serve it. If
    fewer rounds of a path are known, only those count.

    Parameters
    ----------
    paths
        The load, in the unit of `support`.
    support
        (hosts + 1,): largest load that the first n hosts bear, by n.
    prices
        (hosts,): money per round of each host.
    serving
        Hosts that serve now; those beyond do after the lag.
    backlog
        Load times rounds that waits now.

    Returns
    -------
    (hosts + 1,): expected money.
    """
    money = np.zeros(len(support))
    row = np.array([costs.rounds, costs.lag, costs.late, costs.overload_share, costs.surprise_share, costs.utilisation])
    arrays = _Paths(paths.levels, paths.weights / paths.weights.sum(), paths.known_rounds)
    spend(COST_UNITS * money.size * paths.levels.size)
    _expect(arrays, support, prices, serving, backlog, row, money)
    return money


class _Paths(NamedTuple):
    """The arrays of `LoadPaths`, for the kernel."""

    levels: Floats
    weights: Floats
    known_rounds: Ints


@kernel
def _expect(paths: _Paths, support: Floats, prices: Floats, served_by: int, backlog: float, costs: Floats, money: Floats) -> None:
    levels, weights, known_rounds = paths.levels, paths.weights, paths.known_rounds
    lag, late, overload, surprise, utilisation = int(costs[1]), costs[2], costs[3], costs[4], costs[5]
    hosts = support.size - 1
    last = min(levels.shape[1] - 1, int(costs[0]))
    due = np.zeros(last + lag + 1, np.int64)
    work = prices[hosts - 1] * hosts / max(support[hosts], 1e-9) if hosts else 0.0  # money for a unit of load in a round
    price = 0.0  # of a round, for the first hosts
    for first in range(hosts + 1):
        for path in range(weights.size):
            rounds = min(known_rounds[path], last)
            for later in range(due.size):
                due[later] = 0
            serving, ordered = min(first, served_by), first
            due[lag] += first - serving
            waiting = backlog
            cost = price * rounds
            for period in range(1, rounds + 1):
                load = levels[path, period]
                serving += due[period]
                capacity = support[serving]
                waited = waiting > 1e-9
                waiting = max(0.0, waiting + load - capacity)
                if waiting > 1e-9 and waited:
                    cost += late * load * overload
                elif waiting > 1e-9:
                    cost += late * load * max(overload, surprise * min(1.0, 20.0 * waiting / max(capacity, 1e-9)))
                elif load > utilisation * capacity:
                    cost += late * load * overload * (load / capacity - utilisation) / (1.0 - utilisation)
                while ordered < hosts and load > utilisation * support[ordered]:
                    cost += prices[ordered] * (rounds - period)
                    ordered += 1
                    due[period + lag] += 1
            money[first] += weights[path] * (cost + waiting * work)
        if first < hosts:
            price += prices[first]
