"""Proofs that need several rooms: of rescalings, which begin with a short search, and of deployments over time."""

from edrp.formulations.migration.rescale.decomposition.method import RangeDecomposition
from edrp.formulations.placement.border_multipliers import border_multipliers, expected_work
from edrp.formulations.placement.priced import solve_priced, solve_under_loads
from edrp.heuristics.migration.rescale.methods import RangeAnnealing
from edrp.mdp.placement.method import PricedCourse
from edrp.mdp.placement.pool_policy import PoolPolicy

METHODS = (
    RangeDecomposition(heuristic=RangeAnnealing()),
    PricedCourse(solve_priced, solve_under_loads, border_multipliers, expected_work),
    PoolPolicy(solve_priced),
)
"""Methods that this module adds to the registry."""
