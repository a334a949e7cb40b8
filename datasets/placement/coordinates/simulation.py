"""Supervisors that measure latencies to a few near and some random peers, each at its own pace, in simulated time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from typing import Annotated, Self

import numpy as np
from pydantic import Field, model_validator

from edrp import _native
from edrp.core.arrays import Floats, Ints
from edrp.core.document import Document, Faults, NonNegative, unit

Measure = Callable[[int, Ints], Floats]
"""Function that measures the seconds from one supervisor to each of some peers."""
AtLeastOne = Annotated[int, Field(ge=1)]


class SpringParameters(Document):
    """Parameters by which supervisors measure and move (latency-aware placement, section 3.4).

    Raises
    ------
    InvalidInstanceError
        Naming every value that cannot be.

    Examples
    --------
    >>> SpringParameters(peers=8, kept=4).dimension
    3
    """

    dimension: AtLeastOne = Field(3, description="of the space of coordinates", **unit("1"))
    peers: AtLeastOne = Field(
        16, description="supervisors that each one measures at a time; all it can where these are fewer", **unit("1")
    )
    kept: Annotated[int, Field(ge=0)] = Field(
        8,
        description="those of them with the lowest latency, measured again the next time; the others are drawn again",
        **unit("1"),
    )
    rounds: AtLeastOne = Field(20, description="mean number of times that each one measures", **unit("1"))
    force: Annotated[float, Field(gt=0, lt=2)] = Field(
        0.5, description="constant of the springs; they overshoot beyond 1 and explode beyond 2", **unit("1")
    )
    jitter: Annotated[float, Field(ge=0, lt=1)] = Field(
        0.1,
        description="the time between two measurements is uniform within this share around its mean, so that none stay in step",
        **unit("1"),
    )
    moves: AtLeastOne = Field(100, description="at most, per measurement (Alg. 1)", **unit("1"))
    least_move: NonNegative = Field(1e-3, description="share of the mean latency; a shorter move is the last one", **unit("1"))
    remember: bool = Field(
        True, description="relax against the last measurement of every peer met so far; as printed, only of those just measured"
    )
    noise: NonNegative = Field(0.0, description="standard deviation of the logarithm of each value that is sampled", **unit("1"))

    @model_validator(mode="after")
    def _check(self) -> Self:
        faults = Faults("parameters")
        if self.kept > self.peers:
            faults.add(("kept",), self.kept, f"must be at most peers, which is {self.peers}")
        faults.raise_if_any()
        return self


@dataclass
class MeasuringSupervisors:
    """Positions and measurements of all supervisors while they measure.

    Attributes
    ----------
    position : shape (supervisors, dimension)
        As stored where peers look them up.
    measured : shape (supervisors, supervisors)
        Last measurement of each by each, in seconds; NaN where none was made. Initial values count as measured.
    reachable : for each supervisor, those that it can measure.
    """

    position: Floats
    measured: Floats
    reachable: list[Ints]
    parameters: SpringParameters
    random: np.random.Generator
    _near: dict[int, Ints] = field(default_factory=dict)

    def update(self, u: int, measure: Measure) -> None:
        """Let supervisor u measure, and move to where its springs rest (Alg. 1)."""
        near = self._near.get(u, np.empty(0, np.int64))
        others = np.setdiff1d(self.reachable[u], near, assume_unique=True)
        parameters = self.parameters
        count = min(parameters.peers - near.size, others.size)
        peers = np.concatenate([near, self.random.choice(others, count, replace=False)])
        if not peers.size:
            return
        latency = measure(u, peers)
        self.measured[u, peers] = latency
        self._near[u] = peers[np.argsort(latency, kind="stable")[: parameters.kept]]
        if parameters.remember:
            peers = np.flatnonzero(~np.isnan(self.measured[u]))
        directions = random_directions(self.random, peers.size, parameters.dimension)
        springs = (self.position[peers], self.measured[u, peers], directions)
        _native.relax_springs(self.position[u], *springs, parameters.force, parameters.least_move, parameters.moves)

    def rounds(self, measure: Measure) -> Iterator[None]:
        """Let all supervisors measure at their own pace; yield after each round (the mean time between two measurements)."""
        jitter = self.parameters.jitter
        due = [(float(self.random.random()), u) for u in range(len(self.position))]
        heapify(due)
        for end in range(1, self.parameters.rounds + 1):
            while due[0][0] < end:
                time, u = heappop(due)
                self.update(u, measure)
                heappush(due, (time + 1 + jitter * float(self.random.uniform(-1, 1)), u))
            yield


def random_directions(random: np.random.Generator, count: int, dimension: int) -> Floats:
    """Unit vectors, uniform on the sphere, shape (count, dimension)."""
    drawn = random.standard_normal((count, dimension))
    return np.asarray(drawn / np.linalg.norm(drawn, axis=1, keepdims=True))
