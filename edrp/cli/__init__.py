"""The command line: thin, everything it does can be done from Python."""

from __future__ import annotations

import atexit
import gc
from collections.abc import Sequence

INTERRUPTED = 130
"""Exit code of a run that the user stopped before it had anything."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit.

    Parameters
    ----------
    arguments
        Words after `edrp`; by default those of the process.

    Raises
    ------
    SystemExit
        Always, with one of the exit codes that `edrp --help` lists.
    """
    atexit.register(gc.freeze)  # a hundred thousand objects are not searched for cycles once more; all of them go anyway
    try:
        from edrp.cli.app import run  # here, so that Ctrl-C while it is imported ends in the exit code, too

        run(arguments)
    except KeyboardInterrupt:
        raise SystemExit(INTERRUPTED) from None
