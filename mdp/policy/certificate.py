"""Certificates of PMC: the projected costs of all partitions, rounded to integers (format `pmc` of the checker)."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, log2

import numpy as np

from edrp.core.budget import seconds_left
from edrp.core.certificates import RawCertificate
from edrp.mdp.policy.pmc import Threads, iterate
from edrp.mdp.policy.process import PolicyModel
from edrp.migration.policy import MigrationPolicyProblem, MigrationPolicySolution

DIGITS = 50
"""Binary digits of all state in units; the checker's sweep finds out what rounding costs."""

ROUNDING = 1e-10
"""Share of the value by which the claimed bound stays below it, so that errors of C fit in between."""


def certify_pmc(problem: MigrationPolicyProblem, solution: MigrationPolicySolution) -> RawCertificate:
    """A certificate, not yet checked: C of all partitions from a second run of the method, or nothing where a class is empty."""
    if solution.status == "infeasible":
        return RawCertificate("pmc", [], {"unit": "1"})
    model = PolicyModel.of(problem, problem.reachable_counts)
    left = seconds_left()
    iteration = iterate(model, Threads(1), time_limit=None if left == float("inf") else left)
    unit = Fraction(2) ** (ceil(log2(max(model.total_state, 1.0))) - DIGITS)
    lines = [
        [int(count), np.rint(values / float(unit)).astype(np.int64).tolist()]
        for count, values in zip(model.counts, iteration.values, strict=True)
    ]
    objective = Fraction(solution.objective or 0.0)
    return RawCertificate("pmc", lines, {"unit": str(unit), "bound": str(objective - abs(objective) * Fraction(ROUNDING))})
