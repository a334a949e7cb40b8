"""Pydantic's report as faults that a user can act on: the place in their file, plain words, what would be right."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Sequence, Sized
from dataclasses import dataclass
from difflib import SequenceMatcher, get_close_matches
from typing import Any, get_args

from pydantic import ValidationError

from edrp.core.errors import Fault, InvalidInstanceError
from edrp.core.forms import form_example, likely_classes
from edrp.core.places import DocumentPlace, format_place, walk

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
