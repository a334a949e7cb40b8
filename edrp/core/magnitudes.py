"""The range of the numbers that documents of problems may hold, by unit; every field that names its unit is checked.

The ranges hold all real systems generously, and within them binary64 keeps the sums, products and differences that methods
and evaluators make: nothing overflows, and nothing that matters is lost beside something larger.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from pydantic_core import PydanticCustomError, core_schema

from edrp.core.wording import magnitude_words


class Magnitudes(NamedTuple):
    """Smallest magnitude of a number that is not 0, and the largest magnitude."""

    smallest: float
    largest: float


MAX_COUNT = 1_000_000
"""Largest whole number, where a field states none."""

RANGES: dict[str, Magnitudes] = {
    "s": Magnitudes(1e-9, 1e9),
    "bytes": Magnitudes(1e-6, 1e15),
    "B": Magnitudes(1e-6, 1e15),
    "bytes/s": Magnitudes(1e-6, 1e15),
    "tuples": Magnitudes(1e-9, 1e15),
    "tuples/s": Magnitudes(1e-9, 1e12),
    "money": Magnitudes(1e-12, 1e9),
    "money/h": Magnitudes(1e-18, 1e9),
    "money/h per tuple/s": Magnitudes(1e-15, 1e9),
    "money/bytes": Magnitudes(1e-18, 1e3),
    "1": Magnitudes(1e-9, 1e15),
    "as the operators' needs": Magnitudes(1e-9, 1e15),
    "1/money": Magnitudes(1e-9, 1e9),
    "1/ms": Magnitudes(1e-9, 1e9),
    "s/bytes": Magnitudes(1e-18, 1e6),
    "s per (tuples/s)^power": Magnitudes(0.0, 1e9),
}
"""Range of each unit that fields name. Shares and probabilities may be as near to 0 as binary64 allows where they may be 0."""

NESTED = ("default", "nullable", "list", "dict", "function-after", "function-before", "function-wrap")
INNER = ("schema", "items_schema", "values_schema")


def with_ranges(schema: Any, units: dict[str, str]) -> None:
    """Narrow the numbers of a document's core schema to the ranges of their units, in place.

    Parameters
    ----------
    schema
        Core schema of the document, as pydantic makes it.
    units
        Units of its fields, by name; other fields are left as they are.
    """
    while "schema" in schema:
        if schema["type"] == "model-fields":
            break
        schema = schema["schema"]
    for name, field in schema.get("fields", {}).items():
        if units.get(name) in RANGES and not field.get("metadata", {}).get("narrowed"):  # seen again inside other documents
            field["schema"] = _narrowed(field["schema"], RANGES[units[name]], units[name])
            field["metadata"] = {**field.get("metadata", {}), "narrowed": True}


def _narrowed(schema: Any, magnitudes: Magnitudes, unit: str) -> Any:
    kind = schema["type"]
    if kind == "float":
        return _narrow_number(schema, magnitudes, unit)
    if kind == "int":
        return {"le": MAX_COUNT, **schema}
    if kind == "tuple":
        return {**schema, "items_schema": [_narrowed(item, magnitudes, unit) for item in schema["items_schema"]]}
    if kind == "tagged-union":
        return {**schema, "choices": {tag: _narrowed(choice, magnitudes, unit) for tag, choice in schema["choices"].items()}}
    if kind == "union":
        # Places of faults name the member of a union; a name is given, so that it does not depend on what checks the member.
        choices = [choice[0] if isinstance(choice, tuple) else choice for choice in schema["choices"]]
        narrowed = [(_narrowed(choice, magnitudes, unit), choice) for choice in choices]
        return {**schema, "choices": [(new, "constrained-float") if old["type"] == "float" else new for new, old in narrowed]}
    for inner in INNER if kind in NESTED else ():
        if inner in schema:
            schema = {**schema, inner: _narrowed(schema[inner], magnitudes, unit)}
    return schema


def _narrow_number(schema: Any, magnitudes: Magnitudes, unit: str) -> Any:
    smallest, largest = magnitudes
    positive = "gt" in schema
    if not positive:
        schema = {"ge": -largest, **schema}
    schema = {"le": largest, **schema}
    if smallest == 0 or (schema.get("ge") == 0 and schema["le"] <= 1):
        return schema
    check = _refuse_below(smallest, magnitude_words(smallest, unit, zero=not positive))
    beside = {"not": {"exclusiveMinimum": 0 if schema.get("ge") == 0 else -smallest, "exclusiveMaximum": smallest}}
    return core_schema.no_info_after_validator_function(check, schema, metadata={"pydantic_js_updates": beside})


def _refuse_below(smallest: float, why: str) -> Callable[[float], float]:
    fault = PydanticCustomError("too_small", why)  # type: ignore[arg-type]

    def check(number: float) -> float:
        if -smallest < number < smallest and number != 0:
            raise fault
        return number

    return check
