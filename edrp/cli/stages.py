"""Progress of long jobs, step by step."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.markup import escape

from edrp.cli.terminal import errors


@contextmanager
def stages(text: str) -> Iterator[Callable[[str], None]]:
    """Show on a terminal which step of a job runs; yields what the job calls with the name of each step."""
    console = errors()
    if not console.is_terminal:
        yield lambda _: None
        return
    with console.status(escape(text)) as status:
        yield lambda step: status.update(escape(f"{text}: {step}"))
