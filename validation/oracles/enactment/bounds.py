"""A lower bound on the cost of every policy of enactment, even of one that knows the load in advance.

The bound is on the price of leases plus penalties in expectation, in a model that is kinder than the simulation in every
respect but one: an item that is still waiting when the run ends counts as late, since otherwise it would cost
least to serve no item.

* Hosts, instances and images are there at once, migrations take nothing, stalls do not happen.
* Resources count in aggregate: instances may be cut into pieces over hosts.
* Within a round of the policy, which is the only time at which it leases and scales, an instance serves any item that is
  there, without a pause and in any order; items are amounts, arrivals and occupied seconds their expectations.
* Each round is judged by itself: of the items that must be begun in it to be in time, those that its instances cannot serve
  are late, and cause no work afterwards, neither there nor downstream.
* What no policy can help is counted: processing alone takes longer than the level allows for a known share of the items.

The simulation costs policies more than that, above all by queues from one burst to the next.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from statistics import NormalDist

import numpy as np

from edrp.backends.solving import solve_program
from edrp.core.arrays import Floats, Ints
from edrp.core.program import Linear, Program
from edrp.core.tolerances import EQUAL_TIMES, LIMIT_SLACK, WHOLE_NUMBER_SLACK
from edrp.enactment.containers import Sizes
from edrp.enactment.scenario import LEVELS, EnactmentScenario, Level
from edrp.formulations.enactment.leasing_area import covering

LOADS = 200
"""Number of loads that are distinguished up to the largest: a round's items are rounded down, which only lowers costs."""


@dataclass(frozen=True, slots=True)
class ClairvoyantBound:
    """A lower bound on the cost of a run.

    Attributes
    ----------
    total : money: the least expected price of leases and penalties.
    hosts : leased in each round of the plan that reaches it, or comes closest in the time.
    proven : whether no plan of the model is cheaper than this one; `total` is a bound in any case.
    """

    total: float
    hosts: tuple[int, ...]
    proven: bool


def clairvoyant_bound(
    scenario: EnactmentScenario, level: Level | None = None, *, all_in_time: bool = False, time_limit: float = 10.0
) -> ClairvoyantBound:
    """Lower bound on the expected cost of any policy in a scenario, for hosts and late items.

    For each round and number of hosts the least penalty follows from a small program over the instances; a mixed-integer
    program over the units that begin in each round chooses the hosts.

    Parameters
    ----------
    level
        Compliance level; the scenario's own where None.
    all_in_time
        Whether the bound is only for policies that never let items wait so long that they are late.
    time_limit
        Seconds for the second program.
    """
    model = _RoundModel.of(scenario, level or scenario.objective_level, all_in_time)
    penalties = _Penalties(model)
    choices = [penalties.choices(*load) for load in model.rounds]
    periods, kinds = len(choices), model.unit.size
    program = Program()
    bought = program.add_columns("bought", (kinds, periods), integer=True)
    hosts = np.concatenate([alternatives for alternatives, _ in choices])
    costs = np.concatenate([penalty for _, penalty in choices])
    chosen = program.add_columns("chosen", costs.size, upper=1.0, integer=True)
    period = np.repeat(np.arange(periods), [len(penalty) for _, penalty in choices])
    program.add_rows("one", periods, [(period, chosen, 1.0)], lower=1.0, upper=1.0)
    covered, begins = covering(model.unit, periods)
    columns = np.arange(kinds)[:, None] * periods + period
    entries = [(covered, bought.ravel()[begins], 1.0), (columns, chosen[None, :], -hosts.T.astype(float))]
    program.add_rows("hosts", kinds * periods, entries, lower=0.0)
    program.add_row("at first", Linear.of(bought[:, 0]), lower=model.initial_hosts)
    program.minimise(Linear.of(bought, model.price[:, None]) + Linear.of(chosen, costs))
    result = solve_program(program, time_limit=time_limit, gap=1e-6)
    if result.values is None:
        return ClairvoyantBound(result.bound or 0.0, (), proven=False)
    units = np.rint(result.values[bought]).astype(np.int64)
    leased = sum(np.convolve(row, np.ones(length, np.int64))[:periods] for row, length in zip(units, model.unit, strict=True))
    return ClairvoyantBound(result.bound or 0.0, tuple(np.asarray(leased).tolist()), proven=result.status == "optimal")


@dataclass(frozen=True, slots=True)
class _RoundModel:
    """A scenario by rounds, of K host types and O operators."""

    sizes: Sizes
    price: Floats
    unit: Ints
    """Shape (K,): rounds that a unit lasts; rounded up, which only lowers costs."""
    rounds: tuple[tuple[float, float, float], ...]
    """Per round: seconds, and for an external rate of one the items in all and the most in a second."""
    potential: Floats
    """Shape (O,): items for each item that an external rate of one would bring, as long as none is late."""
    passed_on: Floats
    """Shape (O, O): items that an operator in the row gets for one more in time at that in the column, directly or not."""
    reach: Floats
    """Shape (O,): seconds after its origin within which an item must be begun to be in time there and everywhere before."""
    occupied: Floats
    slow: float
    """Share of the items whose processing alone takes longer than the level allows."""
    penalty: float
    initial_hosts: float
    all_in_time: bool

    @classmethod
    def of(cls, scenario: EnactmentScenario, level: Level, all_in_time: bool) -> _RoundModel:
        application, names = scenario.application, list(scenario.application.by_name)
        multiple = scenario.compliance_levels[LEVELS.index(level)]
        slow = _slow_share(scenario, multiple)
        reach, passed_on = np.zeros(len(names)), np.eye(len(names))
        for name in application.topological_order:
            index, described = names.index(name), application.by_name[name]
            before = [names.index(stream.source) for stream in application.streams if stream.target == name]
            reach[index] = max(reach[before], default=0.0) + multiple * described.processing_duration
            for source in before:
                passed_on[index] += (1 - slow) * application.by_name[names[source]].selectivity * passed_on[source]
        sizes = Sizes.of(application.operators, scenario.host_types)
        initial = scenario.initial_instances * sizes.needs.sum(axis=0)
        largest = sizes.capacity.max(axis=0, initial=0.0)
        return cls(
            sizes=sizes,
            price=np.array([host_type.price for host_type in scenario.host_types]),
            unit=np.array(
                [math.ceil(t.billing_time / scenario.provisioning_interval - WHOLE_NUMBER_SLACK) for t in scenario.host_types]
            ),
            rounds=tuple(_rounds(scenario)),
            potential=passed_on @ [operator.external_rate for operator in application.operators],
            passed_on=passed_on,
            reach=reach,
            occupied=np.array([operator.occupied for operator in application.operators]),
            slow=slow,
            penalty=scenario.penalty,
            initial_hosts=max(
                1.0, float(np.ceil((initial / np.where(largest > 0, largest, 1.0)).max(initial=0.0) - WHOLE_NUMBER_SLACK))
            ),
            all_in_time=all_in_time,
        )


def _rounds(scenario: EnactmentScenario) -> Iterator[tuple[float, float, float]]:
    """Seconds, items of the whole round (rounded down), and the most in a second (rounded up), for a rate of one at load 1."""
    edges = np.append(np.arange(0.0, scenario.duration - EQUAL_TIMES, scenario.provisioning_interval), scenario.duration)
    times = np.arange(len(scenario.load) + 1) * scenario.load_step
    passed = np.interp(edges, times, np.append(0.0, np.cumsum(scenario.load) * scenario.load_step))
    grid = max(scenario.load) / LOADS or 1.0
    for begin, end, items in zip(edges[:-1], edges[1:], np.diff(passed), strict=True):
        first = int(begin / scenario.load_step + WHOLE_NUMBER_SLACK)
        last = math.ceil(end / scenario.load_step - WHOLE_NUMBER_SLACK)
        length = float(end - begin)
        largest = max(scenario.load[first:last])
        yield (
            length,
            math.floor(items / length / grid + WHOLE_NUMBER_SLACK) * grid * length,
            math.ceil(largest / grid - WHOLE_NUMBER_SLACK) * grid,
        )


def _slow_share(scenario: EnactmentScenario, multiple: float) -> float:
    """Share of items whose processing takes longer than `multiple` times its mean."""
    if scenario.service == "exponential":
        return math.exp(-multiple)
    sigma = scenario.variation if scenario.service == "lognormal" else 0.0
    if sigma == 0.0:
        return 0.0 if multiple >= 1 else 1.0
    return 1 - NormalDist().cdf(math.log(multiple) / sigma + sigma / 2)


class _Penalties:
    """Least expected penalty in a round, by its load and hosts; each is computed once."""

    def __init__(self, model: _RoundModel) -> None:
        self._model = model
        self._known: dict[tuple[float, ...], float] = {}
        self._listed: dict[tuple[float, float, float], tuple[Ints, Floats]] = {}

    def choices(self, length: float, items: float, densest: float) -> tuple[Ints, Floats]:
        """Hosts of each type (C, K) that may be leased in a round, and the penalty that they leave (C,)."""
        key = length, items, densest
        if key not in self._listed:
            sizes = self._model.sizes
            alone = [self._enough(kind, key) for kind in range(len(sizes.types))]
            hosts = np.array(list(product(*(range(count + 1) for count in alone))), np.int64)
            costs = np.array([self._penalty(counts @ sizes.capacity, key) if counts.any() else math.inf for counts in hosts])
            useful = np.isfinite(costs)
            self._listed[key] = hosts[useful], costs[useful]
        return self._listed[key]

    def _enough(self, kind: int, key: tuple[float, float, float]) -> int:
        """Hosts of one type beyond which nothing is gained; at most its limit."""
        sizes = self._model.sizes
        unlimited = self._penalty(np.full(len(sizes.resources), math.inf), key)
        count = 1
        while count < sizes.limit[kind] and self._penalty(count * sizes.capacity[kind], key) > unlimited + 1e-9:
            count += 1
        return int(min(count, sizes.limit[kind]))

    def _penalty(self, offered: Floats, key: tuple[float, float, float]) -> float:
        known = (*key, *offered.tolist())
        if known not in self._known:
            self._known[known] = _least_penalty(self._model, offered, *key)
        return self._known[known]


def _least_penalty(model: _RoundModel, offered: Floats, length: float, items: float, densest: float) -> float:
    """Money in a round on hosts with `offered` of each resource (R,) in all; infinite where not even one instance of each fits.

    Items whose origin enters early enough must be begun in the round to be in time. Those beyond the capacity of the instances
    (whole numbers) are lost to the operator: late there, or missing because they were late upstream.
    """
    program, operators = Program(), model.potential.size
    instances = program.add_columns("instances", operators, lower=1.0, integer=True)
    late = program.add_columns("late", operators, upper=0.0 if model.all_in_time else math.inf)
    bounded = np.flatnonzero(np.isfinite(offered) & (offered > 0))
    shares = model.sizes.needs[:, bounded].T / offered[bounded][:, None]
    rows = np.arange(bounded.size)[:, None]
    program.add_rows("area", bounded.size, [(rows, instances[None, :], shares)], upper=1.0 + LIMIT_SLACK)
    due = model.potential * np.maximum(0.0, items - model.reach * densest)
    rows = np.arange(operators)
    scale = length / model.occupied
    entries = [(rows, instances, 1.0), (rows[:, None], late[None, :], model.passed_on / scale[:, None])]
    program.add_rows("lost", operators, entries, lower=due / scale)
    entries = [(rows[:, None], late[None, :], model.passed_on / scale[:, None])]
    program.add_rows("all", operators, entries, upper=model.potential * items / scale)
    # A lost item cannot become late by slow processing any more.
    program.minimise(Linear.of(late, 1.0 - model.slow * model.passed_on.sum(axis=0)))
    result = solve_program(program, gap=1e-7)
    if result.bound is None:
        return math.inf
    return model.penalty * (result.bound + model.slow * float(model.potential.sum()) * items)
