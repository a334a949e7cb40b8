"""Files that others wrote: their bytes, and YAML or JSON in them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from edrp.errors import BackendUnavailableError, Fault, InvalidInstanceError


def content_of(path: str | Path) -> bytes:
    """All bytes of a file.

    Raises
    ------
    InvalidInstanceError
        When it cannot be read, or is empty.
    """
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise InvalidInstanceError([Fault("file", str(path), f"cannot be read: {reason}")], str(path)) from None
    if not content.strip():
        raise InvalidInstanceError([Fault("file", "", "is empty")], str(path))
    return content


def yaml_of(path: str | Path) -> Any:
    """What a YAML file says; JSON is YAML.

    Raises
    ------
    InvalidInstanceError
        When it cannot be read or is not YAML; with the line and column.
    BackendUnavailableError
        When PyYAML is not installed.
    """
    try:
        import yaml
    except ImportError as error:
        raise BackendUnavailableError('YAML files need the package PyYAML: pip install "edrp[data]"') from error
    content = content_of(path)
    try:
        return yaml.safe_load(content)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f"line {mark.line + 1}, column {mark.column + 1}" if mark else "file"
        why = getattr(error, "problem", None) or getattr(error, "reason", None) or str(error)
        raise InvalidInstanceError([Fault(place, "", f"is not YAML: {why}")], str(path)) from None
    except (ValueError, RecursionError) as error:
        raise InvalidInstanceError([Fault("file", "", f"is not YAML: {error}")], str(path)) from None
