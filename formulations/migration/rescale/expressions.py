"""Metrics as linear expressions over ranges."""

from __future__ import annotations

import numpy as np

from edrp.core.program import Linear
from edrp.formulations.migration.rescale.downtime_rows import add_direct_rows, add_store_rows
from edrp.formulations.migration.rescale.quantities import RangeQuantities
from edrp.formulations.migration.rescale.response_rows import add_response_rows
from edrp.migration.rescale.arrays import KeyedArrays
from edrp.placement.metrics.peak_load import shared_resources


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
