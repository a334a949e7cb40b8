"""Files that others wrote: their bytes, and YAML or JSON in them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from edrp.core.errors import BackendUnavailableError, Fault, InvalidInstanceError
from edrp.core.files import read_content


def read_filled(path: str | Path) -> bytes:
    """All bytes of a file that holds something.

    Raises
    ------
    InvalidInstanceError
        When it does not exist, cannot be read, or is empty.
    """
    content = read_content(path)
    if not content.strip():
        raise InvalidInstanceError([Fault("file", "", "is empty")], str(path))
    return content


def parse_yaml(path: str | Path) -> Any:
    """The content of a YAML or JSON file.

    Raises
    ------
    InvalidInstanceError
        When it cannot be read or is not YAML; with the line and column.
    BackendUnavailableError
        When it is not JSON and PyYAML is not installed.
    """
    content = read_filled(path)
    try:
        return json.loads(content)  # not every JSON is YAML to PyYAML, which takes no tabs
    except (ValueError, RecursionError):
        return _yaml(content, str(path))


def _yaml(content: bytes, source: str) -> Any:
    try:
        import yaml
    except ImportError as error:
        raise BackendUnavailableError('YAML files need the package PyYAML: pip install "edrp[data]"') from error
    try:
        return yaml.safe_load(content)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f"line {mark.line + 1}, column {mark.column + 1}" if mark else "file"
        why = getattr(error, "problem", None) or getattr(error, "reason", None) or str(error)
        raise InvalidInstanceError([Fault(place, "", f"is not YAML: {why}")], source) from None
    except (ValueError, RecursionError) as error:
        raise InvalidInstanceError([Fault("file", "", f"is not YAML: {error}")], source) from None
