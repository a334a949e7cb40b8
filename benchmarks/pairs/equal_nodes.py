"""Chains that already run on a cluster of equal nodes, to be deployed again: `auto` against the compact program on SCIP."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from peer_pairs import Call, Outcome, Pair, register, solves
from peer_solvers import scip

import edrp
from edrp.datasets.families.placement.clusters import cluster
from edrp.datasets.families.placement.shapes import sequential

PEER_SECONDS = 8.0


def drawn(operators: int, seed: int) -> edrp.EdrpProblem:
    """A chain on 8 nodes of 8 slots in one to three zones."""
    random = np.random.default_rng(seed)
    return cluster(operators, random, shape=sequential, zones=1 + seed % 3, running=True, size=(8, 8, 12))


def prepare_scip(make: Callable[[int], edrp.EdrpProblem], seed: int) -> Callable[[], Outcome]:
    """Prepare the compact program, which each call hands over to SCIP and solves."""
    from edrp.formulations.placement.formulation import formulate_placement

    return partial(scip, formulate_placement(make(seed), "compact").program.arrays(), PEER_SECONDS)


for operators in (5, 10, 15):
    make = partial(drawn, operators)
    ours, peer = Call("auto", solves(make, time_limit=30.0)), Call("compact program on SCIP", partial(prepare_scip, make))
    goal = "1 s for nine of ten" if operators == 10 else "measured"
    register(Pair(f"rchain{operators}-8x8", goal, ours, peer, ("pyscipopt",), drawn=True))
