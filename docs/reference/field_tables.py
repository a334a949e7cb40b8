"""Write what registries and schemas know: `python docs/reference/field_tables.py`.

These are the field tables of `kinds/*.md` and `results.md`, the table of what there is for which kind in `instances.md`, and that
of the rows in `library.md`.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any, get_type_hints

from edrp.batch import COLUMNS
from edrp.certificates.certify import KIND_WRITERS, WRITERS
from edrp.certified.library import library
from edrp.cli.library import summary_table
from edrp.cli.plan import PLANNED
from edrp.core.document import MAX_COUNT, RANGES
from edrp.core.instances import schema
from edrp.core.kinds import SOLUTION, Kind, kinds
from edrp.core.methods import methods
from edrp.core.problem import Problem
from edrp.core.solution import Solution
from edrp.placement.pareto import pareto_front

FOLDER = Path(__file__).parent
RESULTS = FOLDER / "results.md"
INSTANCES = FOLDER / "instances.md"
LIBRARY = FOLDER / "library.md"
MARK = "<!-- The rest is written by docs/reference/field_tables.py. -->\n"

EDGES = {"integer": {MAX_COUNT}, "number": {magnitudes.largest for magnitudes in RANGES.values()}}
"""Bounds by type that are not shown at every field: `units.md` lists them by unit."""

BY_OPERATOR = {"Deployment": "nodes", "KeyedDeployment": "nodes or [`KeyRange`](#keyrange)"}
"""Documents without fields of their own: what they list for each operator."""


def pages() -> dict[Path, str]:
    """All pages with tables: the text above the mark as it is, the tables below it."""
    return {
        **{_place(kind): _page(_place(kind), tables(kind)) for kind in kinds()},
        RESULTS: results_page(),
        INSTANCES: instances_page(),
        LIBRARY: library_page(),
    }


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


def instances_page() -> str:
    """Render the page of documents, which ends with what there is for which kind."""
    rows = {kind.name: _offers(kind) for kind in kinds().values()}
    columns = list(next(iter(rows.values())))
    lines = ["## What there is for which kind\n", f"| kind | {' | '.join(columns)} |", "|---" * (len(columns) + 1) + "|"]
    lines += [f"| [`{name}`](kinds/{name}.md) | {' | '.join(row.values())} |" for name, row in rows.items()]
    return _page(INSTANCES, "\n".join(lines) + "\n")


def _offers(kind: Kind) -> dict[str, str]:
    """What the registries, the classes of a kind and the functions for it say, by verb."""
    known = {name: method for name, method in methods(kind.name).items() if name != "auto"}
    writers = [name for name in WRITERS if name in known] + [name for name in KIND_WRITERS if name == kind.name]
    named = kind.problem.clashes is not Problem.clashes
    in_batches = kind.solution.decision is not Solution.decision
    return {
        "methods": str(len(known)),
        "optima proven": _yes(any(method.exact for method in known.values())),
        "programs": ", ".join(f"`{name}`" for name in kind.formulations) or "–",
        "certificate": _yes(bool(writers or kind.formulations)),
        "rules": _yes("rules" in kind.problem.model_fields),
        "priorities": _yes("priorities" in kind.problem.model_fields),
        "clashes": "tested" if kind.has("explain_infeasibility") else "named" if named else "–",
        "`explain`": "own" if kind.has("explain") else _generic(kind),
        "`explore`": "pictures" if kind.has("view") else "tables",
        "`plan`": _yes(issubclass(kind.problem, PLANNED)),
        "`front`": _yes(issubclass(kind.problem, get_type_hints(pareto_front)["problem"])),
        "`batch`, Spark": _yes(in_batches),
        "families": str(sum(family.kind == kind.name for family in kind.families)),
    }


def _generic(kind: Kind) -> str:
    """What the explanation that every kind has says of this one."""
    return "objective and limits" if kind.problem.margins is not Problem.margins else "objective"


def _yes(answer: bool) -> str:
    return "yes" if answer else "–"


def library_page() -> str:
    """Render the page of the library, which ends with the numbers of its rows."""
    table = summary_table(library)
    rows = (table.columns, ["---"] * len(table.columns), *table.rows)
    return _page(LIBRARY, "## Rows\n\n" + "".join(f"| {' | '.join(row)} |\n" for row in rows))


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
    if json_type == "object" and "properties" in field:
        return f"object of {' and '.join(f'`{name}`: {_type(part, kind)}' for name, part in field['properties'].items())}"
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
