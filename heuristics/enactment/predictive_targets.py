"""Target numbers of instances on the present hosts, for a load that may surge before new hosts serve."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from edrp import _native
from edrp.core.arrays import Floats, Ints, entries

SURGE_MULTIPLES = np.array([1.1, 1.25, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0])
"""Multiples of the load for which instances stand by although no observed path leads there."""

MULTIPLE_QUANTILES = np.array([0.5, 0.75, 0.9, 0.97, 1.0])
"""Quantiles of the expected multiples for which targets are computed."""


class OperatorFlow(NamedTuple):
    """Items that come to the operators, and resources and time that an instance of each takes.

    Attributes
    ----------
    outside : (operators,) items per second from outside.
    step : (operators, operators) items that the second gets for every item of the first.
    draining : (operators,) items per second by which queues are to shrink.
    occupied : (operators,) seconds per item, above 0.
    order : (operators,) topological.
    need : (operators, resources) share of a host that an instance takes.
    min_instances, max_instances : (operators,) instances that there must and may be.
    utilisation : share of its time for which an instance may be occupied.
    """

    outside: Floats
    step: Floats
    draining: Floats
    occupied: Floats
    order: Ints
    need: Floats
    min_instances: Floats
    max_instances: Floats
    utilisation: float


def targets(flow: OperatorFlow, room: Floats, multiples: Floats, weights: Floats) -> Floats:
    """Instances of each operator with which the fewest items are expected to be late.

    Where the hosts do not bear a multiple of the load, some operators are sacrificed: those that free the most room for every
    item that is late for it. A sacrificed operator sends on no more than its instances serve, so that those downstream need
    less. The targets are those of the multiple that lets the fewest items be late now, then the fewest in expectation.

    Parameters
    ----------
    room
        (resources,): room on all hosts, in hosts.
    multiples, weights
        (cases,): multiples of the load that may come before other hosts serve, and how likely each is.

    Returns
    -------
    (operators,): instances.
    """
    order = np.argsort(multiples)
    beyond = np.concatenate([np.cumsum((weights * multiples)[order][::-1])[::-1], [0.0]])
    likely = multiples[order][np.minimum((MULTIPLE_QUANTILES * len(multiples)).astype(int), len(multiples) - 1)]
    ladder = np.unique(np.concatenate([[1.0], likely, SURGE_MULTIPLES]).round(3))
    source, target = entries(flow.step)
    first, factor = np.searchsorted(source, np.arange(len(flow.step) + 1)), flow.step[source, target]
    best: Floats = _native.instance_targets(flow, first, target, factor, room, ladder, multiples[order], beyond)
    return best
