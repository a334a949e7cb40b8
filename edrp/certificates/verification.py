"""Verdicts on files: the checker's, with the word of this package on what the checker takes for granted."""

from __future__ import annotations

from itertools import chain
from typing import Any

from edrp.certificates import checker
from edrp.certificates.programs import program_hash
from edrp.core.errors import EdrpError, InvalidInstanceError
from edrp.core.instances import loads, loads_solution
from edrp.core.solution import resolution

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
    checker.need(program_hash(problem) == stated, f"{why}; the checker alone says what it proves of that program")
