"""Observations of a running job as tables and sentences."""

from __future__ import annotations

from collections.abc import Iterator

from edrp.cli.terminal import table
from edrp.engines.fit import JobFit, OperatorFit
from edrp.explorer.quantities import byte_figure
from edrp.report.tables import Table

OPERATORS = ("operator", "replicas", "tuples/s", "busy", "served/s by one", "from", "skew", "selectivity", "state")

METHODS = {"ratio": "busy time", "intercept": "line over loads", "understated": "low load", None: ""}
"""Where a service rate is from, in words."""


def observation_parts(fit: JobFit) -> Iterator[Table | str]:
    """The operators with their rates, and what limits the use of these numbers."""
    seen = fit.observation
    yield f"Job {seen.job} on {seen.engine} {seen.version}"
    yield table(OPERATORS, [_operator_row(operator) for operator in fit.operators], right=(*OPERATORS[1:5], *OPERATORS[6:]))
    yield from (f"• {remark}" for remark in fit.remarks)


def _operator_row(operator: OperatorFit) -> tuple[str, ...]:
    """A row as `OPERATORS` names its cells; empty where a number is not known or means nothing."""
    service = operator.service
    return (
        operator.name,
        str(operator.replicas),
        _rate(operator.rate),
        "" if operator.busy is None else f"{operator.busy:.0%}",
        "" if service is None else f"{_rate(service.value)} ({_rate(service.low)}–{_rate(service.high)})",
        METHODS[operator.method],
        "" if operator.source else f"{operator.skew:.3g}",
        "" if operator.source else f"{operator.selectivity:.3g}",
        byte_figure(operator.state_size) if operator.state_sizes else "",
    )


def _rate(rate: float) -> str:
    """Three digits at least, and never a power of ten."""
    return f"{rate:.0f}" if rate >= 100 else f"{rate:.3g}"
