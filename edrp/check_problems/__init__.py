"""Small problems with optima by brute force, on which `edrp.testing` checks the methods of a kind."""

from edrp.check_problems.base import CheckProblems

__all__ = ["CheckProblems"]
