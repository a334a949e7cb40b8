"""The literal program through Pyomo's expressions: indexed variables, rules, `quicksum`.

Data are plain lists, which Pyomo indexes faster than arrays, and terms of coefficient 0 are left out. `quicksum` is what
Pyomo's manual recommends for long sums. Arrays come from `LinearStandardFormCompiler`, its quickest way to a matrix.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyomo.environ as pyo
from pyomo.contrib.solver.common.factory import SolverFactory
from pyomo.repn.plugins.standard_form import LinearStandardFormCompiler
from rivals.common import Canonical, Tables
from scipy import sparse


def build(tables: Tables) -> Any:
    """EDRP, eqs. 12–23."""
    model = pyo.ConcreteModel()
    sizes, streams, paths = tables.sizes, tables.streams, tables.paths
    use = [each.tolist() for each in tables.use]
    latency, delay = [each.tolist() for each in tables.latency], [each.tolist() for each in tables.delay]
    price, traffic = [each.tolist() for each in tables.replica_cost], [each.tolist() for each in tables.traffic_cost]
    operators, ends = range(len(sizes)), range(len(streams))
    source, target = [range(sizes[i]) for i, _ in streams], [range(sizes[j]) for _, j in streams]

    model.x = pyo.Var([(i, u) for i in operators for u in range(sizes[i])], domain=pyo.Binary)
    model.y = pyo.Var([(e, u, v) for e in ends for u in source[e] for v in target[e]], bounds=(0, 1))
    model.r = pyo.Var(bounds=(0, None))
    model.t = pyo.Var(bounds=(0, None))
    x, y = model.x, model.y
    for i in operators:
        for u in np.flatnonzero(~tables.usable[i]).tolist():
            x[i, u].setub(0)

    def one_configuration(_: Any, i: int) -> Any:
        return pyo.quicksum(x[i, u] for u in range(sizes[i])) == 1

    def leaving(_: Any, e: int, u: int) -> Any:
        return pyo.quicksum(y[e, u, v] for v in target[e]) == x[streams[e][0], u]

    def entering(_: Any, e: int, v: int) -> Any:
        return pyo.quicksum(y[e, u, v] for u in source[e]) == x[streams[e][1], v]

    def capacity(_: Any, n: int) -> Any:
        return pyo.quicksum(use[i][u][n] * x[i, u] for i in operators for u in range(sizes[i]) if use[i][u][n]) <= 1

    def path(model: Any, p: int) -> Any:
        on, legs = paths[p]
        waiting = pyo.quicksum(latency[i][u] * x[i, u] for i in on for u in range(sizes[i]))
        moving = pyo.quicksum(delay[e][u][v] * y[e, u, v] for e in legs for u in source[e] for v in target[e] if delay[e][u][v])
        return model.r >= waiting + moving

    model.one_configuration = pyo.Constraint(operators, rule=one_configuration)
    model.leaving = pyo.Constraint([(e, u) for e in ends for u in source[e]], rule=leaving)
    model.entering = pyo.Constraint([(e, v) for e in ends for v in target[e]], rule=entering)
    model.capacity = pyo.Constraint(range(len(use[0][0])), rule=capacity)
    model.paths = pyo.Constraint(range(len(paths)), rule=path)
    cost = pyo.quicksum(price[i][u] * x[i, u] for i in operators for u in range(sizes[i])) + pyo.quicksum(
        traffic[e][u][v] * y[e, u, v] for e in ends for u in source[e] for v in target[e] if traffic[e][u][v]
    )
    model.cost = pyo.Expression(expr=cost)
    model.cost_limit = pyo.Constraint(expr=model.cost / tables.cost_limit <= 1)
    model.response_limit = pyo.Constraint(expr=model.r <= 1)
    model.downtime_limit = pyo.Constraint(expr=model.t <= 1)
    model.total = pyo.Objective(expr=tables.response_weight * model.r + tables.cost_weight * model.cost)
    return model


def to_arrays(model: Any) -> Any:
    """The standard form that a solver interface gets."""
    return LinearStandardFormCompiler().write(model, mixed_form=True)


def canonical(model: Any, arrays: Any) -> Canonical:
    """Columns back in the order of the model."""
    variables = [*model.x.values(), *model.y.values(), model.r, model.t]
    place = {id(variable): column for column, variable in enumerate(variables)}
    order = np.array([place[id(variable)] for variable in arrays.columns])
    backwards = sparse.csr_array((np.ones(order.size), (np.arange(order.size), order)), shape=(order.size, len(variables)))
    direction = np.array([row.bound_type for row in arrays.rows])
    return Canonical(
        objective=(arrays.c @ backwards).toarray().ravel(),
        lower=np.array([-np.inf if v.lb is None else v.lb for v in variables], float),
        upper=np.array([np.inf if v.ub is None else v.ub for v in variables], float),
        integer=np.array([v.is_integer() or v.is_binary() for v in variables]),
        matrix=sparse.csr_array(arrays.A @ backwards),
        row_lower=np.where(direction <= 0, arrays.rhs, -np.inf),
        row_upper=np.where(direction >= 0, arrays.rhs, np.inf),
    )


def solve(model: Any, settings: dict[str, Any]) -> float:
    """Optimum through Pyomo's own call of HiGHS."""
    found = SolverFactory("highs").solve(model, rel_gap=settings["mip_rel_gap"], solver_options=settings)
    return float(found.incumbent_objective)
