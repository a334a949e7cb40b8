"""Families of random instances, for every kind of problem."""

from edrp.datasets.families.family import Family
from edrp.datasets.families.files import save_instances
from edrp.datasets.families.registry import FAMILIES, all_families, choose_families, generate
from edrp.datasets.rounding import rounded

__all__ = ["FAMILIES", "Family", "all_families", "choose_families", "generate", "rounded", "save_instances"]
