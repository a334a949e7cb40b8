"""Pydantic's report as faults that a user can act on: the place in their file, plain words, what would be right.

A location is followed through the annotations of a document, and examples of a type show what may stand there.
"""

from __future__ import annotations

import json
import math
import re
import types
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass
from difflib import SequenceMatcher, get_close_matches
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, RootModel, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from edrp.core.errors import Fault, InvalidInstanceError

PLAIN = {
    "bool_parsing": "must be true or false",
    "bool_type": "must be true or false",
    "dataclass_type": "must be an object with named fields",
    "dict_type": "must be an object with named fields",
    "finite_number": "must be a finite number",
    "float_parsing": "must be a number",
    "float_type": "must be a number",
    "int_from_float": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_type": "must be a whole number",
    "list_type": "must be a list",
    "missing": "missing; this field is required",
    "model_attributes_type": "must be an object with named fields",
    "model_type": "must be an object with named fields",
    "string_too_short": "must not be empty",
    "string_type": "must be text",
    "string_unicode": "must be valid Unicode text",
    "tuple_type": "must be a list",
}
"""Pydantic's types of faults in plain words, where no bound needs to be named."""

OBJECTS_AND_LISTS = ("dataclass_type", "dict_type", "list_type", "model", "tuple_type")
"""Beginnings of the types of faults where an object or a list is expected."""

BOUNDS = {"greater_than_equal": ("ge", "at least"), "greater_than": ("gt", "above")}
BOUNDS |= {"less_than_equal": ("le", "at most"), "less_than": ("lt", "below")}

MAX_LISTED = 24
"""Maximum number of known words that are listed."""


def invalid(error: ValidationError, document: Any, source: str = "") -> InvalidInstanceError:
    """Translate pydantic's report on `document` (a model class), keeping every place."""
    return InvalidInstanceError(list_faults(error, document), source)


def list_faults(error: ValidationError, document: Any) -> list[Fault]:
    """All faults of a report, without those that only follow from others."""
    reported = [_PydanticFault(item, walk(document, item["loc"])) for item in error.errors(include_url=False)]
    return [fault.fault() for fault in _one_per_union([fault for fault in reported if not fault.follows_from_others])]


def shown(value: object) -> str:
    """A value as it would stand in the file, long ones described.

    >>> shown("a"), shown(None), shown([1, 2]), shown(list(range(100)))
    ('"a"', 'null', '[1, 2]', 'a list of 100')
    """
    if isinstance(value, (list, tuple)) and len(value) > 4:
        return f"a list of {len(value)}"
    if isinstance(value, dict) and len(value) > 4:
        return f"an object of {len(value)} fields"
    if isinstance(value, (list, tuple, dict)) and any(isinstance(e, (list, tuple, dict)) for e in _members(value)):
        return "a list of lists or objects" if isinstance(value, (list, tuple)) else "a nested object"
    if isinstance(value, int) and value.bit_length() > 256:  # Python refuses to write numbers of thousands of digits
        return f"a whole number of about {math.floor(math.log10(abs(value))) + 1} digits"
    try:
        text = json.dumps(value, ensure_ascii=False, default=repr)
    except Exception:  # numbers of thousands of digits in a list, keys that are no text, objects that cannot be written
        return f"a value of type {type(value).__name__}"
    return text if len(text) <= 80 else text[:77] + "..."


def magnitude_words(smallest: float, unit: str, *, zero: bool) -> str:
    """The range that a number must be in that is not 0 but too near to it.

    >>> magnitude_words(1e-9, "s", zero=True)
    'must be 0, or at least 1e-09 s'
    """
    measured = f"{smallest:g}" if unit == "1" else f"{smallest:g} {unit}"
    return f"must be 0, or at least {measured}" if zero else f"must be at least {measured}"


def nearest(word: object, known: Iterable[str]) -> str | None:
    """The known word that is most like another one, whose parts may stand in another order, or None if none is.

    >>> nearest("grredy", ["auto", "greedy"]), nearest("x", ["auto"])
    ('greedy', None)
    >>> nearest("replicasMax", ["min_replicas", "max_replicas"]), nearest("rate", ["name", "external_rate"])
    ('max_replicas', 'external_rate')
    """
    names, best, likeness = list(known), None, 0.0
    parts = set(_ordered_parts(str(word)).split())
    for spell in (str.casefold, _ordered_parts):
        sought, spelled = spell(str(word)), {spell(name): name for name in reversed(names)}
        close = get_close_matches(sought, spelled, n=1) if sought else []
        if close and (ratio := SequenceMatcher(None, close[0], sought).ratio()) > likeness:
            best, likeness = spelled[close[0]], ratio
    longer = [name for name in names if parts and parts <= set(_ordered_parts(name).split())]
    return longer[0] if best is None and len(longer) == 1 else best


def _ordered_parts(word: str) -> str:
    """The parts of a name in alphabetical order, such as "max replicas" of "replicas_max" and of "replicasMax"."""
    return " ".join(sorted(part.casefold() for part in re.findall(r"[A-Z]?[^\W\d_A-Z]+|[A-Z]+|\d+", word)))


def suggestion(word: object, known: Iterable[str]) -> str:
    """End of a sentence that offers the nearest known word, or lists those there are, as long as a reader can take them in.

    >>> suggestion("max_replica", ["name", "max_replicas"])
    "; did you mean 'max_replicas'?"
    """
    names = list(known)
    if close := nearest(word, names):
        return f"; did you mean '{close}'?"
    return f"; there are {listed(names)}" if names else ""


def listed(words: Sequence[str], separator: str = ", ", most: int = MAX_LISTED) -> str:
    """Words in a row; those after the first `most` are counted.

    >>> listed(["a", "b"]), listed(["a", "b", "c", "d"], most=2)
    ('a, b', 'a, b and 2 more')
    """
    more = f" and {len(words) - most} more" if len(words) > most else ""
    return f"{separator.join(words[:most])}{more}"


def likely_words(likely: Sequence[str], known: Iterable[str]) -> str:
    """End of a sentence about a missing name: those that the other fields speak for, or if there are none or many, all.

    >>> likely_words(["edrp", "rescale"], [])
    '; the other fields are those of "edrp" or "rescale"'
    """
    if 0 < len(likely) <= MAX_LIKELY:
        return f"; the other fields are those of {' or '.join(map(shown, likely))}"
    return f"; it must be one of {', '.join(map(shown, known))}"


MAX_LIKELY = 3
"""Largest number of names that help a reader who has left one out."""

MAX_NAMES = 5
"""Largest number of names that a sentence lists one by one."""


def enumerated(names: Sequence[str], most: int = MAX_NAMES, last: str = "and") -> str:
    """The first names as a sentence lists them, and how many more there are; `last` joins the last one.

    >>> enumerated(["a"]), enumerated(["a", "b", "c"]), enumerated([str(number) for number in range(9)])
    ('a', 'a, b and c', '0, 1, 2, 3, 4 and 4 more')
    """
    shown = [*names[:most], *([f"{len(names) - most} more"] if len(names) > most else [])]
    return f" {last} ".join(filter(None, [", ".join(shown[:-1]), *shown[-1:]]))


@dataclass(frozen=True, slots=True)
class _PydanticFault:
    item: Any
    place_in_document: DocumentPlace

    @property
    def follows_from_others(self) -> bool:
        """A list counts as too short when its members are at fault; those are reported already."""
        given = self.item["input"]
        if self.item["type"] != "too_short" or not isinstance(given, Sized):
            return False
        return bool(len(given) >= self.item["ctx"]["min_length"])

    def fault(self) -> Fault:
        kind, value, context = self.item["type"], self.item["input"], self.item.get("ctx", {})
        place = format_place(self.place_in_document.place)
        if kind == "fault":
            return Fault(place, "" if value is None else shown(value), self.item["msg"])
        if kind == "json_invalid":
            return Fault("document", "", f"is not JSON: {context['error']}")
        if kind == "missing":
            return Fault(place, "", PLAIN[kind])
        if kind == "extra_forbidden":
            fields = getattr(self.place_in_document.owner, "model_fields", {})
            return Fault(place, shown(value), "unknown field" + suggestion(self.place_in_document.place[-1], fields))
        if kind.startswith("union_tag"):
            field = str(context["discriminator"]).strip("'")
            tag = value.get(field) if isinstance(value, dict) else None
            expected = context.get("expected_tags")
            close = nearest(tag, expected.replace("'", "").split(", ")) if expected else None
            why = f"must be one of {expected}" if expected else self._missing_tag(field)
            why += f"; did you mean '{close}'?" if close else ""
            return Fault(f"{place}.{field}", "" if tag is None else shown(tag), why)
        return Fault(place, shown(value), self._why(kind, context))

    def _why(self, kind: str, context: dict[str, Any]) -> str:
        if kind in BOUNDS:
            name, words = BOUNDS[kind]
            why = f"must be {words} {context[name]:g}{self.place_in_document.unit}"
        elif kind == "literal_error":
            why = f"must be {context['expected']}"
        elif kind == "too_short":
            why = f"must hold at least {context['min_length']}"
        elif kind == "too_long":
            why = f"must hold at most {context['max_length']}"
        elif kind == "string_too_long":
            why = f"must have at most {context['max_length']} characters"
        else:
            why = PLAIN.get(kind, self.item["msg"]) + self._example()
        return why + (", or left out" if self.place_in_document.nullable and self.place_in_document.union is None else "")

    def _missing_tag(self, field: str) -> str:
        """That the field is missing by which members of a union are told apart, and what it probably is by the other fields."""
        members = [form for form in self.place_in_document.members if field in getattr(form, "model_fields", {})]
        tagged = {tag: form for form in members for tag in get_args(form.model_fields[field].annotation)}
        return "missing; it says which fields follow" + likely_words(likely_classes(self.item["input"], tagged), tagged)

    def _example(self) -> str:
        """What would be right where an object or a list is expected; empty for other mistakes."""
        if not self.item["type"].startswith(OBJECTS_AND_LISTS):
            return ""
        example = form_example(self.place_in_document.form, self.item["input"])
        return f", such as {example}" if example.startswith(("{", "[")) else ""


def _one_per_union(faults: list[_PydanticFault]) -> list[_PydanticFault]:
    """Keep, for a field of several forms, the faults that concern the form that the user chose."""
    kept = []
    merged: set[tuple[str | int, ...]] = set()
    for fault in faults:
        union, place = fault.place_in_document.union, fault.place_in_document.place
        chosen = None if union is None else _form_of(fault.item["input"])
        if union is None or len(fault.item["loc"]) > union.depth or chosen == union.form:
            kept.append(fault)
        elif chosen not in union.forms and place not in merged:
            merged.add(place)
            kept.append(_PydanticFault({**fault.item, "type": "form", "msg": union.words}, fault.place_in_document))
    return kept


def _form_of(value: object) -> str | None:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return "number"
    return "text" if isinstance(value, str) else "object" if isinstance(value, dict) else None


def _members(value: Any) -> Iterable[object]:
    return value.values() if isinstance(value, dict) else value


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
        owner = next(iter(_union_members(annotation)), None)
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
        forms = {name: field.annotation for name, field in fields.items()}
        tags = [name for name, kind in forms.items() if get_origin(kind) is Literal and len(get_args(kind)) == 1]
        shown = [name for name, field in fields.items() if field.is_required() or name in tags] or list(fields)[:1]
        return {name: _example(fields[name].annotation, given, depth + 1, number) for name in shown}
    if given and depth <= FILLED_DEPTH and _fits(given[0], form):
        return given.pop(0)
    return form(number) if form in (float, int, bool) else "…"


def _fits(value: object, form: Any) -> bool:
    if isinstance(value, str):
        return form is str and bool(value)
    return form in (float, int) and isinstance(value, int | float) and not isinstance(value, bool)
