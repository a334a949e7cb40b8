"""Chains that already run on a cluster of equal nodes, to be deployed again: `auto` against the compact program on SCIP."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from peer_pairs import Call, Outcome, Pair, register

import edrp
from edrp.datasets.families.placement.clusters import cluster
from edrp.datasets.families.placement.shapes import sequential

INSTANCES = Path(__file__).resolve().parents[1] / "instances"
PEER_SECONDS = 8.0


def named() -> edrp.EdrpProblem:
    """The chain of ten operators on 8 nodes of 8 slots."""
    return edrp.load(INSTANCES / "rchain10_8x8.json")


def drawn(operators: int, zones: int, seed: int) -> edrp.EdrpProblem:
    """A chain of the same class: 8 nodes of 8 slots in so many zones."""
    random = np.random.default_rng(seed)
    return cluster(operators, random, shape=sequential, zones=zones, running=True, size=(8, 8, 12))


def prepare_auto(make: Callable[[], edrp.EdrpProblem]) -> Callable[[], Outcome]:
    """Prepare a call of `auto`, kernels loaded."""
    problem = make()
    edrp.solve(problem, "auto", time_limit=30.0)

    def call() -> Outcome:
        solution = edrp.solve(problem, "auto", time_limit=30.0)
        return Outcome(solution.objective, solution.bound, solution.status)

    return call


def prepare_scip(make: Callable[[], edrp.EdrpProblem]) -> Callable[[], Outcome]:
    """Prepare the compact program, which each call hands over to SCIP and solves."""
    from edrp.formulations.placement.formulation import formulate_placement

    arrays = formulate_placement(make(), "compact").program.arrays()

    def call() -> Outcome:
        from pyscipopt import Model, quicksum

        model = Model()
        model.hideOutput()
        model.setParam("limits/time", PEER_SECONDS)
        model.setParam("parallel/maxnthreads", 1)
        columns = zip(arrays.lower, arrays.upper, arrays.integer, arrays.objective, strict=True)
        x = [model.addVar(lb=lo, ub=up, vtype="I" if whole else "C", obj=c) for lo, up, whole, c in columns]
        matrix = arrays.matrix
        for row, (low, high) in enumerate(zip(arrays.row_lower, arrays.row_upper, strict=True)):
            inside = slice(matrix.indptr[row], matrix.indptr[row + 1])
            total = quicksum(a * x[k] for k, a in zip(matrix.indices[inside], matrix.data[inside], strict=True))
            if np.isfinite(low):
                model.addCons(total >= low)
            if np.isfinite(high):
                model.addCons(total <= high)
        model.optimize()
        best = model.getObjVal() + arrays.constant if model.getNSols() else None
        return Outcome(best, model.getDualbound() + arrays.constant, model.getStatus())

    return call


ROWS = {"rchain10-8x8": named} | {
    f"rchain{operators}-8x8-{zones}": partial(drawn, operators, zones, 1) for operators in (5, 10, 15) for zones in (1, 2, 3)
}

for name, make in ROWS.items():
    ours, peer = Call("auto", partial(prepare_auto, make)), Call("compact program on SCIP", partial(prepare_scip, make))
    register(Pair(name=name, goal="0.5 s, proven", ours=ours, peer=peer, needs=("pyscipopt",)))
