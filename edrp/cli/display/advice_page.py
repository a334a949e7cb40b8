"""Advice on a running job as a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from edrp.cli.display.advice import (
    DOWNTIME,
    OPERATORS,
    RIGHT,
    downtime_rows,
    free_sentences,
    job_sentence,
    operator_rows,
    proof_sentence,
    rule_sentence,
    verdict_sentence,
)
from edrp.engines.advice import Advice
from edrp.engines.fit import OperatorFit
from edrp.explorer.quantities import byte_figure, figure
from edrp.report.page import Page, Section, render
from edrp.report.tables import Table

FITTED = ("operator", "tuples/s", "service rate (90 % interval)", "by", "skew", "tuples out per tuple in", "state")


def advice_page(advice: Advice, rule: Mapping[str, int], rule_name: str, calls: Mapping[str, Sequence[str]]) -> str:
    """The advice as one self-contained HTML page; arguments are those of `advice_parts`."""
    plan = Table("Operators", (*OPERATORS, rule_name), tuple(operator_rows(advice, rule)), (*RIGHT, rule_name), open=True)
    busy = "Busy shares are those of the busiest replica; predictions have a 90 % interval."
    sentences = (proof_sentence(advice), rule_sentence(advice, rule, rule_name), *free_sentences(advice))
    sections = [Section("Plan", sentences, notes=(busy,), tables=(plan,))]
    if advice.changes:
        parts = Table("Downtime", DOWNTIME, tuple(downtime_rows(advice.downtime)), DOWNTIME[1:], open=True)
        sections.append(Section("What the change costs", (), tables=(parts,)))
    if advice.recommended:
        files = tuple(Section(name, code="\n".join(lines)) for name, lines in calls.items())
        sections.append(Section("Calls", ("None of them has been sent.",), parts=files))
    fitted = Table("Fitted", FITTED, tuple(map(_fitted_row, advice.fit.operators)), FITTED[1:], open=True)
    sections.append(Section("What was measured", tuple(map(_sentence, advice.remarks)), tables=(fitted,)))
    title = f"Advice on job {advice.fit.observation.job}"
    return render(Page(title, job_sentence(advice), (_sentence(verdict_sentence(advice)),), sections, datetime.now(UTC)))


def _fitted_row(operator: OperatorFit) -> tuple[str, ...]:
    service = operator.service
    served = "" if service is None else f"{figure(service.value)} ({figure(service.low)}–{figure(service.high)})"
    cells = (figure(operator.rate), served, operator.method or "", f"{operator.skew:.3g}", f"{operator.selectivity:.3g}")
    return (operator.name, *cells, byte_figure(operator.state_size))


def _sentence(remark: str) -> str:
    """A remark as a sentence of the page; those of a terminal begin small."""
    return f"{remark[:1].upper()}{remark[1:]}."
