"""Rows as people write them, over arrays of expressions."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from registry import BenchSpec, register

from edrp.core.expressions import Block
from edrp.core.program import Program


def blocks(nodes: int) -> tuple[Program, Block, Block]:
    """A program with replicas and presence of 40 operators on each of `nodes` nodes."""
    program, names = Program(), {"operator": tuple(map(str, range(40))), "node": tuple(map(str, range(nodes)))}
    for name in ("replicas", "on"):
        program.add_columns(name, (40, nodes), upper=9, integer=True)
    return program, Block(program.block("replicas"), **names), Block(program.block("on"), **names)


def write_rows(program: Program, replicas: Block, on: Block) -> Program:
    """A row for every operator and node, one for every node, and one over everything."""
    copy = Program(columns=program.columns, column_blocks=dict(program.column_blocks))
    copy.add(replicas + 2 * on <= 3, "licences")
    copy.add((on * np.arange(on.shape[1])).sum(axis=0) - replicas["7"] >= -1, "sums")
    copy.add(on.sum() == 5, "five")
    return copy


def written(subject: tuple[Program, Block, Block]) -> Callable[[], object]:
    """Write rows over all columns."""
    return partial(write_rows, *subject)


register(BenchSpec("own rows", blocks, {"8,000 columns": 100, "400,000 columns": 5_000}, {"formulate": written}))
