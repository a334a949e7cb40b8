"""Tables, messages and progress on the terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console, ConsoleOptions, RenderableType
from rich.markup import escape
from rich.segment import Segment
from rich.text import Text

from edrp.core.budget import setting, step_begins
from edrp.core.errors import EdrpError, InvalidInstanceError, NoSuchFileError, numbered, visible, visible_lines
from edrp.report.progress import solve_count, working
from edrp.report.tables import Table, console_table

FILE_WIDTH = 1000
"""Columns of a table that goes to a file or pipe: wide enough that no cell is broken."""

LISTING_WIDTH = 100
"""Maximum columns of a list of names and what they are for, which people read wherever it is printed."""

SHOWN_FAULTS = 50


class SafeConsole(Console):
    """A console that writes as escapes what a terminal would obey; see `visible`."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Render what is printed to pieces of text, without the signs that make lines and colours."""
        for text, style, control in super().render(renderable, options):
            yield Segment(text if control else visible_lines(text), style, control)


def output(stderr: bool = False) -> Console:
    """Standard output, or standard error; what is not a terminal is wide."""
    console = SafeConsole(stderr=stderr)
    return console if console.is_terminal else SafeConsole(stderr=stderr, width=FILE_WIDTH)


def errors() -> Console:
    """Standard error."""
    return output(stderr=True)


def table(columns: Sequence[str], rows: Sequence[Sequence[str]], title: str = "", right: Sequence[str] = ()) -> Table:
    """A table of texts in one line each, whose hidden characters are escapes; the columns in `right` are aligned to the right."""
    return Table(visible(title), tuple(columns), tuple(tuple(map(visible, row)) for row in rows), tuple(right))


def first_rows(
    columns: Sequence[str], rows: Sequence[Sequence[str]], limit: int, what: str, right: Sequence[str] = ()
) -> Iterator[Table | str]:
    """A table of the first rows, and how many more there are of what they show."""
    yield table(columns, rows[:limit], right=right)
    if len(rows) > limit:
        yield f"… and {len(rows) - limit} more {what}"


def print_listing(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print names, the first column, and what they are for, the last; long texts are broken between words, names never."""
    listing = console_table(table(columns, rows), ruled=False)
    listing.columns[0].no_wrap = True
    for column in listing.columns[1:-1]:
        column.max_width = LISTING_WIDTH // 5
    console = output()
    console.print(listing, width=min(console.width, LISTING_WIDTH))


def say(console: Console, text: str, style: str = "") -> None:
    """Print one line of text without reading markup into it."""
    console.print(escape(visible(text)), style=style, highlight=False, soft_wrap=not console.is_terminal)


def show(console: Console, parts: Iterable[Table | Text | str]) -> None:
    """Print tables and texts one after the other; those with `no_wrap` are to be copied, and not broken into lines."""
    for part in parts:
        if isinstance(part, str):
            say(console, part)
        else:
            shown = console_table(part, ruled=False) if isinstance(part, Table) else part
            console.print(shown, highlight=False, soft_wrap=isinstance(part, Text) and bool(part.no_wrap))


def report(error: Exception, source: str = "") -> None:
    """Say on standard error what is wrong: a table of faults, or one sentence."""
    console = errors()
    if not isinstance(error, InvalidInstanceError) or isinstance(error, NoSuchFileError):
        source = "" if isinstance(error, NoSuchFileError) else source  # which it names itself
        for line in (f"{source}: {error}" if source else str(error)).split("\n"):
            say(console, line, "red" if isinstance(error, EdrpError) else "")
        return
    origin = error.source or source
    say(console, f"{origin + ': ' if origin else ''}{numbered(len(error.faults), 'fault')} in the input", "red")
    rows = [(fault.place, fault.value, fault.why) for fault in error.faults[:SHOWN_FAULTS]]
    show(console, [table(("place", "value", "why"), rows)])
    if len(error.faults) > SHOWN_FAULTS:
        say(console, f"… and {len(error.faults) - SHOWN_FAULTS} more")


@contextmanager
def progress(text: str) -> Iterator[Callable[[float, float | None, float | None], None]]:
    """Show progress until the block ends, as lines now and then where there is no terminal; yields what a method calls."""
    with working(errors(), visible(text)) as tell, setting(step_begins, tell):

        def update(seconds: float, objective: float | None, bound: float | None) -> None:
            tell(solve_count(seconds, objective, bound).note)

        yield update
