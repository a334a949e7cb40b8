"""Random numbers for several purposes out of one seed."""

from __future__ import annotations

import numpy as np

from edrp.core.errors import Fault, InvalidInstanceError


def random_stream(seed: int, stream: int) -> np.random.Generator:
    """Random numbers for one purpose; draws from one stream of a seed do not change the others.

    Raises
    ------
    InvalidInstanceError
        For a negative seed.

    Examples
    --------
    >>> first, second = random_stream(7, 0), random_stream(7, 1)
    >>> first.random() == random_stream(7, 0).random(), first.random() == second.random()
    (True, False)
    """
    if seed < 0:
        raise InvalidInstanceError([Fault("seed", str(seed), "must not be negative")])
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(stream,)))
