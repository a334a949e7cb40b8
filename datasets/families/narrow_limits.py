"""Problems whose capacities are missed or met by next to nothing, in numbers of any size, as documents."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

Document = dict[str, Any]
Holder = dict[str, Any]

POWERS = (0.0, 12.0)
"""Powers of ten of the capacities."""

EXCESSES = (-12.0, -6.0)
"""Powers of ten of the excess of some demands together over a capacity, as a share of it."""

MET, SPARED = 0.15, 0.2
"""Shares of the problems in which they are as large as the capacity, and less than it by such a share."""


def with_narrow_limits(document: Document, seed: int) -> Document:
    """Scale the demands and capacities of a document in place so that some of the demands exceed one of the capacities narrowly.

    Works on resources of operators and nodes or host types, capacities of components and servers, and rates of flows on links.

    Examples
    --------
    >>> document = {"flows": [{"rate": 2.0}], "network": {"links": [{"bandwidth": 3.0}]}}
    >>> made = with_narrow_limits(document, seed=1)
    >>> round(made["flows"][0]["rate"] / made["network"]["links"][0]["bandwidth"], 3)
    1.0
    """
    random = np.random.default_rng((seed, 12))
    for demands, rooms in _sides(document):
        _narrow(random, demands, rooms)
    return document


def _sides(document: Document) -> Iterator[tuple[list[tuple[Holder, str]], list[tuple[Holder, str]]]]:
    """Demands and the capacities that they share, as places of numbers."""
    network = document.get("network", {})
    operators = document.get("application", {}).get("operators", [])
    homes = [*network.get("nodes", []), *document.get("host_types", [])]
    yield _amounts(operators, "resources"), _amounts(homes, "resources")
    yield _amounts(document.get("task", {}).get("components", []), "capacity"), _amounts(network.get("nodes", []), "capacity")
    yield _amounts(document.get("flows", []), "rate"), _amounts(network.get("links", []), "bandwidth")


def _amounts(holders: list[Holder], field: str) -> list[tuple[Holder, str]]:
    """Places of the positive numbers of a field, the last one of a table of resources."""
    places = []
    for holder in holders:
        value = holder.get(field)
        place = (value, list(value)[-1]) if isinstance(value, dict) and value else (holder, field)
        if isinstance(place[0].get(place[1]), float | int) and place[0][place[1]] > 0:
            places.append(place)
    return places


def _narrow(random: np.random.Generator, demands: list[tuple[Holder, str]], rooms: list[tuple[Holder, str]]) -> None:
    if not demands or not rooms:
        return
    scale = 10.0 ** random.uniform(*POWERS)
    whole = scale > 1e3 and random.random() < 0.5
    for holder, field in (*demands, *rooms):
        holder[field] = float(round(holder[field] * scale)) if whole else float(f"{holder[field] * scale:.6g}")
    chosen = random.permutation(len(demands))[: random.integers(1, 4)]
    total = math.fsum(demands[k][0][demands[k][1]] for k in chosen)
    draw, excess = random.random(), 10.0 ** random.uniform(*EXCESSES)
    excess *= 0.0 if draw < MET else -1.0 if draw < MET + SPARED else 1.0
    holder, field = rooms[random.integers(len(rooms))]
    holder[field] = total / (1 + excess)
