"""The record of the kind `brokers`: everything that edrp needs to know of it, in one place."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from edrp import Kind
from edrp.cli.display.solution import metric_table
from edrp.core.methods import FirstOf
from edrp.datasets import Family
from edrp_template.check_problems import BrokerCheckProblems, draw
from edrp_template.documents import BrokerProblem, BrokerSolution
from edrp_template.program import formulate


def display(problem: BrokerProblem, solution: BrokerSolution) -> Iterator[Any]:
    """The partitions that each broker serves, one line per broker, and the metrics."""
    assignment = solution.assignment or {}
    for broker in problem.brokers:
        served = [name for name, place in assignment.items() if place == broker.name]
        yield f"{broker.name}: {', '.join(served) or 'nothing'}"
    yield metric_table(solution.metrics, solution.metric_units)


def explain(problem: BrokerProblem, solution: BrokerSolution, work_limit: float | None) -> Iterator[str]:
    """Which broker decides the peak load."""
    if solution.assignment is not None:
        busiest = max(problem.brokers, key=lambda broker: problem.load(solution.assignment, broker))
        yield f"{busiest.name} decides the peak load: {problem.load(solution.assignment, busiest):.1%} of its bandwidth"


def explain_infeasibility(problem: BrokerProblem, time_limit: float) -> tuple[str, ...]:
    """The sums of rates and bandwidths; where they do not clash, sizes do not fit together."""
    rate, bandwidth = sum(p.rate for p in problem.partitions), sum(b.bandwidth for b in problem.brokers)
    return (f"partitions transfer {rate:g} bytes/s, brokers {bandwidth:g} together",)


BROKERS = Kind(
    name="brokers",
    problem=BrokerProblem,
    solution=BrokerSolution,
    formulations={"assignment": formulate},
    refuse_formulation=None,
    find_directly=None,
    choose=FirstOf(("highs",)),
    display=display,
    view=None,
    explain=explain,
    explain_infeasibility=explain_infeasibility,
    families=[Family("uniform", "brokers", "partitions of uniform rates and sizes", draw, "partitions", 12, 2)],
    check_problems=BrokerCheckProblems,
)
