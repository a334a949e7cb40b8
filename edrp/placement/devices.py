"""Resources that nodes offer in equal units, such as GPUs: whole demands take units alone, fractions share one.

Which fractions fit together matters, not their sum: 14 of 0.20, 10 of 0.25 and 8 of 0.29 need eight units, although they sum to
7.62. Packing is exact here, in plain code.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import takewhile
from operator import itemgetter
from typing import Annotated, Any

from pydantic import GetJsonSchemaHandler, PlainSerializer, SerializationInfo, WrapValidator
from pydantic_core import CoreSchema, PydanticCustomError

from edrp.core.document import MAX_COUNT, Amount, Faults, Name, named_resources
from edrp.core.errors import EdrpError
from edrp.core.limits import with_rounding

Pattern = tuple[int, ...]
"""How many replicas of each of some fractions share a unit."""

MAX_PACKINGS = 20_000
"""Partial packings after which the evaluator gives up; a few sizes on the devices of a host have far fewer."""

MAX_KNOWN = 10_000
"""Packings that are kept: nodes of a cluster mostly hold the same."""


class Units(float):
    """An amount that comes in so many equal units; `{"units": 8}` in a document."""

    __slots__ = ()


def _read(value: Any, handler: Any) -> float:
    if isinstance(value, Units) or not isinstance(value, Mapping):
        return value if isinstance(value, Units) else float(handler(value))
    units: Any = value.get("units")
    whole = isinstance(units, (int, float)) and not isinstance(units, bool) and 1 <= units <= MAX_COUNT and units == int(units)
    if value.keys() != {"units"} or not whole:
        why = f'must be a number, or equal units as in {{"units": 8}}, a whole number of them from 1 to {MAX_COUNT}'
        raise PydanticCustomError("fault", why)  # type: ignore[arg-type]
    return Units(units)


class _Schema:
    """The JSON Schema of what a node offers."""

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        units = {"type": "integer", "minimum": 1, "maximum": MAX_COUNT}
        form = {"type": "object", "properties": {"units": units}, "required": ["units"], "additionalProperties": False}
        return {"anyOf": [handler(schema), form]}


def _written(amount: float, info: SerializationInfo) -> Any:
    return {"units": int(amount)} if isinstance(amount, Units) and info.mode == "json" else amount


NodeAmount = Annotated[Amount, WrapValidator(_read), PlainSerializer(_written), _Schema]
"""What a node offers of a resource: an amount, or equal units."""

NodeResources = Amount | dict[Name, NodeAmount]


def units_of(node: Any) -> dict[str, Units]:
    """The resources that a node offers in units."""
    offered = node.resources if isinstance(node.resources, dict) else {}
    return {name: amount for name, amount in offered.items() if isinstance(amount, Units)}


def note_wrong_demands(problem: Any, faults: Faults) -> None:
    """Note demands of more than one unit that are not whole, where nodes that may run the operator offer units."""
    unit_nodes: dict[str, set[str]] = {}
    for node in problem.network.nodes:
        for name in units_of(node):
            unit_nodes.setdefault(name, set()).add(node.name)
    for index, operator in enumerate(problem.application.operators if unit_nodes else ()):
        for name, amount in named_resources(operator.resources).items():
            nodes = unit_nodes.get(name, set())
            if amount > 1 and amount != int(amount) and (operator.candidates is None or nodes.intersection(operator.candidates)):
                why = f"is neither a fraction nor whole, but '{min(nodes)}' offers units; give at most 1, or a whole number"
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
    """Yield how many of each of some fractions share a unit where none of the others fits in, the most of the first ones first.

    Examples
    --------
    >>> list(maximal_patterns((0.5, 0.4), (9, 9))), sum(1 for _ in maximal_patterns((0.29, 0.25, 0.2), (9, 9, 9)))
    ([(2, 0), (1, 1), (0, 2)], 11)
    """

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


def fits(demands: Mapping[float, int], units: int) -> bool:
    """Whether units hold replicas, by what one needs, each with how many there are; exact, as `units_needed`.

    >>> fits({0.2: 14, 0.25: 10, 0.29: 8}, 8), fits({0.4: 3}, 1)
    (True, False)
    """
    whole, sizes, counts = _parted(demands)
    return _fit(sizes, counts, units - whole)


def units_needed(demands: Mapping[float, int], at_least: int = 0) -> int:
    """Fewest units, from `at_least` on, that hold replicas, by what one needs, each with how many there are; exact.

    Fractions in one unit sum to at most 1, but for rounding.

    Raises
    ------
    EdrpError
        After `MAX_PACKINGS` partial packings.

    Examples
    --------
    >>> units_needed({2.0: 1, 0.4: 3}), units_needed({0.1: 10}), units_needed({0.2: 14, 0.25: 10, 0.29: 8})
    (4, 1, 8)
    """
    whole, sizes, counts = _parted(demands)
    units = max(_least_units(sizes, counts), at_least - whole)
    while not _fit(sizes, counts, units):
        units += 1
    return whole + units


def least_units(demands: Mapping[float, int]) -> int:
    """Lower bound on the units that hold replicas, which takes no time.

    >>> least_units({2.0: 1, 0.4: 3, 0.1: 10})
    5
    """
    whole, sizes, counts = _parted(demands)
    return whole + _least_units(sizes, counts)


def _parted(demands: Mapping[float, int]) -> tuple[int, tuple[float, ...], Pattern]:
    """Units of whole demands, and fractions, the largest first, each with its number of replicas."""
    whole = sum(round(need) * count for need, count in demands.items() if need >= 1)
    sizes = tuple(sorted((need for need, count in demands.items() if 0 < need < 1 and count), reverse=True))
    return whole, sizes, tuple(demands[size] for size in sizes)


def _least_units(sizes: Sequence[float], counts: Sequence[int]) -> int:
    """Lower bound by sums, and by numbers: of fractions of at least s, a unit holds ⌊1/s⌋."""
    unit = with_rounding(with_rounding(1.0))  # of sums of these
    by_sum = math.fsum(size * count for size, count in zip(sizes, counts, strict=True)) / unit
    by_number = [sum(counts[: k + 1]) / (unit // size) for k, size in enumerate(sizes)]
    return max(map(math.ceil, (by_sum, *by_number)))


@lru_cache(MAX_KNOWN)
def _fit(sizes: tuple[float, ...], counts: Pattern, units: int) -> bool:
    """Whether fractions fit into units: depth first, over maximal patterns of the next unit that hold the largest one left."""
    stack, seen = [(counts, units)], {(counts, units)}
    while stack:
        left, free = stack.pop()
        if free >= 0 and not any(left):
            return True
        if _least_units(sizes, left) > free:
            continue
        largest = next(k for k, count in enumerate(left) if count)
        patterns = takewhile(itemgetter(largest), maximal_patterns(sizes, left))
        after = [(tuple(n - m for n, m in zip(left, pattern, strict=True)), free - 1) for pattern in patterns]
        stack += [state for state in reversed(after) if state not in seen]
        seen.update(after)
        if len(seen) > MAX_PACKINGS:
            raise EdrpError(f"whether {len(sizes)} different fractions fit into {units} units takes too long to say; round them")
    return False
