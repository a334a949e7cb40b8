"""Reasons why a program with a user's own rows is infeasible: rows of the user and limits that cannot be met together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from edrp.backends.base import SolverOptions
from edrp.backends.registry import get_backend
from edrp.backends.solving import solved_exactly
from edrp.core.arrays import Ints
from edrp.core.budget import deadline, now
from edrp.core.clash_search import ClashSearch, Findings, Relax, Verdict, find_clash, no_limit
from edrp.core.errors import OutOfTimeError
from edrp.core.program import Program
from edrp.core.solution import Infeasibility
from edrp.core.solve import find_clashes
from edrp.formulations.formulation import Formulation
from edrp.placement.rules.base import RULES


@dataclass(frozen=True, slots=True)
class OptionalRows:
    """Rows of a program, or a call of `fix`, that may be left out together.

    Attributes
    ----------
    name, text : the demand in a few words, and in a sentence.
    rows : indices of the rows; none for columns that are fixed.
    fix : position of the call among all calls of `fix`; None for rows.
    """

    name: str
    text: str
    rows: range = range(0)
    fix: int | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """Tests by a backend, until a deadline, whether a program with a subset of its optional rows is feasible."""

    program: Program
    demands: Sequence[OptionalRows]
    backend: str
    deadline: float

    def verdict(self, kept: frozenset[int]) -> Verdict:
        """Whether optional rows, given by their numbers, can be met together with all other rows."""
        units = self.deadline - now()
        if units <= 0:
            return "unknown"
        demands = [self.demands[number] for number in sorted(kept)]
        left_out = {demand.fix for demand in self.demands} - {demand.fix for demand in demands}
        arrays = self.program.arrays(without_fixes=left_out)
        stays = np.ones(self.program.rows, bool)
        for demand in self.demands:
            stays[demand.rows.start : demand.rows.stop] = False
        for demand in demands:
            stays[demand.rows.start : demand.rows.stop] = True
        relaxed = replace(
            arrays,
            objective=np.zeros_like(arrays.objective),
            matrix=arrays.matrix[stays],
            row_lower=arrays.row_lower[stays],
            row_upper=arrays.row_upper[stays],
        )
        try:
            with deadline(self.deadline):
                result = solved_exactly(relaxed, get_backend(self.backend), SolverOptions(work_limit=units))
        except OutOfTimeError:
            return "unknown"
        return "feasible" if result.values is not None else "infeasible" if result.status == "infeasible" else "unknown"

    def find_clash(self, relax: Relax = no_limit) -> Findings:
        """Those of the optional rows that clash, and what makes the whole program feasible."""
        return find_clash([demand.name for demand in self.demands], self.verdict, relax)


def explain_infeasible_program(formulation: Formulation, backend: str, units: float) -> Infeasibility:
    """Name the user's own rows and the problem's limits that clash in an infeasible program, such that each is needed.

    Parameters
    ----------
    units
        Units of work for all of it; what is not examined by then stays in the list, which is then not minimal.

    Returns
    -------
    Infeasibility
        One sentence per row or limit; then the rules that close nodes, each of which may be needed or not. Where no own row is
        needed, why the problem itself is infeasible.
    """
    deadline = now() + units
    program = formulation.program
    user_demands, limits = _own_demands(formulation), limit_demands(formulation)
    # Limits come first: they are left out wherever own rows clash without them.
    question = Question(program, [*limits, *user_demands], backend, deadline)
    if not user_demands or question.verdict(frozenset(range(len(limits)))) == "infeasible":
        return find_clashes(formulation.problem, max(0.0, deadline - now()))
    found = question.find_clash()
    clashing = [question.demands[number] for number in found.clash]
    if any(len(demand.rows) > 1 for demand in clashing if demand in user_demands):
        parts = [part for demand in clashing for part in (_parts(demand, program) if demand in user_demands else [demand])]
        others = [demand for demand in question.demands if demand not in clashing]
        single = replace(question, demands=[*parts, *others])
        clashing = [parts[number] for number in ClashSearch(len(single.demands), single.verdict).minimal(range(len(parts)))[0]]
    # Hard rules that are met by leaving out columns: no row stands for them, and so none can be left out to see what helps.
    blocks = formulation.program.row_blocks
    folded = [text for name, text in formulation.limits.items() if name.startswith(RULES) and name not in blocks]
    notes = [f"{text} (it closes nodes, which may play a part)" for text in folded]
    return Infeasibility((*(demand.text for demand in clashing), *notes), found.remedies)


def _own_demands(formulation: Formulation) -> list[OptionalRows]:
    """The user's additions to the program, one demand per call."""
    program = formulation.program
    blocks = [block for name, block in program.row_blocks.items() if name not in formulation.model_rows and block.count]
    rows = [_own_rows(f"row {block.name!r}", range(block.start, block.start + block.count)) for block in blocks]
    fixes = list(enumerate(program.fixes))[formulation.model_fixes :]
    return rows + [_own_rows(_fixed(program, *fix), fix=index) for index, fix in fixes if fix[0].size]


def note_on_own_demands(formulation: Formulation) -> tuple[str, ...]:
    """Says of a formulation with the user's additions that the answer is about the program with them."""
    own = [demand.text for demand in _own_demands(formulation)]
    others = f", and {len(own) - 1} more" if len(own) > 1 else ""
    return tuple(f"{text}{others}: status, bound and proof are about the program with it" for text in own[:1])


def limit_demands(formulation: Formulation) -> list[OptionalRows]:
    """The limits of the problem that rows stand for, one demand each."""
    blocks = formulation.program.row_blocks
    named = [(blocks[name], text) for name, text in formulation.limits.items() if name in blocks and blocks[name].count]
    return [OptionalRows(text.partition(":")[0], text, range(block.start, block.start + block.count)) for block, text in named]


def _parts(demand: OptionalRows, program: Program) -> list[OptionalRows]:
    """The rows of a block one by one, by their names."""
    if len(demand.rows) < 2:
        return [demand]
    return [_own_rows(f"row {program.row_name(row)!r}", range(row, row + 1)) for row in demand.rows]


def _own_rows(name: str, rows: range = range(0), fix: int | None = None) -> OptionalRows:
    return OptionalRows(name, f"{name}, which was added to the program", rows, fix)


def _fixed(program: Program, columns: Ints, value: float) -> str:
    more = f" and {columns.size - 1} more" if columns.size > 1 else ""
    return f"column {program.column_name(int(columns[0]))!r}{more} fixed to {value:.6g}"
