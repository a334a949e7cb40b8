"""Repair of deployments that break rules which must be met, for methods that do not search."""

from __future__ import annotations

import numpy as np

from edrp.core.arrays import Ints
from edrp.core.methods import Options
from edrp.heuristics.placement.filling import stable_degrees
from edrp.heuristics.placement.search.deployment_engine import DeploymentEngine, too_many_pairs
from edrp.placement.compiled import Compiled


def repaired(compiled: Compiled, counts: Ints, options: Options) -> Ints:
    """A deployment that hill climbing reaches and that breaks fewer rules and limits; itself if all rules are met.

    The objective plays no part, so that what a simple method has placed stays where it may. Replicas that found no node are
    not added: what has too few of them, or more than allowed, has no value to climb from.
    """
    if compiled.rules.breach(counts) == 0 or too_many_pairs(compiled) is not None:
        return counts
    degree = np.minimum(counts.sum(axis=1), compiled.latency.shape[1] - 1)
    if not stable_degrees(compiled)[np.arange(degree.size), degree].all():
        return counts
    engine = DeploymentEngine(compiled)
    engine.ignore_objective()
    engine.reset(counts, np.random.default_rng(options.seed))
    for _ in engine.climb("repaired"):
        if options.remaining <= 0:
            break
    return engine.counts()
