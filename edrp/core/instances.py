"""Instance files: one JSON document per problem, read and written without loss, those of many links part by part."""

from __future__ import annotations

import gc
import json
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar, overload

from pydantic import TypeAdapter, ValidationError

from edrp.core.arguments import check_arguments, described
from edrp.core.document import Document, LinkedNodes
from edrp.core.errors import Fault, InvalidArgumentError, InvalidInstanceError
from edrp.core.files import read_whole, save_text, text_format
from edrp.core.kinds import document_class, document_kinds, kinds, solution_kinds
from edrp.core.problem import Problem
from edrp.core.solution import Solution
from edrp.core.wording import format_place, invalid, likely_classes, likely_words, shown, suggestion

_OBJECT = object()
ProblemType = TypeVar("ProblemType", bound=Problem)


class Scan:
    """One pass over JSON text that keeps nothing but what is wrong with it and its top-level scalars.

    Attributes
    ----------
    faults : syntax faults with line and column, and names given twice with their places.
    top : scalar fields of the outermost object, or None where the text holds something else.
    names : of all fields of the outermost object.

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
        self.names: list[str] = []
        self._twice = False
        self._last: dict[str, Any] = {}
        try:
            # Whole numbers as floats: of thousands of digits, Python refuses to read them. No number is looked at here.
            found = json.loads(text, object_pairs_hook=self._object, parse_int=float)
            if found is _OBJECT:
                self.names = list(self._last)
                self.top = {
                    name: value for name, value in self._last.items() if not (isinstance(value, list) or value is _OBJECT)
                }
            if self._twice:
                pairs = json.loads(text, object_pairs_hook=_Pairs, parse_int=float)
                self.faults += [
                    Fault(format_place(location), "", "is given twice in one object; keep one of them")
                    for location in _twice(pairs)
                ]
        except json.JSONDecodeError as error:
            near = text[error.pos : error.pos + 20].split("\n")[0]
            place = f"line {error.lineno}, column {error.colno}"
            self.faults.append(Fault(place, near, f"is not JSON: {error.msg[:1].lower()}{error.msg[1:]}"))
        except RecursionError:
            self.faults.append(Fault("document", "", "is nested too deeply"))

    def _object(self, pairs: list[tuple[str, Any]]) -> object:
        # Objects are dropped as soon as they are closed, so that the pass needs little memory for any file.
        self._last = fields = dict(pairs)
        self._twice = self._twice or len(fields) < len(pairs)
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


@overload
def load(path: str | Path, kind: type[ProblemType]) -> ProblemType: ...
@overload
def load(path: str | Path, kind: str | None = None) -> Problem: ...
def load(path: str | Path, kind: type[Problem] | str | None = None) -> Problem:
    """Read a problem from an instance file.

    Parameters
    ----------
    path
        Path of the file.
    kind
        The kind of problem that the file must hold, as a class such as `edrp.EdrpProblem`, which is then the type of the
        result, or as a name; None for any kind.

    Raises
    ------
    InvalidInstanceError
        Every fault of the file with its place, its value and what would be right; or that it holds another kind of problem.

    Examples
    --------
    >>> load("examples/migration.json", "migration")
    <MigrationProblem: work of 16, state_size of 16, 3 intervals; nodes=4; tolerance=0.4>
    """
    check_arguments("edrp.load", path=path)
    return _of_kind(read_whole(path), str(path), kind, "edrp.load")


@overload
def loads(text: str, source: str = "", *, kind: type[ProblemType]) -> ProblemType: ...
@overload
def loads(text: str, source: str = "", *, kind: str | None = None) -> Problem: ...
def loads(text: str, source: str = "", *, kind: type[Problem] | str | None = None) -> Problem:
    """Read a problem from JSON text; `source` is named in errors, and `kind` is as in `load`.

    Raises
    ------
    InvalidInstanceError
        Every fault of the text, or that it holds another kind of problem.

    Examples
    --------
    >>> loads('{"kind": "edrp", "network": {"nodes": [{"name": "a", "speed": 2}]}}')
    Traceback (most recent call last):
    edrp.core.errors.InvalidInstanceError: 2 faults in the input
      application: missing; this field is required
      network.nodes[0].speed: unknown field; did you mean 'speedup'? (got 2)
    """
    check_arguments("edrp.loads", text=text)
    return _of_kind(text, source, kind, "edrp.loads")


def _of_kind(text: str, source: str, wanted: type[Problem] | str | None, function: str) -> Problem:
    """The problem of a text, which must be of a kind that is given by its class or its name."""
    if isinstance(wanted, str):
        known = [wanted] if wanted in kinds() else []
    elif isinstance(wanted, type) and issubclass(wanted, Problem):
        known = [name for name, kind in kinds().items() if issubclass(kind.problem, wanted)]
    else:
        known = list(kinds()) if wanted is None else []
    if not known:
        given = f"no kind is called {wanted!r}" if isinstance(wanted, str) else f"is {described(wanted)}"
        why = "; give a class of problems, such as edrp.EdrpProblem, or the name of a kind" + suggestion(wanted, kinds())
        raise InvalidArgumentError([Fault("kind", "", given + why)], function)
    problem = _read(text, source, kinds if wanted is None else lambda: known)
    assert isinstance(problem, Problem)
    return problem


def save(document: Problem | Solution, path: str | Path, *, force: bool = False) -> None:
    """Write an instance file, every field spelled out, or a solution document; the file appears whole or not at all.

    Parameters
    ----------
    document
        A problem, or a solution.
    path
        Path of the file.
    force
        Whether to replace a file that is there and holds something else.

    Raises
    ------
    UnwritableError
        When a file that holds something else is there, or none can be written there.
    """
    check_arguments("edrp.save", document=document, path=path)
    if isinstance(document, Solution):
        document.save(path, force=force)
    else:
        save_text(path, document.model_dump_json(indent=2) + "\n", force=force)


def load_solution(path: str | Path) -> Any:
    """Read a solution document.

    Raises
    ------
    InvalidInstanceError
        Every fault of the file.
    """
    return loads_solution(read_whole(path), str(path))


def loads_solution(text: str, source: str = "") -> Any:
    """Read a solution document from JSON text; `source` is named in errors.

    Raises
    ------
    InvalidInstanceError
        Every fault of the text.
    """
    return _read(text, source, solution_kinds)


def load_document(path: str | Path) -> Any:
    """Read an instance file or a solution document.

    Raises
    ------
    InvalidInstanceError
        Every fault of the file.
    """
    return _read(read_whole(path), str(path), document_kinds)


def schema(kind: str) -> dict[str, Any]:
    """JSON Schema of a kind of document, with the unit of every number.

    Raises
    ------
    InvalidInstanceError
        When there is no such kind.

    Examples
    --------
    >>> schema("edrp")["properties"]["synchronisation_time"]["unit"]
    's'
    """
    from pydantic.json_schema import GenerateJsonSchema

    check_arguments("edrp.schema", kind=kind)
    if kind not in document_kinds():
        raise InvalidInstanceError([_unknown_kind(kind, document_kinds())])
    document = document_class(kind).model_json_schema()
    for part in [document, *document.get("$defs", {}).values()]:
        # Of a class docstring the schema needs what the document is, not its Python examples.
        if "description" in part:
            part["description"] = part["description"].split("\n\n")[0].replace("\n", " ")
        # In a file `kind` and `model` are never left out: they say how to read the rest.
        tags = [name for name, field in part.get("properties", {}).items() if "const" in field]
        if tags:
            part["required"] = [*tags, *(name for name in part.get("required", []) if name not in tags)]
    return {"$schema": GenerateJsonSchema.schema_dialect, **document}


def _read(text: str, source: str, known: Callable[[], Collection[str]]) -> Document:
    if (long := read_in_parts(text, known)) is not None:
        return long
    scan = Scan(text)
    if scan.faults:
        other = text_format(text, source) if scan.top is None else ""
        raise InvalidInstanceError([Fault("file", "", other)] if other else scan.faults, source)
    if scan.top is None:
        raise InvalidInstanceError([Fault("document", "", "must be a JSON object")], source)
    kind = scan.top.get("kind")
    if not isinstance(kind, str) or kind not in known():
        raise InvalidInstanceError([_unknown_kind(kind, known(), scan.names)], source)
    document = document_class(kind)
    try:
        # Strict: a number in quotes is refused, not read as a number.
        read: Document = document.__pydantic_validator__.validate_json(text, strict=True)
    except ValidationError as error:
        raise invalid(error, document, source) from None
    return read


def _unknown_kind(kind: object, known: Collection[str], fields: Sequence[str] = ()) -> Fault:
    if kind is None:
        likely = likely_classes(fields, {name: document_class(name) for name in known})
        return Fault("kind", "", "missing" + likely_words(likely, known))
    if kind in document_kinds():
        others = [name for name in known if (name in kinds()) == (kind in kinds())]
        if others:
            return Fault("kind", shown(kind), f"is another kind of problem; must be {' or '.join(map(shown, others))}")
        why = "is an instance; give the solution that a method wrote for it"
        return Fault("kind", shown(kind), why if kind in kinds() else "is a solution; give the instance that it solves")
    return Fault("kind", shown(kind), "is no kind of document" + suggestion(kind, known))


LONG = 2**20
"""Characters of a text that is read in parts, and of a part."""

LINKS = re.compile(r'"links"\s*:\s*\[')
BETWEEN = re.compile(r"\}\s*,\s*(?=\{)")


def read_in_parts(text: str, known: Callable[[], Collection[str]]) -> Document | None:
    """A document of one network, read with its links in parts; None where it has to be read as a whole, or is not valid.

    A cut at a wrong place, such as inside of a name, leaves parts that are no JSON. Where links have as many fields as there are
    colons, no name is given twice in one.

    Parameters
    ----------
    text
        JSON.
    known
        Names of the kinds of document that it may hold.
    """
    start = LINKS.search(text) if len(text) > LONG and text.count('"links"') == 1 else None
    if start is None:
        return None
    first, last = start.end(), text.find("]", start.end())
    rest = text[:first] + text[last:]
    scan = Scan(rest)
    kind = (scan.top or {}).get("kind")
    if scan.faults or not isinstance(kind, str) or kind not in known():
        return None
    document = document_class(kind)
    field = document.model_fields.get("network")
    network = field.annotation if field else None
    if not (isinstance(network, type) and issubclass(network, LinkedNodes)):
        return None
    annotation: Any = network.model_fields["links"].annotation
    part: TypeAdapter[Any] = TypeAdapter(annotation)
    links: list[Any] = []
    collecting = gc.isenabled()
    gc.disable()  # documents hold no cycles, and the search for some takes a tenth of the time
    try:
        for begin, end in _parts(text, first, last):
            links += part.validate_json(f"[{text[begin:end]}]", strict=True)
        if sum([len(link.__pydantic_fields_set__) for link in links]) != text.count(":", first, last):
            return None
        context = {"links": tuple(links)}
        del links
        read: Document = document.__pydantic_validator__.validate_json(rest, strict=True, context=context)
    except ValidationError:
        return None
    finally:
        if collecting:
            gc.enable()
    return read


def _parts(text: str, first: int, last: int) -> list[tuple[int, int]]:
    """Where the parts of a list begin and end, each about as long as `LONG`, without the commas between them."""
    parts, begin = [], first
    while cut := BETWEEN.search(text, begin + LONG, last):
        parts.append((begin, cut.start() + 1))
        begin = cut.end()
    return [*parts, (begin, last)]
