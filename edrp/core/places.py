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
class UnionMember:
    """Where a location goes through a field that takes values of several forms, such as a number or an object.

    Attributes
    ----------
    depth : parts of the location down to the name of the member.
    form : of the member that the location speaks of: number, text or object.
    forms : of all members.
    words : what may stand there.
    """

    depth: int
    form: str
    forms: tuple[str, ...]
    words: str


@dataclass(frozen=True, slots=True)
class DocumentPlace:
    """One place of a document.

    Attributes
    ----------
    place : the location without the names of union members, which stand in no file.
    owner : the model that the last part of the place belongs to.
    field : the innermost named field on the way.
    is_field : whether the place is that field itself, and not a member of it.
    union : the member of the first field of several forms on the way; None where there is no such field.
    members : the types of what may stand at the place, without null.
    """

    place: tuple[str | int, ...]
    owner: Any
    field: FieldInfo | None
    is_field: bool
    union: UnionMember | None
    members: tuple[Any, ...] = ()

    @property
    def form(self) -> Any:
        """The first of the types of what may stand at the place; None where none is known."""
        return next(iter(self.members), None)

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
    annotation, owner, field, is_field = document, document, None, False
    union: UnionMember | None = None
    place: list[str | int] = []
    for depth, part in enumerate(location, 1):
        members = _union_members(annotation)
        if len(members) > 1:
            chosen = next((member for member in members if isinstance(part, str) and _is_called(member, part)), None)
            if chosen is not None:
                annotation, union = chosen, union or _union_member(members, chosen, depth)
                continue
            annotation = next((member for member in members if get_origin(member) is dict), None)
        place.append(part)
        owner = _plain(annotation)
        annotation, below = _step(owner, part)
        is_field = below is not None
        field = below or field
    return DocumentPlace(tuple(place), owner, field, is_field, union, tuple(_union_members(annotation)))


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


def _is_called(member: Any, part: str) -> bool:
    if _is_document(member):
        literals = [field.annotation for field in member.model_fields.values() if get_origin(field.annotation) is Literal]
        validated = part.startswith("function-") and part.endswith(f", {member.__name__}]")
        return any(get_args(literal) == (part,) for literal in literals) or part == member.__name__ or validated
    if part.startswith("tuple["):
        return get_origin(member) is tuple  # the first of several: below rows, and rows of rows, there are numbers alone
    return part in LABELS.get(member, ()) or (part.startswith("dict[") and get_origin(member) is dict)


LABELS: dict[Any, tuple[str, ...]] = {float: ("float", "constrained-float"), str: ("str", "constrained-str")}
"""Pydantic's names of numbers and texts that are members of a union."""


def _is_document(member: Any) -> bool:
    return isinstance(member, type) and issubclass(member, BaseModel)


def _union_member(members: list[Any], chosen: Any, depth: int) -> UnionMember | None:
    """The member of a field of several forms; None where the forms do not tell the members apart."""
    forms = tuple(_form(member) for member in members)
    if len(set(forms)) < len(forms) or None in forms:
        return None
    words = ", or ".join(_words(member) for member in members)
    return UnionMember(depth, str(_form(chosen)), tuple(map(str, forms)), f"must be {words}")


def _form(member: Any) -> str | None:
    if _is_document(member) or get_origin(member) is dict:
        return "object"
    return {float: "number", str: "text"}.get(member)


def _words(member: Any) -> str:
    if _is_document(member):
        return f"an object of {' and '.join(member.model_fields)}"
    return {float: "a number", str: "text"}.get(member, "an object of numbers by name")
