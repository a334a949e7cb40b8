"""Certificates of `label-setting`: which resources have to be tracked (format `label-setting` of the checker)."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, inf
from typing import Any

from edrp.certificates import checker
from edrp.core.budget import look, units_left
from edrp.core.certificates import NotCertifiedError, RawCertificate

MAX_CHECKED_LABELS = 300_000
"""Labels that the checker may have to look at in one search."""

LABELS_PER_SECOND = 1_000
"""About half of those that it looks at in a second where many are at one place."""


def certify_label_setting(problem: Any, solution: Any) -> RawCertificate:
    """A certificate, not yet checked, of the cheapest map, or that there is none.

    Rounds as in the method itself: nothing is tracked at first, then what the cheapest map of a round overloads.

    Raises
    ------
    NotCertifiedError
        For another cost than the additive one, and for too many labels.
    """
    tracked: list[tuple[str, ...]] = []
    try:
        maps = checker.Maps(checker.parse(problem.model_dump_json()))
        target = inf if solution.objective is None else _target(maps, Fraction(solution.objective))
        while True:
            look("the certificate")
            _, path = maps.search(tracked, target, int(min(MAX_CHECKED_LABELS, LABELS_PER_SECOND * units_left())))
            if path is None:
                return RawCertificate("label-setting", [[list(resource) for resource in tracked]])
            missing = [resource for resource in maps.follow(path)[1] if resource not in tracked]
            if not missing:
                raise NotCertifiedError("the checker finds a cheaper map")
            tracked += missing
    except checker.Refused as error:
        raise NotCertifiedError(str(error)) from None


def _target(maps: checker.Maps, bound: Fraction) -> int:
    return ceil((bound - checker.TOLERANCE) * maps.unit)
