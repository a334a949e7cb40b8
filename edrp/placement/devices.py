"""Resources that nodes offer in equal units, such as GPUs: whole demands take units alone, fractions share one.

Which fractions fit together matters, not their sum: 14 of 0.20, 10 of 0.25 and 8 of 0.29 need eight units, although they sum to
7.62. Packing is exact here, in plain code.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate, count, islice, takewhile
from operator import itemgetter, mul, sub
from typing import Annotated, Any

import numpy as np
from pydantic import GetJsonSchemaHandler, PlainSerializer, SerializationInfo, WrapValidator
from pydantic_core import CoreSchema, PydanticCustomError

from edrp.core.arrays import Floats, Ints
from edrp.core.document import MAX_COUNT, Amount, Faults, Name, named_resources
from edrp.core.errors import EdrpError
from edrp.core.limits import with_rounding

Pattern = tuple[int, ...]  # replicas of each of some fractions that share a unit

MAX_PATTERNS = 2_000
"""Maximal patterns in one unit beyond which no program has a column for each."""

MAX_PACKINGS = 20_000
"""Partial packings after which the evaluator gives up; a few sizes on the devices of a host have far fewer."""


class Units(float):
    """An amount that comes in so many equal units; `{"units": 8}` in a document."""

    __slots__ = ()

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        units = {"type": "integer", "minimum": 1, "maximum": MAX_COUNT}
        form = {"type": "object", "properties": {"units": units}, "required": ["units"], "additionalProperties": False}
        return {"anyOf": [handler(schema), form]}


def _read(value: Any, handler: Any) -> float:
    if isinstance(value, Units) or not isinstance(value, Mapping):
        return value if isinstance(value, Units) else float(handler(value))
    units: Any = value.get("units")
    whole = isinstance(units, (int, float)) and not isinstance(units, bool) and 1 <= units <= MAX_COUNT and units == int(units)
    if value.keys() != {"units"} or not whole:
        why = f'must be a number, or equal units as in {{"units": 8}}, a whole number of them from 1 to {MAX_COUNT}'
        raise PydanticCustomError("fault", why)  # type: ignore[arg-type]
    return Units(units)


def _written(amount: float, info: SerializationInfo) -> Any:
    return {"units": int(amount)} if isinstance(amount, Units) and info.mode == "json" else amount


NodeResources = Amount | dict[Name, Annotated[Amount, WrapValidator(_read), PlainSerializer(_written), Units]]
"""Resources of a node: an amount, or by name an amount or equal units."""


def units_of(node: Any) -> dict[str, Units]:
    """The resources that a node offers in units."""
    offered = node.resources if isinstance(node.resources, dict) else {}
    return {name: amount for name, amount in offered.items() if isinstance(amount, Units)}


def note_wrong_demands(problem: Any, faults: Faults) -> None:
    """Note demands of more than one unit that are not whole, where a node that may run the operator offers units."""
    offered = {node.name: units for node in problem.network.nodes if (units := units_of(node))}
    for index, operator in enumerate(problem.application.operators if offered else ()):
        for name, amount in named_resources(operator.resources).items():
            nodes = (u for u in offered if name in offered[u] and (operator.candidates is None or u in operator.candidates))
            if amount > 1 and amount != int(amount) and (node := next(nodes, None)):
                why = f"is neither a fraction nor whole, but '{node}' offers units; give at most 1, or a whole number"
                faults.add(("application", "operators", index, "resources", name), amount, why)


def usable_units(amount: float) -> int:
    """Whole units in what replicas may use of a resource."""
    return int(with_rounding(amount))


def unit_resources(problem: Any) -> tuple[str, ...]:
    """Names of the resources that a node offers in units and an operator needs."""
    offered = {name for node in problem.network.nodes for name in units_of(node)}
    needed = {name for o in problem.application.operators for name, amount in named_resources(o.resources).items() if amount}
    return tuple(sorted(offered & needed)) if offered else ()


def maximal_patterns(sizes: Sequence[float], caps: Sequence[int]) -> Iterator[Pattern]:
    """Yield how many of each of some fractions share a unit where no other fits in: (2, 0), (1, 1), (0, 2) of 0.5 and 0.4."""

    def extended(pattern: Pattern) -> Iterator[Pattern]:
        room, k = with_rounding(1.0) - sum(n * size for n, size in zip(pattern, sizes, strict=False)), len(pattern)
        if k == len(sizes):
            if all(n == cap or size > room for n, cap, size in zip(pattern, caps, sizes, strict=True)):
                yield pattern
            return
        most = min(caps[k], int(room // sizes[k]))
        for n in range(most, -1 if k + 1 < len(sizes) else most - 1, -1):
            yield from extended((*pattern, n))

    return extended(())


def unit_patterns(need: Floats, most: Ints) -> tuple[Floats, Ints]:
    """List the fractions among needs, the largest first, and their maximal patterns, shape (patterns, fractions).

    At most `most` replicas have each need, both of shape (operators,). After `MAX_PATTERNS` patterns one more is listed.
    """
    sizes = np.unique(need[(need > 0) & (need < 1)])[::-1]
    caps = [int(most[need == size].sum()) for size in sizes]
    held = list(islice(maximal_patterns(sizes.tolist(), caps), MAX_PATTERNS + 1)) if caps else []
    return sizes, np.array(held, np.int64).reshape(len(held), sizes.size)


def fits(demands: Mapping[float, int], units: int) -> bool:
    """Whether units hold replicas, given as numbers by need; exact, as `units_needed`."""
    whole, sizes, counts = _parted(demands)
    return _fit(sizes, counts, units - whole)


def units_needed(demands: Mapping[float, int], at_least: int = 0) -> int:
    """Fewest units, from `at_least` on, that hold replicas, given as numbers by need; exact.

    Fractions in one unit sum to at most 1, but for rounding. After `MAX_PACKINGS` partial packings an `EdrpError` is raised.

    >>> units_needed({2.0: 1, 0.4: 3}), units_needed({0.1: 10}), units_needed({0.2: 14, 0.25: 10, 0.29: 8})
    (4, 1, 8)
    """
    return next(units for units in count(max(least_units(demands), at_least)) if fits(demands, units))


def least_units(demands: Mapping[float, int]) -> int:
    """Lower bound on `units_needed`, which takes no time."""
    whole, sizes, counts = _parted(demands)
    return whole + _least_units(sizes, counts)


def _parted(demands: Mapping[float, int]) -> tuple[int, tuple[float, ...], Pattern]:
    """Units of whole demands, and fractions, the largest first, each with its number of replicas."""
    whole = sum(round(need) * replicas for need, replicas in demands.items() if need >= 1)
    sizes = tuple(sorted((need for need, replicas in demands.items() if 0 < need < 1 and replicas), reverse=True))
    return whole, sizes, tuple(demands[size] for size in sizes)


def _least_units(sizes: Sequence[float], counts: Sequence[int]) -> int:
    """Lower bound by sums, and by numbers: of fractions of at least s, a unit holds ⌊1/s⌋."""
    unit = with_rounding(with_rounding(1.0))  # of sums of these
    by_sum = math.fsum(map(mul, sizes, counts)) / unit
    by_number = [held / (unit // size) for size, held in zip(sizes, accumulate(counts), strict=True)]
    return max(map(math.ceil, (by_sum, *by_number)))


@lru_cache(10_000)
def _fit(sizes: tuple[float, ...], counts: Pattern, units: int) -> bool:
    """Whether fractions fit into units: depth first, over maximal patterns of the next unit that hold the largest one left."""
    stack, seen = [(counts, units)], {(counts, units)}
    while stack:
        left, free = stack.pop()
        if free >= 0 and not any(left):
            return True
        if _least_units(sizes, left) > free:
            continue
        largest = next(k for k, replicas in enumerate(left) if replicas)
        patterns = takewhile(itemgetter(largest), maximal_patterns(sizes, left))
        after = [(tuple(map(sub, left, pattern)), free - 1) for pattern in patterns]
        stack += [state for state in reversed(after) if state not in seen]
        seen.update(after)
        if len(seen) > MAX_PACKINGS:
            raise EdrpError(f"whether {len(sizes)} different fractions fit into {units} units takes too long to say; round them")
    return False
