"""Common parts of the judges of problems: they read JSON text and give exact values."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any, NamedTuple

Document = dict[str, Any]
ROUNDING = Fraction(25, 10**14)
SLACK = 1 + ROUNDING
"""Factor by which a sum may be beyond a limit: rounding of binary64, as evaluators allow it."""


class Judged(NamedTuple):
    """The value of a decision, its metrics and whether it keeps to all limits."""

    objective: Fraction
    metrics: dict[str, Fraction]
    feasible: bool


def read(text: str) -> Document:
    """A document, with numbers exactly as they are written."""
    document: Document = json.loads(text, parse_float=Fraction)
    return document
