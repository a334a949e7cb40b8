"""Options that take one of a few words."""

from __future__ import annotations

from typing import Any, get_args

import typer

from edrp.core.wording import suggestion


def choice_option(words: Any, help: str) -> Any:
    """An option that takes one of the words of a `Literal`; another word is refused with the nearest of these.

    Examples
    --------
    >>> from typing import Literal
    >>> choice_option(Literal["events", "bytes"], "Measure of load.").metavar
    'events|bytes'
    """
    known = get_args(words)

    def parse(word: str) -> str:
        if word not in known:
            raise typer.BadParameter(f"{word!r} is none of the choices{suggestion(word, known)}")
        return word

    return typer.Option(parser=parse, metavar="|".join(known), help=help)
