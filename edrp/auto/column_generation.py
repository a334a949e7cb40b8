"""Proof of placements by column generation, which begins with a short search."""

from edrp.formulations.placement.column_generation.method import ColumnGeneration
from edrp.heuristics.placement.search.methods import IteratedLocalSearch

METHODS = (ColumnGeneration(heuristic=IteratedLocalSearch()),)
"""Methods that this module adds to the registry."""
