"""A problem and its solution as one HTML page that fetches nothing and runs no script but its own."""

from __future__ import annotations

import json
from base64 import b64encode
from hashlib import sha256
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

from edrp.core.files import write_whole
from edrp.core.kinds import find_kind
from edrp.core.problem import Problem
from edrp.core.solution import Solution
from edrp.explorer.summary import summary, table_view
from edrp.explorer.view import View, plain

PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<link rel="icon" href="data:,">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<noscript>This page draws its pictures with a script of its own, which is switched off here.</noscript>
<script type="application/json" id="view">{data}</script>
<script>{script}</script>
</body>
</html>
"""


def explore(
    problem: Problem,
    solution: Solution,
    path: str | Path,
    *,
    title: str = "",
    replace: bool = True,
    work_limit: float | None = None,
) -> None:
    """Write the page of a problem and its solution to a file.

    Parameters
    ----------
    path
        Where the page goes; it appears whole or not at all.
    title
        Its heading; empty for the kind of the problem.
    replace
        Whether a file that is there may be replaced.
    work_limit
        Units of work for the second best decision of kinds that show one; None for the default of `edrp.explain`.

    Raises
    ------
    UnwritableError
        When no file can be written there.
    """
    write_whole(path, explorer_page(problem, solution, title, work_limit), replace=replace)


def explorer_page(problem: Problem, solution: Solution, title: str = "", work_limit: float | None = None) -> str:
    """The page as HTML."""
    kind = find_kind(problem.kind)
    limits = {"work_limit": work_limit} if work_limit is not None and kind is not None and kind.has("explain") else {}
    view: View = table_view(problem, solution) if kind is None or kind.view is None else kind.view(problem, solution, **limits)
    name = title or problem.kind
    return rendered({"title": name, **summary(problem, solution), **plain(view)})


def rendered(document: dict[str, Any]) -> str:
    """The page that draws a view as JSON knows it, with title, kind, verdict, facts, notes and clashes."""
    document = plain(document)
    data = embedded(document)
    style, script = _source("explorer.css"), _source("explorer.js")
    policy = "; ".join(
        (
            "default-src 'none'",
            f"script-src {_hash(script)}",
            f"style-src {_hash(style)}",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )
    return PAGE.format(policy=policy, title=escape(document["title"]), style=style, data=data, script=script)


def embedded(document: Any) -> str:
    r"""A JSON document that can stand in a script element whatever its texts hold.

    >>> embedded({"name": "</script>&"})
    '{"name":"\\u003c/script\\u003e\\u0026"}'
    """
    text = json.dumps(document, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _source(name: str) -> str:
    return files("edrp.explorer").joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """The source expression that allows an inline element with just this text (CSP level 2)."""
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"
