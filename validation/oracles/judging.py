"""Common parts of the judges of problems: they read JSON text and give exact values."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any, NamedTuple

Document = dict[str, Any]
BILLIONTH = Fraction(1, 10**9)
SLACK = 1 + BILLIONTH


class Judged(NamedTuple):
    """The value of a decision, its metrics and whether it keeps to all limits."""

    objective: Fraction
    metrics: dict[str, Fraction]
    feasible: bool


def read(text: str) -> Document:
    """A document, with numbers exactly as they are written."""
    document: Document = json.loads(text, parse_float=Fraction)
    return document
