"""Families of random instances, for every kind of problem."""

from edrp.datasets.families.family import Family, rounded
from edrp.datasets.families.files import save_instances
from edrp.datasets.families.registry import FAMILIES, all_families, choose_families, generate

__all__ = ["FAMILIES", "Family", "all_families", "choose_families", "generate", "rounded", "save_instances"]
