"""Parameters of methods: read from values of the user, or refused with what would be right."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from edrp.core.errors import Fault, InvalidInstanceError
from edrp.core.wording import list_faults, nearest, shown, suggestion

Parameters = TypeVar("Parameters")


@dataclass(frozen=True, slots=True)
class NoParameters:
    """The parameters of a method that has none."""


def read_parameters(kind: type[Parameters], values: Mapping[str, Any], method: str, options: Sequence[str] = ()) -> Parameters:
    """Read the parameters of a method from values by name; the others keep their defaults.

    Values may be text, as on a command line, where the text says a number or a truth value.

    Parameters
    ----------
    kind
        A dataclass that has one field with a default per parameter, and perhaps a `__post_init__` that raises ValueError.
        Types and pydantic's constraints (`Annotated[float, Field(gt=0)]`) are checked.
    values
        Values by name, as in `Options.parameters`.
    method
        Name of the method, for the message.
    options
        Further names that could have been meant in place of an unknown one.

    Raises
    ------
    InvalidInstanceError
        Naming every parameter that does not exist, next to those that do, and every value that is not allowed.

    Examples
    --------
    >>> from edrp.heuristics.placement.ds2 import Ds2Parameters
    >>> read_parameters(Ds2Parameters, {"utilisation": "0.8"}, "ds2")
    Ds2Parameters(utilisation=0.8)
    >>> read_parameters(Ds2Parameters, {"utilisation": 0}, "ds2")
    Traceback (most recent call last):
    edrp.core.errors.InvalidInstanceError: parameters of method ds2: 1 fault in the input
      utilisation: must be above 0 (got 0)
    """
    described: Any = kind
    known = [field.name for field in fields(described)]
    faults = [Fault(name, shown(value), _unknown(name, known, options)) for name, value in values.items() if name not in known]
    read: Parameters | None = None
    try:
        read = _adapter(described).validate_python({name: value for name, value in values.items() if name in known})
    except ValidationError as error:
        faults += _faults(error, kind)
    if read is None or faults:
        raise InvalidInstanceError(faults, f"parameters of method {method}")
    return read


@cache
def _adapter(kind: type[Any]) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def _faults(error: ValidationError, kind: type[Any]) -> list[Fault]:
    first = error.errors(include_url=False)[0]
    if first["type"] == "value_error":  # of `__post_init__`, which runs only where every value is fine by itself
        return [Fault("parameters", "", str(first["ctx"]["error"]))]
    return list_faults(error, kind)


def _unknown(name: str, known: list[str], options: Sequence[str]) -> str:
    if meant := nearest(name, [*known, *options]):
        return f"is no parameter of this method; did you mean {meant!r}?"
    return "is no parameter of this method" + (suggestion(name, known) if known else ", which has none")
