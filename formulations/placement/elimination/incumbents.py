"""Deployments that are known, as the search sees them: configurations in search order, and objectives with tie terms."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from edrp.core.arrays import Ints, Ints32
from edrp.core.tolerances import TIE_MOVE
from edrp.formulations.placement.elimination.model import EliminationModel
from edrp.formulations.placement.elimination.tree import BestConfigurations
from edrp.placement.counted_values import counts_objective, scaled_metric
from edrp.placement.scales import max_objective


def best_known(model: EliminationModel, known: Iterable[Ints | None]) -> BestConfigurations:
    """The best of some deployments; without any that is feasible, more than the largest value that one can have.

    Parameters
    ----------
    known
        Replicas per operator and node, shape (operators, nodes), in the order of the compiled problem; None for none.
    """
    best = BestConfigurations(max_objective(model.compiled) + 1e-6)
    for counts in known:
        improve(model, best, counts)
    return best


def improve(model: EliminationModel, incumbent: BestConfigurations, counts: Ints | None) -> None:
    """Put a feasible deployment in the incumbent's place if it is better."""
    objective = np.inf if counts is None else counts_objective(model.compiled, counts)
    if counts is None or objective == np.inf:
        return
    members = [model.compiled.members(counts)[i] for i in model.order]
    objective += _ties(model, counts, members)
    if objective < incumbent.objective:
        incumbent.objective, incumbent.members = objective, members


def _ties(model: EliminationModel, counts: Ints, members: Sequence[Ints32]) -> float:
    """Tie terms of a deployment, given as replicas and as configurations in search order."""
    compiled = model.compiled
    ties = (model.cost - compiled.weight["cost"]) * scaled_metric(compiled, "cost", counts)
    if compiled.current is not None:
        moved = np.maximum(counts - compiled.current, 0).sum(axis=1)
        gone = np.maximum(compiled.current - counts, 0).sum(axis=1)
        ties += TIE_MOVE * float(np.sum(np.maximum(moved, gone)))
    return ties + sum(float(model.tie_order(i)[nodes_of[nodes_of >= 0]].sum()) for i, nodes_of in enumerate(members))


def counts_of(model: EliminationModel, members: Sequence[Ints32]) -> Ints:
    """Replicas per operator and node, shape (operators, nodes), of configurations in search order."""
    counts = np.zeros(model.compiled.candidate.shape, np.int64)
    for i, nodes_of in zip(model.order, members, strict=True):
        np.add.at(counts[i], nodes_of[nodes_of >= 0], 1)
    return counts
