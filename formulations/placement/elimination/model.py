"""The problem as the elimination method sees it: operators in search order, objective coefficients, prices.

The method rests on one inequality. For any unit source–sink flow f on the streams, any prices π ≥ 0 on
node capacities and ν, μ ≥ 0 on the limits of response time and cost, and one representative node u_i per
operator (some node that runs it),

    objective ≥ Σ_i t_i(u_i) + Σ_e [α f_e delay(u_i, u_j) + p_e(u_i, u_j)] − Σ_u π_u capacity_u − ν − μ + w_d T

with t_i the cheapest admissible number of replicas at that node. A maximum over paths is at least an
average, and replicas beyond the representative enter by themselves: replication disappears from the bound. It holds for paths
through operators, where every stream takes as long as its slowest pair of replicas, and for paths through instances alike.

What a replica pays by itself, for the resources of its node at prices π and, where the arrays have them, by `replica_prices`,
is counted where it is known: at the representative's node for the replicas there, at the cheapest nodes for the others. Such
prices may be negative, so that a further replica pays; nothing here takes the objective for positive.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from edrp.core.arrays import Bools, Floats, Ints, Ints32
from edrp.core.tolerances import TIE_COST, TIE_NODE
from edrp.formulations.placement.elimination.rules import OrderedRules
from edrp.placement.compiled import NO_NODE, Compiled, change_by_blocks
from edrp.placement.metrics import NetworkUsage
from edrp.placement.reconfiguration import downtime_floor
from edrp.placement.scales import cost_scale


@dataclass(frozen=True)
class EliminationModel:
    """Arrays over operators in search order i, streams e, nodes u, resources m (normalised).

    Attributes
    ----------
    order : operator of the compiled problem at each place of the search order.
    source, target, rate : streams between places, sorted by target.
    latency : shape (operators, 1 + most replicas), reference seconds.
    degrees : largest stable number of replicas.
    response, cost, downtime, usage : objective per second, money/h, second and tuple.
    limits : of response time, cost, downtime and network usage; infinite for none.
    delay, price : shape (nodes, nodes); seconds and money/h per tuple/s, 0 where no stream may go.
    demand, capacity : in units of each resource's mean capacity.
    downtime_least : shape (operators, nodes), least downtime in seconds of any configuration on that node.
    replica_prices : shape (operators, 1 + most replicas, nodes), objective of a replica by the number of all, or None.
    """

    compiled: Compiled
    order: Ints
    source: Ints
    target: Ints
    rate: Floats
    latency: Floats
    degrees: Ints
    candidate: Bools
    speedup: Floats
    replica_cost: Floats
    demand: Floats
    capacity: Floats
    delay: Floats
    price: Floats
    response: float
    cost: float
    downtime: float
    usage: float
    limits: Floats
    downtime_least: Floats
    replica_prices: Floats | None = None

    @property
    def operators(self) -> int:
        """Number of operators."""
        return len(self.order)

    @property
    def nodes(self) -> int:
        """Number of nodes."""
        return len(self.speedup)

    def reordered(self, order: Ints) -> EliminationModel:
        """Return the model with its operators in another topological order."""
        position = np.empty_like(order)
        position[order] = np.arange(order.size)
        source, target = position[self.source], position[self.target]
        streams = np.lexsort((source, target))
        return replace(
            self,
            order=self.order[order],
            source=source[streams],
            target=target[streams],
            rate=self.rate[streams],
            latency=self.latency[order],
            degrees=self.degrees[order],
            candidate=self.candidate[order],
            replica_cost=self.replica_cost[order],
            demand=self.demand[order],
            downtime_least=self.downtime_least[order],
            replica_prices=None if self.replica_prices is None else self.replica_prices[order],
        )

    @cached_property
    def incoming(self) -> list[Ints]:
        """Streams into each operator."""
        return [np.flatnonzero(self.target == i) for i in range(self.operators)]

    @cached_property
    def outgoing(self) -> list[Ints]:
        """Streams out of each operator."""
        return [np.flatnonzero(self.source == i) for i in range(self.operators)]

    @cached_property
    def stable(self) -> Bools:
        """Whether replicas on each node are stable by their number in all, shape (operators, nodes, 1 + most replicas)."""
        enough = np.arange(self.latency.shape[1]) >= self.compiled.fewest_replicas[self.order][:, :, None]
        return np.asarray(enough & np.isfinite(self.latency)[:, None])

    @cached_property
    def rules(self) -> OrderedRules:
        """Rules over operators in search order."""
        return OrderedRules(self.compiled.rules, self.order, self.nodes)

    @cached_property
    def seat_prices(self) -> Floats:
        """Penalty of operators with all their replicas on one node, infinite where a rule forbids it.

        Shape (operators, nodes, 1 + most replicas), as seats are numbered; 0 where replicas are split.
        """
        operators, nodes, most = self.operators, self.nodes, self.latency.shape[1] - 1
        prices = np.zeros((operators, nodes, most + 1))
        for replicas in range(1, most + 1):
            members = np.repeat(np.arange(nodes, dtype=np.int32)[:, None], replicas, axis=1)
            for i, rules in self.rules.own.items():
                prices[i, :, replicas - 1] = rules.prices(int(self.order[i]), members)
        return prices

    def priced(self, place: int, members: Ints32) -> Floats:
        """Objective of the replicas of configurations of the operator at a place by their prices, shape (configurations,)."""
        if self.replica_prices is None:
            return np.zeros(len(members))
        used = members != NO_NODE
        prices = self.replica_prices[place, used.sum(axis=1)[:, None], members]
        return np.asarray(np.where(used, prices, 0.0).sum(axis=1))

    @property
    def instance_paths(self) -> bool:
        """Whether paths run through replicas, instead of taking the slowest pair of every stream."""
        return self.compiled.instance_paths

    def tie_order(self, place: int) -> Floats:
        """Objective of a replica of the operator at `place` on each node, by the order of the document alone."""
        return TIE_NODE * (int(self.order[place]) + 1) / self.operators * np.arange(1, self.nodes + 1) / self.nodes

    def pair_price(self, stream: int, cost: float) -> Floats | None:
        """Objective of the whole stream flowing between two nodes at `cost` per money/h; None if always 0."""
        if not ((cost > 0 and self.price.any()) or self.usage > 0):
            return None
        return np.asarray(self.rate[stream] * (cost * self.price + self.usage * self.delay))

    def pair_discount(self, stream: int) -> float:
        """Least share of a stream that flows between two nodes that both of its ends run on.

        With one end fixed to a node the representative of the other is drawn in proportion to its
        replicas; what then is certain is one replica's share of the fixed end.
        """
        return 1.0 / max(self.degrees[self.source[stream]], self.degrees[self.target[stream]])


def build_model(compiled: Compiled) -> EliminationModel:
    """Build the model, operators in an order with a small frontier."""
    n = len(compiled.operators)
    finite = np.where(np.isfinite(compiled.capacity), compiled.capacity, np.nan)
    scale = np.ones(len(compiled.resources))
    for m in range(scale.size):
        positive = finite[:, m][finite[:, m] > 0]
        scale[m] = positive.mean() if positive.size else 1.0
    limit = compiled.limit
    stable = np.isfinite(compiled.latency)
    model = EliminationModel(
        compiled=compiled,
        order=np.arange(n),
        source=compiled.stream_source,
        target=compiled.stream_target,
        rate=compiled.stream_rate,
        latency=compiled.latency,
        degrees=np.array([np.flatnonzero(row).max(initial=0) for row in stable]),
        candidate=compiled.candidate,
        speedup=compiled.speedup,
        replica_cost=compiled.replica_cost,
        demand=compiled.demand / scale,
        capacity=compiled.capacity / scale,
        delay=change_by_blocks(compiled.delay, lambda delay: np.where(np.isfinite(delay), delay, 0.0)),
        price=compiled.link_cost,
        response=compiled.weight["response_time"],
        cost=compiled.weight["cost"] + TIE_COST / cost_scale(compiled),
        downtime=compiled.weight["downtime"],
        usage=compiled.weight[NetworkUsage.name],
        limits=np.array([limit[name] for name in ("response_time", "cost", "downtime", NetworkUsage.name)]),
        downtime_least=least_downtime(compiled),
        replica_prices=compiled.replica_prices,
    )
    return model.reordered(narrow_order(model))


def least_downtime(compiled: Compiled) -> Floats:
    """Lower bound on the downtime if an operator runs on a node at all, shape (operators, nodes), seconds.

    0 where it runs now. Elsewhere some replica starts on the node and takes at least a share of the state; of all pairs of a
    node that runs the operator now and this one, the slowest decides (EDRP, eqs. 26–27; Storm, eq. 35).
    """
    n, nodes = compiled.candidate.shape
    if compiled.current is None:
        return np.zeros((n, nodes))
    trip = 2 * compiled.store_delay
    running = compiled.current > 0
    share = compiled.state_size[:, None] / compiled.max_replicas[:, None]
    download = trip + share / compiled.store_bandwidth
    upload = np.array([trip[row].max() for row in running])[:, None]
    if compiled.storm:
        code = np.where(running.any(axis=0), 0.0, trip + compiled.code_size.sum() / compiled.store_bandwidth)[None]
        before = code + upload
    else:
        before = np.maximum(trip + compiled.code_size[:, None] / compiled.store_bandwidth, upload)
    elsewhere = compiled.synchronisation_time + before + download + compiled.spawn_time
    return np.where(running, 0.0, np.maximum(elsewhere, downtime_floor(compiled)))


def narrow_order(model: EliminationModel) -> Ints:
    """Topological order with a small frontier: the best of several randomised greedy ones (always the same).

    Operators without streams come first: while none waits for another, they widen nothing.
    """
    generator = np.random.default_rng(0)
    best: tuple[int, int] | None = None
    chosen = np.arange(model.operators)
    for attempt in range(30):
        order, width = _greedy_order(model, generator if attempt else None)
        if best is None or width < best:
            best, chosen = width, order
        if best == (0, 0):  # no operator waits for another
            break
    return chosen


def _greedy_order(model: EliminationModel, generator: np.random.Generator | None) -> tuple[Ints, tuple[int, int]]:
    waiting = np.array([len(streams) for streams in model.incoming])
    open_ends = np.array([len(streams) for streams in model.outgoing])
    closing = np.zeros(model.operators, np.int64)  # operators before each one that nothing else waits for
    np.add.at(closing, model.target, open_ends[model.source] == 1)
    alone = (waiting == 0) & (open_ends == 0)
    ready = list(np.flatnonzero((waiting == 0) & ~alone))
    order: list[int] = np.flatnonzero(alone).tolist()
    widest = total = width = 0
    while ready:
        growth = (open_ends[ready] > 0) - closing[ready]
        i = ready.pop(int(np.argmin(growth if generator is None else growth + 0.9 * generator.random(len(ready)))))
        order.append(int(i))
        for e in model.incoming[i]:
            before = model.source[e]
            open_ends[before] -= 1
            width -= open_ends[before] == 0
            if open_ends[before] == 1:
                np.add.at(closing, model.target[model.outgoing[before]], 1)
        width += open_ends[i] > 0
        for e in model.outgoing[i]:
            waiting[model.target[e]] -= 1
            if waiting[model.target[e]] == 0:
                ready.append(model.target[e])
        widest, total = max(widest, width), total + width
    return np.array(order, np.int64), (int(widest), int(total))
