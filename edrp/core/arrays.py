"""Types of arrays, by what their elements are; a docstring or comment says of each array what its axes are."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
"""Quantities in SI units, shares, probabilities, objectives, coefficients."""

Ints = NDArray[np.int64]
"""Counts, and indices into other arrays."""

Ints32 = NDArray[np.int32]
"""Counts and indices in tables so large that half the memory matters; -1 where there is none."""

UInts = NDArray[np.uint64]
"""Sets as bits, hashes, states of random number generators."""

Bools = NDArray[np.bool_]
"""Masks."""

AnyInts = NDArray[np.integer]
"""Indices of any width, in functions that take them as they come."""
