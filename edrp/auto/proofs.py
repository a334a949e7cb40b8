"""Proofs of placements and rescalings, which begin with a short search: the only place that knows both rooms."""

from edrp.formulations.migration.rescale.decomposition.method import RangeDecomposition
from edrp.formulations.placement.column_generation.method import ColumnGeneration
from edrp.formulations.placement.elimination.method import Eliminate
from edrp.heuristics.migration.rescale.range_annealing import RangeAnnealing
from edrp.heuristics.placement.annealing import Annealing
from edrp.heuristics.placement.search.methods import IteratedLocalSearch

METHODS = (
    Eliminate(heuristic=Annealing()),
    ColumnGeneration(heuristic=IteratedLocalSearch()),
    RangeDecomposition(heuristic=RangeAnnealing()),
)
"""Methods that this module adds to the registry."""
