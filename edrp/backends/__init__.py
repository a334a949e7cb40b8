"""Solver backends by name, and `solve_program`, which runs one of them on any program."""

from typing import TYPE_CHECKING

from edrp.backends.names import OWN_BACKENDS
from edrp.core.late_imports import late_names

if TYPE_CHECKING:
    from edrp.backends.base import Backend, ProgramResult, SolverOptions
    from edrp.backends.points import rounded
    from edrp.backends.registry import available_backends, backends, get_backend, register_backend
    from edrp.backends.solving import solve_program, solved_exactly

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
