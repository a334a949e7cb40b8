"""Follows a location that pydantic reports into a document: the place as the user wrote it, and the field that is there."""

from __future__ import annotations

import types
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, RootModel
from pydantic.fields import FieldInfo


def format_place(location: Iterable[str | int]) -> str:
    """Write a location as a user would: `network.links[3].delay`.

    >>> format_place(("network", "links", 3, "delay"))
    'network.links[3].delay'
    """
    text = ""
    for part in location:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += f".{part}" if text else part
    return text or "document"


@dataclass(frozen=True, slots=True)
class DocumentPlace:
    """One place of a document.

    Attributes
    ----------
    place : the location without the names of union members, which stand in no file.
    owner : the model that the last part of the place belongs to.
    field : the innermost named field on the way.
    is_field : whether the place is that field itself, and not a member of it.
    number_or_object : whether the way leads through a field that takes a number or an object.
    """

    place: tuple[str | int, ...]
    owner: Any
    field: FieldInfo | None
    is_field: bool
    number_or_object: bool

    @property
    def unit(self) -> str:
        """The field's unit with a space before it, or nothing."""
        extra = self.field.json_schema_extra if self.field else None
        unit = extra.get("unit") if isinstance(extra, dict) else None
        return f" {unit}" if unit and unit != "1" else ""

    @property
    def nullable(self) -> bool:
        """Whether null may stand at the place."""
        return self.is_field and self.field is not None and type(None) in get_args(self.field.annotation)


def walk(document: Any, location: tuple[str | int, ...]) -> DocumentPlace:
    """Follow a location through the annotations of a document, leaving out the names of union members."""
    annotation, owner, field, is_field, union = document, document, None, False, False
    place: list[str | int] = []
    for part in location:
        members = _union_members(annotation)
        if len(members) > 1:
            chosen = _member_named(members, part)
            if chosen is not None:
                annotation, union = chosen, union or is_union_label(str(part))
                continue
            annotation = next((member for member in members if get_origin(member) is dict), None)
        place.append(part)
        owner = _plain(annotation)
        annotation, below = _step(owner, part)
        is_field = below is not None
        field = below or field
    return DocumentPlace(tuple(place), owner, field, is_field, union)


def _step(annotation: Any, part: str | int) -> tuple[Any, FieldInfo | None]:
    if isinstance(annotation, type) and issubclass(annotation, RootModel):
        annotation = annotation.model_fields["root"].annotation
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        field = annotation.model_fields.get(str(part))
        return (field.annotation, field) if field else (None, None)
    arguments = get_args(annotation)
    if get_origin(annotation) is dict:
        return arguments[1], None
    return (arguments[0] if arguments else None), None


def _plain(annotation: Any) -> Any:
    members = _union_members(annotation)
    return members[0] if members else None


def _union_members(annotation: Any) -> list[Any]:
    if get_origin(annotation) is Annotated:
        return _union_members(get_args(annotation)[0])
    if get_origin(annotation) in (Union, types.UnionType):
        return [member for part in get_args(annotation) if part is not type(None) for member in _union_members(part)]
    return [annotation]


def _member_named(members: list[Any], part: str | int) -> Any:
    """The union member that pydantic calls `part` in a location, or None."""
    for member in members:
        if isinstance(member, type) and issubclass(member, BaseModel):
            literals = [field.annotation for field in member.model_fields.values() if get_origin(field.annotation) is Literal]
            if any(part in get_args(literal) for literal in literals):
                return member
        elif isinstance(part, str) and part.startswith("tuple["):
            nested = get_origin(member) is tuple and get_origin(_plain(get_args(member)[0])) is tuple
            if get_origin(member) is tuple and nested == part.startswith("tuple[tuple"):
                return member
        elif isinstance(part, str) and is_union_label(part) and part.startswith("dict[") == (get_origin(member) is dict):
            return member
    return None


def is_union_label(part: str) -> bool:
    """Whether this is a name that pydantic gives to a member of a number-or-object field."""
    return part in ("float", "constrained-float") or part.startswith("dict[")
