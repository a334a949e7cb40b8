"""The folder that a command writes into."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from edrp.cli.terminal import output, say
from edrp.core.folders import filling, refuse_folder

ForceFolder = Annotated[bool, typer.Option("--force", help="Replace files that this command did not write.")]


@contextmanager
def output_folder(out: Path | None, force: bool, names: Sequence[str] = ()) -> Iterator[Path | None]:
    """A folder to write to, whose files are in `out` when the block ends well; None where nothing is to be written.

    Parameters
    ----------
    out
        The folder that the user named, if any.
    force
        Whether to replace files that others wrote.
    names
        Names of files that are to be written, which are looked for before any work.
    """
    if out is None:
        yield None
        return
    refuse_folder(out, names, force=force)
    with filling(out, force=force) as stage:
        yield stage
    say(output(), f"written to {out}")
