"""Short versions of the experiments, for a look that decides little."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from edrp.validation.flink.control import ControlSettings, control_days

SEED = 1


def short_rows(seconds: float, data: Path | None, tell: Callable[[str], object]) -> Iterator[dict[str, Any]]:
    """Rows of one day of so many seconds under every policy.

    Raises
    ------
    EngineError
        There is no Java or no Flink, or a cluster does not start.
    InvalidInstanceError
        There is no taxi stream in the folder.
    """
    for rows in control_days([SEED], ControlSettings(seconds=seconds, data=data), tell):
        yield from rows
