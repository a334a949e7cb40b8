"""A problem and its solution as one HTML page that fetches nothing and runs no script but its own."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Sequence
from hashlib import sha256
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

from edrp.core.files import write_whole
from edrp.core.kinds import find_kind
from edrp.core.problem import Problem
from edrp.core.solution import Solution
from edrp.core.tolerances import OPTIMALITY_GAP
from edrp.explorer.view import Panel, Timeline, Tone, View, plain
from edrp.report.formatting import quantity, unit_text
from edrp.report.tables import Table

VERDICTS: dict[str, tuple[str, Tone]] = {
    "optimal": ("Optimal", "good"),
    "feasible": ("Feasible", "fair"),
    "infeasible": ("Infeasible", "bad"),
    "unbounded": ("Unbounded", "bad"),
    "none": ("Nothing found", "bad"),
}

MEANINGS = {
    "optimal": "nothing better exists",
    "feasible": "within all limits; better ones may exist",
    "infeasible": "nothing meets all limits",
    "unbounded": "there is no least objective",
    "none": "the method ended without a decision",
}

STOPS = {
    "time_limit": "stopped by the time limit",
    "work_limit": "stopped by the work limit",
    "iteration_limit": "stopped by the limit on iterations",
    "interrupted": "interrupted",
    "error": "stopped by an error of the solver",
}

PROOFS: dict[str | None, tuple[str, Tone, str]] = {
    "checked certificate": ("certified", "good", "A certificate was checked in exact arithmetic; `edrp check` does it again."),
    "solver's word": ("not certified", "plain", "The claim rests on the solver's word; solve with `--certificate` for a proof."),
    "own algorithm, not certified": (
        "not certified",
        "plain",
        "The claim rests on an exact algorithm of edrp; solve with `--certificate` for a proof.",
    ),
    None: ("nothing claimed", "plain", "Neither an optimum nor a bound is claimed, so that there is nothing to certify."),
}


def summary(problem: Problem, solution: Solution) -> dict[str, Any]:
    """The head of the page as JSON knows it."""
    verdict, tone = VERDICTS[solution.status]
    meaning = STOPS.get(solution.stopped_because, MEANINGS[solution.status])
    if solution.status == "optimal" and solution.gap is not None and solution.gap > OPTIMALITY_GAP:
        meaning = f"nothing is better by more than {100 * solution.gap:.2g} %"
    badge, badge_tone, hint = PROOFS[solution.proof]
    return {
        "kind": problem.kind,
        "verdict": {"text": verdict, "tone": tone, "meaning": meaning},
        "certificate": {"text": badge, "tone": badge_tone, "hint": hint},
        "facts": _facts(solution),
        "notes": [*(f"Broken: {why}" for why in solution.broken), *solution.notes],
        "clashes": [*solution.clashes, *solution.remedies],
    }


def _facts(solution: Solution) -> list[tuple[str, str]]:
    unit = unit_text(type(solution).model_fields["objective"])
    facts = []
    if solution.objective is not None:
        facts.append(("Objective", quantity(solution.objective, unit, 6)))
    if solution.bound is not None:
        facts.append(("Bound", quantity(solution.bound, unit, 6)))
    if solution.gap is not None:
        facts.append(("Gap", f"{100 * solution.gap:.3g} %" if solution.gap > 1e-11 else "0 %"))
    facts.append(("Method", solution.method))
    seconds = sum(solution.seconds.values())
    facts.append(("Solved in", f"{seconds:.2f} s" if seconds >= 0.01 else f"{1000 * seconds:.1f} ms"))
    return facts


def metric_table(solution: Solution) -> Table:
    """Every metric with its unit."""
    units = solution.metric_units
    rows = [(name.replace("_", " "), quantity(value, units.get(name, "1"))) for name, value in solution.metrics.items()]
    return Table("Metrics", ("metric", "value"), tuple(rows), ("value",))


def table_view(problem: Problem, solution: Solution, charts: Sequence[Panel] = (), timeline: Timeline | None = None) -> View:
    """The view of a kind that has none of its own: charts, then the tables and sentences that a terminal shows, and metrics."""
    kind = find_kind(problem.kind)
    parts = [] if kind is None or kind.display is None else list(kind.display(problem, solution))
    tables = [part for part in parts if isinstance(part, Table) and part.columns[0] != "metric"]
    lines = [part for part in parts if isinstance(part, str)]
    return View([*charts, *tables], {}, timeline, lines, [metric_table(solution)] if solution.metrics else [])


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
    inlined = f"script-src {_hash(script)}; style-src {_hash(style)}"
    policy = f"default-src 'none'; {inlined}; img-src data:; base-uri 'none'; form-action 'none'"
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
