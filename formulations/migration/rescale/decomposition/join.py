"""The least sum of tables over the states of operators and of pairs of them: elimination of one operator after the other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from edrp.core.arrays import Floats, Ints

MAX_PAIR_CELLS = 300_000
"""Cells of a table beyond which a pair of operators is taken apart: its table is replaced by its least row."""


@dataclass(frozen=True, slots=True)
class _Table:
    """Values over the states of some operators, ascending."""

    scope: tuple[int, ...]
    values: Floats


def least_states(state_costs: Floats, pairs: dict[tuple[int, int], Floats]) -> tuple[float, Ints]:
    """The least sum and a state of every operator that has it; pairs that would make tables too large count less.

    Parameters
    ----------
    state_costs
        Shape (operators, states), infinite where an operator cannot be.
    pairs
        Tables of shape (states, states) by two operators, the first one smaller.
    """
    size, states = state_costs.shape
    tables = [_Table((i,), state_costs[i]) for i in range(size)] + [_Table(pair, values) for pair, values in pairs.items()]
    order: list[tuple[int, _Table]] = []
    uneliminated = set(range(size))
    total = 0.0
    while uneliminated:
        i = min(uneliminated, key=lambda i: (len({j for t in tables if i in t.scope for j in t.scope}), -i))
        uneliminated.remove(i)
        mine, tables = [t for t in tables if i in t.scope], [t for t in tables if i not in t.scope]
        mine = _small_enough(mine, i, states)
        scope = tuple(sorted({j for t in mine for j in t.scope}))
        joint = sum((_spread(t, scope) for t in mine), np.zeros((1,) * len(scope)))
        joint = np.broadcast_to(joint, (states,) * len(scope))
        order.append((i, _Table(scope, joint)))
        rest = tuple(j for j in scope if j != i)
        least_costs = joint.min(axis=scope.index(i))
        if rest:
            tables.append(_Table(rest, least_costs))
        else:
            total += float(least_costs)
    chosen = np.zeros(size, np.int64)
    for i, table in reversed(order):
        at = tuple(slice(None) if j == i else chosen[j] for j in table.scope)
        chosen[i] = int(np.argmin(table.values[at]))
    return total, chosen


def _small_enough(tables: list[_Table], i: int, states: int) -> list[_Table]:
    """Tables without those operators that would make them too large together."""
    joined: list[_Table] = []
    scope = {i}
    for table in sorted(tables, key=lambda t: len(t.scope)):
        together = scope | set(table.scope)
        if states ** len(together) <= MAX_PAIR_CELLS or len(together) <= 2:
            joined, scope = [*joined, table], together
        else:
            axes = tuple(axis for axis, j in enumerate(table.scope) if j not in scope)
            joined.append(_Table(tuple(j for j in table.scope if j in scope), table.values.min(axis=axes)))
    return joined


def _spread(table: _Table, scope: tuple[int, ...]) -> Floats:
    shape = [table.values.shape[table.scope.index(j)] if j in table.scope else 1 for j in scope]
    return table.values.reshape(shape)
