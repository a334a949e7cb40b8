"""Refusal of problems in which a deployment may be feasible at a rate and infeasible at a lower one."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from edrp.core.errors import UnsupportedProblemError
from edrp.placement.edrp import EdrpProblem
from edrp.placement.latency import PolynomialLatency, TableLatency
from edrp.placement.metrics.own import OwnMetric
from edrp.placement.rules.arrays import record_rules
from edrp.placement.rules.own import PythonRule
from edrp.placement.throughput import GrowingLoad


def refuse_falling(load: GrowingLoad) -> None:
    """Refuse a problem in which a deployment may carry a high rate and not a low one, as an UnsupportedProblemError.

    Those are latencies that fall while the response time has a limit, and rules and metrics in Python that read rates.
    """
    for operator in load.problem.application.operators if "response_time" in load.graded else ():
        if falls(operator.latency):
            why = f"the latency of operator '{operator.name}' falls with the rate, limits.response_time may hold above, not below"
            raise UnsupportedProblemError(why, "fit a latency that does not fall, or leave the limit out")
    for name, (before, after) in _written(load.start, load.problem):
        if not all(map(np.array_equal, before, after)):
            why = f"{name} in Python depends on the rates, so that it may be met at a high rate and broken at a lower one"
            raise UnsupportedProblemError(why, "state it without rates, or ask edrp.solve at single rates")


def falls(model: Any) -> bool:
    """Whether the latency of a model may fall as the rate grows.

    >>> falls(PolynomialLatency(coefficients=[0.1, -0.01, 0.01])), falls(PolynomialLatency(coefficients=[0.1, 0.01]))
    (True, False)
    """
    if isinstance(model, TableLatency):
        return any(after < before for before, after in pairwise(model.latencies))
    return isinstance(model, PolynomialLatency) and min(model.coefficients[1:], default=0.0) < 0


def _written(*problems: EdrpProblem) -> Iterator[tuple[str, list[list[Any]]]]:
    """Hard rules and limited metrics in Python, each with the numbers that it writes for every problem."""
    first = problems[0]
    names = tuple(first.application.by_name), tuple(first.network.by_name)
    for rule in first.rules:
        if isinstance(rule, PythonRule) and rule.hard:
            rows = [record_rules([rule], problem, *names) for problem in problems]
            yield f"rule '{rule.name}'", [[part.matrix.toarray(), part.lower, part.upper] for part in rows]
    for metric, limit in ((first.metrics[term.metric], term.limit) for term in first.terms):
        if isinstance(metric, OwnMetric) and limit is not None:
            written = [metric.written(problem) for problem in problems]
            timed = math.nan if written[0].times[:, 0].any() else 0.0  # response times are never the same
            cells = [[part.counted.matrix.toarray(), part.counted.constant, part.flows, timed] for part in written]
            yield f"metric '{metric.name}'", cells
