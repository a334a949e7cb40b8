"""Certificates of PMC: the projected costs of all partitions, rounded to integers (format `pmc` of the checker)."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, log2

import numpy as np

from edrp.core.certificates import RawCertificate
from edrp.core.tolerances import CERTIFIED_BOUND_MARGIN, CERTIFIED_COST_ERROR, MIN_CERTIFIED_COST_ERROR
from edrp.mdp.policy.pmc import MAX_FURTHER_SWEEPS, Threads, iterate
from edrp.mdp.policy.process import PolicyModel
from edrp.migration.policy import MigrationPolicyProblem, MigrationPolicySolution

CERTIFICATE_BITS = 50
"""Binary digits of all state in units of the certificate; the checker's sweep bounds the effect of rounding."""


def certify_pmc(problem: MigrationPolicyProblem, solution: MigrationPolicySolution) -> RawCertificate:
    """Write an unchecked certificate: C of all partitions from a second run, or nothing where a class is empty."""
    if solution.status == "infeasible":
        return RawCertificate("pmc", [], {"unit": "1"})
    model = PolicyModel.of(problem, problem.reachable_counts)
    objective = Fraction(solution.objective or 0.0)
    iteration = iterate(model, Threads(1))
    error = max(MIN_CERTIFIED_COST_ERROR, CERTIFIED_COST_ERROR * float(objective))
    if iteration.error_bound > error:  # what is at stake is little relative to all state
        max_sweeps, accuracy = iteration.sweeps + MAX_FURTHER_SWEEPS, error / model.total_state
        iteration = iterate(model, Threads(1), state=iteration, accuracy=accuracy, max_sweeps=max_sweeps)
    unit = Fraction(2) ** (ceil(log2(max(model.total_state, 1.0))) - CERTIFICATE_BITS)
    lines = [
        [int(count), np.rint(values / float(unit)).astype(np.int64).tolist()]
        for count, values in zip(model.counts, iteration.values, strict=True)
    ]
    return RawCertificate(
        "pmc", lines, {"unit": str(unit), "bound": str(objective - abs(objective) * Fraction(CERTIFIED_BOUND_MARGIN))}
    )
