"""Random numbers of generated instances: streams for several purposes out of one seed, and rounding."""

from __future__ import annotations

from typing import Any

import numpy as np

from edrp.core.errors import Fault, InvalidInstanceError


def random_stream(seed: int, stream: int) -> np.random.Generator:
    """Create a generator for one purpose; draws from one stream of a seed do not change the others.

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


def log_uniform(ends: tuple[float, float], random: np.random.Generator) -> float:
    """Draw a number whose logarithm is uniform between those of the ends."""
    return float(np.exp(random.uniform(*np.log(ends))))


SIGNIFICANT_DIGITS = 6
"""Significant digits of generated numbers: documents stay short, and the last bits of a machine's logarithm play no part."""


def rounded(value: Any) -> Any:
    """Round all numbers to six significant digits, in any nesting of dictionaries, lists, tuples and arrays.

    >>> rounded({"delay": 0.0123456789, "names": ("a", 2), "work": np.array([1 / 3])})
    {'delay': 0.0123457, 'names': ['a', 2], 'work': [0.333333]}
    """
    if isinstance(value, np.ndarray):
        return rounded(value.tolist())
    if isinstance(value, dict):
        return {name: rounded(element) for name, element in value.items()}
    if isinstance(value, (list, tuple)):
        return [rounded(element) for element in value]
    return float(f"{value:.{SIGNIFICANT_DIGITS}g}") if isinstance(value, float) else value
