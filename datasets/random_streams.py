"""Random numbers for several purposes out of one seed."""

from __future__ import annotations

import numpy as np


def random_stream(seed: int, stream: int) -> np.random.Generator:
    """Random numbers of one purpose: what one stream of a seed takes leaves the others as they are.

    >>> first, second = random_stream(7, 0), random_stream(7, 1)
    >>> first.random() == random_stream(7, 0).random(), first.random() == second.random()
    (True, False)
    """
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(stream,)))
