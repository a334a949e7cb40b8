"""Metrics that depend on which replicas share nodes: prices of links, tuples in flight, and the availability of what is in use.

Traffic between two operators is bilinear in where their replicas run. For every pair of sets of classes there is a least
amount of it: as many pairs of replicas on common nodes as the capacity of nodes allows for these two operators alone, all
others where it is cheapest, at least one replica on each class. Other operators that want the same nodes are left out, so
that a bound holds, but a placement over classes may promise more than its copies on nodes keep.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product

import numpy as np

from edrp import _native
from edrp.core.arrays import Floats, Ints
from edrp.core.tolerances import LIMIT_SLACK, QUOTIENT_USE_SLACK
from edrp.formulations.placement.elimination.model import EliminationModel
from edrp.formulations.placement.equal_nodes.codes import MASKS
from edrp.placement.metrics import NetworkUsage

MAX_TOGETHER = 40_000
"""Pairs of numbers of replicas beyond which all of them may share nodes."""

COST, AVAILABILITY, USAGE = "cost", "availability", NetworkUsage.name


@dataclass(frozen=True)
class Traffic:
    """Prices and use of streams between classes, and how many pairs of replicas can do without.

    Attributes
    ----------
    between : shape (2, classes, classes), money/h per tuple/s, and seconds; between two nodes of a class on the diagonal.
    together : per stream, the largest number of pairs of replicas on common nodes, shape (1 + senders, 1 + receivers), where
        not all replicas of both operators are on one node.
    loss : shape (classes,), −ln of the availability of a node.
    columns : shape (1 + limits, 2), parts of each of the two in the objective (in money/h) and in each limited metric.
    limits : names of the limited metrics, of each of which 1 may be used.
    """

    between: Floats
    together: tuple[Floats, ...]
    loss: Floats
    columns: Floats
    limits: tuple[str, ...]
    _least: dict[tuple[int, bytes, bytes], Floats] = field(default_factory=dict, repr=False, compare=False)

    def exchangeable(self, k: int, other: int) -> bool:
        """Whether two classes may be exchanged for one another."""
        swapped = np.arange(len(self.loss))
        swapped[[k, other]] = other, k
        return bool(np.array_equal(self.between, self.between[:, swapped][:, :, swapped]) and self.loss[k] == self.loss[other])

    def table(self, model: EliminationModel, operator: Ints, replicas: Ints) -> Floats:
        """Least use by every stream that is not within one node, shape (1 + limits, streams, sets, sets)."""
        table = np.zeros((len(self.columns), model.source.size, MASKS, MASKS))
        if not self.between.any():
            return table
        numbers = [np.unique(replicas[operator == j]) for j in range(model.operators)]
        for e, (i, j) in enumerate(zip(model.source, model.target, strict=True)):
            table[:, e] = model.rate[e] * self._least_share(e, numbers[int(i)], numbers[int(j)])
        return table

    def _least_share(self, stream: int, senders: Ints, receivers: Ints) -> Floats:
        """Least use per tuple/s by a stream over these numbers of replicas, shape (1 + limits, sets, sets)."""
        key = (stream, senders.tobytes(), receivers.tobytes())
        if key not in self._least:
            many, others = senders[:, None], receivers[None, :]
            pairs = self.together[stream][many, others]
            share = np.zeros((len(self.columns), MASKS, MASKS))
            weights = np.tensordot(self.columns, self.between, axes=1)
            for a, b in product(range(1, 1 << self.between.shape[1]), repeat=2):
                possible = (many >= a.bit_count()) & (others >= b.bit_count())
                for column, weight in enumerate(weights):
                    least_share = _least_pairs(weight, a, b, many, others, pairs) / (many * others)
                    best = np.min(least_share, initial=np.inf, where=possible)
                    share[column, a, b] = best if np.isfinite(best) else 0.0
            self._least[key] = share
        return self._least[key]


def _least_pairs(weight: Floats, a: int, b: int, senders: Ints, receivers: Ints, together: Floats) -> Floats:
    """Least weight of all pairs of replicas on sets of classes a and b, by numbers of senders and receivers."""
    ones, others = ([k for k in range(len(weight)) if s >> k & 1] for s in (a, b))
    apart = weight * (1 - np.eye(len(weight)))
    crossing = whole = np.full(together.shape, np.inf)
    # A bilinear function is least where all but one replica on each other class are on a single class.
    for main, other in product(ones, others):
        x = {k: np.where(k == main, senders - (len(ones) - 1), 1) for k in ones}
        y = {k: np.where(k == other, receivers - (len(others) - 1), 1) for k in others}
        crossing = np.minimum(crossing, sum(apart[k, n] * x[k] * y[n] for k in ones for n in others))
        whole = np.minimum(whole, sum(weight[k, n] * x[k] * y[n] for k in ones for n in others))
    common = [weight[k, k] for k in ones if k in others]
    within = whole - max(common) * together if common else whole
    cheapest = weight[np.ix_(ones, others)].min() * (senders * receivers - together) if common else whole
    return np.maximum(np.maximum(crossing, within), cheapest)


def build_traffic(model: EliminationModel, members: tuple[Ints, ...], demand: Floats, capacity: Floats) -> Traffic | None:
    """Prices and use of streams between classes; None where neither links nor availability count."""
    compiled = model.compiled
    loss = np.array([compiled.node_loss[nodes[0]] for nodes in members])
    priced = bool(model.price.any() and (model.rate > 0).any())
    flying = bool(model.usage > 0 or np.isfinite(model.limits[3]))
    lost = bool(compiled.weight[AVAILABILITY] > 0 or np.isfinite(compiled.limit[AVAILABILITY]))
    if not (priced or flying or lost):
        return None
    limits = [name for name in (COST, USAGE, AVAILABILITY) if np.isfinite(compiled.limit[name])]
    parts = {COST: np.array([1.0, 0.0]), USAGE: np.array([0.0, 1.0]), AVAILABILITY: np.zeros(2)}
    columns = np.array([[1.0, model.usage / model.cost], *(parts[name] / _scale(model, name) for name in limits)])
    first, last = ([nodes[end] for nodes in members] for end in (0, -1))
    tables = np.array([table[np.ix_(first, last)] for table in (model.price, model.delay)])
    between = np.where(np.equal.outer(first, last), 0.0, tables)
    together = _together(model, demand, capacity) if priced or flying else ()
    return Traffic(between * np.array([priced, flying])[:, None, None], together, loss, columns, tuple(limits))


def row_losses(traffic: Traffic, operator: Ints, classes: Ints, replicas: Ints, demand: Floats, capacity: Floats) -> Floats:
    """Least part of each choice in the loss of availability: that of a full node, by the share of it that replicas take."""
    sets = np.arange(MASKS)[:, None] >> np.arange(len(capacity)) & 1
    best = np.zeros(operator.size)
    for m in range(demand.shape[1]):
        full = np.divide(traffic.loss, capacity[:, m], out=np.zeros(len(capacity)), where=capacity[:, m] > 0)
        price = np.where(sets == 1, full, np.inf).min(axis=1)
        parts = replicas * demand[operator, m] * price[classes]
        best = parts if parts.sum() > best.sum() else best
    return best


def limited_use(traffic: Traffic, model: EliminationModel, money: Floats, losses: Floats) -> Floats:
    """Use of each limited metric by choices, shape (rows, limits), in parts of the limit."""
    own = {COST: money, USAGE: np.zeros(money.size), AVAILABILITY: losses}
    return np.array([own[name] / _scale(model, name) for name in traffic.limits]).reshape(len(traffic.limits), money.size).T


def _scale(model: EliminationModel, name: str) -> float:
    """The limit with its slack, or 1 where it is 0."""
    return float(model.compiled.limit[name]) * (1 + LIMIT_SLACK) or 1e-300


def _together(model: EliminationModel, demand: Floats, capacity: Floats) -> tuple[Floats, ...]:
    """Pairs of replicas on common nodes at most, of the two operators of each stream; on nodes of whatever class fits more."""
    known: dict[tuple[bytes, int, int], Floats] = {}
    demand = np.where(np.isfinite(demand), demand, 0.0)  # of operators that no number of replicas serves
    pairs = []
    for i, j in zip(model.source, model.target, strict=True):
        senders, receivers = int(model.degrees[i]), int(model.degrees[j])
        if (senders + 1) * (receivers + 1) > MAX_TOGETHER:
            pairs.append(np.outer(np.arange(senders + 1.0), np.arange(receivers + 1.0)))
            continue
        need = np.arange(senders + 1)[:, None, None] * demand[i] + np.arange(receivers + 1)[None, :, None] * demand[j]
        fits = (need[None] <= capacity[:, None, None] + QUOTIENT_USE_SLACK).all(axis=3).any(axis=0)
        key = (fits.tobytes(), senders, receivers)
        if key not in known:
            known[key] = _native.most_together(fits)
        pairs.append(known[key])
    return tuple(pairs)
