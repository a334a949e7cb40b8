"""Documents as text for people: what `help` says of a class, and the short forms of documents and problems."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from inspect import Parameter, Signature, cleandoc
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, RootModel
from pydantic.fields import FieldInfo

from edrp.core.errors import numbered

MAX_LENGTH = 300
"""Characters of the short form of a document or problem, about."""

SIGNS = {"ge": "≥", "gt": ">", "le": "≤", "lt": "<"}

MAX_DECISION = 3000
"""Characters of the short form of a deployment, which is what a user wants to see."""

PYDANTIC_NAMES = frozenset(dir(BaseModel)) - frozenset(dir(object)) | {"__class_vars__", "__private_attributes__"}
"""Names that every class of documents inherits from pydantic, next to those that begin with `__pydantic`."""


def public_names(document: type, names: Iterable[str]) -> list[str]:
    """The names of a class of documents that are of use to those who use it, of all that it has."""
    own = {name for base in document.__mro__ if not base.__module__.startswith("pydantic") for name in vars(base)}
    kept = {name for name in PYDANTIC_NAMES & own if not name.startswith(("_", "model_"))}
    return [name for name in names if name in kept or not (name in PYDANTIC_NAMES or name.startswith("__pydantic"))]


def signature(document: type) -> Signature:
    """Fields of a class of documents as keyword arguments with their defaults; `documentation` says their types."""
    if issubclass(document, RootModel):
        return Signature([Parameter("root", Parameter.POSITIONAL_ONLY)])
    fields = {name: field for name, field in _fields(document).items() if not _is_fixed(field)}
    return Signature([Parameter(name, Parameter.KEYWORD_ONLY, default=_default(field)) for name, field in fields.items()])


def _fields(document: type) -> dict[str, FieldInfo]:
    return document.model_fields if issubclass(document, BaseModel) else {}


def _default(field: FieldInfo) -> Any:
    return Parameter.empty if field.is_required() else field.get_default(call_default_factory=True, validated_data={})


def _is_fixed(field: FieldInfo) -> bool:
    """Whether a field has one value only, which says what the document is."""
    return get_origin(field.annotation) is Literal and get_args(field.annotation) == (field.default,)


def documentation(document: type) -> str | None:
    """The docstring of a class, of documents with type, unit, default and meaning of every field before its other sections."""
    own: str | None = next((text for base in document.__mro__ if (text := vars(base).get("__doc__"))), None)
    fields = _fields(document)
    if own is None or not fields or issubclass(document, RootModel):
        return own
    lines = [line for name, field in fields.items() if not _is_fixed(field) for line in _field_lines(name, field)]
    text = cleandoc(own).split("\n")
    rules = [index for index, line in enumerate(text) if line and not line.strip("-")]
    first = rules[0] - 1 if rules else len(text)
    return "\n".join([*text[:first], *[""] * (not rules), "Parameters", "----------", *lines, *[""] * bool(rules), *text[first:]])


def _field_lines(name: str, field: FieldInfo) -> Iterator[str]:
    """Description of a parameter as numpydoc has it: type, unit and default in one line, the meaning in the next."""
    extra = field.json_schema_extra
    unit = str(extra.get("unit", "")) if isinstance(extra, dict) else ""
    parts = [type_text(field.annotation, field.metadata), "" if unit == "1" else unit]
    if not field.is_required():
        parts.append(f"default {short(_default(field))}")
    yield f"{name} : {', '.join(filter(None, parts))}"
    if field.description:
        meaning = re.sub(r"\bnull\b", "None", field.description).rstrip(".")
        yield f"    {meaning if meaning[1:2] in '_.' else meaning[:1].upper() + meaning[1:]}."


def type_text(annotation: Any, metadata: Iterable[Any] = ()) -> str:
    """The type of a field in words, with its bounds.

    >>> type_text(Annotated[dict[str, tuple[float, ...]], "for mypy"] | None)
    'dict of lists of float by name or None'
    """
    origin, members = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        inner = [part for extra in members[1:] for part in (extra.metadata if isinstance(extra, FieldInfo) else (extra,))]
        return type_text(members[0], inner)
    if origin in (Union, UnionType):
        return " or ".join(map(type_text, members))
    if origin is Literal:
        return " or ".join(map(repr, members))
    if origin is tuple:
        return f"list of {type_text(members[0])}" if members[1:] == (...,) else f"[{', '.join(map(type_text, members))}]"
    if origin is dict:
        return f"dict of {type_text(members[1]).replace('list of', 'lists of')} by name"
    bounds = [f" {SIGNS[name]} {value:g}" for part in metadata for name, value in _bounds(part)]
    return ("None" if annotation is NoneType else getattr(annotation, "__name__", "any value")) + ",".join(bounds)


def _bounds(part: Any) -> Iterator[tuple[str, float]]:
    return ((name, getattr(part, name)) for name in SIGNS if isinstance(getattr(part, name, None), int | float))


def short(value: Any, room: int = MAX_LENGTH) -> str:
    """A value as Python writes it, in about `room` characters; of documents only what is not as by default.

    >>> short({"numbers": tuple(range(1000))}, 24)
    "{'numbers': (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, … 990 more)}"
    """
    if isinstance(value, BaseModel):
        fields = type(value).model_fields
        arguments = [
            (name, part)
            for name, part in value.__repr_args__()
            if name not in fields or fields[name].is_required() or part != _default(fields[name])
        ]
        parts = [_part(f"{name}=" if name else "", part) for name, part in arguments]
        return f"{type(value).__name__}({_joined(parts, room)})"
    if type(value) is dict:
        return f"{{{_joined([_part(f'{short(name)}: ', part) for name, part in value.items()], room)}}}"
    if type(value) in (tuple, list):
        comma = "," if type(value) is tuple and len(value) == 1 else ""
        elements = _joined([_part("", part) for part in value], room)
        return f"({elements}{comma})" if type(value) is tuple else f"[{elements}]"
    text = repr(value)
    return text if len(text) <= room else f"{text[: max(room, 8)]}…"


def _part(label: str, value: Any) -> Callable[[int], str]:
    return lambda room: label + short(value, room - len(label))


def _joined(parts: list[Callable[[int], str]], room: int) -> str:
    """As many parts as there is room for, at least one, and how many more there are; no more of them are written."""
    shown: list[str] = []
    for part in parts:
        if shown and room <= 0:
            shown.append(f"… {len(parts) - len(shown)} more")
            break
        shown.append(part(max(room // 2, 40)))
        room -= len(shown[-1]) + 2
    return ", ".join(shown)


def short_problem(problem: BaseModel) -> str:
    """The kind of a problem, how many of what it holds, and the settings that are not as by default, in a line or two."""
    counts: list[str] = []
    settings: list[str] = []
    for name, field in type(problem).model_fields.items():
        value = getattr(problem, name)
        if isinstance(value, RootModel):
            settings.append(f"{name} given")
        elif isinstance(value, BaseModel):
            inner = {key: getattr(value, key) for key in type(value).model_fields}
            sizes = [_size(key, part) for key, part in inner.items() if _is_collection(part) and part]
            plain = {key: part for key, part in inner.items() if isinstance(part, int | float) and part}
            if any(isinstance(part, tuple) for part in inner.values()):
                counts += sizes
            elif plain:
                settings.append(f"{name}: {', '.join(f'{key}={part!r}' for key, part in plain.items())}")
        elif _is_collection(value) and value:
            counts.append(_size(name, value))
        elif not _is_collection(value) and not _is_fixed(field) and (field.is_required() or value != _default(field)):
            settings.append(f"{name}={short(value, 40)}")
    text = f"<{type(problem).__name__}: {'; '.join([', '.join(counts), *settings] if counts else settings)}"
    return f"{text}>" if len(text) < MAX_LENGTH else f"{text[:MAX_LENGTH]}…>"


def _is_collection(value: object) -> bool:
    return isinstance(value, tuple | list | dict)


def _size(name: str, values: Any) -> str:
    regular = name.endswith("s") and not name.endswith(("ses", "ies"))
    return numbered(len(values), name[:-1]) if regular else f"{name} of {len(values)}"
