"""Write the field tables of `instances.md` and `results.md` from the schemas: `python docs/reference/field_tables.py`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from edrp.batch import COLUMNS
from edrp.core.document import MAX_COUNT, RANGES
from edrp.core.instances import schema
from edrp.core.kinds import document_kinds

PAGE = Path(__file__).with_name("instances.md")
RESULTS = Path(__file__).with_name("results.md")
MARK = "<!-- The rest is written by docs/reference/field_tables.py. -->\n"

EDGES = {"integer": {MAX_COUNT}, "number": {magnitudes.largest for magnitudes in RANGES.values()}}
"""Bounds by type that are not shown at every field: `units.md` lists them by unit."""


def tables() -> str:
    """Render one table for each kind of document and for each of its parts."""
    parts: list[str] = []
    seen: set[str] = set()
    for kind in document_kinds():
        document = schema(kind)
        parts.append(_table(f"Document `{kind}`", document))
        for name, part in document.get("$defs", {}).items():
            if "properties" in part and name not in seen:
                seen.add(name)
                parts.append(_table(f"`{name}`", part))
    return "\n".join(parts)


def page() -> str:
    """Render the whole page: the text above the mark as it is, the tables below it."""
    return _page(PAGE, tables())


def results_page() -> str:
    """Render the page of the results of batches."""
    lines = ["| column | type | meaning |", "|---|---|---|"]
    lines += [f"| `{name}` | `{kind}` | {_cell(meaning)} |" for name, (kind, meaning) in COLUMNS.items()]
    return _page(RESULTS, "\n".join(lines) + "\n")


def _page(path: Path, rest: str) -> str:
    return path.read_text(encoding="utf-8").split(MARK)[0] + MARK + "\n" + rest


def _table(title: str, part: dict[str, Any]) -> str:
    lines = [f"## {title}\n", f"{part['description']}\n", "| field | type | unit | default | meaning |", "|---|---|---|---|---|"]
    required = part.get("required", [])
    for name, field in part["properties"].items():
        default = "required" if name in required else f"`{json.dumps(_short(field.get('default')), ensure_ascii=False)}`"
        unit = field.get("unit", "")
        lines.append(f"| `{name}` | {_type(field)} | {'' if unit == '1' else unit} | {default} | {_cell(field['description'])} |")
    return "\n".join(lines) + "\n"


def _type(field: dict[str, Any]) -> str:
    if "$ref" in field:
        return _reference(field["$ref"])
    if "const" in field:
        return f"`{json.dumps(field['const'])}`"
    if "enum" in field:
        return " or ".join(f"`{json.dumps(value)}`" for value in field["enum"])
    for union in ("anyOf", "oneOf"):
        if union in field:
            return " or ".join(_type(option) for option in field[union])
    kind = field.get("type", "any")
    if kind == "array" and "prefixItems" in field:
        return f"[{', '.join(_type(item) for item in field['prefixItems'])}]"
    if kind == "array":
        return f"list of {_type(field['items'])}"
    if kind == "object":
        return f"object of {_type(field['additionalProperties'])} by name"
    words = {"string": "text", "integer": "whole number", "boolean": "true or false"}.get(kind, kind)
    return words + _bounds(field)


def _bounds(field: dict[str, Any]) -> str:
    signs = {"minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤", "exclusiveMaximum": "<"}
    edges = EDGES.get(field.get("type", ""), set())
    found = [f"{sign} {field[name]:g}" for name, sign in signs.items() if name in field and abs(field[name]) not in edges]
    return f" {', '.join(found)}" if found else ""


def _reference(target: str) -> str:
    name = target.rsplit("/", 1)[-1]
    return "object of lists of nodes by operator" if name == "Deployment" else f"[`{name}`](#{name.lower()})"


def _short(default: Any) -> Any:
    """Leave out of an object what has its own default anyway."""
    if isinstance(default, dict):
        return {name: value for name, value in default.items() if value not in (None, 0.0)}
    return list(default) if isinstance(default, tuple) else default


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    RESULTS.write_text(results_page(), encoding="utf-8")
