"""Handover of the remaining gap of one of the package's own methods to the first program of the kind."""

from __future__ import annotations

from dataclasses import replace

from edrp.core.combining import combined
from edrp.core.methods import Options, run_within
from edrp.core.solution import Answer
from edrp.formulations.methods import HIGHS
from edrp.placement.problem import StreamPlacement


def finish_by_program(problem: StreamPlacement, answer: Answer, options: Options, name: str, why: str) -> Answer:
    """The answer where it is proven or time is up, else the better one of it and of the program that goes on from it."""
    if answer.status in ("optimal", "infeasible") or answer.stopped_because == "interrupted" or options.remaining <= 0:
        return answer
    whole = run_within(HIGHS, problem, replace(options, start=answer.decision or options.start, parameters={}, program=None))
    both = combined(answer, whole, options.gap)
    method = f"{name}, {HIGHS.name}"
    named = replace(both, size=answer.size, build_seconds=answer.build_seconds, method=method, notes=(why,))
    return named.resting_on(whole.proof)
