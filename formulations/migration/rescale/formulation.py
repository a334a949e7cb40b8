"""Problems of kind `rescale` as programs over ranges, and why such a program is infeasible."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np

from edrp.core.arrays import Floats, Ints
from edrp.core.budget import now
from edrp.core.clash_search import Relaxed
from edrp.core.errors import InvalidInstanceError, OutOfTimeError, ProblemTooLargeError
from edrp.core.methods import Options, get_method
from edrp.core.program import Linear
from edrp.core.solution import Infeasibility
from edrp.formulations.clashes import Question, limit_demands
from edrp.formulations.formulation import MetricFormulation
from edrp.formulations.migration.rescale.columns import RangeQuantities
from edrp.formulations.placement.builder import (
    HOPELESS_LIMITS,
    add_capacity_rows,
    add_delay_rows,
    add_least,
    add_objective_and_limits,
    breaks_limit,
    change_time,
    time_unit,
)
from edrp.formulations.placement.infeasibility import LOOSE, load_demand
from edrp.migration.rescale.arrays import KeyedArrays, compile_rescale
from edrp.migration.rescale.documents import KeyedDeployment, possible_replicas
from edrp.migration.rescale.problem import RescaleProblem
from edrp.placement.compilation import with_all_rule_rows
from edrp.placement.metrics.peak_load import shared_resources
from edrp.placement.reconfiguration import code_times


def add_store_rows(quantities: RangeQuantities) -> Linear:
    """Add rows T ≥ every operator's downtime: synchronisation, then from each node in use now to each other used afterwards."""
    compiled, program = quantities.compiled, quantities.program
    unit = time_unit(compiled, "downtime")
    column = program.add_columns("downtime")
    downtime = Linear.of(column)
    for index, name in enumerate(compiled.operators):
        same = _add_same(quantities, index)
        min_downtime = change_time(compiled, compiled.synchronisation_time) / unit
        program.add_row(f"change {name}", downtime + same * min_downtime, lower=min_downtime)
        for number, (u, v) in enumerate(_pairs(quantities, index)):
            _add_move(quantities, index, (u, v), downtime * unit, same, f"{number} of {name}")
    return Linear.of(column, unit)


def _pairs(quantities: RangeQuantities, index: int) -> list[tuple[int, int]]:
    current = quantities.compiled.current
    assert current is not None
    return [(int(u), int(v)) for u in np.flatnonzero(current[index]) for v in _reachable(quantities, index) if u != v]


def _reachable(quantities: RangeQuantities, index: int) -> Ints:
    """Nodes to which the code is brought within the limit; all others are taken from the operator."""
    support = quantities.operators[index].support
    code = code_times(quantities.compiled, index, support.astype(np.int32))
    late = breaks_limit(code, quantities.compiled.limit["downtime"])
    if late.any():
        quantities.program.fix(quantities.presence(index)[support[late]], 0.0)
    return support[~late]


def _add_same(quantities: RangeQuantities, index: int) -> Linear:
    """A column that is at most 1 where the operator stays exactly as it is and else 0; 0 where it cannot."""
    current_columns = quantities.current_columns(index)
    if current_columns is None:
        return Linear.zero()
    return add_least(quantities.program, f"same {quantities.compiled.operators[index]}", current_columns)


def _add_move(quantities: RangeQuantities, index: int, pair: tuple[int, int], downtime: Linear, same: Linear, name: str) -> None:
    """T ≥ t_syn + max(code, upload of u) + download of v + start of replicas, where v is in use and something changes (eq. 27).

    Where v is not in use, or nothing changes, as much is taken off as the row would ask for then.
    """
    compiled, program = quantities.compiled, quantities.program
    u, v = pair
    unit = time_unit(compiled, "downtime")
    used = Linear.of(quantities.presence(index)[v])
    trip_u, trip_v = 2 * compiled.store_delay[u], 2 * compiled.store_delay[v]
    download = quantities.downloaded(index, v) * (1 / compiled.store_bandwidth[v]) + _spawn(quantities, index, v) + trip_v
    code = float(code_times(compiled, index, np.array([v], np.int32))[0])
    upload, largest = quantities.uploaded(index, u)
    seconds = upload * (1 / compiled.store_bandwidth[u]) + trip_u
    max_time = largest / compiled.store_bandwidth[u] + trip_u
    syn = change_time(compiled, compiled.synchronisation_time)
    parts = [("upload", seconds, max_time, trip_u), *([("code", Linear.zero() + code, code, code)] if code else [])]
    for part, before, off, idle in parts:
        # With v unused nothing is downloaded or started there; unchanged, u uploads nothing.
        row = downtime - before - download - used * (syn + off + trip_v) + same * (syn + idle + trip_v) + (off + trip_v)
        program.add_row(f"{part} {name}", row * (1 / unit), lower=0.0)


def _spawn(quantities: RangeQuantities, index: int, v: int) -> Linear:
    """Seconds to start replicas where there are more than now."""
    compiled, columns = quantities.compiled, quantities.operators[index]
    assert compiled.current is not None
    seconds, before = float(compiled.spawn_time[v]), int(compiled.current[index, v])
    if not seconds:
        return Linear.zero()
    here = columns.on(v)
    if not columns.tasks:
        more = columns.counts[here] > before
        return Linear.of(columns.columns[here][more], seconds)
    if not before:
        return Linear.of(quantities.presence(index)[v], seconds)
    max_total = int(columns.layers[:, 1].max())
    if max_total <= before:
        return Linear.zero()
    return Linear.of(quantities.more_replicas(index, v, before, max_total), seconds)


def add_direct_rows(quantities: RangeQuantities) -> Linear:
    """T ≥ t_syn + max(transfers of any node, code) + start of replicas, where anything changes."""
    compiled, program, arrays = quantities.compiled, quantities.program, quantities.arrays
    unit = time_unit(compiled, "downtime")
    column, idle = program.add_columns("downtime"), program.add_columns("nothing changes", upper=1.0)
    start = Linear.of(program.add_columns("start of replicas"), unit)
    for index, name in enumerate(compiled.operators):
        program.add_row(f"idle {name}", Linear.of(idle) - _add_same(quantities, index), upper=0.0)
    syn = change_time(compiled, compiled.synchronisation_time)
    transfer_time = Linear.of(column, unit) - start + Linear.of(idle) * syn - syn
    program.add_row("synchronisation", transfer_time * (1 / unit), lower=0.0)
    for index, name in enumerate(compiled.operators):
        current = compiled.current
        assert current is not None
        for v in _reachable(quantities, index).tolist():
            spawn = _spawn(quantities, index, v)
            if spawn.columns.size:
                program.add_row(f"start {name} on {compiled.nodes[v]}", (start - spawn) * (1 / unit), lower=0.0)
            code = float(code_times(compiled, index, np.array([v], np.int32))[0])
            if code:
                row = transfer_time - Linear.of(quantities.presence(index)[v], code)
                program.add_row(f"code {name} on {compiled.nodes[v]}", row * (1 / unit), lower=0.0)
    for u, node in enumerate(compiled.nodes):
        for what, amounts, rate in (("up", quantities.leaving, arrays.up_rate), ("down", quantities.arriving, arrays.down_rate)):
            if np.isfinite(rate[u]):
                max_amount = HOPELESS_LIMITS * compiled.limit["downtime"] * rate[u]
                total = Linear.total([amounts(index, u, max_amount) for index in range(len(compiled.operators))])
                program.add_row(f"{what} {node}", (transfer_time - total * (1 / rate[u])) * (1 / unit), lower=0.0)
    return Linear.of(column, unit)


def add_response_rows(quantities: RangeQuantities) -> Linear:
    """Σ_s p_s·r_s over the load scenarios s, of which each has rows of its own; delays are the same in all."""
    unit = time_unit(quantities.compiled, "response_time")
    delays = [_delay(quantities, stream, unit) for stream in range(len(quantities.compiled.stream_source))]
    scenarios = quantities.arrays.problem.load_scenarios
    responses = []
    for index, scenario in enumerate(scenarios):
        label = "" if len(scenarios) == 1 else f" at {scenario.factor:g} times the load"
        responses.append(_add_path_rows(quantities, index, delays, label) * scenario.probability)
    return Linear.total(responses) * unit


def _add_path_rows(quantities: RangeQuantities, scenario: int, delays: list[Linear], label: str) -> Linear:
    """r ≥ f_i, f_i ≥ R_i, f_j ≥ f_i + D_ij + R_j (EDRP, eqs. 5–7, 13)."""
    compiled, program = quantities.compiled, quantities.program
    size = len(compiled.operators)
    response = program.add_columns(f"response_time{label}")
    finish = program.add_columns(f"finish{label}", size)
    latency = [_latency(quantities, i, scenario, label) for i in range(size)]
    for i, name in enumerate(compiled.operators):
        program.add_row(f"finish {name}{label}", Linear.of(finish[i]) - latency[i], lower=0.0)
        program.add_row(f"response after {name}{label}", Linear.of(response) - Linear.of(finish[i]), lower=0.0)
    for stream, (i, j) in enumerate(zip(compiled.stream_source, compiled.stream_target, strict=True)):
        after = Linear.of(finish[j]) - Linear.of(finish[i]) - latency[j] - delays[stream]
        program.add_row(f"finish {compiled.operators[j]} after {compiled.operators[i]}{label}", after, lower=0.0)
    return Linear.of(response)


def _latency(quantities: RangeQuantities, index: int, scenario: int, label: str) -> Linear:
    """R_i: at least that of the replica that holds any task, or on any node; the mean is a sum."""
    columns, program = quantities.operators[index], quantities.program
    seconds = columns.seconds[scenario] / time_unit(quantities.compiled, "response_time")
    if not seconds.any():
        return Linear.zero()
    mean = Linear.of(columns.columns, seconds * columns.share)
    if quantities.arrays.problem.operator_latency == "mean":
        return mean
    name = f"{quantities.compiled.operators[index]}{label}"
    column = program.add_columns(f"latency {name}")
    position, task = columns.covered if columns.tasks else (np.arange(columns.columns.size), columns.nodes)
    count = int(task.max(initial=-1)) + 1
    entries = [(np.arange(count), np.full(count, column), 1.0), (task, columns.columns[position], -seconds[position])]
    program.add_rows(f"latency {name}", count, entries, lower=0.0)
    program.add_row(f"mean latency {name}", Linear.of(column) - mean, lower=0.0)
    return Linear.of(column)


def _delay(quantities: RangeQuantities, stream: int, unit: float) -> Linear:
    """D_e ≥ d_uv·(z[i,u] + z[j,v] − 1), a row per pair of nodes apart (EDRP, eqs. 3, 7)."""
    compiled, program = quantities.compiled, quantities.program
    i, j = int(compiled.stream_source[stream]), int(compiled.stream_target[stream])
    senders, receivers = quantities.operators[i].support, quantities.operators[j].support
    delay = compiled.delay[np.ix_(senders, receivers)] / unit
    if not delay.any():
        return Linear.zero()
    source, target = quantities.presence(i), quantities.presence(j)
    name = f"{compiled.operators[i]} → {compiled.operators[j]}"
    column = program.add_columns(f"delay {name}", upper=float(delay.max()))
    return add_delay_rows(program, f"delay {name}", column, delay, (source[senders], target[receivers]))


class RangeExpressions(RangeQuantities):
    """The metrics of a problem; columns and rows of each are made when it is first asked for."""

    def __init__(self, arrays: KeyedArrays) -> None:
        super().__init__(arrays)
        self._response: Linear | None = None
        self._downtime: Linear | None = None
        self._peak: Linear | None = None

    def response_time(self) -> Linear:
        """A column above the finishing time of every operator."""
        if self._response is None:
            self._response = add_response_rows(self)
        return self._response

    def downtime(self) -> Linear:
        """A column above the downtime; 0 without a current deployment."""
        if self._downtime is None:
            add_rows = add_store_rows if self.arrays.problem.transfer == "store" else add_direct_rows
            self._downtime = Linear.zero() if self.compiled.current is None else add_rows(self)
        return self._downtime

    def peak_load(self, resource: str | None) -> Linear:
        """A column above every node's share of its capacity of any shared resource."""
        if self._peak is None:
            column = self.program.add_columns("peak load")
            nodes = self.arrays.problem.network.by_name
            for name in shared_resources(self.arrays.problem.application):
                for u, node in enumerate(self.compiled.nodes):
                    demand = self._demand(name, u)
                    if demand.columns.size:
                        row = Linear.of(column) - demand * (1 / nodes[node].capacity[name])
                        self.program.add_row(f"{name} of {node}", row, lower=0.0)
            self._peak = Linear.of(column)
        return self._peak

    def _demand(self, resource: str, node: int) -> Linear:
        """Units per second that replicas on a node ask for, and tuples that streams send away from it."""
        compiled, terms = self.compiled, []
        for index, columns in enumerate(self.operators):
            usage = self.arrays.operator(index).usage.get(resource)
            if usage is not None:
                here = columns.on(node)
                amount = usage.per_replica * columns.counts[here] + usage.per_tuple * compiled.load[index] * columns.share[here]
                terms.append(Linear.of(columns.columns[here], amount))
        for stream, described in enumerate(self.arrays.problem.application.streams):
            per_second = described.usage.get(resource, 0.0) * float(compiled.stream_rate[stream])
            if per_second:
                sent = self.operators[int(compiled.stream_source[stream])].node_share(node)
                terms.append((sent - self.traffic(stream).together(node)) * per_second)
        used = Linear.total(terms)
        return used if np.any(used.coefficients) else Linear.zero()


LIMITS = "limits."
"""Begins the sentence of a limit, before the name of its metric."""


@dataclass(frozen=True, slots=True)
class RescaleFormulation(MetricFormulation):
    """A problem of kind `rescale` formulated as a program."""

    expressions: RangeExpressions

    def decode(self, values: Floats) -> KeyedDeployment:
        """The deployment that a point of the program stands for."""
        return self.expressions.decode(values)

    def encode(self, decision: KeyedDeployment) -> Floats | None:
        """A starting point for a solver, NaN where left to it; None where the program cannot express the deployment."""
        return self.padded(self.expressions.point(decision))

    def tie_breaks(self) -> tuple[Linear, ...]:
        """The least state that moves, then the lowest cost."""
        return self.metric("moved_state"), self.metric("cost")


def formulate_rescale(problem: RescaleProblem, name: str) -> RescaleFormulation:
    """Formulate a problem as the program "ranges".

    Raises
    ------
    ProblemTooLargeError
        Where there are too many ranges.
    """
    started = perf_counter()
    return _formulation(compile_rescale(problem), name, started)


def _with_all_rows(problem: RescaleProblem) -> KeyedArrays:
    """Arrays of a problem in which every rule has rows, so that each can be left out."""
    arrays = compile_rescale(problem)
    return replace(arrays, compiled=with_all_rule_rows(arrays.compiled))


def _formulation(arrays: KeyedArrays, name: str, started: float) -> RescaleFormulation:
    expressions = RangeExpressions(arrays)
    add_capacity_rows(expressions)
    add_objective_and_limits(expressions)
    program = expressions.program
    return RescaleFormulation(arrays.problem, name, program, program.objective, perf_counter() - started, expressions)


def explain_infeasibility(problem: RescaleProblem, units: float) -> Infeasibility:
    """Name limits, resources and rules that cannot be met together, each of which is needed for that.

    Operators that are overloaded or find no room on their nodes are reported alone. For each limit without which the whole
    problem is feasible, the sentence says how far it would have to be loosened.

    Parameters
    ----------
    units
        Units of work; what is not examined by then stays in the list, which is then not minimal.
    """
    deadline = now() + units
    if alone := problem.clashes():
        return Infeasibility(alone)
    try:
        formulation = _formulation(_with_all_rows(problem), "ranges", perf_counter())
    except ProblemTooLargeError:
        return Infeasibility()
    demands = limit_demands(formulation)

    def relax(number: int, left_out: frozenset[int], values: dict[int, float]) -> Relaxed | None:
        name = demands[number].name.removeprefix(LIMITS)
        gone = {demands[other].text for other in left_out}
        rules = [rule for rule in problem.rules if rule.hard and rule.demand not in gone]
        limits: dict[str, float | None] = {demands[k].name.removeprefix(LIMITS): values.get(k) for k in left_out}
        if not all(hasattr(problem.limits, metric) for metric in limits):
            return None  # a demand is no limit
        limits[name] = LOOSE * (problem.limits.of(name) or 1.0)
        return _best_value(problem, name, {"rules": rules, "limits": problem.limits.replace(**limits)}, deadline)

    found = Question(formulation.program, demands, "highs", deadline).find_clash(relax)
    texts = [demand.text for demand in demands]
    loads = _needed_loads(problem, {texts[number] for number in found.clash}, deadline)
    return Infeasibility((*loads, *found.sentences(texts)), found.remedies)


def _needed_loads(problem: RescaleProblem, texts: Collection[str], deadline: float) -> Iterator[str]:
    """Loads without which the demands that clash do not: those of operators that need more replicas than `min_replicas`."""
    for operator in problem.application.operators:
        fewest = possible_replicas(problem, operator)[0]
        slow = operator.latency is not None and min(node.speedup for node in problem.network.nodes) < 1
        if fewest > operator.min_replicas or slow:
            load = load_demand(problem, operator, fewest)
            without = load.drop(problem)
            formulation = _formulation(_with_all_rows(without), "ranges", perf_counter())
            demands = limit_demands(formulation)
            needed = frozenset(number for number, demand in enumerate(demands) if demand.text in texts)
            if Question(formulation.program, demands, "highs", deadline).verdict(needed) == "infeasible":
                problem = without
            else:
                yield load.text + problem.heaviest_text


def _best_value(problem: RescaleProblem, name: str, changes: dict[str, Any], deadline: float) -> Relaxed | None:
    """The least value of a metric in a changed problem; None where it is not found in time, or the change is none."""
    try:
        relaxed = problem.replace(**changes, weights={name: 1.0})
        options = Options(work_limit=max(0.0, deadline - now()), gap=1e-6)
        answer = get_method("highs", problem.kind).run(relaxed, options)
    except (InvalidInstanceError, OutOfTimeError, ProblemTooLargeError):  # the limit is beyond its range, or the time
        return None
    if answer.decision is None:
        return None
    metric = relaxed.metrics[name]
    return Relaxed(metric.evaluate(relaxed, answer.decision), metric.unit, answer.status == "optimal")
