"""Where the backends of this package are: a module is imported when its backend is first used."""

from typing import Final

OWN_BACKENDS: Final = {
    "highs": "edrp.backends.highs:HighsBackend",
    "scipy": "edrp.backends.scipy_milp:ScipyBackend",
    "scip": "edrp.backends.scip:ScipBackend",
    "gurobi": "edrp.backends.gurobi:GurobiBackend",
    "cvxpy": "edrp.backends.cvxpy_bridge:CvxpyBackend",
    "pyomo": "edrp.backends.pyomo_bridge:PyomoBackend",
}
"""Class of every backend of this package by name; all else about it is written in the class."""
