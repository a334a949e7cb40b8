"""The folder of large data files: a given one, or the one that EDRP_DATA names."""

from __future__ import annotations

import os
from pathlib import Path

from edrp.core.errors import Fault, InvalidInstanceError, NoSuchFileError


def data_file(name: str, data: str | Path | None = None) -> Path:
    """Return the path of a file in the folder of data.

    Parameters
    ----------
    data
        Folder; default: the environment variable `EDRP_DATA`.

    Raises
    ------
    InvalidInstanceError
        No folder given, or no such file in it.

    Examples
    --------
    >>> data_file("trips.txt", "/nowhere")
    Traceback (most recent call last):
    edrp.core.errors.NoSuchFileError: /nowhere/trips.txt: there is no such file or folder; give the folder that holds trips.txt
    """
    folder = data if data is not None else os.environ.get("EDRP_DATA")
    if folder is None:
        raise InvalidInstanceError([Fault("data", "", f"name the folder that holds {name} (--data DIR, or EDRP_DATA)")])
    path = Path(folder) / name
    if not path.is_file():
        raise NoSuchFileError(str(path), f"give the folder that holds {name}")
    return path
