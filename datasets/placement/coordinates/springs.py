"""Springs between one supervisor and its peers (latency-aware placement, Algs. 1 and 2), as a compiled kernel."""

from __future__ import annotations

import numpy as np

from edrp.core.arrays import Floats
from edrp.core.kernels import kernel
from edrp.core.tolerances import COINCIDENT_POSITIONS

FIRST_STEP = 1e-3
"""Distance over latency at which a spring between coincident positions starts to push."""


@kernel
def relax(position: Floats, peers: Floats, latency: Floats, directions: Floats, force: float, min_move: float, moves: int) -> int:
    """Let springs of rest length `latency` move a supervisor while its peers stand still (Alg. 1, lines 4–15).

    The force of Alg. 2 in its scale-free form: peer p, at distance d in the direction e, pulls with
    `force` / peers · ℓ_p · log(d / ℓ_p) · e. The printed form k · log(d / ℓ_p) · e has a constant in units of
    latency and diverges where k · Σ 1 / ℓ_p exceeds 2: what is stable in milliseconds is not in seconds.
    Where ℓ_p is 0 the spring pulls with d, its limit for small elongations.

    Parameters
    ----------
    position : shape (dimension,)
        Changed in place.
    peers : shape (peers, dimension)
    latency : shape (peers,)
    directions : shape (peers, dimension)
        Unit vectors, in which a spring pushes that joins coincident positions.
    force
        Below 2.
    min_move
        A move shorter than this share of the mean latency is the last one.
    moves
        Maximum number of moves.

    Returns
    -------
    int
        Moves made.
    """
    count, dimension = peers.shape
    shortest = min_move * latency.mean()
    move = np.empty(dimension)
    towards = np.empty(dimension)
    for moves_made in range(moves):
        move[:] = 0.0
        for p in range(count):
            square = 0.0
            for c in range(dimension):
                towards[c] = peers[p, c] - position[c]
                square += towards[c] ** 2
            distance = np.sqrt(square)
            if distance <= COINCIDENT_POSITIONS * latency[p]:
                distance = FIRST_STEP * latency[p]
                for c in range(dimension):
                    towards[c] = directions[p, c] * distance
            if distance == 0.0:
                continue
            pull = latency[p] * np.log(distance / latency[p]) if latency[p] > 0.0 else distance
            for c in range(dimension):
                move[c] += towards[c] / distance * pull
        square = 0.0
        for c in range(dimension):
            move[c] *= force / count
            position[c] += move[c]
            square += move[c] ** 2
        if square <= shortest**2:
            return moves_made + 1
    return moves


def random_directions(random: np.random.Generator, count: int, dimension: int) -> Floats:
    """Unit vectors, uniform on the sphere, shape (count, dimension)."""
    drawn = random.standard_normal((count, dimension))
    return np.asarray(drawn / np.linalg.norm(drawn, axis=1, keepdims=True))
