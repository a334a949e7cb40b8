"""Figures of a report while it runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from rich.console import Console

from edrp.core.errors import BackendUnavailableError
from edrp.core.files import naming_errors


def draw(console: Console, out: Path | None, figures: dict[str, Callable[[Path], object]]) -> None:
    """Draw figures, by the names of their files, into a folder (None: not at all), and print these names.

    Without matplotlib nothing is drawn, and that is printed.
    """
    if out is None:
        return
    with naming_errors(out):
        out.mkdir(parents=True, exist_ok=True)
    try:
        for name, drawn_to in figures.items():
            drawn_to(out / name)
    except BackendUnavailableError as error:  # what has been computed is not lost for it
        console.print(f"not drawn: {', '.join(figures)}: {error}", markup=False, highlight=False, soft_wrap=True)
        return
    console.print(f"drawn: {', '.join(figures)}")
