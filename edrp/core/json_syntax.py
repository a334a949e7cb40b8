"""JSON text before it is understood: faults of its syntax, names given twice, its kind."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from edrp.core.errors import Fault
from edrp.core.places import format_place

_OBJECT = object()


class Scan:
    """One pass over JSON text that keeps nothing but what is wrong with it and its top-level scalars.

    Attributes
    ----------
    faults : syntax faults with line and column, and names given twice with their places.
    top : scalar fields of the outermost object, or None where the text holds something else.

    Examples
    --------
    >>> Scan('{"kind": "edrp", "weights": {"cost": 1, "cost": 0}}').faults
    [Fault(place='weights.cost', value='', why='is given twice in one object; keep one of them')]
    >>> Scan('{"kind": }').faults[0].place
    'line 1, column 10'
    """

    def __init__(self, text: str) -> None:
        self.faults: list[Fault] = []
        self.top: dict[str, Any] | None = None
        self._twice = False
        self._last: list[tuple[str, Any]] = []
        try:
            # Whole numbers as floats: of thousands of digits, Python refuses to read them. No number is looked at here.
            found = json.loads(text, object_pairs_hook=self._object, parse_int=float)
            if found is _OBJECT:
                self.top = dict(self._last)
            if self._twice:
                pairs = json.loads(text, object_pairs_hook=_Pairs, parse_int=float)
                self.faults += [
                    Fault(format_place(location), "", "is given twice in one object; keep one of them")
                    for location in _twice(pairs)
                ]
        except json.JSONDecodeError as error:
            near = text[error.pos : error.pos + 20].split("\n")[0]
            place = f"line {error.lineno}, column {error.colno}"
            self.faults.append(Fault(place, near, f"is not JSON: {_lowered(error.msg)}"))
        except RecursionError:
            self.faults.append(Fault("document", "", "is nested too deeply"))

    def _object(self, pairs: list[tuple[str, Any]]) -> object:
        # Objects are dropped as soon as they are closed, so that the pass needs little memory for any file.
        self._twice = self._twice or len({name for name, _ in pairs}) < len(pairs)
        self._last = [(name, value) for name, value in pairs if not isinstance(value, list) and value is not _OBJECT]
        return _OBJECT


class _Pairs(list[tuple[str, Any]]):
    """An object with every one of its fields, in order."""


def _twice(value: Any, place: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    if isinstance(value, _Pairs):
        seen = set()
        for name, below in value:
            if name in seen:
                yield (*place, name)
            seen.add(name)
            yield from _twice(below, (*place, name))
    elif isinstance(value, list):
        for index, below in enumerate(value):
            yield from _twice(below, (*place, index))


def _lowered(text: str) -> str:
    return text[:1].lower() + text[1:]
