"""Progress and figures of a report while it runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.markup import escape

Tell = Callable[[str], object]
"""Called with what is being done."""


@contextmanager
def working(console: Console, title: str) -> Iterator[Tell]:
    """Show what is being done until the block ends, on a terminal only."""
    with console.status(escape(title)) as status:
        yield lambda text: status.update(escape(f"{title}: {text}"))


def draw(console: Console, out: Path | None, figures: dict[str, Callable[[Path], object]]) -> None:
    """Draw figures, by the names of their files, into a folder (None: not at all), and print their paths."""
    if out is None:
        return
    out.mkdir(parents=True, exist_ok=True)
    for name, drawn_to in figures.items():
        drawn_to(out / name)
    console.print(f"drawn: {', '.join(str(out / name) for name in figures)}")
