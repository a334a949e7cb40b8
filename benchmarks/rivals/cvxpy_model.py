"""The literal program through CVXPY's expressions: one matrix variable per stream, every family of rows one expression.

As CVXPY's performance tips have it: vectorised, `cp.sum`, bounds as attributes. Double sums are products of flattened arrays,
which compiled faster here than `multiply` or `vdot`. Arrays come from `get_problem_data`.
"""

from __future__ import annotations

from typing import Any

import cvxpy as cp
import numpy as np
from rivals.common import Canonical, Tables
from scipy import sparse

from edrp.core.arrays import Floats


def build(tables: Tables) -> Any:
    """EDRP, eqs. 12–23."""
    x = [cp.Variable(size, boolean=True, name=f"x{i}") for i, size in enumerate(tables.sizes)]
    y = [cp.Variable(delay.shape, bounds=[0, 1], name=f"y{e}") for e, delay in enumerate(tables.delay)]
    r, t = cp.Variable(bounds=[0, 1], name="r"), cp.Variable(bounds=[0, 1], name="t")
    rows = [cp.sum(placed) == 1 for placed in x]
    rows += [cp.sum(flow, axis=1) == x[i] for flow, (i, _) in zip(y, tables.streams, strict=True)]
    rows += [cp.sum(flow, axis=0) == x[j] for flow, (_, j) in zip(y, tables.streams, strict=True)]
    rows += [placed[~usable] == 0 for placed, usable in zip(x, tables.usable, strict=True) if not usable.all()]
    rows.append(cp.sum([use.T @ placed for use, placed in zip(tables.use, x, strict=True)]) <= 1)
    waiting = [latency @ placed for latency, placed in zip(tables.latency, x, strict=True)]
    moving = [_double_sum(delay, flow) for delay, flow in zip(tables.delay, y, strict=True)]
    rows += [r >= sum(waiting[i] for i in on) + sum(moving[e] for e in legs) for on, legs in tables.paths]
    cost = sum(price @ each for price, each in zip(tables.replica_cost, x, strict=True)) + sum(
        _double_sum(price, flow) for price, flow in zip(tables.traffic_cost, y, strict=True)
    )
    rows.append(cost / tables.cost_limit <= 1)
    # CVXPY drops a column that no row mentions.
    rows.append(t <= 1)
    return cp.Problem(cp.Minimize(tables.response_weight * r + tables.cost_weight * cost), rows)


def _double_sum(table: Floats, flow: Any) -> Any:
    """Sum of a table's entries times those of a variable of the same shape."""
    return table.ravel(order="F") @ cp.vec(flow, order="F")


def to_arrays(model: Any, backend: str | None = None) -> Any:
    """The data that CVXPY hands to HiGHS; `backend` is the one that compiles expressions, CVXPY's default if None."""
    return model.get_problem_data(cp.HIGHS, canon_backend=backend)


def canonical(model: Any, arrays: Any) -> Canonical:
    """Columns by variable, matrices row by row."""
    data = arrays[0]
    first = data["param_prob"].var_id_to_col
    named = {variable.name(): variable for variable in model.variables()}
    blocks = [named[f"{letter}{k}"] for letter in "xy" for k in range(len(named)) if f"{letter}{k}" in named]
    # CVXPY flattens column by column, we row by row.
    order = np.concatenate(
        [
            (first[each.id] + np.arange(each.size).reshape(each.shape, order="F")).ravel()
            for each in (*blocks, named["r"], named["t"])
        ]
    )
    integer = np.isin(order, data["bool_vars_idx"])
    equal = np.arange(data["b"].size) < data["dims"].zero
    return Canonical(
        objective=data["c"][order],
        lower=data["lower_bounds"][order],
        upper=np.where(integer, np.minimum(1.0, data["upper_bounds"][order]), data["upper_bounds"][order]),
        integer=integer,
        matrix=sparse.csr_array(data["A"][:, order]),
        row_lower=np.where(equal, data["b"], -np.inf),
        row_upper=data["b"],
    )


def solve(model: Any, settings: dict[str, Any]) -> float:
    """Optimum through CVXPY's own call of HiGHS."""
    return float(model.solve(solver=cp.HIGHS, **settings))
