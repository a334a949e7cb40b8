"""Latencies between all supervisors from the measurements of a few pairs (latency-aware placement, section 3.4).

Every supervisor has coordinates, and springs to the peers that it measures pull or push it until distances are
latencies. No supervisor sees all measurements, and no pair has to be measured to be estimated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from edrp.core.arrays import Floats, Ints
from edrp.core.document import duplicates
from edrp.core.errors import Fault, InvalidInstanceError
from edrp.datasets.placement.coordinates.latency_estimate import LatencyEstimate
from edrp.datasets.placement.coordinates.simulation import Measure, MeasuringSupervisors, SpringParameters

DEFAULT_PARAMETERS = SpringParameters()

MeasuredPairs = Mapping[tuple[str, str], float] | Iterable[tuple[str, str, float]]
"""Measurements: the seconds of each pair, in a mapping or as triples; where a pair comes again its median counts."""
SampledLatencies = Callable[[str, str], float] | NDArray[Any]
"""Latencies to be sampled: seconds by a function of two names, or a matrix by order of names, NaN where none can be."""

MAX_NAMED_SUPERVISORS = 3
"""Maximum number of supervisors of a group that an error names."""


def estimate_latencies(
    supervisors: Sequence[str],
    latencies: MeasuredPairs | SampledLatencies,
    parameters: SpringParameters = DEFAULT_PARAMETERS,
    *,
    seed: int = 0,
    start: LatencyEstimate | None = None,
) -> LatencyEstimate:
    """Estimate the latency between any two supervisors; the last of `estimation_rounds`.

    Parameters
    ----------
    supervisors
        Names.
    latencies
        One way, in seconds (half of a ping), taken to be that of both directions. Either what was measured, as pairs:
        all of it is used. Or what can be measured, as a function or a matrix of shape (supervisors, supervisors): it is
        sampled by supervisors that know a few near and some random peers.
    parameters
        Parameters by which supervisors measure and move.
    seed
        The same seed gives the same estimate.
    start
        An earlier estimate: supervisors start from their coordinates of then, and what was measured then and is not
        measured again stays valid. New supervisors start in the middle.

    Raises
    ------
    InvalidInstanceError
        Naming every measurement of an unknown name or of a supervisor with itself, every latency that is negative or
        no number, every supervisor without any measurement, and groups of supervisors that no measurement joins.

    Examples
    --------
    >>> along_a_line = {("a", "b"): 0.010, ("b", "c"): 0.020, ("a", "c"): 0.030, ("c", "d"): 0.010, ("b", "d"): 0.030}
    >>> estimate = estimate_latencies(["a", "b", "c", "d"], along_a_line)
    >>> round(float(estimate.delay[0, 2]), 6), bool(0.035 < estimate.delay[0, 3] < 0.042)
    (0.03, True)
    """
    *_, last = estimation_rounds(supervisors, latencies, parameters, seed=seed, start=start)
    return last


def estimation_rounds(
    supervisors: Sequence[str],
    latencies: MeasuredPairs | SampledLatencies,
    parameters: SpringParameters = DEFAULT_PARAMETERS,
    *,
    seed: int = 0,
    start: LatencyEstimate | None = None,
) -> Iterator[LatencyEstimate]:
    """Yield the estimate after each round; arguments and errors are those of `estimate_latencies`.

    Examples
    --------
    >>> positions = np.random.default_rng(1).random((30, 2))
    >>> truth = np.linalg.norm(positions[:, None] - positions, axis=2)
    >>> names = [f"s{index}" for index in range(30)]
    >>> parameters = SpringParameters(peers=8, kept=4, rounds=6)
    >>> estimates = [estimate.distance for estimate in estimation_rounds(names, truth, parameters)]
    >>> errors = [np.median(abs(distance - truth)[truth > 0] / truth[truth > 0]) for distance in estimates]
    >>> bool(errors[0] > 0.1 > 0.02 > errors[-1])
    True
    """
    names = checked_names(supervisors)
    random = np.random.default_rng(seed)
    position, measured = _before(names, parameters, start)
    others = ~np.eye(len(names), dtype=bool)
    measure: Measure
    if isinstance(latencies, np.ndarray):
        matrix = checked_matrix(names, latencies)
        others &= ~np.isnan(matrix)
        check_joined(names, matrix)
        measure = by_matrix(matrix, parameters.noise, random)
    elif callable(latencies):
        measure = by_function(names, latencies)
    else:
        enter_pairs(names, latencies, measured)
        check_joined(names, measured)
        others &= ~np.isnan(measured)
        measure = by_matrix(measured.copy(), 0.0, random)
    supervised = MeasuringSupervisors(position, measured, [np.flatnonzero(row) for row in others], parameters, random)
    for _ in supervised.rounds(measure):
        # Make measurements symmetric: the mean of both directions, or the one that was measured.
        one = np.where(np.isnan(measured), measured.T, measured)
        other = np.where(np.isnan(measured.T), measured, measured.T)
        yield LatencyEstimate(names, position.copy(), np.asarray((one + other) / 2), parameters, seed)


def _before(names: tuple[str, ...], parameters: SpringParameters, start: LatencyEstimate | None) -> tuple[Floats, Floats]:
    """Initial positions and measurements, before the first round."""
    position = np.zeros((len(names), parameters.dimension))
    measured = np.full((len(names), len(names)), np.nan)
    if start is None:
        return position, measured
    if start.coordinates.shape[1] != parameters.dimension:
        why = f"must have {parameters.dimension} dimensions, as `parameters` says"
        raise InvalidInstanceError([Fault("start", f"{start.coordinates.shape[1]} dimensions", why)])
    old_index = {name: index for index, name in enumerate(start.supervisors)}
    indices = np.array([index for index, name in enumerate(names) if name in old_index], np.int64)
    old_indices = np.array([old_index[names[index]] for index in indices], np.int64)
    position[:] = start.coordinates.mean(axis=0)
    position[indices] = start.coordinates[old_indices]
    measured[np.ix_(indices, indices)] = start.measured[np.ix_(old_indices, old_indices)]
    return position, measured


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
        if why := _wrong(seconds):
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
