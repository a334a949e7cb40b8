"""Supervisors that measure latencies to a few near and some random peers, each at its own pace, in simulated time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush

import numpy as np
from numpy.typing import NDArray

from edrp.datasets.coordinates_springs import random_directions, relax
from edrp.errors import Fault, InvalidInstanceError

Values = NDArray[np.float64]
Index = NDArray[np.int64]
Measure = Callable[[int, Index], Values]
"""Seconds from one supervisor to each of some peers."""


@dataclass(frozen=True, slots=True)
class SpringParameters:
    """How supervisors measure and move (latency-aware placement, section 3.4).

    Attributes
    ----------
    dimension : of the space of coordinates.
    peers : supervisors that each one measures at a time; all it can, where these are fewer.
    kept : those of them with the lowest latency, measured again the next time; the others are drawn anew.
    rounds : mean number of times that each supervisor measures.
    force : constant of the springs, below 2; beyond 1 they overshoot.
    jitter : the time between two measurements is uniform within this share around its mean, so that supervisors
        do not stay in step.
    moves : at most, per measurement (Alg. 1: 100).
    least_move : share of the mean latency; a shorter move is the last one.
    remember : relax against the last measurement of every peer met so far; as printed, only against those just measured.
    noise : standard deviation of the logarithm of each value that is sampled; 0 for exact ones.

    Raises
    ------
    InvalidInstanceError
        Naming every value that cannot be.
    """

    dimension: int = 3
    peers: int = 16
    kept: int = 8
    rounds: int = 20
    force: float = 0.5
    jitter: float = 0.1
    moves: int = 100
    least_move: float = 1e-3
    remember: bool = True
    noise: float = 0.0

    def __post_init__(self) -> None:
        right = {
            "dimension": (self.dimension >= 1, "must be at least 1"),
            "peers": (self.peers >= 1, "must be at least 1"),
            "kept": (0 <= self.kept <= self.peers, f"must lie between 0 and peers, which is {self.peers}"),
            "rounds": (self.rounds >= 1, "must be at least 1"),
            "force": (0 < self.force < 2, "must lie above 0 and below 2, where springs become unstable"),
            "jitter": (0 <= self.jitter < 1, "must be at least 0 and below 1"),
            "moves": (self.moves >= 1, "must be at least 1"),
            "least_move": (self.least_move >= 0, "must be at least 0"),
            "noise": (0 <= self.noise < np.inf, "must be at least 0"),
        }
        faults = [Fault(name, str(getattr(self, name)), why) for name, (holds, why) in right.items() if not holds]
        if faults:
            raise InvalidInstanceError(faults, "parameters of the coordinates")


@dataclass
class Supervisors:
    """Positions and measurements of all supervisors while they measure.

    Attributes
    ----------
    position : shape (supervisors, dimension)
        As stored where peers look them up.
    measured : shape (supervisors, supervisors)
        Last measurement of each by each, in seconds; NaN where none was made. What is there at first counts as measured.
    reachable : for each supervisor, those that it can measure.
    """

    position: Values
    measured: Values
    reachable: list[Index]
    parameters: SpringParameters
    random: np.random.Generator
    _near: dict[int, Index] = field(default_factory=dict)

    def update(self, u: int, measure: Measure) -> None:
        """Supervisor u measures, and moves to where its springs rest (Alg. 1)."""
        parameters, peers = self.parameters, self._select(u)
        if not peers.size:
            return
        latency = measure(u, peers)
        self.measured[u, peers] = latency
        self._near[u] = peers[np.argsort(latency, kind="stable")[: parameters.kept]]
        if parameters.remember:
            peers = np.flatnonzero(~np.isnan(self.measured[u]))
        directions = random_directions(self.random, peers.size, parameters.dimension)
        springs = (self.position[peers], self.measured[u, peers], directions)
        relax(self.position[u], *springs, parameters.force, parameters.least_move, parameters.moves)

    def _select(self, u: int) -> Index:
        near = self._near.get(u, np.empty(0, np.int64))
        others = np.setdiff1d(self.reachable[u], near, assume_unique=True)
        wanted = min(self.parameters.peers - near.size, others.size)
        return np.concatenate([near, self.random.choice(others, wanted, replace=False)])

    def rounds(self, measure: Measure) -> Iterator[None]:
        """Let all measure at their own pace, and stop after each round (the mean time between two measurements of one)."""
        jitter = self.parameters.jitter
        due = [(float(self.random.random()), u) for u in range(len(self.position))]
        heapify(due)
        for end in range(1, self.parameters.rounds + 1):
            while due[0][0] < end:
                time, u = heappop(due)
                self.update(u, measure)
                heappush(due, (time + 1 + jitter * float(self.random.uniform(-1, 1)), u))
            yield
