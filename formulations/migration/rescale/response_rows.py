"""Rows of the response time: latency of operators, delays of streams between the nodes in use, and the longest path."""

from __future__ import annotations

import numpy as np

from edrp.core.program import Linear
from edrp.formulations.migration.rescale.quantities import RangeQuantities
from edrp.formulations.placement.builder import time_unit


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
    a, b = np.nonzero(delay)
    rows, far = np.arange(a.size), delay[a, b]
    entries = [(rows, np.full(a.size, column), 1.0), (rows, source[senders[a]], -far), (rows, target[receivers[b]], -far)]
    program.add_rows(f"delay {name}", a.size, entries, lower=-far)
    return Linear.of(column)
