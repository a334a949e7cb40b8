"""Write the field tables of `kinds/*.md` and `results.md` from the schemas: `python docs/reference/field_tables.py`."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from edrp.batch import COLUMNS
from edrp.core.document import MAX_COUNT, RANGES
from edrp.core.instances import schema
from edrp.core.kinds import SOLUTION, kinds

FOLDER = Path(__file__).parent
RESULTS = FOLDER / "results.md"
MARK = "<!-- The rest is written by docs/reference/field_tables.py. -->\n"

EDGES = {"integer": {MAX_COUNT}, "number": {magnitudes.largest for magnitudes in RANGES.values()}}
"""Bounds by type that are not shown at every field: `units.md` lists them by unit."""

BY_OPERATOR = {"Deployment": "nodes", "KeyedDeployment": "nodes or [`KeyRange`](#keyrange)"}
"""Documents without fields of their own: what they list for each operator."""


def pages() -> dict[Path, str]:
    """All pages with tables: the text above the mark as it is, the tables below it."""
    return {**{_place(kind): _page(_place(kind), tables(kind)) for kind in kinds()}, RESULTS: results_page()}


def tables(kind: str) -> str:
    """One table for the problem of a kind, for its solution, and for each part that no page before it has."""
    titled: dict[str, str] = {}
    for name in (kind, kind + SOLUTION):
        document = schema(name)
        titled[name] = _table(f"Document `{name}`", document, kind)
        own = [part for part in _parts(document) if _homes()[part] == kind]
        titled |= {part: _table(f"`{part}`", document["$defs"][part], kind) for part in own if part not in titled}
    return "\n".join(titled.values())


@cache
def _homes() -> dict[str, str]:
    """The kind on whose page a part is described: the first that has it."""
    homes: dict[str, str] = {}
    for kind in kinds():
        for name in (kind, kind + SOLUTION):
            for part in _parts(schema(name)):
                homes.setdefault(part, kind)
    return homes


def _parts(document: dict[str, Any]) -> list[str]:
    return [name for name, part in document.get("$defs", {}).items() if "properties" in part]


def _place(kind: str) -> Path:
    return FOLDER / "kinds" / f"{kind}.md"


def results_page() -> str:
    """Render the page of the results of batches."""
    lines = ["| column | type | meaning |", "|---|---|---|"]
    lines += [f"| `{name}` | `{kind}` | {_cell(meaning)} |" for name, (kind, meaning) in COLUMNS.items()]
    return _page(RESULTS, "\n".join(lines) + "\n")


def _page(path: Path, rest: str) -> str:
    return path.read_text(encoding="utf-8").split(MARK)[0] + MARK + "\n" + rest


def _table(title: str, part: dict[str, Any], kind: str) -> str:
    lines = [f"## {title}\n", f"{part['description']}\n", "| field | type | unit | default | meaning |", "|---|---|---|---|---|"]
    required = part.get("required", [])
    for name, field in part["properties"].items():
        default = "required" if name in required else f"`{json.dumps(_short(field.get('default')), ensure_ascii=False)}`"
        unit = field.get("unit", "")
        lines.append(
            f"| `{name}` | {_type(field, kind)} | {'' if unit == '1' else unit} | {default} | {_cell(field['description'])} |"
        )
    return "\n".join(lines) + "\n"


def _type(field: dict[str, Any], kind: str) -> str:
    if "$ref" in field:
        return _reference(field["$ref"], kind)
    if "const" in field:
        return f"`{json.dumps(field['const'])}`"
    if "enum" in field:
        return " or ".join(f"`{json.dumps(value)}`" for value in field["enum"])
    for union in ("anyOf", "oneOf"):
        if union in field:
            return " or ".join(_type(option, kind) for option in field[union])
    json_type = field.get("type", "any")
    if json_type == "array" and "prefixItems" in field:
        return f"[{', '.join(_type(item, kind) for item in field['prefixItems'])}]"
    if json_type == "array":
        return f"list of {_type(field['items'], kind)}"
    if json_type == "object":
        return f"object of {_type(field['additionalProperties'], kind)} by name"
    words = {"string": "text", "integer": "whole number", "boolean": "true or false"}.get(json_type, json_type)
    return words + _bounds(field)


def _bounds(field: dict[str, Any]) -> str:
    signs = {"minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤", "exclusiveMaximum": "<"}
    edges = EDGES.get(field.get("type", ""), set())
    found = [f"{sign} {field[name]:g}" for name, sign in signs.items() if name in field and abs(field[name]) not in edges]
    return f" {', '.join(found)}" if found else ""


def _reference(target: str, kind: str) -> str:
    name = target.rsplit("/", 1)[-1]
    if name == "JsonValue":
        return "any value"
    if name in BY_OPERATOR:
        return f"object of lists of {BY_OPERATOR[name]} by operator"
    home = _homes()[name]
    return f"[`{name}`]({'' if home == kind else f'{home}.md'}#{name.lower()})"


def _short(default: Any) -> Any:
    """Leave out of an object what has its own default anyway."""
    if isinstance(default, dict):
        return {name: value for name, value in default.items() if value not in (None, 0.0)}
    return list(default) if isinstance(default, tuple) else default


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    for place, text in pages().items():
        place.write_text(text, encoding="utf-8")
