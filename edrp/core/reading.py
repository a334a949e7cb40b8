"""Values that callers may give as plain dicts and lists, read as the types that they stand for."""

from __future__ import annotations

from functools import cache
from typing import Any, TypeVar, overload

from pydantic import TypeAdapter, ValidationError

from edrp.core.wording import invalid

T = TypeVar("T")


@overload
def read_as(form: type[T], value: Any, place: str) -> T: ...
@overload
def read_as(form: Any, value: Any, place: str) -> Any: ...
def read_as(form: Any, value: Any, place: str) -> Any:
    """Read a value, such as a decision that is given as a plain dict, as a type that pydantic knows.

    Parameters
    ----------
    form
        The type. A value that is an instance of it already is returned as it is.
    value
        What the caller gave.
    place
        What the value is called where it was given, for the message.

    Raises
    ------
    InvalidInstanceError
        Every fault of the value, with its place.

    Examples
    --------
    >>> read_as(tuple[int, ...], ["3", 4], "steps")
    (3, 4)
    >>> read_as(tuple[int, ...], [3, None], "steps")
    Traceback (most recent call last):
    edrp.core.errors.InvalidInstanceError: 1 fault in the input
      steps[1]: must be a whole number (got null)
    """
    if isinstance(form, type) and isinstance(value, form):
        return value
    try:
        return _adapter(form).validate_python({place: value})[place]
    except ValidationError as error:
        raise invalid(error, dict[str, form]) from None


@cache
def _adapter(form: Any) -> TypeAdapter[dict[str, Any]]:
    return TypeAdapter(dict[str, form])
