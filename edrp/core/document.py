"""Base of all documents: immutable, unknown fields refused, numbers finite and within the range of their unit, all faults named.

The ranges hold all real systems generously, and within them binary64 keeps the sums, products and differences that methods
and evaluators make: nothing overflows, and nothing that matters is lost next to something larger.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from inspect import Signature
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NamedTuple, Self, TypedDict

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    RootModel,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic.config import JsonDict
from pydantic_core import InitErrorDetails, PydanticCustomError, core_schema

from edrp.core.document_text import documentation, public_names, short, signature
from edrp.core.errors import MAX_SHOWN_FAULTS, Fault, InvalidArgumentError, InvalidInstanceError
from edrp.core.wording import invalid, magnitude_words, nearest, suggestion


class Magnitudes(NamedTuple):
    """Smallest magnitude of a number that is not 0, and the largest magnitude."""

    smallest: float
    largest: float


MAX_COUNT = 1_000_000
"""Largest whole number, where a field states none."""

RANGES: dict[str, Magnitudes] = {
    "h": Magnitudes(1e-6, 1e5),
    "s": Magnitudes(1e-9, 1e9),
    "bytes": Magnitudes(1e-6, 1e15),
    "B": Magnitudes(1e-6, 1e15),
    "bytes/s": Magnitudes(1e-6, 1e15),
    "tuples": Magnitudes(1e-9, 1e15),
    "tuples/s": Magnitudes(1e-9, 1e12),
    "money": Magnitudes(1e-12, 1e9),
    "money/h": Magnitudes(1e-18, 1e9),
    "money/h per tuple/s": Magnitudes(1e-15, 1e9),
    "money/bytes": Magnitudes(1e-18, 1e3),
    "1": Magnitudes(1e-9, 1e15),
    "units/s": Magnitudes(1e-9, 1e15),
    "units/tuple": Magnitudes(1e-15, 1e12),
    "as the operators' needs": Magnitudes(1e-9, 1e15),
    "1/money": Magnitudes(1e-9, 1e9),
    "1/ms": Magnitudes(1e-9, 1e9),
    "s/bytes": Magnitudes(1e-18, 1e6),
    "s per (tuples/s)^power": Magnitudes(0.0, 1e9),
}
"""Range of each unit that fields name. Shares and probabilities may be as near to 0 as binary64 allows where they may be 0."""

NESTED = ("default", "nullable", "list", "dict", "function-after", "function-before", "function-wrap")
INNER = ("schema", "items_schema", "values_schema")


def with_ranges(schema: Any, units: dict[str, str]) -> None:
    """Narrow the numbers of a document's core schema to the ranges of their units, in place.

    Parameters
    ----------
    schema
        Core schema of the document, as pydantic makes it.
    units
        Units of its fields, by name; other fields are left as they are.
    """
    while "schema" in schema:
        if schema["type"] == "model-fields":
            break
        schema = schema["schema"]
    for name, field in schema.get("fields", {}).items():
        if units.get(name) in RANGES and not field.get("metadata", {}).get("narrowed"):  # seen again inside other documents
            field["schema"] = _narrowed(field["schema"], RANGES[units[name]], units[name])
            field["metadata"] = {**field.get("metadata", {}), "narrowed": True}
    if "extras_schema" in schema and not schema.get("metadata", {}).get("narrowed"):  # numbers whose units no field knows
        schema["extras_schema"] = _narrowed(schema["extras_schema"], RANGES["1"], "1")
        schema["metadata"] = {**schema.get("metadata", {}), "narrowed": True}


def _narrowed(schema: Any, magnitudes: Magnitudes, unit: str) -> Any:
    kind = schema["type"]
    if kind == "float":
        return _narrow_number(schema, magnitudes, unit)
    if kind == "int":
        return {"le": MAX_COUNT, **schema}
    if kind == "tuple":
        return {**schema, "items_schema": [_narrowed(item, magnitudes, unit) for item in schema["items_schema"]]}
    if kind == "tagged-union":
        return {**schema, "choices": {tag: _narrowed(choice, magnitudes, unit) for tag, choice in schema["choices"].items()}}
    if kind == "union":
        # Places of faults name the member of a union; a name is given, so that it does not depend on what checks the member.
        choices = [choice[0] if isinstance(choice, tuple) else choice for choice in schema["choices"]]
        narrowed = [(_narrowed(choice, magnitudes, unit), choice) for choice in choices]
        return {**schema, "choices": [(new, "constrained-float") if old["type"] == "float" else new for new, old in narrowed]}
    for inner in INNER if kind in NESTED else ():
        if inner in schema:
            schema = {**schema, inner: _narrowed(schema[inner], magnitudes, unit)}
    return schema


def _narrow_number(schema: Any, magnitudes: Magnitudes, unit: str) -> Any:
    smallest, largest = magnitudes
    positive = "gt" in schema
    if not positive:
        schema = {"ge": -largest, **schema}
    schema = {"le": largest, **schema}
    if smallest == 0 or (schema.get("ge") == 0 and schema["le"] <= 1):
        return schema
    check = _refuse_below(smallest, magnitude_words(smallest, unit, zero=not positive))
    patch = {"not": {"exclusiveMinimum": 0 if schema.get("ge") == 0 else -smallest, "exclusiveMaximum": smallest}}
    return core_schema.no_info_after_validator_function(check, schema, metadata={"pydantic_js_updates": patch})


def _refuse_below(smallest: float, why: str) -> Callable[[float], float]:
    fault = PydanticCustomError("too_small", why)  # type: ignore[arg-type]

    def check(number: float) -> float:
        if -smallest < number < smallest and number != 0:
            raise fault
        return number

    return check


Name = Annotated[str, Field(min_length=1, max_length=200)]
NonNegative = Annotated[float, Field(ge=0)]
Positive = Annotated[float, Field(gt=0)]
Probability = Annotated[float, Field(gt=0, le=1)]
Amount = Annotated[float, Field(ge=0)]
Resources = Amount | dict[Name, Amount]


def named_resources(resources: float | dict[str, float]) -> dict[str, float]:
    """Resources by name; a plain number is the single resource called `resources`."""
    return resources if isinstance(resources, dict) else {"resources": resources}


class UnitOfField(TypedDict):
    """What a field of a document says of its unit in its JSON Schema."""

    json_schema_extra: JsonDict


def unit(name: str) -> UnitOfField:
    """The unit of a field as an argument of `Field`; "1" for plain numbers.

    >>> Field(0.0, description="time to start", **unit("s")).json_schema_extra
    {'unit': 's'}
    """
    return {"json_schema_extra": {"unit": name}}


if TYPE_CHECKING:
    from pydantic.root_model import _RootModelMetaclass as ModelMetaclass
else:
    ModelMetaclass = type(BaseModel)


class _DocumentMeta(ModelMetaclass):
    """Direct construction reports faults as `InvalidInstanceError`, as reading a file does.

    A metaclass, because overriding `__init__` would make pydantic call it for nested documents too
    and lose the places of their faults.
    """

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:  # noqa: N805 -- of a metaclass, which ruff does not see
        if args and not issubclass(cls, RootModel):
            first = next(iter(signature(cls).parameters), "")
            why = f"fields are given by name, as in {cls.__name__}({first}=…)"
            raise InvalidArgumentError([Fault(cls.__name__, "", why)])
        return _reporting(cls, super().__call__, *args, **kwargs)

    # What `help` and completion show, made when it is asked for: pydantic's own signatures and names are for machines.

    @property
    def __signature__(cls) -> Signature:  # noqa: N805
        return signature(cls)

    @__signature__.setter
    def __signature__(cls, value: object) -> None:  # noqa: N805 -- pydantic sets one of its own
        pass

    @property
    def __doc__(cls) -> str | None:  # type: ignore[override]  # noqa: N805
        return documentation(cls)

    @__doc__.setter
    def __doc__(cls, value: str | None) -> None:  # noqa: N805 -- as cloudpickle does that sends a class of a session
        type.__dict__["__doc__"].__set__(cls, value)

    def __dir__(cls) -> list[str]:  # noqa: N805
        return public_names(cls, super().__dir__())


def _reporting(document: Any, validate: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """The result of one of pydantic's functions, whose faults are raised as those of the document."""
    try:
        return validate(*args, **kwargs)
    except ValidationError as error:
        raise invalid(error, document) from None


def _reporting_method(name: str) -> Any:
    """The class method of that name of pydantic's models, with faults as those of the document."""
    return classmethod(lambda cls, *args, **kwargs: _reporting(cls, getattr(super(Validated, cls), name), *args, **kwargs))


class Validated(BaseModel, metaclass=_DocumentMeta):
    """A model whose faults are reported in the same way however it is made: by construction, or from a value or JSON text."""

    if not TYPE_CHECKING:
        model_validate = _reporting_method("model_validate")
        model_validate_json = _reporting_method("model_validate_json")
        model_validate_strings = _reporting_method("model_validate_strings")


class Document(Validated):
    """Base of every document: frozen, strict about fields, finite numbers within the range of their unit."""

    within_ranges: ClassVar[bool] = True
    """Whether numbers must be in the range of their unit (`edrp.core.document`)."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, ser_json_inf_nan="constants")

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> Any:
        schema = handler(source)
        if cls.within_ranges:
            extras = {name: field.json_schema_extra for name, field in cls.model_fields.items()}
            with_ranges(schema, {name: str(extra.get("unit")) for name, extra in extras.items() if isinstance(extra, dict)})
        return schema

    def replace(self, **changes: Any) -> Self:
        """Return a validated copy with some fields changed.

        Raises
        ------
        InvalidInstanceError
            When the changed document is not valid.
        """
        fields = {name: getattr(self, name) for name in type(self).model_fields}
        return type(self)(**{**fields, **changes})

    def __repr__(self) -> str:
        return short(self)

    def __str__(self) -> str:
        return repr(self)

    def __setattr__(self, name: str, value: Any) -> None:
        if not name.startswith("_"):
            field = f"{name}=" if name in type(self).model_fields else ""
            why = f"documents do not change; document.replace({field}…) returns a changed copy"
            raise InvalidInstanceError([Fault(name, "", why)])
        super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        return [*dir(type(self)), *type(self).model_fields]

    def __getstate__(self) -> dict[Any, Any]:
        # Derived values are cached on the instance; they are rebuilt where needed, never sent to workers.
        state = dict(super().__getstate__())
        fields = type(self).model_fields
        state["__dict__"] = {name: value for name, value in state["__dict__"].items() if name in fields}
        return state


class Outcome(Document):
    """Base of what methods and runs report: its numbers follow from those of a problem, and may be of any magnitude."""

    within_ranges: ClassVar[bool] = False


class Faults:
    """Collects cross-field faults with their places, to be raised together from a validator.

    Names that several documents of a list have are `repeated`: other faults of pairs of these may follow from that alone.
    """

    def __init__(self, title: str) -> None:
        self._title = title
        self._details: list[InitErrorDetails] = []
        self.repeated: set[str] = set()
        self._lost: dict[frozenset[str], tuple[set[str], int]] = {}

    def __len__(self) -> int:
        """Number of faults noted so far."""
        return len(self._details)

    def add(self, place: tuple[str | int, ...], value: object, why: str) -> None:
        """Note one fault at `place`, relative to the document being validated."""
        # Braces would be read as placeholders of pydantic's message template.
        kind = PydanticCustomError("fault", why.replace("{", "(").replace("}", ")"))  # type: ignore[arg-type]
        self._details.append(InitErrorDetails(type=kind, loc=place, input=value))

    def add_unknown(self, place: tuple[str | int, ...], name: str, what: str, known: Collection[str]) -> None:
        """Note a name unless it is known: it is that of no "node of the network", say; the nearest one that exists is offered.

        As many different ones as names are repeated among those that exist are left out: these are what others should be called.
        """
        if name in known:
            return
        lost, repeats = self._lost.get(frozenset(known), (set(), 0)) if self._lost else (set(), 0)
        if len(lost | {name}) <= repeats:
            lost.add(name)
            return
        # Names are compared for those faults alone that are shown: a document of thousands would take minutes.
        self.add(place, name, f"is no {what}{suggestion(name, known) if len(self._details) < MAX_SHOWN_FAULTS else ''}")

    def add_keys(
        self, place: tuple[str | int, ...], given: Collection[str], known: Collection[str], what: str, need: str
    ) -> None:
        """Note keys that an object at `place` is given and that are no known names, and names that it lacks, with what is needed.

        A name that a misspelt key is probably meant for is not lacking. `what` is as in `add_unknown`.
        """
        unknown, missing = ([name for name in one if name not in other] for one, other in ((given, known), (known, given)))
        for name in unknown:
            self.add_unknown((*place, name), name, what, known)
        meant = {nearest(name, missing) for name in unknown[:MAX_SHOWN_FAULTS]}
        for name in missing:
            if name not in meant:
                self.add((*place, name), None, f"is missing; {need}")

    def add_repeated_names(self, place: str, names: list[str]) -> None:
        """Note every name of a list of documents at `place` that an earlier one has already, and keep it in `repeated`."""
        repeated = duplicates(names)
        self.repeated.update(names[index] for index in repeated)
        if repeated:
            self._lost[frozenset(names)] = set(), len(repeated)
        for index, first in repeated.items():
            self.add((place, index, "name"), names[index], f"already the name of {place}[{first}]; names must be unique")

    def raise_if_any(self) -> None:
        """Raise all faults noted so far as one validation error."""
        if self._details:
            raise ValidationError.from_exception_data(self._title, self._details)


def checks(title: str = "") -> Callable[[Callable[[Any, Faults], None]], Any]:
    """Make a method that notes faults between fields a validator, which raises them all; without a title under the kind."""

    def decorated(note: Callable[[Any, Faults], None]) -> Any:
        def check(document: Any) -> Any:
            faults = Faults(title or document.kind)
            note(document, faults)
            faults.raise_if_any()
            return document

        return model_validator(mode="after")(check)

    return decorated


def duplicates(names: list[str]) -> dict[int, int]:
    """Index of each repeated name, mapped to the index of its first appearance."""
    first: dict[str, int] = {}
    repeated: dict[int, int] = {}
    for index, name in enumerate(names):
        if name in first:
            repeated[index] = first[name]
        else:
            first[name] = index
    return repeated


Longitude = Annotated[float, Field(ge=-180, le=180)]
Latitude = Annotated[float, Field(ge=-90, le=90)]


class NamedNode(Document):
    """A node as far as links know it."""

    name: Name = Field(description="unique in the network")
    coordinates: tuple[Longitude, Latitude] | None = Field(
        None,
        description="longitude and latitude, east and north of 0, for drawings alone; null where they are not known",
        json_schema_extra={"unit": "degrees"},
    )


class LinkEnds(Document):
    """Where a link goes."""

    source: Name = Field(description="node that sends")
    target: Name = Field(description="node that receives")

    def model_post_init(self, _: Any) -> None:
        """Share the names of the fields that were given with other links: a network has many, and each set takes 700 bytes."""
        given = self.__pydantic_fields_set__
        object.__setattr__(self, "__pydantic_fields_set__", _FIELDS_GIVEN.setdefault(frozenset(given), given))


_FIELDS_GIVEN: dict[frozenset[str], set[str]] = {}


class LinkedNodes(Document):
    """Nodes with names, and links between them: the base of every network.

    Subclasses say what a node and a link are like.
    """

    nodes: tuple[NamedNode, ...]
    links: tuple[LinkEnds, ...]
    symmetric: bool = Field(True, description="every link serves both directions")

    @field_validator("links", mode="after")
    @classmethod
    def _read_before(cls, links: Any, info: ValidationInfo) -> Any:
        """The links of a long text have been read in parts (`edrp/core/instances.py`)."""
        return links or (info.context or {}).get("links", links)

    @model_validator(mode="after")
    def _check_links(self) -> Self:
        faults = Faults("network")
        names = [node.name for node in self.nodes]
        faults.add_repeated_names("nodes", names)
        if not faults and self._join_each_pair_once({name: position for position, name in enumerate(names)}):
            return self
        known = set(names)
        seen: dict[tuple[str, str], int] = {}
        for index, link in enumerate(self.links):
            for end in ("source", "target"):
                if getattr(link, end) not in known:
                    faults.add_unknown(("links", index, end), getattr(link, end), "node of this network", names)
            pair = (link.source, link.target)
            if not faults.repeated.isdisjoint(pair):
                continue
            if link.source == link.target:
                faults.add(
                    ("links", index), link.source, "joins a node to itself; such links have no delay and no cost, remove it"
                )
            for key in (pair, pair[::-1]) if self.symmetric else (pair,):
                if key in seen:
                    hint = "; with symmetric: true a link serves both directions" if self.symmetric else ""
                    faults.add(("links", index), "→".join(pair), f"repeats links[{seen[key]}]{hint}")
                    break
            seen[pair] = index
        faults.raise_if_any()
        return self

    def _join_each_pair_once(self, position: dict[str, int]) -> bool:
        """Whether nothing is wrong with the links, whose faults take more memory to be found than a large network."""
        pairs = set()
        for link in self.links:
            source, target = position.get(link.source), position.get(link.target)
            if source is None or target is None or source == target:
                return False
            if self.symmetric and source > target:
                source, target = target, source
            pairs.add(source * len(position) + target)
        return len(pairs) == len(self.links)
