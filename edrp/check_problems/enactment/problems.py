"""Problems of enactment on which methods are checked, with optima by brute force from the documents alone.

It shares no table and no algorithm with the methods that it checks.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from edrp.check_problems.base import CheckProblems, EnumeratedCheckProblems
from edrp.core.document import named_resources
from edrp.core.tolerances import LIMIT_SLACK
from edrp.datasets.enactment.manufacturing import PATTERNS, manufacturing_scenario
from edrp.datasets.families.enactment.enactment_families import (
    random_consolidation,
    random_enactment_problem,
    random_leasing_problem,
)
from edrp.enactment.containers import ContainerOperator, Host, HostType
from edrp.enactment.leasing import LeasingProblem, PlannedHost
from edrp.enactment.scenario import EnactmentScenario
from edrp.enactment.snapshot import EnactmentProblem

State = tuple[tuple[int, ...], tuple[int, ...]]
"""Hosts of each type, and instances of each operator on all of them."""

Content = tuple[str, str, tuple[int, ...]]
"""Name of a host that runs now or "", its type, and instances of each operator on it."""

Layer = dict[State, tuple[float, tuple[Content, ...]]]
"""For each state of a number of hosts, the least price of what starts, and a decision that reaches it."""


def brute_force_enactment(problem: EnactmentProblem) -> tuple[float | None, tuple[Host, ...]]:
    """Least objective over all decisions, and a decision that reaches it.

    Hosts are added one at a time, with every content that fits. Decisions with the same hosts and the same instances in
    all are worth the same, but for what starts, so that one of them goes on. It ends when hosts alone cost more than the best
    decision found. Where changes have prices, each host that runs now is kept with every content or given up before that.

    Returns
    -------
    tuple
        (None, ()) where no decision is feasible.

    Raises
    ------
    ValueError
        For hosts without price, while filling them counts and nothing limits their number: there may be no optimum.
    """
    names = list(problem.application.by_name)
    fewest, operators = problem.minimum_instances, problem.application.operators
    if any(operator.max_instances is not None and operator.max_instances < fewest[operator.name] for operator in operators):
        return None, ()
    useful = {name: max(count, _in_time(problem, name)) for name, count in fewest.items()}
    contents = [
        ("", host_type.name, counts)
        for host_type in problem.host_types
        for counts in host_contents(operators, host_type, useful)
        if not any(sum(counts[names.index(name)] > 0 for name in rule.operators) > 1 for rule in problem.rules)
    ]
    max_hosts = _most_hosts(problem, sum(useful.values()))
    best: float = math.inf
    chosen: tuple[Host, ...] = ()
    layer: Layer = {((0,) * len(problem.host_types), (0,) * len(names)): (0.0, ())}
    for host in problem.current if problem.changes is not None else ():
        mine = [(host.name, kind, counts) for _, kind, counts in contents if kind == host.type]
        for state, entry in _with_another_host(problem, layer, mine, math.inf).items():
            if state not in layer or entry[0] < layer[state][0]:
                layer[state] = entry
    new = "host" if problem.changes is None else "new"
    for hosts in range(max_hosts + 1):
        for _, decision in layer.values():
            leased = tuple(
                Host(name=at or f"{new}-{i}", type=kind, instances={name: n for name, n in zip(names, counts, strict=True) if n})
                for i, (at, kind, counts) in enumerate(decision, start=1)
            )
            evaluation = problem.evaluate(leased)
            if evaluation.feasible and evaluation.objective < best:
                best, chosen = evaluation.objective, leased
        cheapest = min((_price(problem, state) for state in layer), default=math.inf)
        if cheapest >= best or hosts == max_hosts:
            break
        layer = _with_another_host(problem, layer, contents, best)
    return (None, ()) if math.isinf(best) else (best, chosen)


def host_contents(
    operators: Sequence[ContainerOperator], host_type: HostType, useful: Mapping[str, int]
) -> Iterator[tuple[int, ...]]:
    """Every number of instances of each operator that fits on one host, the empty host included.

    Operators that need no resources get no more instances than are useful.
    """
    max_counts = []
    for operator in operators:
        needs = named_resources(operator.resources).items()
        rooms = [host_type.capacity[name] / amount for name, amount in needs if amount]
        may_run = operator.candidates is None or host_type.name in operator.candidates
        max_counts.append(math.floor(min(rooms, default=useful[operator.name]) * (1 + LIMIT_SLACK)) if may_run else 0)
    for counts in product(*(range(count + 1) for count in max_counts)):
        if all(
            math.fsum(n * named_resources(o.resources).get(name, 0.0) for n, o in zip(counts, operators, strict=True))
            <= amount * (1 + LIMIT_SLACK)
            for name, amount in host_type.capacity.items()
        ):
            yield counts


def _with_another_host(problem: EnactmentProblem, layer: Layer, contents: list[Content], best: float) -> Layer:
    types = [host_type.name for host_type in problem.host_types]
    max_counts = [
        math.inf if operator.max_instances is None else operator.max_instances for operator in problem.application.operators
    ]
    following: Layer = {}
    starts = [_start_price(problem, content) for content in contents]
    for (hosts, counts), (change, decision) in layer.items():
        for (name, kind, more), start in zip(contents, starts, strict=True):
            index = types.index(kind)
            limit = problem.host_types[index].limit
            if limit is not None and hosts[index] >= limit:
                continue
            leased = (*hosts[:index], hosts[index] + 1, *hosts[index + 1 :])
            state = leased, tuple(a + b for a, b in zip(counts, more, strict=True))
            if any(count > allowed for count, allowed in zip(state[1], max_counts, strict=True)):
                continue
            if (state not in following or change + start < following[state][0]) and _price(problem, state) < best:
                following[state] = change + start, (*decision, (name, kind, more))
    return following


def _start_price(problem: EnactmentProblem, content: Content) -> float:
    """Price of what starts on a host."""
    if problem.changes is None:
        return 0.0
    name, _, counts = content
    now = next((host.instances for host in problem.current if host.name == name), {})
    more = (max(0, n - now.get(operator, 0)) for n, operator in zip(counts, problem.application.by_name, strict=True))
    return problem.changes.started_instance * sum(more) + problem.changes.started_host * (not name)


def _price(problem: EnactmentProblem, state: State) -> float:
    prices = (count * host_type.price for count, host_type in zip(state[0], problem.priced_types, strict=True))
    return problem.weights.host_cost * math.fsum(prices)


def _in_time(problem: EnactmentProblem, operator: str) -> int:
    """Instances that leave no item late."""
    count = 0
    while problem.expected_violations(operator, count) > 0:
        count += 1
    return count


def _most_hosts(problem: EnactmentProblem, useful: int) -> int:
    """Number of hosts beyond which none can hold a useful instance, pay off by being filled, or be leased."""
    limits = [math.inf if host_type.limit is None else host_type.limit for host_type in problem.host_types]
    if problem.weights.free_resources > 0:
        prices = [problem.weights.host_cost * host_type.price for host_type in problem.priced_types]
        if any(price == 0 and math.isinf(limit) for price, limit in zip(prices, limits, strict=True)):
            raise ValueError("hosts without price and without limit: filling ever more of them may be ever better")
        started = 0.0 if problem.changes is None else problem.weights.host_cost * problem.changes.of(useful, useful)
        worst = max(prices) * useful + started + len(named_resources(problem.host_types[0].resources)) + len(limits) * 10
        affordable = (limit if price == 0 else worst / price for price, limit in zip(prices, limits, strict=True))
        useful = math.ceil(sum(affordable))
    return int(min(sum(limits), useful))


Counts = tuple[int, ...]
"""Instances of each operator."""


def brute_force_leasing(problem: LeasingProblem) -> float | None:
    """Least objective over all decisions of a small problem; None where there is none.

    Units are bought type by type and period by period, no more at a time than there can be instances of use. In each
    period all numbers of instances that fit into the hosts are tried, but for those that others exceed throughout: more
    instances never leave more items.

    >>> problem = LeasingProblem(
    ...     application={"operators": [{"name": "f", "processing_duration": 1.0, "external_rate": 1.0, "resources": {"cpu": 1}}]},
    ...     host_types=[{"name": "small", "resources": {"cpu": 2}, "price": 1.0, "billing_time": 600.0}],
    ...     period=300.0, forecast=[2, 4, 2],
    ... )
    >>> brute_force_leasing(problem)
    2.0
    """
    search = _LeasingSearch(problem)
    search.buy(0, 0.0)
    return None if math.isinf(search.best) else search.best


@dataclass
class _LeasingSearch:
    """Depth first over (type, period) pairs; the price of the units bought is a bound."""

    problem: LeasingProblem
    best: float = math.inf
    bought: dict[tuple[str, int], int] = field(default_factory=dict)
    packings: dict[Counts, list[Counts]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        problem = self.problem
        self.operators = problem.application.operators
        self.periods = len(problem.forecast)
        self.pairs = [(host_type.name, period) for period in range(self.periods) for host_type in problem.host_types]
        self.useful = {operator.name: self._useful(operator.name) for operator in self.operators}
        self.contents = [list(host_contents(self.operators, host_type, self.useful)) for host_type in problem.host_types]

    def buy(self, depth: int, price: float) -> None:
        """Try all numbers of units of the next pair."""
        if price >= self.best:
            return
        if depth == len(self.pairs):
            self._settle(price)
            return
        name, period = self.pairs[depth]
        limit = self.problem.types[name].limit
        max_hosts = sum(self.useful.values()) if limit is None else limit
        unit = self.problem.price(PlannedHost(name="new", type=name, first=period, units=1, instances=()))
        for units in range(max_hosts + 1):
            if units and price + units * unit >= self.best:
                break
            self.bought[name, period] = units
            last_of_period = depth + 1 == len(self.pairs) or self.pairs[depth + 1][1] > period
            if not last_of_period or self._possible(period):
                self.buy(depth + 1, price + units * unit)
        self.bought[name, period] = 0

    def _useful(self, name: str) -> int:
        """Number of instances that serves in one period all items that ever arrive."""
        fewest = max(counts[name] for counts in self.problem.minimum_instances)
        if not self.problem.penalty:
            return fewest
        # Items that arrive over the horizon or wait at its start.
        rate = self.problem.application.load(name) * self.problem.period
        items = self.problem.queues.get(name, 0.0) + rate * sum(self.problem.forecast)
        total = items * self.problem.application.by_name[name].occupied / self.problem.period
        return max(fewest, math.ceil(total))

    def _leased(self, period: int) -> Counts:
        counts = []
        for host_type in self.problem.host_types:
            length = self.problem.unit_periods(host_type.name)
            paid = sum(host.type == host_type.name and host.paid_periods > period for host in self.problem.leased)
            begins = range(max(0, period - length + 1), period + 1)
            counts.append(paid + sum(self.bought.get((host_type.name, begin), 0) for begin in begins))
        return tuple(counts)

    def _possible(self, period: int) -> bool:
        """Whether the hosts of a period keep to the limits and hold the fewest instances."""
        leased = self._leased(period)
        limits = [host_type.limit for host_type in self.problem.host_types]
        if any(limit is not None and count > limit for count, limit in zip(leased, limits, strict=True)):
            return False
        return any(True for _ in self._choices(period, leased))

    def _choices(self, period: int, leased: Counts) -> Iterator[Counts]:
        fewest = self.problem.minimum_instances[period].values()
        allowed = [math.inf if operator.max_instances is None else operator.max_instances for operator in self.operators]
        if any(few > limit for few, limit in zip(fewest, allowed, strict=True)):
            return
        for counts in self._packings(leased):
            if all(count >= few for count, few in zip(counts, fewest, strict=True)):
                yield counts

    def _packings(self, leased: Counts) -> list[Counts]:
        """Numbers of instances that fit into hosts and are not exceeded throughout, none above what is useful or allowed."""
        if leased not in self.packings:
            max_counts = [min(self.useful[operator.name], operator.max_instances or math.inf) for operator in self.operators]
            reached: set[Counts] = {(0,) * len(max_counts)}
            for kind, hosts in enumerate(leased):
                for _ in range(hosts):
                    sums = (zip(a, b, max_counts, strict=True) for a in reached for b in self.contents[kind])
                    reached = {tuple(int(min(x + y, top)) for x, y, top in pairs) for pairs in sums}
            exceeded = (any(a != b and all(x <= y for x, y in zip(a, b, strict=True)) for b in reached) for a in reached)
            self.packings[leased] = [counts for counts, worse in zip(reached, exceeded, strict=True) if not worse]
        return self.packings[leased]

    def _settle(self, price: float) -> None:
        """Try all numbers of instances, period by period."""
        queued = [tuple(self.problem.queues.get(operator.name, 0.0) for operator in self.operators)]
        values = {queued[0]: price}
        for period in range(self.periods):
            following: dict[tuple[float, ...], float] = {}
            for waiting, value in values.items():
                for counts in self._choices(period, self._leased(period)):
                    after = self._after(period, waiting, counts)
                    total = value + self.problem.penalty * math.fsum(after)
                    if total < following.get(after, self.best):
                        following[after] = total
            values = following
        self.best = min(values.values(), default=self.best)

    def _after(self, period: int, waiting: tuple[float, ...], counts: Counts) -> tuple[float, ...]:
        length, load = self.problem.period, self.problem.application.load
        arriving = (load(operator.name) * self.problem.forecast[period] * length for operator in self.operators)
        rows = zip(waiting, arriving, counts, self.operators, strict=True)
        return tuple(max(0.0, queue + items - count * length / operator.occupied) for queue, items, count, operator in rows)


Fields = dict[str, Any]


class EnactmentCheckProblems(EnumeratedCheckProblems):
    """Kind `enactment`."""

    seeds = range(19)
    brute_force = staticmethod(brute_force_enactment)

    @staticmethod
    def draw(seed: int) -> EnactmentProblem:
        """Sixteen snapshots, then some with running hosts and prices of what starts."""
        return random_enactment_problem(seed) if seed < 16 else random_consolidation(seed)

    def infeasible(self) -> dict[str, Any]:
        """Too few instances allowed, too few hosts, hosts whose room is in pieces."""
        return {
            "instances": _snapshot(external_rate=4.0, max_instances=3),
            "hosts": _snapshot(external_rate=5.0, limit=1),
            "pieces": _snapshot(external_rate=4.0, resources={"cpu": 2.1}, limit=3),
        }

    def degenerate(self) -> dict[str, Any]:
        """Return edge cases: no load, no needs, no weights, no prices, no time to queue, a host with no room to spare."""
        weightless = {"host_cost": 0.0, "free_resources": 0.0, "violations": 0.0}
        return {
            "no load": _snapshot(external_rate=0.0),
            "no needs": _snapshot(resources={"cpu": 0.0}),
            "no weights": _snapshot(weights=weightless, limit=2),
            "no prices": _snapshot(price=0.0, limit=2),
            "no room to spare": _snapshot(external_rate=2.0, resources={"cpu": 2.0}, limit=1),
            "no penalty": _snapshot(penalty=0.0, queues={"work": 100.0}),
        }

    def large(self) -> Any:
        """Two hundred instances of nine sizes on three types of hosts."""
        needs = [{"cpu": 46 + 17 * i, "memory": 527 - 11 * i} for i in range(9)]
        operators = [
            {"name": f"o{i}", "processing_duration": 1.0, "external_rate": 22.0, "resources": need}
            for i, need in enumerate(needs)
        ]
        hosts = [
            {"name": f"h{k}", "resources": {"cpu": 4096 * k, "memory": 7000 * k}, "price": 0.9 * k + 0.2, "billing_time": 600.0}
            for k in (1, 2, 4)
        ]
        return EnactmentProblem(application={"operators": operators}, host_types=hosts, queues={"o3": 500.0})

    def start(self, problem: EnactmentProblem) -> Any:
        """Each instance that the load needs on a host of its own."""
        names = [name for name, count in problem.minimum_instances.items() for _ in range(count)]
        operators = problem.application.by_name
        types = [(operators[name].candidates or tuple(problem.types))[0] for name in names]
        pairs = zip(names, types, strict=True)
        return tuple(Host(name=f"start-{i}", type=kind, instances={name: 1}) for i, (name, kind) in enumerate(pairs))


class LeasingCheckProblems(EnumeratedCheckProblems):
    """Kind `leasing`."""

    seeds = range(14)
    draw = staticmethod(random_leasing_problem)
    brute_force = staticmethod(brute_force_leasing)

    def infeasible(self) -> dict[str, Any]:
        """Too few instances allowed, too few hosts in one period, hosts that are leased beyond the limit."""
        mine = [{"name": f"mine-{i}", "type": "small", "paid_periods": 1} for i in range(3)]
        return {
            "instances": _horizon(forecast=[1, 2, 1], max_instances=3),
            "hosts": _horizon(forecast=[1, 5, 1], limit=2),
            "leased": _horizon(leased=mine, limit=2),
        }

    def degenerate(self) -> dict[str, Any]:
        """Return edge cases: one period, no load, no prices, no penalty, hosts paid throughout, units longer than the horizon."""
        mine = [{"name": "mine", "type": "small", "paid_periods": 9}]
        return {
            "one period": _horizon(forecast=[1]),
            "no load": _horizon(forecast=[0, 0, 0]),
            "no prices": _horizon(price=0.0),
            "no penalty": _horizon(penalty=0.0, queues={"work": 1000.0}),
            "paid": _horizon(leased=mine, forecast=[1, 2]),
            "long units": _horizon(billing_time=6000.0, prorate=True),
        }

    def large(self) -> Any:
        """Nine operators on three types of hosts in twenty-four periods, with items that wait."""
        snapshot = EnactmentCheckProblems().large()
        operators = [{**operator.model_dump(), "external_rate": 4.0} for operator in snapshot.application.operators]
        return LeasingProblem(
            application={"operators": operators},
            host_types=snapshot.host_types,
            period=300.0,
            forecast=[1 + 0.1 * (7 * p % 24) for p in range(24)],
            queues={"o3": 5000.0, "o7": 2000.0},
        )

    def start(self, problem: LeasingProblem) -> Any:
        """Each instance that the largest load needs on a host of its own."""
        operators, periods = problem.application.by_name, len(problem.forecast)
        hosts = []
        for name in operators:
            kind = (operators[name].candidates or tuple(problem.types))[0]
            units = -(-periods // problem.unit_periods(kind))
            for number in range(max(needed[name] for needed in problem.minimum_instances)):
                host = PlannedHost(name=f"{name}-{number}", type=kind, units=units, instances=({name: 1},) * periods)
                hosts.append(host)
        return tuple(hosts)


def _snapshot(**changed: Any) -> EnactmentProblem:
    """One operator that needs two instances, three of which fit on a host; fields of each part may be changed by name."""
    return EnactmentProblem(**_fields(4.0, changed))


def _horizon(**changed: Any) -> LeasingProblem:
    """One operator, two or four instances of which are needed; two fit on a host, a unit lasts two periods."""
    return LeasingProblem(**_fields(2.0, {"period": 300.0, "forecast": [1, 2, 1], **changed}))


def _fields(room: float, changed: Fields) -> Fields:
    """One operator and one type of host with `room` CPUs; what is to be changed by name belongs to either or to the problem."""
    operator: Fields = {"name": "work", "processing_duration": 1.0, "external_rate": 2.0, "resources": {"cpu": 1.0}}
    host: Fields = {"name": "small", "resources": {"cpu": room}, "price": 1.0, "billing_time": 600.0}
    fields: Fields = {"application": {"operators": [operator]}, "host_types": [host]}
    parts = dict.fromkeys(("external_rate", "max_instances", "resources"), operator)
    parts |= dict.fromkeys(("limit", "price", "billing_time"), host)
    for name, value in changed.items():
        parts.get(name, fields)[name] = value
    return fields


class ScenarioCheckProblems(CheckProblems):
    """Kind `enactment-scenario`: nothing is infeasible, and no run costs less than what every run must lease."""

    provable = False

    def feasible(self) -> dict[str, Any]:
        """Ten minutes of every pattern, paid by units of four."""
        return {pattern: manufacturing_scenario(pattern, duration=600.0, billing_time=240.0) for pattern in PATTERNS}

    def infeasible(self) -> dict[str, Any]:
        """An operator that fits on no host is refused with the document."""
        return {}

    def degenerate(self) -> dict[str, Any]:
        """Return edge cases: one operator, no load, one host with no room to spare, hosts of two types."""
        work = {"name": "work", "processing_duration": 0.5, "external_rate": 4.0, "resources": {"cpu": 1}}
        small = {"name": "small", "resources": {"cpu": 2}, "price": 1.0, "billing_time": 120.0}
        large = {"name": "large", "resources": {"cpu": 8}, "price": 3.0, "billing_time": 120.0}
        alone = {"application": {"operators": [work]}, "host_types": [small], "load": [1, 2, 0, 1], "load_step": 60.0}
        return {
            "one operator": EnactmentScenario(**alone),
            "no load": EnactmentScenario(**{**alone, "load": [0, 0]}),
            "no room to spare": EnactmentScenario(**{**alone, "host_types": [{**small, "limit": 1}]}),
            "two types": EnactmentScenario(**{**alone, "host_types": [small, large]}),
        }

    def large(self) -> Any:
        """A day under the stepwise pattern."""
        return manufacturing_scenario("stepwise", duration=86_400.0)

    def optimum(self, problem: EnactmentScenario) -> float | None:
        """A bound: some host is leased for the whole run."""
        return min(host.price * -(-problem.duration // host.billing_time) for host in problem.host_types)
