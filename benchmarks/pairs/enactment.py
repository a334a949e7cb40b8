"""Leased hosts: a moment of 32 and of 64 operators, and leases over eight periods, against solvers on the plain programs.

A peer gets the program that says which instances run on which hosts, without anything that `edrp` proves or packs beforehand: of
a moment all combinations of hosts that may be optimal by their resources in aggregate, of leases the hosts of every period.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any
from unittest.mock import patch

from peer_pairs import Call, Outcome, Pair, register, solves
from peer_solvers import gurobi, scip

import edrp
from edrp.backends.solving import solve_program
from edrp.core.program import Arrays, Program
from edrp.datasets.families.registry import generate
from edrp.formulations.enactment import snapshot

SECONDS = 10.0
"""Limit of every solver in seconds of the processor, or in units of work where it counts these."""


def of_library(name: str) -> Any:
    """The problem of a row of the library."""
    return edrp.library[name].problem


def of_64_operators() -> Any:
    """A layered application of 64 operators at one moment."""
    return next(generate("enactment", 1, seed=64, families=["containers-layered"], size=64))[1]


def program_of(problem: Any) -> Program:
    """The program of all instances and hosts, of a moment without the bounds that packing proves."""
    with patch.object(snapshot, "sharpened", lambda arrays, found, allowance: found):
        program: Program = edrp.formulate(problem).program
    return program


def by_highs(make: Callable[[], Any]) -> Callable[[], Outcome]:
    """HiGHS."""
    program = program_of(make())

    def run() -> Outcome:
        result = solve_program(program, "highs", work_limit=SECONDS)
        return Outcome(result.objective, result.bound, result.status)

    return run


def on_arrays(solver: Callable[[Arrays, float], Outcome], make: Callable[[], Any]) -> Callable[[], Outcome]:
    """A solver that is handed the program."""
    return partial(solver, program_of(make()).arrays(), SECONDS)


ROWS = {
    "enactment-32": ("proven, 10 s", partial(of_library, "enactment/layered-32-benchmark")),
    "enactment-64": ("gap 0.01 %, 10 s", of_64_operators),
    "leasing-departures-8": ("0.02 s, proven", partial(of_library, "leasing/departures-8-benchmark")),
}
PEERS = {
    "scip": ("SCIP", partial(on_arrays, scip), "pyscipopt"),
    "gurobi": ("Gurobi", partial(on_arrays, gurobi), "gurobipy"),
    "highs": ("HiGHS", by_highs, "highspy"),
}

for row, (goal, make) in ROWS.items():
    for short, (title, peer, module) in PEERS.items():
        ours = solves(make, work_limit=None if row.startswith("leasing") else SECONDS)
        register(Pair(f"{row}-{short}", goal, Call("edrp", ours), Call(title, partial(peer, make)), (module,)))
