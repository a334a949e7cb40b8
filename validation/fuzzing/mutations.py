"""Documents to begin with, and mutations that know their structure: places, units, names that refer to others, like members."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st

from edrp.core.document import MAX_COUNT, RANGES
from edrp.core.instances import schema
from edrp.core.kinds import kinds
from edrp.core.methods import NEEDS_PARAMETERS, methods
from edrp.datasets.families.family import Family
from edrp.datasets.families.placement.rules import RULED_KINDS, ruled_family
from edrp.datasets.families.registry import all_families
from edrp.validation.fuzzing.oracle import Case

INSTANCES_PER_SIZE = 12
"""Instances of each family and size."""

SIZES = 6
"""Sizes of each family, from the smallest on."""


def base_documents(kinds: Sequence[str], files: Sequence[Path] = ()) -> st.SearchStrategy[dict[str, Any]]:
    """Documents of these kinds, as they would be read from JSON; those in the files are as likely as those of one kind."""
    known = all_families()
    by_kind = [_of_families([family for family in known[kind].values() if not family.missing_packages]) for kind in kinds]
    documents = [document for file in files if (document := _read(file)).get("kind") in kinds]
    return st.one_of(*by_kind, *([st.sampled_from(documents)] if documents else []))


def _read(file: Path) -> dict[str, Any]:
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}


def _of_families(families: list[Family]) -> st.SearchStrategy[dict[str, Any]]:
    """Half of those of kinds with rules have some."""
    names = st.sampled_from([(family.kind, family.name) for family in families])
    ruled = st.booleans() if families[0].kind in RULED_KINDS else st.just(False)
    chosen = st.tuples(names, st.integers(0, SIZES - 1), st.integers(0, INSTANCES_PER_SIZE - 1), ruled)
    return chosen.map(lambda choice: _generated(*choice[0], *choice[1:]))


@cache
def _generated(kind: str, name: str, beyond: int, seed: int, ruled: bool) -> dict[str, Any]:
    family = ruled_family(all_families()[kind][name]) if ruled else all_families()[kind][name]
    problem = family.make(family.least_size + beyond, np.random.default_rng(seed))
    return problem.model_dump(mode="json")


@cache
def field_units(kind: str) -> dict[str, str]:
    """Units of the fields of a kind of document and of all that it holds, by name.

    >>> field_units("edrp")["spawn_time"]
    's'
    """
    described = schema(kind)
    owners = [described, *described.get("$defs", {}).values()]
    fields = [item for owner in owners for item in owner.get("properties", {}).items()]
    return {name: field["unit"] for name, field in fields if "unit" in field}


Place = tuple[str | int, ...]
Draw = Callable[[st.SearchStrategy[Any]], Any]
Accepts = Callable[[Any], bool]
Mutation = Callable[[Draw, dict[str, Any], Place, Any], None]
"""Changes a document at a place with a value that it accepts."""

MAX_MUTATIONS = 4

FACTORS = (0.0, 1e-9, 1e-6, 1e-3, 0.1, 0.5, 0.9, 1 - 1e-9, 1 + 1e-9, 1.1, 2.0, 3.0, 10.0, 100.0, 1e3, 1e4, 1e6, 1e9)
ODD_NUMBERS = (-1, -1e-9, 5e-324, 1e-300, 1e300, 1.7976931348623157e308, 2**53 + 1, 2**63 - 1, 10**30, 0.1 + 0.2)
COUNTS = (0, 1, 2, 3, 5, 10, 64, 100, 1000, 10_000, 100_000, MAX_COUNT, MAX_COUNT + 1, -1, 2**31, 2**63)
ODD_NAMES = (
    "",
    " ",
    "a" * 200,
    "a" * 201,
    "\x1b[31mred",
    "line\nbreak",
    "[bold]",
    "{x}",
    "näme",
    "\u2028",
    "x[0].y",
    "null",
    "0",
)
ODD_VALUES: tuple[Any, ...] = (None, True, False, "text", "1", [], {}, [[]], [None], {"a": 1})


@st.composite
def mutated(draw: Draw, bases: st.SearchStrategy[dict[str, Any]]) -> dict[str, Any]:
    """A document of the base after a few mutations, of which most leave it a document."""
    document: dict[str, Any] = copy.deepcopy(draw(bases))
    for _ in range(draw(st.integers(0, MAX_MUTATIONS))):
        accepts, mutation = draw(st.sampled_from(MUTATIONS))
        if chosen := _some_place(draw, document, accepts):
            mutation(draw, document, *chosen)
    return document


@st.composite
def written(draw: Draw, documents: st.SearchStrategy[dict[str, Any]]) -> str:
    """A document as text, which now and then is damaged as files are."""
    text = json.dumps(draw(documents))
    if draw(st.integers(0, 19)):
        return text
    first = draw(st.integers(0, len(text)))
    end = draw(st.integers(first, len(text)))
    inserted = draw(st.sampled_from(("", "{", "]", ",", '"', "\x00", "\\ud800", "1" * 5000, "NaN", "-", "[" * 2000, "\ufeff")))
    return text[:first] + inserted + draw(st.sampled_from((text[first:], text[end:], "")))


def places(value: Any, here: Place = ()) -> Iterator[tuple[Place, Any]]:
    """Every place of a document with what is there, the document itself left out.

    >>> [place for place, _ in places({"a": [1, {"b": 2}]})]
    [('a',), ('a', 0), ('a', 1), ('a', 1, 'b')]
    """
    members: Any = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, below in members:
        yield (*here, key), below
        yield from places(below, (*here, key))


def _holder(document: Any, place: Place) -> Any:
    for part in place[:-1]:
        document = document[part]
    return document


def set_value(document: Any, place: Place, value: Any) -> None:
    """Put a value at a place of a document."""
    _holder(document, place)[place[-1]] = value


def _some_place(draw: Draw, document: Any, accepts: Accepts) -> tuple[Place, Any] | None:
    """Draw a place whose value is accepted; fields are as likely as one another, however many members their lists have."""
    by_field: dict[tuple[str, ...], list[tuple[Place, Any]]] = {}
    for place, value in places(document):
        if accepts(value) and place != ("kind",):
            by_field.setdefault(field_names(place), []).append((place, value))
    if not by_field:
        return None
    return draw(st.sampled_from(by_field[draw(st.sampled_from(list(by_field)))]))


def field_names(place: Place) -> tuple[str, ...]:
    """The names on the way to a place, without the numbers of members."""
    return tuple(part for part in place if isinstance(part, str))


def _number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _text(value: Any) -> bool:
    return isinstance(value, str)


def _another_number(draw: Draw, document: dict[str, Any], place: Place, number: float) -> float:
    """Another number, often at an edge of its range."""
    units = field_units(document["kind"])
    named = [units[part] for part in field_names(place) if part in units]
    smallest, largest = RANGES.get(named[-1], RANGES["1"]) if named else RANGES["1"]
    if isinstance(number, int) and draw(st.booleans()):
        return float(draw(st.sampled_from(COUNTS))) if draw(st.integers(0, 9)) == 0 else int(draw(st.sampled_from(COUNTS)))
    choice = draw(st.integers(0, 9))
    if choice < 6:
        return number * float(draw(st.sampled_from(FACTORS)))
    if choice < 8:
        return float(draw(st.sampled_from((0.0, smallest, largest, smallest * 1.01, largest * 0.99, 1.0, 0.5))))
    if choice < 9:
        return float(draw(st.sampled_from((smallest * 0.99, largest * 1.01))))
    return draw(st.sampled_from(ODD_NUMBERS))


def replacing(other: Callable[[Draw, dict[str, Any], Place, Any], Any]) -> Mutation:
    """A value becomes another one, which `other` gives."""
    return lambda draw, document, place, value: set_value(document, place, other(draw, document, place, value))


def scale_a_field(draw: Draw, document: dict[str, Any], place: Place, number: Any) -> None:
    """All numbers of one field are multiplied by one factor, or are set to one number."""
    like = [(other, value) for other, value in places(document) if _number(value) and field_names(other) == field_names(place)]
    if draw(st.booleans()):
        factor = draw(st.sampled_from(FACTORS))
        for other, value in like:
            set_value(document, other, value * factor if isinstance(value, float) else round(value * factor))
    else:
        changed = _another_number(draw, document, place, number)
        for other, _ in like:
            set_value(document, other, changed)


def copy_another(draw: Draw, document: dict[str, Any], place: Place, value: Any) -> None:
    """One number takes the value of another one, or one name is replaced by another one of the document."""
    if another := _some_place(draw, document, _text if _text(value) else _number):
        set_value(document, place, another[1])


def leave_out(draw: Draw, document: dict[str, Any], place: Place, value: Any) -> None:
    """A field or a member of a list is missing."""
    del _holder(document, place)[place[-1]]


def duplicate_a_member(draw: Draw, document: dict[str, Any], place: Place, members: Any) -> None:
    """A list holds a member twice, under another name if it has one."""
    member = copy.deepcopy(draw(st.sampled_from(members)))
    if isinstance(member, dict) and "name" in member and draw(st.integers(0, 4)):
        member["name"] = f"{member['name']}+"
    members.insert(draw(st.integers(0, len(members))), member)


def shorten_a_list(draw: Draw, document: dict[str, Any], place: Place, members: Any) -> None:
    """Only the first members of a list are left, perhaps none."""
    del members[draw(st.integers(0, len(members) - 1)) :]


def rename_everywhere(draw: Draw, document: dict[str, Any], place: Place, name: Any) -> None:
    """A name becomes an odd one wherever it stands, as a key too."""
    odd = draw(st.sampled_from(ODD_NAMES))
    for other, value in list(places(document)):
        if value == name and other != ("kind",):
            set_value(document, other, odd)
    for _, value in list(places(document)):
        if isinstance(value, dict) and name in value:
            value[odd] = value.pop(name)


LIKELY: tuple[tuple[Accepts, Mutation], ...] = (
    (_number, replacing(_another_number)),
    (_number, scale_a_field),
    (lambda value: isinstance(value, list) and bool(value), duplicate_a_member),
    (lambda value: True, leave_out),
    (_number, copy_another),
    (lambda value: isinstance(value, bool), replacing(lambda draw, document, place, value: not value)),
)
RARE: tuple[tuple[Accepts, Mutation], ...] = (
    (lambda value: not isinstance(value, (list, dict)), replacing(lambda *_: None)),  # a field that may be left to the default
    (lambda value: isinstance(value, list) and bool(value), shorten_a_list),
    (
        lambda value: isinstance(value, list) and len(value) > 1,
        replacing(lambda draw, document, place, members: draw(st.permutations(members[:12])) + members[12:]),
    ),
    (_text, copy_another),
    (_text, rename_everywhere),
    (lambda value: True, replacing(lambda draw, *_: copy.deepcopy(draw(st.sampled_from(ODD_VALUES))))),
)
MUTATIONS: tuple[tuple[Accepts, Mutation], ...] = (*LIKELY * 3, *RARE)
"""All mutations; those that leave most documents valid stand in it several times, so that they are drawn more often."""


@cache
def methods_for(kind: str, exact: bool | None = None) -> tuple[str, ...]:
    """Methods that take a kind of problem and need no parameters: all, or only those that are exact, or that are not.

    >>> methods_for("migration", exact=False)
    ('balanced', 'consistent-hashing', 'even-split')
    """
    known = methods(kind).items()
    return tuple(name for name, method in known if name not in (*NEEDS_PARAMETERS, "auto") and exact in (None, method.exact))


@st.composite
def cases(draw: Draw, chosen: Sequence[str] = (), files: Sequence[Path] = (), work_limit: float = 0.05) -> Case:
    """A case of these kinds (default: all): a mutated document, solved by `auto`, all exact methods and one that is not."""
    document: dict[str, Any] = draw(mutated(base_documents(tuple(chosen) or tuple(kinds()), files)))
    inexact = methods_for(document["kind"], exact=False)
    one = (draw(st.sampled_from(inexact)),) if inexact else ()
    named = ("auto", *methods_for(document["kind"], exact=True), *one)
    return Case(draw(written(st.just(document))), named, work_limit, draw(st.integers(0, 3)))
