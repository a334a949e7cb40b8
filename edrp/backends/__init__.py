"""Solver backends by name, and `solve_program`, which runs one of them on any program."""

from typing import TYPE_CHECKING, Final

from edrp.core.late_imports import late_names

if TYPE_CHECKING:
    from edrp.backends.base import Backend, ProgramResult, SolverOptions
    from edrp.backends.points import rounded
    from edrp.backends.registry import available_backends, backends, get_backend, register_backend
    from edrp.backends.solving import solve_program, solved_exactly

OWN_BACKENDS: Final = {
    "highs": "edrp.backends.highs:HighsBackend",
    "scipy": "edrp.backends.scipy_milp:ScipyBackend",
    "scip": "edrp.backends.scip:ScipBackend",
    "gurobi": "edrp.backends.gurobi:GurobiBackend",
    "cvxpy": "edrp.backends.cvxpy_bridge:CvxpyBackend",
    "pyomo": "edrp.backends.pyomo_bridge:PyomoBackend",
}
"""Class of every backend of this package by name; all else is written in the class, and imported when it is first needed."""

__getattr__ = late_names(
    "edrp.backends",
    {
        "base": "Backend ProgramResult SolverOptions",
        "points": "rounded",
        "registry": "available_backends backends get_backend register_backend",
        "solving": "solve_program solved_exactly",
    },
)

__all__ = [
    "OWN_BACKENDS",
    "Backend",
    "ProgramResult",
    "SolverOptions",
    "available_backends",
    "backends",
    "get_backend",
    "register_backend",
    "rounded",
    "solve_program",
    "solved_exactly",
]
