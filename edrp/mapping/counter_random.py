"""Random numbers by counter: the same in whatever order they are drawn."""

from __future__ import annotations

import numpy as np

from edrp.core.kernels import inner_loop


@inner_loop
def uniform(seed: int, counter: int) -> float:
    """Return a number in [0, 1) that depends on seed and counter alone (SplitMix64).

    Messages that overtake one another, and code that walks through them in another order, meet the same draws.

    >>> uniform(1, 2) == uniform(1, 2), 0 <= uniform(1, 3) < 1
    (True, True)
    """
    state = np.uint64(seed) * np.uint64(0xD1342543DE82EF95) + (np.uint64(counter) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    state = state ^ (state >> np.uint64(31))
    return float(state >> np.uint64(11)) * (1.0 / 9007199254740992.0)
