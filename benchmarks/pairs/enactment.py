"""Leased hosts: a moment of 32 and of 64 operators, and leases over eight periods, drawn, against solvers on the plain programs.

A peer gets the program that says which instances run on which hosts, without anything that `edrp` proves or packs beforehand: of
a moment all combinations of hosts that may be optimal by their resources in aggregate, of leases the hosts of every period.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any
from unittest.mock import patch

import numpy as np
from peer_pairs import Call, Outcome, Pair, register, solves
from peer_solvers import gurobi, scip

import edrp
from edrp.backends.solving import solve_program
from edrp.core.program import Arrays, Program
from edrp.datasets.families.registry import choose_families
from edrp.formulations.enactment import snapshot

SECONDS = 10.0
"""Limit of every solver in seconds of the processor, or in units of work where it counts these."""


def drawn(kind: str, family: str, size: int, seed: int) -> Any:
    """An instance of a family."""
    return choose_families(kind, [family])[0].make(size, np.random.default_rng(seed))


def program_of(problem: Any) -> Program:
    """The program of all instances and hosts, of a moment without the bounds that packing proves."""
    with patch.object(snapshot, "sharpened", lambda arrays, found, allowance: found):
        program: Program = edrp.formulate(problem).program
    return program


def by_highs(make: Callable[[int], Any], seed: int) -> Callable[[], Outcome]:
    """HiGHS."""
    program = program_of(make(seed))

    def run() -> Outcome:
        result = solve_program(program, "highs", work_limit=SECONDS)
        return Outcome(result.objective, result.bound, result.status)

    return run


def on_arrays(solver: Callable[[Arrays, float], Outcome], make: Callable[[int], Any], seed: int) -> Callable[[], Outcome]:
    """A solver that is handed the program."""
    return partial(solver, program_of(make(seed)).arrays(), SECONDS)


ROWS = {
    "enactment-32": ("ten of ten proven in 10 s", "enactment", "containers-layered", 32),
    "enactment-64": ("gap 0.01 % in 10 s", "enactment", "containers-layered", 64),
    "leasing-departures-8": ("1.0 x Gurobi", "leasing", "departures", 8),
    "leasing-containers-8": ("1.0 x Gurobi", "leasing", "containers", 8),
}
PEERS = {
    "scip": ("SCIP", partial(on_arrays, scip), "pyscipopt"),
    "gurobi": ("Gurobi", partial(on_arrays, gurobi), "gurobipy"),
    "highs": ("HiGHS", by_highs, "highspy"),
}

for row, (goal, *family) in ROWS.items():
    for short, (title, peer, module) in PEERS.items():
        make = partial(drawn, *family)
        ours = solves(make, work_limit=None if row.startswith("leasing") else SECONDS)
        register(Pair(f"{row}-{short}", goal, Call("edrp", ours), Call(title, partial(peer, make)), (module,), drawn=True))
