"""Rounding of generated numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

DIGITS = 6
"""Significant digits of generated numbers: documents stay short, and the last bits of a machine's logarithm play no part."""


def rounded(value: Any) -> Any:
    """Numbers with six significant digits, in whatever nesting of dictionaries, lists, tuples and arrays.

    >>> rounded({"delay": 0.0123456789, "names": ("a", 2), "work": np.array([1 / 3])})
    {'delay': 0.0123457, 'names': ['a', 2], 'work': [0.333333]}
    """
    if isinstance(value, np.ndarray):
        return rounded(value.tolist())
    if isinstance(value, dict):
        return {name: rounded(element) for name, element in value.items()}
    if isinstance(value, (list, tuple)):
        return [rounded(element) for element in value]
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value
