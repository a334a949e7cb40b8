"""Proof of placements by elimination, which begins with a short search."""

from edrp.formulations.placement.elimination.method import Eliminate
from edrp.heuristics.placement.annealing import Annealing

METHODS = (Eliminate(heuristic=Annealing()),)
"""Methods that this module adds to the registry."""
