"""Format `label-setting`: maps."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from .claims import claimed_bound, refuted
from .maps import Maps
from .reading import MAX_PARTS, NEVER, TOLERANCE, need


def check_label_setting(problem: dict[str, Any], _: Any, header: dict[str, Any], lines: Iterator[Any]) -> str:
    """`label-setting`: the resources that must be tracked for no cheaper map to be left.

    One line lists resources: ["capacity", server], ["bandwidth", source, target], ["uplink", server], ["downlink", server]. The
    checker searches for the cheapest map that overloads none of them, whatever it does to others, by labels: the cost of a
    beginning of a map, and what it uses of them. It proves the bound where nothing below it is left.
    """
    maps, tracked = Maps(problem), [tuple(resource) for resource in next(lines, [])]
    need(set(tracked) <= maps.free.keys(), "there is no such resource")
    bound = claimed_bound(header)
    target = NEVER if bound is None else math.ceil((bound - TOLERANCE) * maps.unit)
    looked, path = maps.search(tracked, target, MAX_PARTS)
    need(path is None, "there may be a better map")
    return f"no map is {refuted(bound)} ({looked} labels)"
