"""The constants of a run as rows of a table: value, unit, meaning and origin."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo

PAPER, OURS = "paper", "ours"
"""Origins of constants."""

COLUMNS = ("constant", "value", "unit", "meaning", "from")


def constant_rows(
    document: type[BaseModel], origins: Mapping[str, str], values: BaseModel | None = None
) -> list[tuple[str, ...]]:
    """Rows of the fields of a document that have an origin, with their values, by default the document's defaults."""
    return [
        (
            name,
            value_text(field.default if values is None else getattr(values, name)),
            unit_text(field),
            str(field.description),
            origins[name],
        )
        for name, field in document.model_fields.items()
        if name in origins
    ]


def value_text(value: Any) -> str:
    """A constant as tables show it.

    >>> value_text((60.0, 0.25)), value_text(None), value_text(True)
    ('60, 0.25', 'none', 'yes')
    """
    if isinstance(value, tuple):
        return ", ".join(map(value_text, value))
    if value is None or isinstance(value, bool):
        return {None: "none", True: "yes", False: "no"}[value]
    return f"{value:g}" if isinstance(value, float) else str(value)


def unit_text(field: FieldInfo) -> str:
    """The unit of a field of a document; empty where it has none.

    >>> from edrp.mapping.bimodal_scenario import BimodalScenario
    >>> unit_text(BimodalScenario.model_fields["window"]), unit_text(BimodalScenario.model_fields["variation"])
    ('s', '')
    """
    extra = field.json_schema_extra
    unit = extra.get("unit", "1") if isinstance(extra, dict) else "1"
    return "" if unit == "1" else str(unit)
