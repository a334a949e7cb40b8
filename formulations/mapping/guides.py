"""Guides of the search over labels: bounds under prices of resources, and sums of amounts that can still be taken of them."""

from __future__ import annotations

import numpy as np

from edrp.core.arrays import Floats
from edrp.core.tolerances import GUIDE_SUM_DIFFERENCE
from edrp.formulations.mapping.label_arrays import Guide, Tracked
from edrp.formulations.mapping.lagrangian import PricedRelaxation, fill_to_go
from edrp.formulations.mapping.layered_graph import MapLayers, ToGo

MAX_SUMS = 400
"""Sums of amounts that are listed for a resource."""

MAX_GUIDE_CELLS = 4_000_000
"""Maximum size of the tables of maps through tracked resources; larger ones are left out."""


def build_guide(
    layers: MapLayers, plain: PricedRelaxation, priced: PricedRelaxation, resources: list[int], through: bool
) -> Guide:
    """Build the guide of a search that tracks some resources.

    Parameters
    ----------
    through
        Whether to look for labels to which a resource no longer matters: a table for each, worth it where a good map is known.
    """
    through = through and plain.togo.arrived.size * len(resources) <= MAX_GUIDE_CELLS
    both = [
        _through(layers, relaxation, resources) if through else _zeros(layers, len(resources)) for relaxation in (plain, priced)
    ]
    return Guide(plain.prices, plain.togo, priced.prices, priced.togo, both[0], both[1])


def _zeros(layers: MapLayers, slots: int) -> ToGo:
    arrived, leaving = layers.to_go()
    return ToGo(np.zeros((*arrived.shape, slots)), np.zeros((*leaving.shape, slots)))


def _through(layers: MapLayers, each: PricedRelaxation, resources: list[int]) -> ToGo:
    """Compute the least further price of maps that take some of a resource, with a last axis of resources."""
    through, togo = _zeros(layers, len(resources)), layers.to_go()
    for slot, resource in enumerate(resources):
        fill_to_go(layers, each.prices, togo, resource, each.togo)
        through.arrived[..., slot], through.leaving[..., slot] = togo
    return through


def build_tracked(layers: MapLayers, resources: list[int]) -> Tracked:
    """Build the tracked resources with the sums of amounts that can be taken of them."""
    limit = layers.graph.limit
    slot = np.full(limit.size, -1, np.int32)
    slot[resources] = np.arange(len(resources))
    sums = [layer_sums for resource in resources for layer_sums in _sums(_amounts(layers, resource), limit[resource])]
    shape = (len(resources), layers.graph.rates.size)
    ends = np.cumsum([layer_sums.size for layer_sums in sums], dtype=np.int64).reshape(shape)
    start = np.zeros((shape[0], shape[1] + 1), np.int32)
    start[:, 1:] = ends
    start[1:, 0] = ends[:-1, -1]
    scale = 1 / np.maximum(limit[resources], np.finfo(float).tiny)
    return Tracked(slot, start, np.concatenate(sums) if sums else np.zeros(0), scale)


def _amounts(layers: MapLayers, resource: int) -> Floats:
    """Compute the amount of a resource that each component or hop would take, shape (m + 1,); 0 where it cannot be there."""
    marks = np.zeros(layers.graph.limit.size)
    marks[resource] = 1
    for prices, mark, amounts in zip(
        (layers.prices.host, layers.prices.arc, layers.prices.up, layers.prices.down),
        layers.parts(marks),
        (layers.graph.needs, *(layers.graph.rates,) * 3),
        strict=True,
    ):
        if mark.any():
            taken = np.where(prices[:, int(mark.argmax())] < np.inf, amounts, 0.0)
            return np.append(taken, np.zeros(layers.graph.rates.size - taken.size))
    raise IndexError(f"there are {marks.size} resources, not {resource + 1}")


def _sums(amounts: Floats, limit: float) -> list[Floats]:
    """Return for each layer the possible sums of further amounts up to the limit, ascending; empty where too many."""
    by_layer, sums = [], np.zeros(1)
    for amount in amounts[::-1]:
        if amount > 0 and sums.size:
            both = np.concatenate([sums, sums + amount])
            both = np.sort(both[both <= limit])
            sums = both[np.append(True, np.diff(both) > GUIDE_SUM_DIFFERENCE * limit)]
            sums = sums if sums.size <= MAX_SUMS else sums[:0]
        by_layer.append(sums)
    return by_layer[::-1]
