"""How much work it is to evaluate a change of a deployment under search, on the work clock."""

from __future__ import annotations

import numpy as np

from edrp.heuristics.placement.filling import least_stable
from edrp.placement.compiled import Compiled

CHUNK_UNITS = 0.02
"""Units of work between two looks at the clock."""

STEP_UNITS, PART_UNITS, PAIR_UNITS = 1.5e-7, 3e-9, 1.5e-9
"""Units of work for a change: in any case, per operator and stream, and per pair of nodes that is looked at.
Fitted to iterated local search on layered applications of 10, 20 and 60 operators, processor time over units 0.8 to 1.0."""


def pairs_per_operator(compiled: Compiled) -> float:
    """Pairs of replicas over an operator's streams, on average, with as few replicas as can be."""
    replicas = least_stable(compiled)
    pairs = replicas[compiled.stream_source] * replicas[compiled.stream_target]
    return float(2 * pairs.sum() / replicas.size)


def evaluation_units(compiled: Compiled) -> float:
    """Units of work of one change: a pass over operators and streams, and over the nodes at both ends of streams.

    Where paths run through instances, or nodes and links may fail, that is all streams, else those of one operator.
    """
    operators, streams = len(compiled.operators), len(compiled.stream_rate)
    hosts = np.minimum(compiled.max_replicas, compiled.candidate.sum(axis=1)).astype(float)
    pairs = float((hosts[compiled.stream_source] * hosts[compiled.stream_target]).sum())
    if not (compiled.instance_paths or compiled.links.lossy):
        pairs *= 2 / operators
    current = 0 if compiled.current is None else compiled.candidate.shape[1]
    return STEP_UNITS + PART_UNITS * (operators + streams + current) + PAIR_UNITS * pairs
