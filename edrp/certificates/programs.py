"""Certificates of programs: of the one that the checker builds from the instance, or where it builds none, of a backend's."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import chain
from typing import Any

import numpy as np

from edrp.backends.proof_tree import BetterPointError, NotClosedError, ProofTree
from edrp.certificates import checker
from edrp.core.certificates import NotCertifiedError, RawCertificate
from edrp.core.errors import EdrpError, InvalidInstanceError, VerificationError
from edrp.core.instances import loads, loads_solution
from edrp.core.late_imports import sparse
from edrp.core.program import Arrays
from edrp.core.solution import resolution
from edrp.formulations.methods import formulate

MAX_BUILT_COLUMNS = 30_000
"""Columns of a program built by the checker beyond which no tree over it is tried: its leaves would take minutes to check."""


def write_program_certificate(problem: Any, solution: Any) -> RawCertificate:
    """A certificate of the problem where the checker builds its program, else of the program that backends solve.

    Where the checker builds the program it takes no other: there is no certificate where that one is too large.

    Raises
    ------
    NotCertifiedError
        With the reason.
    VerificationError
        Where a decision was found that is better than what was called optimal.
    """
    document = checker.parse(problem.model_dump_json())
    try:
        if not checker.is_built(document):
            return _stated(problem, solution)
        try:
            return _built(document, solution)
        except BetterPointError:
            _stated(problem, solution)  # which tells whether a decision belongs to the point
            raise
    except (checker.Refused, NotClosedError, BetterPointError) as error:
        raise NotCertifiedError(str(error)) from None


def _built(document: Any, solution: Any) -> RawCertificate:
    """A proof of the problem itself, of which this is the document."""
    program = checker.PROGRAMS[document["kind"]](document)
    if len(program.cost) > MAX_BUILT_COLUMNS:
        raise NotCertifiedError(f"the program of the problem has {len(program.cost)} columns, more than {MAX_BUILT_COLUMNS}")
    return RawCertificate("program", _tree(program, solution), {"program": "built"})


def _stated(problem: Any, solution: Any) -> RawCertificate:
    """A proof of the program that backends solve, which the certificate states."""
    try:
        formulation = formulate(problem, None)
    except EdrpError as error:
        raise NotCertifiedError(str(error)) from None
    lines = program_lines(formulation.program.arrays())
    program, digest = _read_by_checker(lines)
    try:
        return RawCertificate("program", [*lines, *_tree(program, solution)], {"program": digest})
    except BetterPointError as error:
        _refute(problem, solution, formulation.decode(error.point))
        raise


def _read_by_checker(lines: list[list[Any]]) -> tuple[checker.ExactProgram, str]:
    """A program that lines of a certificate state, and its hash."""
    return checker.stated_program(checker.parse(json.dumps(line)) for line in lines)


def _refute(problem: Any, solution: Any, decision: Any) -> None:
    """Raise where a decision is feasible and lies below the bound of a solution; the program may be a relaxation."""
    evaluation = problem.evaluate(decision)
    if evaluation.feasible and (
        solution.status == "infeasible" or evaluation.objective < solution.bound - float(checker.TOLERANCE)
    ):
        claimed = "infeasible" if solution.status == "infeasible" else f"optimal at {solution.objective!r}"
        message = f"claimed {claimed} by {solution.method}, but a decision of value {evaluation.objective!r} was found"
        raise VerificationError(message, solution, decision)


def program_lines(arrays: Arrays) -> list[list[Any]]:
    """A program as lines of a certificate: numbers of columns and rows and the constant, then columns, then rows."""
    lines: list[list[Any]] = [[arrays.objective.size, arrays.row_lower.size, arrays.constant]]
    ends = zip(arrays.objective, arrays.lower, arrays.upper, arrays.integer, strict=True)
    lines += [[float(cost), _end(low), _end(high), int(whole)] for cost, low, high, whole in ends]
    matrix = arrays.matrix
    for row, (low, high) in enumerate(zip(arrays.row_lower, arrays.row_upper, strict=True)):
        span = slice(matrix.indptr[row], matrix.indptr[row + 1])
        entries = zip(matrix.indices[span].tolist(), matrix.data[span].tolist(), strict=True)
        lines.append([_end(low), _end(high), *(part for entry in entries for part in entry)])
    return lines


def _end(value: Any) -> float | None:
    return float(value) if math.isfinite(value) else None


def _tree(program: checker.ExactProgram, solution: Any) -> list[list[Any]]:
    """Lines of the tree over a program as the checker reads it."""
    target = None if solution.status == "infeasible" else Fraction(solution.objective)
    program.close(target)
    tree = ProofTree(to_arrays(program), None if target is None else float(target))
    return tree.run()


def to_arrays(program: checker.ExactProgram) -> Arrays:
    """A program of the checker as arrays of floats."""
    rows = program.rows
    starts = np.cumsum([0, *(len(entries) for entries, _, _ in rows)])
    columns = np.fromiter(_flat(entries.keys() for entries, _, _ in rows), np.int32, int(starts[-1]))
    values = np.fromiter(_flat(map(float, entries.values()) for entries, _, _ in rows), float, int(starts[-1]))
    matrix = sparse.csr_array((values, columns, starts.astype(np.int32)), shape=(len(rows), len(program.cost)))
    return Arrays(
        np.array([float(value) for value in program.cost]),
        float(program.constant),
        np.array([-np.inf if end is None else float(end) for end in program.lower]),
        np.array([np.inf if end is None else float(end) for end in program.upper]),
        np.array(program.integer, bool),
        matrix,
        np.array([-np.inf if low is None else float(low) for _, low, _ in rows]),
        np.array([np.inf if high is None else float(high) for _, _, high in rows]),
    )


def _flat(parts: Any) -> Iterator[Any]:
    return (value for part in parts for value in part)


VOUCHED = "edrp finds that this is the program of the instance, and the decision what the solution says"


def check_files(instance: str, solution: str, certificate: str) -> str:
    """Say what a certificate proves of a solution, given the paths of the files.

    A certificate may state the program that it is about. That this is the program of the instance, and for some kinds that the
    decision is feasible and worth what the solution says, is what the checker cannot know then; here both are looked at, and the
    verdict, which still is one about a stated program only, says so. For all certificates instance and solution must be
    documents that the package reads.

    Raises
    ------
    edrp.certificates.checker.Refused
        With the first thing that does not hold.
    """
    paths = instance, solution
    texts = [checker.read_text(path) for path in paths]
    stated, claimed = map(checker.read_document, paths, texts)
    lines = checker.read_lines(certificate)
    first = next(lines, "")
    text = checker.check(stated, claimed, chain([first] if first else [], lines))
    try:
        problem, answer = loads(texts[0], instance), loads_solution(texts[1], solution)
        header = checker.parse(first)
        if header["format"] == "program" and header["program"] != "built":
            _check_program(problem, answer, header["program"])
            text = checker.Stated(f"{text.removesuffix(f'; {checker.UNCHECKED}')}; {VOUCHED}")
    except InvalidInstanceError as error:
        raise checker.Refused(f"{error.source}: {error.faults[0]}") from None
    except EdrpError as error:
        raise checker.Refused(str(error)) from None
    return text


def _check_program(problem: Any, answer: Any, stated: str) -> None:
    """The decision is feasible and worth what the solution says, and the program that a certificate states is the problem's."""
    if answer.status == "optimal":
        checker.need(answer.decision is not None, "the solution has no decision")
        evaluation = problem.evaluate(answer.decision)
        checker.need(evaluation.feasible, f"the decision is not feasible: {'; '.join(evaluation.broken)}")
        allowed = resolution(evaluation.objective) + problem.resolution
        same = abs(evaluation.objective - answer.objective) <= allowed
        checker.need(same, f"the decision is worth {evaluation.objective!r}, the solution says {answer.objective!r}")
    why = "the certificate proves another program than the one that this version of edrp makes of the instance"
    digest = _read_by_checker(program_lines(formulate(problem, None).program.arrays()))[1]
    checker.need(digest == stated, f"{why}; the checker alone says what it proves of that program")
