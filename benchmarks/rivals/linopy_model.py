"""The literal program through linopy's expressions: labelled arrays, one block of variables per operator and per stream.

Sums are linopy's own, over dimensions of products with labelled arrays. Arrays come from `matrices`.
"""

from __future__ import annotations

from typing import Any

import linopy
import numpy as np
import pandas as pd
import xarray as xr
from rivals.common import Canonical, Tables
from scipy import sparse

from edrp.core.arrays import Floats


def build(tables: Tables) -> Any:
    """EDRP, eqs. 12–23."""
    model = linopy.Model()
    label = [pd.RangeIndex(size, name=f"configuration {i}") for i, size in enumerate(tables.sizes)]
    both = [[label[i], label[j]] for i, j in tables.streams]
    node = pd.RangeIndex(tables.use[0].shape[1], name="node")
    x = [
        model.add_variables(lower=0, upper=xr.DataArray(usable.astype(float), [own]), integer=True, name=f"x{i}")
        for i, (usable, own) in enumerate(zip(tables.usable, label, strict=True))
    ]
    y = [model.add_variables(lower=0, upper=1, coords=ends, name=f"y{e}") for e, ends in enumerate(both)]
    r, t = model.add_variables(lower=0, name="r"), model.add_variables(lower=0, name="t")
    for i, each in enumerate(x):
        model.add_constraints(each.sum() == 1, name=f"one configuration {i}")
    for e, (i, j) in enumerate(tables.streams):
        model.add_constraints(y[e].sum(label[j].name) - x[i] == 0, name=f"leaving {e}")
        model.add_constraints(y[e].sum(label[i].name) - x[j] == 0, name=f"entering {e}")
    used = [(each * xr.DataArray(use, [own, node])).sum(own.name) for each, use, own in zip(x, tables.use, label, strict=True)]
    model.add_constraints(sum(used) <= 1, name="capacity")
    coords = [[own] for own in label]
    waiting, moving = _totals(x, tables.latency, coords), _totals(y, tables.delay, both)
    for p, (on, legs) in enumerate(tables.paths):
        model.add_constraints(r - sum(waiting[i] for i in on) - sum(moving[e] for e in legs) >= 0, name=f"path {p}")
    cost = sum([*_totals(x, tables.replica_cost, coords), *_totals(y, tables.traffic_cost, both)])
    model.add_constraints(cost / tables.cost_limit <= 1, name="cost limit")
    model.add_constraints(r <= 1, name="response limit")
    model.add_constraints(t <= 1, name="downtime limit")
    model.add_objective(tables.response_weight * r + tables.cost_weight * cost)
    return model


def _totals(variables: list[Any], tables: tuple[Floats, ...], coords: list[Any]) -> list[Any]:
    """Each block of variables times its table, summed up."""
    return [(each * xr.DataArray(*pair)).sum() for each, *pair in zip(variables, tables, coords, strict=True)]


def to_arrays(model: Any) -> Any:
    """The arrays that a solver interface gets; each property is made when it is asked for."""
    matrices = model.matrices
    return {name: getattr(matrices, name) for name in ("vlabels", "c", "lb", "ub", "vtypes", "A", "b", "sense")}


def canonical(model: Any, arrays: Any) -> Canonical:
    """Labels of columns count in the order in which blocks were added, which is ours."""
    assert (np.diff(arrays["vlabels"]) > 0).all(), model
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
