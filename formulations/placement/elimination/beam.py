"""Kernels of the label search: expand and gather.

A label is a choice of configurations for the first operators, with its exact arrival times and costs. What it takes of the
nodes follows from its configurations; it is counted where a label is looked at, not kept with it.

Dominance between labels: those that another one is nowhere worse than are removed.

Labels are compared where the operators with open streams have the same configurations. Of two of them, the better one must
leave later operators as much room: it takes no more of a node, or so little that whatever they may need still fits.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from edrp.core.arrays import Floats, Ints, Ints32
from edrp.core.kernels import inlined, inner_loop
from edrp.core.tolerances import EQUAL_AMOUNTS, LIMIT_SLACK
from edrp.formulations.placement.elimination.rules import RuleStage


class BeamLabels(NamedTuple):
    """Labels as arrays, one row each.

    `chosen` (labels, operators) configurations; `finish` (labels, operators, arrivals) seconds, one for all replicas of an
    operator or, where paths run through instances, for each member of its configuration; `rules` (labels, sums of rules);
    `sums` (labels, 6 + flows): objective without response and downtime, money/h, tuples in flight, rent, downtime, latest
    finish of a sink, and for each flow the weighted finish of the sinks.
    """

    chosen: Ints32
    finish: Floats
    rules: Floats
    sums: Floats

    @classmethod
    def empty(cls, count: int, operators: int, arrivals: int, rules: int, flows: int) -> BeamLabels:
        """Room for `count` labels."""
        return cls(
            np.zeros((count, operators), np.int32),
            np.zeros((count, operators, arrivals)),
            np.zeros((count, rules)),
            np.zeros((count, SINK_FLOW + flows)),
        )

    def take(self, rows: Ints) -> BeamLabels:
        """The labels of these rows."""
        return BeamLabels(self.chosen[rows], self.finish[rows], self.rules[rows], self.sums[rows])


FIXED, MONEY, USAGE, RENT, DOWNTIME, SINK, SINK_FLOW = range(7)


class Configurations(NamedTuple):
    """Configurations of all operators one after another; those of operator i are `start[i]:start[i + 1]`.

    `members` (configurations, replicas) padded with -1; `degree`; `latency` seconds; `fixed` objective of the
    replicas (cost, prices, ties, penalties); `cost` money/h; `rent` price of the resources; `downtime` seconds; `tail`
    (configurations, arrivals) minimum of seconds behind the operator, one for all replicas or, where paths run through
    instances, for each member; `places` (configurations, replicas) the candidate of the plan that each member, as
    representative, stands for (-1 if none is left), `anchor` that of the most telling one, which is member `anchor_member`.
    """

    start: Ints
    members: Ints32
    degree: Ints
    latency: Floats
    fixed: Floats
    cost: Floats
    rent: Floats
    downtime: Floats
    tail: Floats
    places: Ints32
    anchor: Ints
    anchor_member: Ints


class OperatorStage(NamedTuple):
    """Placing one operator: its configurations, its streams, and the bounds on what is still to come.

    `own` are the configurations of the operator alone. `tail_*` describe the streams into it:
    source operator, rate. `open_*` are the operators with streams still to come, without this one, and the
    flow out of each, shape (flows, operators), `own_flow` (flows,) that out of this one. `tables` (flows, states)
    are the backward tables after the operator, `constants` (flows,) what belongs to each; `stride` (operators,) and
    `own_stride` lead into it. `early` (flows, …) are the parts of open streams that the tables do not remember, by candidate of
    their sources `early_operator` from `early_start` on; `own_early` (flows, own candidates) those of streams out of this
    operator, and `goes_on` whether the bound counts anything out of it. `rest_*`
    are the least objective and money of the operators still to come. `limits`: response, cost, usage.
    """

    operator: int
    own: Configurations
    tail_source: Ints
    tail_rate: Floats
    open_operator: Ints
    open_flow: Floats
    own_flow: Floats
    is_sink: bool
    remembered: Ints
    stride: Ints
    own_stride: int
    tables: Floats
    rest_fixed: float
    rest_cost: float
    demand: Floats
    capacity: Floats
    nodes: Ints
    limits: Floats
    alpha: float
    money_price: float
    response: float
    weight_downtime: float
    least_downtime: float
    early_operator: Ints
    early_start: Ints
    early: Floats
    own_early: Floats
    goes_on: bool
    constants: Floats
    price_cost: float
    price_usage: float
    rules: RuleStage


class AllConfigurations(NamedTuple):
    """Configurations of all operators, the network, and what a replica takes, (operators, resources)."""

    choices: Configurations
    delay: Floats
    price: Floats
    demand: Floats


class Extensions(NamedTuple):
    """Labels extended by one configuration: the label, the configuration of the stage, and the bound."""

    parent: Ints
    choice: Ints
    bounds: Floats

    @classmethod
    def empty(cls, count: int) -> Extensions:
        """Room for `count` extensions."""
        return cls(np.empty(count, np.int64), np.empty(count, np.int64), np.empty(count))

    def take(self, rows: Ints | slice) -> Extensions:
        """The extensions of these rows."""
        return Extensions(self.parent[rows], self.choice[rows], self.bounds[rows])


class Scratch(NamedTuple):
    """Memory of the kernels: per node, when all streams have arrived and what they cost and occupy; per flow; per extension.

    `flowing` is the cost that open streams bring with them.
    `taken` (nodes, resources) is what a label takes.
    `late` (arrivals,) is when tuples have passed the replicas of a configuration, as in `BeamLabels.finish`.
    """

    ready: Floats
    pay: Floats
    use: Floats
    taken: Floats
    flowing: Floats
    added: Floats
    late: Floats

    @classmethod
    def empty(cls, shape: tuple[int, ...], arrivals: int, flows: int) -> Scratch:
        """Scratch for so many (nodes, resources), arrivals per operator, and flows."""
        ready, pay, use = np.zeros((3, shape[0]))
        return cls(ready, pay, use, np.zeros(shape), np.zeros(flows), np.zeros(3), np.zeros(arrivals))


@inlined
def _arrival_count(labels: BeamLabels, degree: int) -> int:
    """Arrivals of a configuration of so many replicas: one for each, or one for all."""
    return degree if labels.finish.shape[2] > 1 else 1


@inlined
def _arrivals(stage: OperatorStage, configurations: AllConfigurations, labels: BeamLabels, row: int, scratch: Scratch) -> None:
    """Arrival time of all streams, traffic cost and traffic load of each node."""
    own_arrivals = labels.finish.shape[2] > 1
    for a in range(stage.nodes.size):
        v = stage.nodes[a]
        latest, money, usage = 0.0, 0.0, 0.0
        for k in range(stage.tail_source.size):
            i = stage.tail_source[k]
            c = configurations.choices.start[i] + labels.chosen[row, i]
            price, delay = 0.0, 0.0
            for p in range(configurations.choices.degree[c]):
                u = configurations.choices.members[c, p]
                latest = max(latest, labels.finish[row, i, p if own_arrivals else 0] + configurations.delay[u, v])
                price += configurations.price[u, v]
                delay += configurations.delay[u, v]
            share = stage.tail_rate[k] / configurations.choices.degree[c]
            money += share * price
            usage += share * delay
        scratch.ready[v], scratch.pay[v], scratch.use[v] = latest, money, usage


@inlined
def count_taken(configurations: AllConfigurations, labels: BeamLabels, row: int, operators: int, taken: np.ndarray) -> None:
    """What the first so many operators of a label take of each node, shape (nodes, resources), into `taken`."""
    taken[:] = 0.0
    for i in range(operators):
        c = configurations.choices.start[i] + labels.chosen[row, i]
        for p in range(configurations.choices.degree[c]):
            for m in range(taken.shape[1]):
                taken[configurations.choices.members[c, p], m] += configurations.demand[i, m]


@inlined
def _has_room(stage: OperatorStage, taken: np.ndarray, c: int) -> bool:
    resources = stage.demand.size
    run = 0
    for p in range(stage.own.degree[c]):
        u = stage.own.members[c, p]
        run = run + 1 if p > 0 and stage.own.members[c, p - 1] == u else 1
        for m in range(resources):
            if taken[u, m] + run * stage.demand[m] > stage.capacity[u, m] * (1 + LIMIT_SLACK):
                return False
    return True


@inlined
def _rule_price(stage: OperatorStage, labels: BeamLabels, row: int, c: int) -> float:
    """Penalty of rules whose last operator this is; infinite where a rule that must be met no longer can be."""
    rules = stage.rules
    total, worst, group = 0.0, 0.0, -1
    for k in range(rules.row.size):
        value = labels.rules[row, rules.row[k]] + rules.added[c, rules.row[k]]
        for a in range(rules.first[k], rules.first[k + 1]):
            if labels.rules[row, rules.join[a]] + rules.added[c, rules.join[a]] > 0.0:
                value += rules.coefficient[a]
        outside = max(rules.lower[k] - value, value - rules.upper[k])
        if rules.group[k] != group:
            worst, group = 0.0, rules.group[k]
        if outside > worst:
            total += rules.penalty[k] * (outside - worst)
            worst = outside
    return total


@inlined
def _cost_to_go(stage: OperatorStage, k: int, base: int, c: int, scratch: Scratch) -> float:
    """Cost of what has passed the operator under flow k, and of what is still to come.

    The largest over the configuration's replicas, each of which is a valid representative; what ends here, or goes on at no
    cost in the bound, ends at the last.
    """
    pace, last = stage.alpha * stage.own_flow[k], scratch.added[0]
    if not stage.goes_on:
        return pace * last + stage.tables[k, base]
    best = -np.inf
    for p in range(stage.own.degree[c]):
        candidate = stage.own.places[c, p]
        if candidate >= 0:
            finish = last if stage.is_sink or scratch.late.size == 1 else scratch.late[p]
            onward = stage.tables[k, base + candidate * stage.own_stride] + stage.own_early[k, candidate]
            best = max(best, pace * finish + onward)
    return best


@inlined
def _extend(stage: OperatorStage, c: int, scratch: Scratch) -> None:
    """Last finish, money and usage that configuration c adds, into `scratch.added`, and finish times into `scratch.late`."""
    latest, money, usage = 0.0, 0.0, 0.0
    for p in range(stage.own.degree[c]):
        v = stage.own.members[c, p]
        latest = max(latest, scratch.ready[v])
        money += scratch.pay[v]
        usage += scratch.use[v]
        if p < scratch.late.size:
            scratch.late[p] = scratch.ready[v] + stage.own.latency[c]
    scratch.added[0] = latest + stage.own.latency[c]
    if scratch.late.size == 1:
        scratch.late[0] = scratch.added[0]
    scratch.added[1] = money / stage.own.degree[c]
    scratch.added[2] = usage / stage.own.degree[c]


@inner_loop
def expand(
    stage: OperatorStage,
    configurations: AllConfigurations,
    labels: BeamLabels,
    rows: tuple[int, int],
    cutoff: float,
    extensions: Extensions,
    filled: int,
    scratch: Scratch,
) -> tuple[int, int]:
    """Extend the labels of a range of rows by every configuration whose bound is at most `cutoff`.

    Writes to `extensions` from `filled` on; returns how far they are filled and the next label, which is below the end
    of the range when there was no room for another label's extensions.
    """
    flowing = scratch.flowing
    row, last = rows
    while row < last and filled + stage.own.degree.size <= extensions.parent.size:
        _arrivals(stage, configurations, labels, row, scratch)
        count_taken(configurations, labels, row, stage.operator, scratch.taken)
        base = 0
        for k in range(stage.remembered.size):
            i = stage.remembered[k]
            base += configurations.choices.anchor[configurations.choices.start[i] + labels.chosen[row, i]] * stage.stride[k]
        latest = labels.sums[row, SINK]
        for f in range(flowing.size):
            flowing[f] = labels.sums[row, SINK_FLOW + f]
        for k in range(stage.open_operator.size):
            i = stage.open_operator[k]
            chosen = configurations.choices.start[i] + labels.chosen[row, i]
            for p in range(_arrival_count(labels, configurations.choices.degree[chosen])):
                latest = max(latest, labels.finish[row, i, p] + configurations.choices.tail[chosen, p])
            for f in range(flowing.size):
                flowing[f] += stage.open_flow[f, k] * labels.finish[row, i, configurations.choices.anchor_member[chosen]]
        for f in range(flowing.size):
            flowing[f] *= stage.alpha
            for k in range(stage.early_operator.size):
                i = stage.early_operator[k]
                candidate = configurations.choices.anchor[configurations.choices.start[i] + labels.chosen[row, i]]
                flowing[f] += stage.early[f, stage.early_start[k] + candidate]
        for c in range(stage.own.degree.size):
            _extend(stage, c, scratch)
            bound = _bound(stage, labels, row, c, scratch, base, latest, cutoff)
            if bound <= cutoff and _has_room(stage, scratch.taken, c):
                extensions.parent[filled] = row
                extensions.choice[filled] = c
                extensions.bounds[filled] = bound
                filled += 1
        row += 1
    return filled, row


@inlined
def _bound(
    stage: OperatorStage, labels: BeamLabels, row: int, c: int, scratch: Scratch, base: int, latest: float, cutoff: float
) -> float:
    """Lower bound on every completion: averaged over each flow, and by the slowest path; infinite if a limit breaks."""
    added, flowing = scratch.added, scratch.flowing
    money, usage = labels.sums[row, MONEY] + added[1] + stage.own.cost[c], labels.sums[row, USAGE] + added[2]
    slowest = latest
    for p in range(_arrival_count(labels, stage.own.degree[c])):
        slowest = max(slowest, scratch.late[p] + stage.own.tail[c, p])
    if (
        slowest > stage.limits[0] * (1 + LIMIT_SLACK)
        or money + stage.rest_cost > stage.limits[1] * (1 + LIMIT_SLACK)
        or usage > stage.limits[2] * (1 + LIMIT_SLACK)
    ):
        return np.inf
    fixed = labels.sums[row, FIXED] + stage.own.fixed[c] + stage.price_cost * added[1] + stage.price_usage * added[2]
    fixed += _rule_price(stage, labels, row, c)
    downtime = max(labels.sums[row, DOWNTIME], stage.own.downtime[c])
    late = max(downtime, stage.least_downtime)
    simple = fixed + stage.rest_fixed + stage.response * slowest + stage.weight_downtime * late
    if simple > cutoff:
        return simple
    common = fixed + (stage.money_price - stage.price_cost) * money + labels.sums[row, RENT] + stage.own.rent[c]
    common += stage.weight_downtime * (late - stage.least_downtime)
    best = simple
    for k in range(flowing.size):
        best = max(best, common + stage.constants[k] + flowing[k] + _cost_to_go(stage, k, base, c, scratch))
        if best > cutoff:
            break
    return best


@inner_loop
def gather(
    stage: OperatorStage,
    configurations: AllConfigurations,
    labels: BeamLabels,
    extensions: Extensions,
    target: BeamLabels,
    scratch: Scratch,
) -> None:
    """Write the extended labels (sorted by parent) to `target`."""
    parent, choice, out = extensions.parent, extensions.choice, scratch.added
    for k in range(parent.size):
        row, c = parent[k], choice[k]
        if k == 0 or parent[k - 1] != row:
            _arrivals(stage, configurations, labels, row, scratch)
        for i in range(stage.operator):
            target.chosen[k, i] = labels.chosen[row, i]
            for p in range(labels.finish.shape[2]):
                target.finish[k, i, p] = labels.finish[row, i, p]
        for a in range(stage.rules.added.shape[1]):
            target.rules[k, a] = labels.rules[row, a] + stage.rules.added[c, a]
        for a in range(labels.sums.shape[1]):
            target.sums[k, a] = labels.sums[row, a]
        _extend(stage, c, scratch)
        target.chosen[k, stage.operator] = c
        for p in range(_arrival_count(labels, stage.own.degree[c])):
            target.finish[k, stage.operator, p] = scratch.late[p]
        target.sums[k, FIXED] += stage.own.fixed[c] + stage.price_cost * out[1] + stage.price_usage * out[2]
        target.sums[k, FIXED] += _rule_price(stage, labels, row, c)
        target.sums[k, MONEY] += stage.own.cost[c] + out[1]
        target.sums[k, USAGE] += out[2]
        target.sums[k, RENT] += stage.own.rent[c]
        target.sums[k, DOWNTIME] = max(target.sums[k, DOWNTIME], stage.own.downtime[c])
        if stage.is_sink:
            target.sums[k, SINK] = max(target.sums[k, SINK], out[0])
            for f in range(stage.own_flow.size):
                target.sums[k, SINK_FLOW + f] += stage.own_flow[f] * out[0]


MAX_COMPARED = 100
"""Labels that each label is compared with: marking fewer is slower later, never wrong."""


class Comparison(NamedTuple):
    """What matters of labels after an operator, and room for the kernel.

    `frontier`: operators with open streams. `pending`: sums of rules that still matter. `nodes`: those that later operators may
    use, `free` (nodes, resources) how much may be taken there without being in their way. `taken`: what one label takes, shape
    (all nodes, resources). `recent` (`MAX_COMPARED`,), `recent_taken` (`MAX_COMPARED`, nodes, resources): labels that others
    are compared with, and what they take of `nodes`.
    """

    operators: int
    frontier: Ints
    pending: Ints
    nodes: Ints
    free: Floats
    taken: Floats
    recent: Ints
    recent_taken: Floats

    @classmethod
    def after(cls, operators: int, frontier: Ints, pending: Ints, capacity: Floats, later: Floats) -> Comparison:
        """Comparison of labels of so many operators; `later` (nodes, resources) is the most that others may add."""
        nodes = np.flatnonzero((later > 0).any(axis=1))
        recent_taken = np.zeros((MAX_COMPARED, nodes.size, capacity.shape[1]))
        free = (capacity - later)[nodes]
        return cls(
            operators, frontier, pending, nodes, free, np.zeros_like(capacity), np.zeros(MAX_COMPARED, np.int64), recent_taken
        )


@inner_loop
def hash_labels(labels: BeamLabels, comparison: Comparison, keys: np.ndarray) -> None:
    """One number per label from its frontier configurations and its sums of rules that still matter."""
    for row in range(keys.size):
        key = np.uint64(1469598103934665603)
        for k in range(comparison.frontier.size):
            key = (key ^ np.uint64(labels.chosen[row, comparison.frontier[k]] + 1)) * np.uint64(1099511628211)
        for k in range(comparison.pending.size):
            key = (key ^ np.uint64(np.int64(labels.rules[row, comparison.pending[k]] * 1e6 + 0.5))) * np.uint64(1099511628211)
        keys[row] = key


@inlined
def _dominates(labels: BeamLabels, comparison: Comparison, a: int, b: int, slot: int, own: int) -> bool:
    """Whether label a, whose use stands at `slot`, is nowhere worse than label b, whose use stands at `own`."""
    for k in (FIXED, MONEY, USAGE, DOWNTIME, SINK):
        if labels.sums[a, k] > labels.sums[b, k]:
            return False
    for k in range(comparison.frontier.size):
        i = comparison.frontier[k]
        if labels.chosen[a, i] != labels.chosen[b, i]:
            return False
        for p in range(labels.finish.shape[2]):
            if labels.finish[a, i, p] > labels.finish[b, i, p]:
                return False
    for k in range(comparison.nodes.size):
        for m in range(comparison.free.shape[1]):
            mine, other = comparison.recent_taken[slot, k, m], comparison.recent_taken[own, k, m]
            if mine > other * (1 + EQUAL_AMOUNTS) and mine > comparison.free[k, m]:
                return False
    for k in range(comparison.pending.size):
        mine, other = labels.rules[a, comparison.pending[k]], labels.rules[b, comparison.pending[k]]
        if abs(mine - other) > EQUAL_AMOUNTS * abs(other):
            return False
    return True


@inner_loop
def mark_dominated(
    configurations: AllConfigurations,
    labels: BeamLabels,
    order: np.ndarray,
    keys: np.ndarray,
    comparison: Comparison,
    dominated: np.ndarray,
) -> None:
    """Mark labels that another of equal key is nowhere worse than; `order` sorts by key, then objective.

    Each is compared with the last that were not dominated.
    """
    recent, room = comparison.recent, comparison.recent.size
    begin = count = 0
    for k in range(order.size):
        row = order[k]
        if keys[row] != keys[order[begin]]:
            begin, count = k, 0
        count_taken(configurations, labels, row, comparison.operators, comparison.taken)
        own = count % room
        for a in range(comparison.nodes.size):
            for m in range(comparison.free.shape[1]):
                comparison.recent_taken[own, a, m] = comparison.taken[comparison.nodes[a], m]
        for slot in range(min(count, room)):
            if slot != own and _dominates(labels, comparison, recent[slot], row, slot, own):
                dominated[row] = True
                break
        if not dominated[row]:
            recent[own] = row
            count += 1
