"""Problems, solutions and explanations as HTML, which notebooks show in place of their text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import Any

from edrp.cli.display.explanation import Part, explained_parts
from edrp.cli.display.rescale_explanation import explained_rescale_parts
from edrp.cli.display.solution import verdict
from edrp.cli.terminal import table
from edrp.core.document import Document
from edrp.core.errors import visible
from edrp.core.kinds import find_kind
from edrp.core.problem import Problem
from edrp.core.solution import Solution
from edrp.explanations.placement import Explanation
from edrp.explanations.rescale import RescaleExplanation
from edrp.migration.rescale.shares import range_text
from edrp.report.setting import unit_text
from edrp.report.tables import Table

MAX_CELL = 300
"""Characters of a cell that are shown; more of them stand for a document that is better opened as a file."""


def html_of(value: Problem | Solution | Explanation | RescaleExplanation, problem: Problem | None = None) -> str:
    """A few tables and sentences; every text in them is escaped. Of a solution more is shown where its problem is given.

    >>> import edrp
    >>> problem = edrp.MigrationProblem(work=[1, 1], state_size=[5, 5], intervals=[(0, 2)], nodes=2, tolerance=0.5)
    >>> ">state_size</td>" in html_of(problem), "moved" in html_of(edrp.solve(problem))
    (True, True)
    """
    if isinstance(value, Problem):
        return _html(f"Problem of kind {value.kind}", _problem_parts(value))
    if isinstance(value, Solution):
        return _html(verdict(value), _solution_parts(value, problem))
    return _html("Explanation", _rescale_parts(value) if isinstance(value, RescaleExplanation) else _explanation_parts(value))


def _problem_parts(problem: Problem) -> Iterator[Part]:
    """A row for each field that says something, long ones as what they hold."""
    values = {name: (getattr(problem, name), field) for name, field in type(problem).model_fields.items() if name != "kind"}
    rows = []
    for name, (value, field) in values.items():
        unit = unit_text(field)
        if text := _summary(value):
            rows.append((name, f"{text} {unit}" if unit and isinstance(value, int | float) else text))
    yield table(("field", "value"), rows)


def _summary(value: Any) -> str:
    """A value in a few words: its number of elements, or the fields that it has; empty for what is not given."""
    if isinstance(value, Document):
        parts = {name: _summary(getattr(value, name)) for name in type(value).model_fields}
        return ", ".join(f"{name} {text}" for name, text in parts.items() if text)
    if isinstance(value, Sequence | dict) and not isinstance(value, str):
        return f"({len(value)})" if value else ""
    if isinstance(value, float):
        return f"{value:.6g}"
    return "" if value is None else str(value)


def _solution_parts(solution: Solution, problem: Problem | None) -> Iterator[Part]:
    """The parts of the answer that a terminal shows, with its objective and what is proven."""
    if solution.objective is not None:
        bound = "" if solution.bound is None else f", bound {solution.bound:.9g}"
        yield f"objective {solution.objective:.9g}{bound}; method {solution.method}"
    kind = None if problem is None else find_kind(problem.kind)
    if kind is None or kind.display is None:
        yield table(("metric", "value"), [(name, f"{value:.6g}") for name, value in solution.metrics.items()], right=("value",))
    else:
        yield from kind.display(problem, solution)
    yield from (f"• {clash}" for clash in solution.clashes)
    yield from solution.notes


def _explanation_parts(explanation: Explanation) -> Iterator[Part]:
    if explanation.deployment is not None:
        rows = [(name, str(len(nodes)), ", ".join(nodes)) for name, nodes in explanation.deployment.items()]
        yield table(("operator", "replicas", "nodes"), rows, right=("replicas",))
    yield from explained_parts(explanation, running=bool(explanation.standstills))


def _rescale_parts(explanation: RescaleExplanation) -> Iterator[Part]:
    """Every replica with its tasks, then what is explained."""
    replicas = ((name, replica) for name in explanation.deployment for replica in explanation.deployment[name])
    ranges = [
        (name, replica, "") if isinstance(replica, str) else (name, replica.node, range_text(replica))
        for name, replica in replicas
    ]
    yield table(("operator", "node", "tasks"), ranges)
    yield from explained_rescale_parts(explanation)


def _html(title: str, parts: Iterable[Part]) -> str:
    shown = "\n".join(_table(part) if isinstance(part, Table) else f"<p>{_safe(str(part))}</p>" for part in parts)
    return f"<div>\n<p><strong>{_safe(title)}</strong></p>\n{shown}\n</div>"


def _table(part: Table) -> str:
    """A table of the terminal with its caption, header and cells; wide ones scroll by themselves."""
    sides = [f' style="text-align: {"right" if name in part.right else "left"}"' for name in part.columns]
    header = "".join(f"<th{side}>{_safe(name)}</th>" for side, name in zip(sides, part.columns, strict=True))
    body = "".join(
        f"<tr>{''.join(f'<td{side}>{_safe(cell)}</td>' for side, cell in zip(sides, row, strict=True))}</tr>" for row in part.rows
    )
    caption = f"<caption>{_safe(part.caption)}</caption>" if part.caption else ""
    content = f"{caption}<thead><tr>{header}</tr></thead><tbody>{body}</tbody>"
    return f'<div style="overflow-x: auto"><table>{content}</table></div>'


def _safe(text: str) -> str:
    """Text of which a browser executes nothing."""
    return escape(visible(text if len(text) <= MAX_CELL else f"{text[:MAX_CELL]}…"))
