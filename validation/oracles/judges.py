"""Answers of all methods to tiny problems, against judges that know the documents alone."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from fractions import Fraction
from itertools import count as counter
from typing import Any

from edrp.core.errors import InvalidInstanceError
from edrp.core.instances import loads
from edrp.core.methods import get_method
from edrp.core.solve import solve
from edrp.core.tolerances import SAME_VALUE
from edrp.datasets.families.tiny_documents import tiny_document
from edrp.validation.oracles.enactment.judges import host_values, judge_hosts, judge_leases, lease_values
from edrp.validation.oracles.judging import Document, Judged, read
from edrp.validation.oracles.mapping.judges import judge_links, judge_map, link_values, map_values

Judge = Callable[[Document, Any], Judged]
JUDGES: dict[str, tuple[Judge, Callable[[Document], Iterator[Fraction]], str]] = {
    "mapping": (judge_map, map_values, ""),
    "link-allocation": (judge_links, link_values, "allocations"),
    "enactment": (judge_hosts, host_values, "hosts"),
    "leasing": (judge_leases, lease_values, "hosts"),
}
"""By kind: the judge of a decision, the values among which the optimum is, and where the solution document has the decision."""


def tiny_problems(kind: str, first: int, count: int) -> Iterator[tuple[int, str]]:
    """Seeds from `first` on, and texts, of so many tiny problems without faults."""
    for seed in counter(first):
        text = json.dumps(tiny_document(kind, seed))
        with suppress(InvalidInstanceError):
            loads(text)
            yield seed, text
            count -= 1
        if not count:
            return


def disagreements(text: str, methods: tuple[str, ...], work_limit: float = 5.0) -> Iterator[str]:
    """Yield the faults in the answers of methods to the problem in a text, each with its method.

    Statuses, objectives, metrics and feasibility of decisions, that none is better than the optimum, that bounds hold, and that
    exact methods find it.
    """
    document, problem = read(text), loads(text)
    _, values, _ = JUDGES[problem.kind]
    optimum = min(values(document), default=None)
    for name in methods:
        method = get_method(name)
        if method.refusal(problem) is None:
            exact = method.resolve(problem).exact
            limit = None if exact else work_limit
            solution = solve(problem, name, work_limit=limit)
            answer = read(json.dumps(solution.to_document()))
            faults = _wrong(document, answer, optimum, problem.resolution, exact)
            yield from (f"{name}: {fault}; the optimum is {optimum and float(optimum)!r}" for fault in faults)


def _wrong(document: Document, answer: Document, optimum: Fraction | None, resolution: float, exact: bool) -> Iterator[str]:
    """Yield the claims of an answer that do not hold."""
    status, value, bound = answer["status"], answer["objective"], answer["bound"]
    if exact and status != ("infeasible" if optimum is None else "optimal"):
        yield f"says {status!r}"
    if optimum is None:
        if status not in ("infeasible", "none"):
            yield f"says {status!r} of what is infeasible"
        return
    slack = Fraction(max(SAME_VALUE * max(1.0, abs(float(optimum))), resolution))
    if status == "infeasible":
        yield "says 'infeasible' of what is feasible"
    if bound is not None and bound > optimum + slack:
        yield f"bound {float(bound)!r} is above the optimum"
    if value is None:
        return
    if value < optimum - slack or (status == "optimal" and value > optimum + slack):
        yield f"says {status!r} of {float(value)!r}"
    yield from misjudged(document, answer)


def misjudged(document: Document, answer: Document) -> Iterator[str]:
    """Yield disagreements between a solution document and the judge about its decision: feasibility, value and metrics."""
    judge, _, field = JUDGES[document["kind"]]
    judgement = judge(document, answer[field] if field else answer)
    if not judgement.feasible:
        yield "the decision breaks a limit"
    for name, metric in {**judgement.metrics, "objective": judgement.objective}.items():
        stated = answer["objective"] if name == "objective" else answer["metrics"].get(name)
        if stated is None or abs(stated - metric) > Fraction(SAME_VALUE) * max(Fraction(1), abs(metric)):
            yield f"{name} is {stated and float(stated)!r}, not {float(metric)!r}"
    if {*judgement.metrics} != {*answer["metrics"]}:
        yield f"metrics {sorted(answer['metrics'])}, not {sorted(judgement.metrics)}"
