"""Base of all documents: immutable, unknown fields refused, numbers finite, all faults at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, Field, GetCoreSchemaHandler, ValidationError
from pydantic_core import InitErrorDetails, PydanticCustomError

from edrp.core.magnitudes import with_ranges
from edrp.core.wording import invalid

Name = Annotated[str, Field(min_length=1, max_length=200)]
NonNegative = Annotated[float, Field(ge=0)]
Positive = Annotated[float, Field(gt=0)]
Probability = Annotated[float, Field(gt=0, le=1)]
Amount = Annotated[float, Field(ge=0)]
Resources = Amount | dict[Name, Amount]


def named_resources(resources: float | dict[str, float]) -> dict[str, float]:
    """Resources by name; a plain number is the single resource called `resources`."""
    return resources if isinstance(resources, dict) else {"resources": resources}


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
        try:
            return super().__call__(*args, **kwargs)
        except ValidationError as error:
            raise invalid(error, cls) from None


class Document(BaseModel, metaclass=_DocumentMeta):
    """Base of every document: frozen, strict about fields, finite numbers within the range of their unit."""

    within_ranges: ClassVar[bool] = True
    """Whether numbers must be in the range of their unit (`edrp.core.magnitudes`)."""

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
    """Collects cross-field faults with their places, to be raised together from a validator."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._details: list[InitErrorDetails] = []

    def add(self, place: tuple[str | int, ...], value: object, why: str) -> None:
        """Note one fault at `place`, relative to the document being validated."""
        # Braces would be read as placeholders of pydantic's message template.
        kind = PydanticCustomError("fault", why.replace("{", "(").replace("}", ")"))  # type: ignore[arg-type]
        self._details.append(InitErrorDetails(type=kind, loc=place, input=value))

    def add_repeated_names(self, place: str, names: list[str]) -> None:
        """Note every name of a list of documents at `place` that an earlier one has already."""
        for index, first in duplicates(names).items():
            self.add((place, index, "name"), names[index], f"already the name of {place}[{first}]; names must be unique")

    def raise_if_any(self) -> None:
        """Raise all faults noted so far as one validation error."""
        if self._details:
            raise ValidationError.from_exception_data(self._title, self._details)


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
