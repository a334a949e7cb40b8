"""Chains that already run on a cluster of equal nodes, to be deployed again: `auto` against the compact program on SCIP."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from peer_pairs import Call, Outcome, Pair, register, solves
from peer_solvers import scip

import edrp
from edrp.datasets.families.placement.clusters import cluster
from edrp.datasets.families.placement.shapes import sequential

PEER_SECONDS = 8.0


def named() -> Any:
    """The chain of ten operators on 8 nodes of 8 slots."""
    return edrp.library["edrp/chain-8-on-8-benchmark"].problem


def drawn(operators: int, zones: int, seed: int) -> edrp.EdrpProblem:
    """A chain of the same class: 8 nodes of 8 slots in `zones` zones."""
    random = np.random.default_rng(seed)
    return cluster(operators, random, shape=sequential, zones=zones, running=True, size=(8, 8, 12))


def prepare_scip(make: Callable[[], edrp.EdrpProblem]) -> Callable[[], Outcome]:
    """Prepare the compact program, which each call hands over to SCIP and solves."""
    from edrp.formulations.placement.formulation import formulate_placement

    return partial(scip, formulate_placement(make(), "compact").program.arrays(), PEER_SECONDS)


ROWS = {"rchain10-8x8": named} | {
    f"rchain{operators}-8x8-{zones}": partial(drawn, operators, zones, 1) for operators in (5, 10, 15) for zones in (1, 2, 3)
}

for name, make in ROWS.items():
    ours, peer = Call("auto", solves(make, time_limit=30.0)), Call("compact program on SCIP", partial(prepare_scip, make))
    register(Pair(name=name, goal="0.5 s, proven", ours=ours, peer=peer, needs=("pyscipopt",)))
