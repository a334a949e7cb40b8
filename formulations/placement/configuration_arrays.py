"""Tables over the configurations of an operator, vectorised over all of them."""

from __future__ import annotations

import numpy as np

from edrp.core.arrays import Floats, Ints32
from edrp.placement.compiled import Compiled
from edrp.placement.configurations import NO_NODE, degrees
from edrp.placement.reconfiguration import downtime_floor, is_current, operator_downtimes


def latencies(compiled: Compiled, operator: int, members: Ints32) -> Floats:
    """R_{i,U} in seconds (EDRP, eq. 1), infinite where unstable; shape (configurations,)."""
    reference = compiled.latency[operator, degrees(members)]
    return np.asarray(reference / slowest(compiled, members))


def slowest(compiled: Compiled, members: Ints32) -> Floats:
    """Minimum speed-up among the members of each configuration."""
    speeds = np.where(members == NO_NODE, np.inf, compiled.speedup[members])
    return np.asarray(speeds.min(axis=1))


def downtimes(compiled: Compiled, operator: int, members: Ints32) -> Floats:
    """t_D(i, U_0, V) in seconds (EDRP, eq. 25); for Storm at least the restart that any change costs (eq. 33)."""
    times = np.maximum(operator_downtimes(compiled, operator, members), downtime_floor(compiled))
    return (
        np.where(is_current(compiled, operator, members), 0.0, times) if compiled.current is not None else np.zeros(len(members))
    )


def longest_delays(delay: Floats, sources: Ints32, targets: Ints32) -> Floats:
    """d_{(U,V)} (EDRP, eq. 3): shape (source configurations, target configurations).

    Takes as many gathers as the ends have replicas together, instead of their product.
    """
    # To each node, from the worst member of U; then from U to the worst member of V.
    reach = _worst(delay, sources)
    return np.asarray(_worst(reach.T, targets).T)


def _worst(table: Floats, members: Ints32) -> Floats:
    """Maximum over the members' rows of a table, shape (configurations, columns of the table)."""
    worst = table[members[:, 0]]
    for replica in range(1, members.shape[1]):
        used = np.flatnonzero(members[:, replica] != NO_NODE)
        worst[used] = np.maximum(worst[used], table[members[used, replica]])
    return worst


def mean_over_pairs(table: Floats, sources: Ints32, targets: Ints32) -> Floats:
    """Mean of a table of node pairs over U × V (EDRP, eq. 4): shape (source configurations, target configurations).

    By gathers, as `longest_delays`: a matrix product of this size waits for its threads.
    """
    return np.asarray(_mean(_mean(table, sources).T, targets).T)


def _mean(table: Floats, members: Ints32) -> Floats:
    """Mean of the members' rows of a table, shape (configurations, columns of the table)."""
    total = table[members[:, 0]]
    for replica in range(1, members.shape[1]):
        used = np.flatnonzero(members[:, replica] != NO_NODE)
        total[used] += table[members[used, replica]]
    return np.asarray(total / degrees(members)[:, None])
