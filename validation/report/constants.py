"""Constants of a setting in words: values, and units as documents describe them."""

from __future__ import annotations

from typing import Any


def value_in_words(value: Any) -> str:
    """A constant as tables show it.

    >>> value_in_words((60.0, 0.25)), value_in_words(None), value_in_words(True)
    ('60, 0.25', 'none', 'yes')
    """
    if isinstance(value, tuple):
        return ", ".join(map(value_in_words, value))
    if value is None or isinstance(value, bool):
        return {None: "none", True: "yes", False: "no"}[value]
    return f"{value:g}" if isinstance(value, float) else str(value)


def unit_of(described: Any) -> str:
    """The unit of a field of a document; empty where it has none.

    >>> from edrp.mapping.bimodal_scenario import BimodalScenario
    >>> unit_of(BimodalScenario.model_fields["window"]), unit_of(BimodalScenario.model_fields["variation"])
    ('s', '')
    """
    unit = (described.json_schema_extra or {}).get("unit", "")
    return "" if unit == "1" else str(unit)
