"""Problems, solutions and explanations as HTML, which notebooks show in place of their text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from edrp.cli.display.explanation import Explained, Part, explained_parts
from edrp.cli.display.solution import answer_parts, verdict
from edrp.cli.terminal import table
from edrp.core.document import Document
from edrp.core.problem import Problem
from edrp.core.solution import Solution
from edrp.explanations.placement import Explanation
from edrp.explanations.rescale import RescaleExplanation
from edrp.migration.rescale.documents import range_text
from edrp.report.formatting import unit_text
from edrp.report.tables import html_parts


def html_of(value: Problem | Solution | Explained, problem: Problem | None = None) -> str:
    """A few tables and sentences; every text in them is escaped. Of a solution more is shown where its problem is given.

    >>> import edrp
    >>> problem = edrp.MigrationProblem(work=[1, 1], state_size=[5, 5], intervals=[(0, 2)], nodes=2, tolerance=0.5)
    >>> ">state_size</td>" in html_of(problem), "moved" in html_of(edrp.solve(problem))
    (True, True)
    """
    if isinstance(value, Problem):
        return html_parts(f"Problem of kind {value.kind}", _problem_parts(value))
    if isinstance(value, Solution):
        return html_parts(verdict(value), _solution_parts(value, problem))
    return html_parts("Explanation", _explanation_parts(value))


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
    yield from answer_parts(problem, solution)


def _explanation_parts(explanation: Explained) -> Iterator[Part]:
    """Where replicas run, with their tasks, then what is explained."""
    if isinstance(explanation, Explanation) and explanation.deployment is not None:
        rows = [(name, str(len(nodes)), ", ".join(nodes)) for name, nodes in explanation.deployment.items()]
        yield table(("operator", "replicas", "nodes"), rows, right=("replicas",))
    if isinstance(explanation, RescaleExplanation):
        replicas = ((name, replica) for name in explanation.deployment for replica in explanation.deployment[name])
        ranges = [
            (name, replica, "") if isinstance(replica, str) else (name, replica.node, range_text(replica))
            for name, replica in replicas
        ]
        yield table(("operator", "node", "tasks"), ranges)
    yield from explained_parts(explanation, running=bool(getattr(explanation, "standstills", ())))
