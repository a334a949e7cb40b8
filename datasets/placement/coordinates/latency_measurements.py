"""Checks and conversion of measured latencies that a user gives."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from edrp.core.arrays import Floats, Ints
from edrp.core.document import duplicates
from edrp.core.errors import Fault, InvalidInstanceError
from edrp.datasets.placement.coordinates.simulation import Measure

MeasuredPairs = Mapping[tuple[str, str], float] | Iterable[tuple[str, str, float]]
"""Measurements: the seconds of each pair, in a mapping or as triples; where a pair comes again its median counts."""
SampledLatencies = Callable[[str, str], float] | NDArray[Any]
"""Latencies to be sampled: seconds by a function of two names, or a matrix by order of names, NaN where none can be."""

MAX_NAMED_SUPERVISORS = 3
"""Maximum number of supervisors of a group that an error names."""


def checked_names(supervisors: Sequence[str]) -> tuple[str, ...]:
    """Check that there is at least one name, and none twice; return the names."""
    names = list(supervisors)
    again = duplicates(names)
    faults = [Fault(f"supervisors[{i}]", names[i], f"already the name of supervisors[{first}]") for i, first in again.items()]
    if not names:
        faults.append(Fault("supervisors", "", "name at least one"))
    InvalidInstanceError.raise_if_any(faults)
    return tuple(names)


def enter_pairs(names: tuple[str, ...], pairs: MeasuredPairs, measured: Floats) -> None:
    """Write measurements of pairs into a symmetric matrix, replacing earlier ones."""
    triples = ((u, v, seconds) for (u, v), seconds in pairs.items()) if isinstance(pairs, Mapping) else pairs
    position = {name: index for index, name in enumerate(names)}
    faults: list[Fault] = []
    seconds_of_pair: dict[tuple[int, int], list[float]] = {}
    for number, (source, target, seconds) in enumerate(triples):
        field = f"latencies[{number}]"
        unknown = [name for name in (source, target) if name not in position]
        faults += [Fault(field, str(name), "is none of the supervisors") for name in unknown]
        if source == target:
            faults.append(Fault(field, str(source), "joins a supervisor to itself; leave it out"))
        why = _wrong(seconds)
        if why:
            faults.append(Fault(field, f"{source} → {target}: {seconds}", why))
        elif not unknown:
            u, v = sorted((position[source], position[target]))
            seconds_of_pair.setdefault((u, v), []).append(float(seconds))
    InvalidInstanceError.raise_if_any(faults)
    for (u, v), values in seconds_of_pair.items():
        measured[u, v] = measured[v, u] = np.median(values)


def checked_matrix(names: tuple[str, ...], matrix: NDArray[Any]) -> Floats:
    """Check a matrix of latencies; the result is NaN on the diagonal and where neither direction is known."""
    size = len(names)
    if matrix.shape != (size, size):
        raise InvalidInstanceError([Fault("latencies", f"shape {matrix.shape}", f"must have the shape ({size}, {size})")])
    values = np.array(matrix, np.float64)
    np.fill_diagonal(values, np.nan)
    faults = [
        Fault(f"latencies[{u}, {v}]", f"{names[u]} → {names[v]}: {values[u, v]}", "must be finite seconds, at least 0")
        for u, v in np.argwhere((values < 0) | np.isinf(values))
    ]
    InvalidInstanceError.raise_if_any(faults)
    return np.where(np.isnan(values), values.T, values)


def check_joined(names: tuple[str, ...], measured: Floats) -> None:
    """Refuse supervisors that no chain of measurements joins to the others, as their distance is unknown."""
    if len(names) == 1:
        return
    is_measured = ~np.isnan(measured)
    alone = np.flatnonzero(~is_measured.any(axis=1))
    why = "has no measured latency to any other supervisor; measure at least one"
    faults = [Fault(f"supervisors[{u}]", names[u], why) for u in alone]
    groups = sorted(nx.connected_components(nx.from_numpy_array(is_measured)), key=len, reverse=True)
    for group in groups[1:]:
        if len(group) > 1:
            shown = ", ".join(names[u] for u in sorted(group)[:MAX_NAMED_SUPERVISORS]) + (
                ", …" if len(group) > MAX_NAMED_SUPERVISORS else ""
            )
            faults.append(Fault("latencies", shown, "no measurement joins these to the others; measure at least one such pair"))
    InvalidInstanceError.raise_if_any(faults)


def by_matrix(matrix: Floats, noise: float, random: np.random.Generator) -> Measure:
    """Return a function that measures by a matrix, with log-normal noise."""

    def measure(u: int, peers: Ints) -> Floats:
        exact = matrix[u, peers]
        return exact * np.exp(noise * random.standard_normal(peers.size)) if noise else exact

    return measure


def by_function(names: tuple[str, ...], latency: Callable[[str, str], float]) -> Measure:
    """Return a function that measures by calling a user's function."""

    def measure(u: int, peers: Ints) -> Floats:
        values = [latency(names[u], names[v]) for v in peers]
        faults = [
            Fault(f"latency({names[u]!r}, {names[v]!r})", str(seconds), why)
            for v, seconds in zip(peers, values, strict=True)
            if (why := _wrong(seconds))
        ]
        InvalidInstanceError.raise_if_any(faults)
        return np.array(values, np.float64)

    return measure


def _wrong(seconds: object) -> str:
    if isinstance(seconds, (int, float, np.number)) and not isinstance(seconds, bool) and 0 <= float(seconds) < np.inf:
        return ""
    return "must be finite seconds, at least 0"
