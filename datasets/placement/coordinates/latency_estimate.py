"""Latencies estimated by coordinates, their expected error, and the network that follows from them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, permutations

import numpy as np
from scipy.spatial.distance import pdist, squareform

from edrp import _native
from edrp.core.arrays import Floats
from edrp.core.budget import refuse_beyond_memory
from edrp.core.errors import Fault, InvalidInstanceError
from edrp.datasets.placement.coordinates.simulation import SpringParameters, random_directions
from edrp.placement.delays import with_delays
from edrp.placement.network import BYTES_PER_LINK, Network, Node

MAX_LEFT_OUT = 16
"""Measurements of a supervisor that its error estimate leaves out in turn."""


@dataclass(frozen=True, eq=False)
class LatencyEstimate:
    """Latencies between all supervisors, from the measurements of some pairs.

    Attributes
    ----------
    supervisors
        Names of the supervisors.
    coordinates : shape (supervisors, dimension)
        In seconds: the distance of two supervisors estimates the latency between them.
    measured : shape (supervisors, supervisors)
        Seconds, symmetric (the mean where both ends measured); NaN where neither did, and on the diagonal.
    parameters, seed
        Parameters and seed with which the coordinates were made.
    """

    supervisors: tuple[str, ...]
    coordinates: Floats
    measured: Floats
    parameters: SpringParameters
    seed: int

    @cached_property
    def distance(self) -> Floats:
        """Latencies by coordinates alone in seconds, shape (supervisors, supervisors)."""
        return np.asarray(squareform(pdist(self.coordinates)))

    @cached_property
    def delay(self) -> Floats:
        """The best known latencies in seconds: measured ones as they are, the others by coordinates."""
        return np.where(np.isnan(self.measured), self.distance, self.measured)

    @cached_property
    def error(self) -> Floats:
        """Relative error that each supervisor expects of its estimates, shape (supervisors,).

        The median, over its own measurements, of the difference between a measurement and the estimate that its other
        measurements give, in shares of the measurement. The fit to the measurements themselves would be no estimate:
        it is perfect wherever there are no more of them than dimensions. NaN where a single
        measurement leaves nothing to compare with.
        """
        random = np.random.default_rng(self.seed)
        return np.array([self._expected_error(u, random) for u in range(len(self.supervisors))])

    def _expected_error(self, u: int, random: np.random.Generator) -> float:
        peers = np.flatnonzero(self.measured[u] > 0)
        if peers.size < 2:
            return float("nan")
        errors = []
        for left_out in random.permutation(peers)[:MAX_LEFT_OUT]:
            others = peers[peers != left_out]
            position = self.coordinates[others].mean(axis=0)  # its own position knows the measurement
            directions = random_directions(random, others.size, self.parameters.dimension)
            springs = (self.coordinates[others], self.measured[u, others], directions)
            parameters = self.parameters
            _native.relax_springs(position, *springs, parameters.force, parameters.least_move, parameters.moves)
            measured = self.measured[u, left_out]
            errors.append(abs(np.linalg.norm(position - self.coordinates[left_out]) - measured) / measured)
        return float(np.median(errors))

    def network(self, described: Network | None = None) -> Network:
        """Build the network of all supervisors, with a link of the best known delay between each pair.

        Parameters
        ----------
        described
            Gives the nodes (exactly the supervisors), the store, and price, bandwidth and availability of the
            links; its delays are replaced. None for nodes that have nothing but names.

        Raises
        ------
        InvalidInstanceError
            Naming nodes that are no supervisors, and supervisors that are no nodes.
        ProblemTooLargeError
            When listing a link for each pair of nodes would take more than `memory_limit()` bytes.

        Examples
        --------
        >>> from edrp.datasets.placement.coordinates.latencies import estimate_latencies
        >>> estimate = estimate_latencies(["a", "b", "c"], {("a", "b"): 0.010, ("b", "c"): 0.020})
        >>> network = estimate.network()
        >>> network.delay("b", "a"), 0.0 < network.delay("a", "c") < 0.04
        (0.01, True)
        """
        names = self.supervisors
        base = Network(nodes=tuple(Node(name=name) for name in names)) if described is None else described
        self._check_names(base)
        pairs = combinations if base.symmetric else permutations
        count = len(names) * (len(names) - 1) // (2 if base.symmetric else 1)
        refuse_beyond_memory(count * BYTES_PER_LINK, f"links between {len(names)} supervisors", "use `delay` itself")
        return with_delays(base, {(names[u], names[v]): float(self.delay[u, v]) for u, v in pairs(range(len(names)), 2)})

    def _check_names(self, described: Network) -> None:
        faults = [
            Fault(f"nodes[{index}].name", node.name, "is none of the supervisors whose latencies were estimated")
            for index, node in enumerate(described.nodes)
            if node.name not in self.supervisors
        ]
        missing = [name for name in self.supervisors if name not in described.by_name]
        faults += [Fault("nodes", name, "is missing; every supervisor must be a node") for name in missing]
        InvalidInstanceError.raise_if_any(faults)
