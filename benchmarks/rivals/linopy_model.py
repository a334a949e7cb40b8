"""The literal program through linopy's expressions: labelled arrays, one block of variables per operator and per stream.

Sums are linopy's own (`sum` over a dimension, `dot`-like products with labelled arrays). Arrays come from `matrices`.
"""

from __future__ import annotations

from typing import Any

import linopy
import numpy as np
import pandas as pd
import xarray as xr
from rivals.canonical import Canonical
from rivals.tables import Tables
from scipy import sparse


def build(tables: Tables) -> Any:
    """EDRP, eqs. 12–23."""
    model = linopy.Model()
    names = [f"U{i}" for i in range(len(tables.sizes))]
    label = [pd.RangeIndex(size, name=name) for size, name in zip(tables.sizes, names, strict=True)]
    x = []
    for i, usable in enumerate(tables.usable):
        x.append(model.add_variables(lower=0, upper=xr.DataArray(usable.astype(float), [label[i]]), integer=True, name=f"x{i}"))
    y = [model.add_variables(lower=0, upper=1, coords=[label[i], label[j]], name=f"y{e}") for e, (i, j) in enumerate(tables.streams)]
    r, t = model.add_variables(lower=0, name="r"), model.add_variables(lower=0, name="t")
    for i, each in enumerate(x):
        model.add_constraints(each.sum() == 1, name=f"one_configuration{i}")
    for e, (i, j) in enumerate(tables.streams):
        model.add_constraints(y[e].sum(names[j]) - x[i] == 0, name=f"leaving{e}")
        model.add_constraints(y[e].sum(names[i]) - x[j] == 0, name=f"entering{e}")
    node = pd.RangeIndex(tables.use[0].shape[1], name="node")
    used = sum((x[i] * xr.DataArray(use, [label[i], node])).sum(names[i]) for i, use in enumerate(tables.use))
    model.add_constraints(used <= 1, name="capacity")
    waiting = [(x[i] * xr.DataArray(latency, [label[i]])).sum() for i, latency in enumerate(tables.latency)]
    moving = [(y[e] * xr.DataArray(delay, [label[i], label[j]])).sum() for e, (delay, (i, j)) in enumerate(zip(tables.delay, tables.streams, strict=True))]
    for p, (on, legs) in enumerate(tables.paths):
        model.add_constraints(r - sum(waiting[i] for i in on) - sum(moving[e] for e in legs) >= 0, name=f"path{p}")
    cost = sum((x[i] * xr.DataArray(price, [label[i]])).sum() for i, price in enumerate(tables.replica_cost)) + sum(
        (y[e] * xr.DataArray(price, [label[i], label[j]])).sum() for e, (price, (i, j)) in enumerate(zip(tables.traffic_cost, tables.streams, strict=True))
    )
    model.add_constraints(cost / tables.cost_limit <= 1, name="cost_limit")
    model.add_constraints(r <= 1, name="response_limit")
    model.add_constraints(t <= 1, name="downtime_limit")
    model.add_objective(tables.response_weight * r + tables.cost_weight * cost)
    return model


def to_arrays(model: Any) -> Any:
    """What a solver interface gets; each property is made when it is asked for."""
    matrices = model.matrices
    return {name: getattr(matrices, name) for name in ("vlabels", "c", "lb", "ub", "vtypes", "A", "b", "sense")}


def canonical(model: Any, arrays: Any) -> Canonical:
    """Labels of columns count in the order in which blocks were added, which is ours."""
    assert (np.diff(arrays["vlabels"]) > 0).all() and len(model.variables)
    sense = arrays["sense"]
    return Canonical(
        objective=arrays["c"],
        lower=arrays["lb"],
        upper=arrays["ub"],
        integer=arrays["vtypes"] != "C",
        matrix=sparse.csr_array(arrays["A"]),
        row_lower=np.where(sense == "<", -np.inf, arrays["b"]),
        row_upper=np.where(sense == ">", np.inf, arrays["b"]),
    )


def solve(model: Any, settings: dict[str, Any]) -> float:
    """Optimum through linopy's own call of HiGHS."""
    model.solve(solver_name="highs", io_api="direct", **settings)
    return float(model.objective.value)
