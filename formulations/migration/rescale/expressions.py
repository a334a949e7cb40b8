"""Metrics as linear expressions over ranges, and the rows of the response time: latency, delays and the longest path."""

from __future__ import annotations

import numpy as np

from edrp.core.program import Linear
from edrp.formulations.migration.rescale.downtime_rows import add_direct_rows, add_store_rows
from edrp.formulations.migration.rescale.quantities import RangeQuantities
from edrp.formulations.placement.builder import add_delay_rows, time_unit
from edrp.migration.rescale.arrays import KeyedArrays
from edrp.placement.metrics.peak_load import shared_resources


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
