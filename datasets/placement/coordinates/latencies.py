"""Latencies between all supervisors from the measurements of a few pairs (latency-aware placement, section 3.4).

Every supervisor has coordinates, and springs to the peers that it measures pull or push it until distances are
latencies. No supervisor sees all measurements, and no pair has to be measured to be estimated.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from edrp.core.arrays import Floats
from edrp.core.errors import Fault, InvalidInstanceError
from edrp.datasets.placement.coordinates.latency_estimate import LatencyEstimate
from edrp.datasets.placement.coordinates.latency_measurements import (
    MeasuredPairs,
    SampledLatencies,
    by_function,
    by_matrix,
    check_joined,
    checked_matrix,
    checked_names,
    enter_pairs,
)
from edrp.datasets.placement.coordinates.simulation import Measure, MeasuringSupervisors, SpringParameters

DEFAULT_PARAMETERS = SpringParameters()


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
        yield LatencyEstimate(names, position.copy(), _symmetric(measured), parameters, seed)


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


def _symmetric(measured: Floats) -> Floats:
    """Make measurements symmetric: the mean of both directions, or the one that was measured."""
    one = np.where(np.isnan(measured), measured.T, measured)
    other = np.where(np.isnan(measured.T), measured, measured.T)
    return np.asarray((one + other) / 2)
