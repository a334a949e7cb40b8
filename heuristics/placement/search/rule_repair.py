"""Repair of deployments that break rules which must be met, for methods that do not search."""

from __future__ import annotations

import numpy as np

from edrp.core.arrays import Ints
from edrp.core.methods import Options
from edrp.heuristics.placement.search.deployment_engine import DeploymentEngine, too_many_pairs
from edrp.heuristics.placement.search.method_parameters import KickParameters
from edrp.placement.compiled import Compiled

REPAIR_KICKS = 200
"""Kicks after which a repair gives up."""


def repaired(compiled: Compiled, counts: Ints, options: Options) -> Ints:
    """A deployment after changes by which it breaks fewer rules and limits; itself if it breaks no rule that must be met.

    The objective plays no part, so that what a simple method has placed stays where it may.
    """
    if compiled.rules.breach(counts) == 0 or too_many_pairs(compiled) is not None:
        return counts
    engine = DeploymentEngine(compiled)
    engine.ignore_objective()
    random = np.random.default_rng(options.seed)
    engine.reset(counts, random)
    for steps in (engine.climb("repaired"), engine.kicks(KickParameters(kicks=REPAIR_KICKS), options.seed)):
        for value in steps:
            if value.violations == 0 or options.remaining <= 0:
                return engine.counts()
    return engine.counts()
