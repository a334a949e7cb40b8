"""What a value was probably meant to be, for messages: examples of a type, and classes that have the fields of an object."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, TypeAdapter

MAX_DEPTH, FILLED_DEPTH = 4, 2
"""Largest number of objects and lists inside each other in an example, and of those around the words of the user in it."""

MAX_LENGTH = 120
"""Largest number of characters of an example that helps a reader."""


def likely_classes(given: Collection[str], classes: Mapping[str, Any]) -> list[str]:
    """Names of the classes that have most of the given fields, and need fewest besides; none where they share no field.

    >>> from pydantic import create_model
    >>> likely_classes(["x", "y"], {"point": create_model("Point", x=float), "size": create_model("Size", width=float)})
    ['point']
    """
    ranks: dict[str, tuple[int, int]] = {}
    for name, form in classes.items():
        needed = {field for field, info in form.model_fields.items() if info.is_required()}
        if not form.model_fields.keys().isdisjoint(given):
            ranks[name] = len(set(given) - form.model_fields.keys()), len(needed - set(given))
    return [name for name, rank in ranks.items() if rank == min(ranks.values())]


def form_example(form: Any, given: object) -> str:
    """A value of a type as it would stand in a file, with what is given there now; empty where a short one says too little.

    >>> form_example(dict[str, tuple[float, ...]], 3), form_example(tuple[str, ...], "edge")
    ('{"…": [3]}', '["edge"]')
    """
    return next((text for example in _examples(form, given) if (text := _if_valid(form, example))), "")


def _examples(form: Any, given: object) -> Iterator[Any]:
    """The given object in a list, then a value with as much as possible of what is given, then values without."""
    blank = _example(form, [], 0)
    values = list(given) if isinstance(given, list | tuple) else [given]
    if isinstance(given, dict):
        fields = [name for item in blank if isinstance(item, dict) for name in item] if isinstance(blank, list) else []
        values = list(given)[:1] if given.keys().isdisjoint(fields) else []
        yield [given]
    yield from (_example(form, values, 0), blank, _example(form, [], 0, 0.5))


def _if_valid(form: Any, example: Any) -> str:
    """A value as it stands in a file; empty where that is no valid one, or too long for a message."""
    try:
        text = json.dumps(example, ensure_ascii=False, allow_nan=False)
        TypeAdapter(form).validate_json(text)
    except (TypeError, ValueError, RuntimeError):
        return ""
    return text if len(text) <= MAX_LENGTH else ""


def _example(form: Any, given: list[Any], depth: int, number: float = 1) -> Any:
    origin, members = get_origin(form), get_args(form)
    if origin is Annotated:
        return _example(members[0], given, depth, number)
    if origin in (Union, UnionType):
        return _example(next(member for member in members if member is not NoneType), given, depth, number)
    if origin is Literal:
        return members[0]
    if origin in (tuple, list) and depth < MAX_DEPTH:
        return [_example(member, given, depth + 1, number) for member in members if member is not Ellipsis]
    if origin is dict and depth < MAX_DEPTH:
        return {"…": _example(members[1], given, depth + 1, number)}
    if isinstance(form, type) and issubclass(form, BaseModel) and depth < MAX_DEPTH:
        fields = form.model_fields
        if "root" in fields:
            return _example(fields["root"].annotation, given, depth, number)
        shown = [name for name, field in fields.items() if field.is_required() or _is_tag(field.annotation)] or list(fields)[:1]
        return {name: _example(fields[name].annotation, given, depth + 1, number) for name in shown}
    if given and depth <= FILLED_DEPTH and _fits(given[0], form):
        return given.pop(0)
    return form(number) if form in (float, int, bool) else "…"


def _is_tag(annotation: Any) -> bool:
    """Whether a field has one value only, which says how the others are to be read."""
    return get_origin(annotation) is Literal and len(get_args(annotation)) == 1


def _fits(value: object, form: Any) -> bool:
    if isinstance(value, str):
        return form is str and bool(value)
    return form in (float, int) and isinstance(value, int | float) and not isinstance(value, bool)
