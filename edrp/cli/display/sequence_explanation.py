"""Explanations of deployments over periods on a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from edrp.cli.display.explanation import Part
from edrp.cli.display.sequence import SHOWN_COURSES, course_table
from edrp.cli.display.solution import clash_parts
from edrp.cli.terminal import table
from edrp.explanations.sequence import COMPARISON_WORK, SequenceExplanation, explain_sequence
from edrp.explanations.sequence_text import better_sentence, change_table, deciding_sentences, period_table, rival_table, worth
from edrp.placement.sequence import EdrpSequence, EdrpSequenceSolution
from edrp.report.tables import Table


def sequence_explanation_parts(problem: EdrpSequence, solution: EdrpSequenceSolution, work_limit: float | None) -> Iterator[Part]:
    """The deployment of each period, then their explanation."""
    if solution.periods is not None:
        yield from course_table(problem, solution.periods)
    yield from explained_sequence_parts(
        explain_sequence(problem, solution, work_limit=COMPARISON_WORK if work_limit is None else work_limit)
    )


def explained_sequence_parts(explanation: SequenceExplanation) -> Iterator[Part]:
    """The objective next to its rivals, what decides, every change with its cost and worth, and a better course if there is."""
    evaluation = explanation.evaluation
    if evaluation is None:
        yield from clash_parts(explanation, "No deployments to explain.")
        return
    yield from (Text(f"Broken: {broken}", "red") for broken in evaluation.broken[:SHOWN_COURSES])
    yield _shown(rival_table(explanation))
    yield from (f"{rival.method}: {rival.note}" for rival in explanation.rivals if rival.note)
    if explanation.closed is not None and explanation.closed > 0:
        rivals = " and ".join(rival.method for rival in explanation.rivals)
        yield f"Of the room between the better one of {rivals} and the bound, {100 * explanation.closed:.3g} % is closed."
    yield from deciding_sentences(explanation)
    yield _shown(period_table(explanation.periods))
    if explanation.changes:
        yield _shown(change_table(explanation))
        yield from (f"• period {change.period}: {worth(change)}" for change in explanation.changes[:SHOWN_COURSES])
    else:
        yield "Nothing changes in any period."
    if better := better_sentence(explanation):
        yield Text(better, "bold red")


def _shown(part: Table) -> Table:
    """A table whose hidden characters are escapes."""
    return table(part.columns, part.rows, part.caption, part.right)
