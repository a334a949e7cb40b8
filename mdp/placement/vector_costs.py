"""Costs of vectors of replicas in the periods of a sequence, where nothing but their numbers counts.

Loads are linear in the external rates, so that the latencies of all periods are computed at once. Operators in a row share an
axis of the grid; the response time is the longest path over these chains, for all vectors at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce

import numpy as np

from edrp.core.arrays import Bools, Floats, Ints, flattened
from edrp.core.budget import look, spend
from edrp.core.errors import Fault, InvalidInstanceError
from edrp.core.tolerances import LIMIT_SLACK, MIN_SPARE_CAPACITY
from edrp.mdp.placement.vector_course import outer_sum
from edrp.placement.compilation import compile_problem
from edrp.placement.compiled import Compiled
from edrp.placement.latency import MAX_LATENCY, CapacityCurveLatency, LatencyModel, Mm1Latency, PolynomialLatency
from edrp.placement.sequence import EdrpSequence

CELL_UNITS = 6e-9
"""Units of work per period and vector of a response time and a cost."""

MAX_PATHS = 128
"""Maximum number of paths through the application of which a lower bound on the response time may be a mean."""

LOAD_UNITS = 2e-7
"""Units of work per period and operator, and per period, operator and number of replicas."""


@dataclass(frozen=True)
class VectorCosts:
    """Costs of vectors of replicas over periods; operators in the order of `chains`, one after the other.

    Attributes
    ----------
    chains : numbers of operators in a row, by the index of the operator in the compiled problem.
    before : for each chain those that lead to it; chains are in topological order.
    replicas : numbers of replicas that each operator may have, ascending.
    latency : seconds of each operator, shape (periods, numbers of replicas).
    money : shape (operators,), money/h of a replica.
    response_weight, money_weight, constant : shape (periods,), seconds of the objective per second of response time, per money/h,
        and whatever the vector.
    response_limit, money_limit : shape (periods,), infinite for none.
    need, room : shapes (operators, resources) and (resources,), what a replica needs and what there is.
    """

    chains: tuple[tuple[int, ...], ...]
    before: tuple[tuple[int, ...], ...]
    replicas: tuple[Ints, ...]
    latency: tuple[Floats, ...]
    money: Floats
    response_weight: Floats
    money_weight: Floats
    constant: Floats
    response_limit: Floats
    money_limit: Floats
    need: Floats
    room: Floats

    @property
    def order(self) -> list[int]:
        """Index of each operator in the compiled problem."""
        return [i for chain in self.chains for i in chain]

    def narrowed(self, keep: Sequence[Bools]) -> VectorCosts:
        """The same with fewer numbers of replicas of each operator."""
        replicas = tuple(numbers[kept] for numbers, kept in zip(self.replicas, keep, strict=True))
        return replace(self, replicas=replicas, latency=tuple(t[:, kept] for t, kept in zip(self.latency, keep, strict=True)))

    @cached_property
    def prices(self) -> Floats:
        """Money/h of each vector, shape (vectors,)."""
        return outer_sum([money * numbers for money, numbers in zip(self.money, self.replicas, strict=True)])

    @cached_property
    def unfit(self) -> Bools:
        """Which vectors find no room, shape (vectors,)."""
        unfit = np.zeros(self.prices.size, bool)
        for need, room in zip(self.need.T, self.room, strict=True):
            if np.isfinite(room):
                used = outer_sum([amount * numbers for amount, numbers in zip(need, self.replicas, strict=True)])
                unfit |= used > room * (1 + LIMIT_SLACK)
        return unfit

    def longest(self, own: Sequence[Floats]) -> Floats:
        """The response time from the latency of each chain, in arrays that fit together; infinite where one is."""
        ends, finish = set(range(len(own))), list[Floats]()
        for latency, before in zip(own, self.before, strict=True):
            ready: Floats | float = 0.0
            for chain in before:
                ready = np.maximum(ready, finish[chain])
            finish.append(ready + latency)
            ends -= set(before)
        return reduce(np.maximum, [finish[chain] for chain in sorted(ends)])

    @cached_property
    def impossible(self) -> bool:
        """Whether a period breaks a limit even with the fastest number of replicas of each operator, or with the fewest."""
        fastest, parts = iter([table.min(axis=1, initial=np.inf) for table in self.latency]), list[Floats]()
        for chain in self.chains:
            parts.append(np.sum([next(fastest) for _ in chain], axis=0))
        fewest = np.array([numbers[0] for numbers in self.replicas], float)
        slack = 1 + LIMIT_SLACK
        late = (self.longest(parts) > self.response_limit * slack).any()
        dear = (fewest @ self.money > self.money_limit * slack).any()
        return bool(late or dear or (fewest @ self.need > self.room * slack).any())

    @cached_property
    def paths(self) -> Floats:
        """Which operators are on a path, shape (paths, operators); only the first of very many paths."""
        leads = [[k for k, before in enumerate(self.before) if chain in before] for chain in range(len(self.chains))]
        ends = np.cumsum([len(chain) for chain in self.chains])
        stack = [(chain, np.zeros(ends[-1])) for chain, before in enumerate(self.before) if not before]
        rows: list[Floats] = []
        while stack and len(rows) < MAX_PATHS:
            chain, path = stack.pop()
            row = path.copy()
            row[ends[chain] - len(self.chains[chain]) : ends[chain]] = 1.0
            stack += [(following, row) for following in leads[chain]]
            if not leads[chain]:
                rows.append(row)
        return np.array(rows)

    def response_times(self, begin: int, end: int) -> Floats:
        """Seconds of each vector, infinite where a replica is overloaded, shape (periods, vectors)."""
        tables, count = iter([table[begin:end] for table in self.latency]), len(self.chains)
        own = [outer_sum([next(tables) for _ in chain]) for chain in self.chains]
        sizes = [table.shape[1] for table in own]
        spread = [t.reshape(end - begin, *(sizes[k] if axis == k else 1 for axis in range(count))) for k, t in enumerate(own)]
        longest = self.longest(spread)
        return flattened(np.array(np.broadcast_to(longest, (end - begin, *sizes)), order="C"))

    def stages(self, begin: int, end: int) -> Floats:
        """Costs in seconds of the objective, infinite where a limit is broken, shape (periods, vectors)."""
        total = self.response_times(begin, end)
        spend(CELL_UNITS * total.size)
        late = total > self.response_limit[begin:end, None] * (1 + LIMIT_SLACK)
        if self.response_weight[0] > 0:
            total *= self.response_weight[begin:end, None]
        else:
            total[np.isfinite(total)] = 0.0
        total += self.money_weight[begin:end, None] * self.prices
        total += self.constant[begin:end, None]
        total[late] = np.inf
        total[:, self.unfit] = np.inf
        if np.isfinite(self.money_limit[begin:end]).any():
            total[self.prices > self.money_limit[begin:end, None] * (1 + LIMIT_SLACK)] = np.inf
        return total


def vector_costs(problem: EdrpSequence) -> VectorCosts:
    """Compute what vectors cost in the periods of a sequence on one node or on equal nodes.

    Raises
    ------
    InvalidInstanceError
        When a latency model gives a negative latency at a load that a replica may get.
    """
    compiled = compile_problem(problem.base)
    look("the costs of vectors of replicas", LOAD_UNITS * len(problem.periods) * len(compiled.operators))
    chains, before = _chains(compiled)
    order = [i for chain in chains for i in chain]
    loads, tables, replicas = operator_loads(problem, compiled.operators), [], []
    need, room = compiled.demand[order], node_room(compiled)
    spare = room - compiled.min_replicas[order] @ np.where(np.isfinite(room), need, 0.0)
    for i, own in zip(order, need, strict=True):
        least, most = int(compiled.min_replicas[i]), int(compiled.max_replicas[i])
        more = np.divide(spare * (1 + LIMIT_SLACK), own, out=np.full(own.size, np.inf), where=own > 0).min(initial=np.inf)
        most = int(min(most, max(least, np.floor(least + more) + 1)))  # one more, for what rounding leaves to the mask
        numbers = np.arange(least, most + 1)
        table = operator_latencies(problem, compiled.operators[i], loads[:, i], numbers, float(compiled.speedup[0]))
        stable = np.isfinite(table).any(axis=0)
        tables.append(np.ascontiguousarray(table[:, stable]))
        replicas.append(numbers[stable])
    duration = np.array([period.duration for period in problem.periods])
    unavailable = float(compiled.node_loss[0])
    limits = [problem.limits if period.limits is None else period.limits for period in problem.periods]
    required = np.array([np.inf if limit.availability is None else -np.log(limit.availability) for limit in limits])
    constant = duration * compiled.weight["availability"] * unavailable
    return VectorCosts(
        chains=chains,
        before=before,
        replicas=tuple(replicas),
        latency=tuple(tables),
        money=compiled.replica_cost[order],
        response_weight=duration * compiled.weight["response_time"],
        money_weight=duration * compiled.weight["cost"],
        constant=np.where(unavailable > required * (1 + LIMIT_SLACK), np.inf, constant),
        response_limit=np.array([np.inf if limit.response_time is None else limit.response_time for limit in limits]),
        money_limit=np.array([np.inf if limit.cost is None else limit.cost for limit in limits]),
        need=need,
        room=room,
    )


def node_slots(compiled: Compiled) -> float:
    """Replicas for which one of several equal nodes has room, where all need the same; infinite for no limit."""
    slots = np.divide(
        compiled.capacity[0], compiled.demand[0], out=np.full(len(compiled.resources), np.inf), where=compiled.demand[0] > 0
    )
    return float(np.floor(slots * (1 + LIMIT_SLACK)).min(initial=np.inf))


def node_room(compiled: Compiled) -> Floats:
    """Amount of each resource for whole replicas, shape (resources,)."""
    if len(compiled.nodes) == 1:
        return compiled.capacity[0]
    slots = len(compiled.nodes) * node_slots(compiled)
    return np.where(compiled.demand[0] > 0, slots * np.maximum(compiled.demand[0], np.finfo(float).tiny), np.inf)


def _chains(compiled: Compiled) -> tuple[tuple[tuple[int, ...], ...], tuple[tuple[int, ...], ...]]:
    """Operators in a row, in topological order, and for each row those that lead to it."""
    streams = list(zip(compiled.stream_source.tolist(), compiled.stream_target.tolist(), strict=True))
    sources: dict[int, list[int]] = {i: [] for i in range(len(compiled.operators))}
    targets: dict[int, list[int]] = {i: [] for i in range(len(compiled.operators))}
    for source, target in streams:
        sources[target].append(source)
        targets[source].append(target)
    chains: list[list[int]] = []
    chain_of: dict[int, int] = {}
    for i in range(len(compiled.operators)):  # in topological order
        alone = len(sources[i]) != 1 or len(targets[sources[i][0]]) != 1
        chain_of[i] = len(chains) if alone else chain_of[sources[i][0]]
        if alone:
            chains.append([])
        chains[chain_of[i]].append(i)
    before = tuple(tuple(sorted({chain_of[source] for source in sources[chain[0]]})) for chain in chains)
    return tuple(tuple(chain) for chain in chains), before


def operator_loads(problem: EdrpSequence, operators: Sequence[str]) -> Floats:
    """Tuples/s into each operator in each period, shape (periods, operators); operators in topological order."""
    application, periods = problem.application, len(problem.periods)
    position = {name: i for i, name in enumerate(operators)}
    loads = np.tile([application.by_name[name].external_rate for name in operators], (periods, 1))
    for t, period in enumerate(problem.periods):
        for name, rate in period.external_rates.items():
            loads[t, position[name]] = rate
    outgoing: dict[str, list[tuple[int, float | None]]] = {name: [] for name in operators}
    for stream in application.streams:
        outgoing[stream.source].append((position[stream.target], stream.rate))
    for i, name in enumerate(operators):
        for target, given in outgoing[name]:
            loads[:, target] += application.by_name[name].selectivity * loads[:, i] if given is None else given
    return loads


def operator_latencies(problem: EdrpSequence, operator: str, loads: Floats, replicas: Ints, speedup: float = 1.0) -> Floats:
    """Seconds on nodes of a speed-up by load and number of replicas, shape (loads, replicas); infinite where overloaded.

    Raises
    ------
    InvalidInstanceError
        When the operator's model gives a negative latency.
    """
    spend(LOAD_UNITS * loads.size * replicas.size)
    model = problem.application.by_name[operator].latency
    if model is None:
        return np.zeros((loads.size, replicas.size))
    rates = loads[:, None] / replicas
    latencies = _latencies(model, rates, replicas)
    if speedup < 1 and not isinstance(model, PolynomialLatency):  # of which slow nodes serve less
        latencies[np.isinf(_latencies(model, rates / speedup, replicas))] = np.inf
    if (latencies < 0).any():
        t, k = np.argwhere(latencies < 0)[0]
        place = next(i for i, described in enumerate(problem.application.operators) if described.name == operator)
        why = f"is negative at {loads[t] / replicas[k]:.6g} tuples/s, in periods[{t}]; fit it over that load"
        raise InvalidInstanceError([Fault(f"application.operators[{place}].latency", f"{latencies[t, k]:.6g} s", why)])
    return latencies / speedup


def _latencies(model: LatencyModel, rates: Floats, replicas: Ints) -> Floats:
    """Seconds at the rates of single replicas, shape (loads, replicas); see the models' `at`."""
    if isinstance(model, PolynomialLatency):
        value = np.polynomial.polynomial.polyval(rates, model.coefficients)
        return np.where(np.abs(value) <= MAX_LATENCY, value, np.inf)
    if isinstance(model, Mm1Latency | CapacityCurveLatency):
        served = np.array([model.true_rate(int(n)) for n in replicas])
        spare = served - rates
        least = MIN_SPARE_CAPACITY * served if isinstance(model, CapacityCurveLatency) else -np.inf
        stable = (spare * MAX_LATENCY >= 1.0) & (spare > least)
        return np.divide(1.0, spare, out=np.full(rates.shape, np.inf), where=stable)
    return np.where(rates > model.rates[-1], np.inf, np.interp(rates, model.rates, model.latencies))
