"""Statements of CAPSys's paper on its queries and on ODRP's plans, and our own aims, judged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf

from edrp.core.tolerances import EQUAL_PEAKS
from edrp.report.statements import Statement, claim
from edrp.validation.papers.capsys.inference import PlanRow, capsys_row
from edrp.validation.papers.capsys.queries import ALONE, CAPS, DEFAULT, EVENLY, OPTIMUM, WITHIN, QueryRow

QUERIES_SECONDS, LARGE_SECONDS = 1.0, 0.5
"""Seconds of processor time for the six queries together, and for one of them with hundreds of tasks."""


def capsys_statements(measured: Sequence[QueryRow], scaled: Sequence[QueryRow], plans: Sequence[PlanRow]) -> list[Statement]:
    """Sentences on the queries as measured, on one with more tasks, and on deployments of Q3."""
    return [*_query_statements(measured), *_scaled_statements(scaled), *_plan_statements(plans)]


def _query_statements(rows: Sequence[QueryRow]) -> Iterator[Statement]:
    optima = _by_query(rows, OPTIMUM)
    proven = sum(row.proven for row in optima.values())
    seconds = sum(row.seconds or 0.0 for row in optima.values())
    evidence = f"{proven} of {len(optima)} proven, {seconds:.3f} s of processor time"
    yield claim(
        "all queries are proven in all stages in 1 s together", proven == len(optima) and seconds <= QUERIES_SECONDS, evidence
    )
    caps, alone = _by_query(rows, CAPS), _by_query(rows, ALONE)
    below = [
        f"{name}: {resource}"
        for name, row in caps.items()
        for resource, peak in row.peaks.items()
        if peak < alone[name].peaks[resource] * (1 - EQUAL_PEAKS)
    ]
    evidence = ", ".join(below) or f"0 of {len(caps)} queries"
    yield claim("no peak of CAPS's rule is below its proven least", not below, evidence)
    above = [row.peaks["compute"] / alone[name].peaks["compute"] - 1 for name, row in caps.items() if row.peaks]
    if above:
        evidence = f"on average {100 * sum(above) / len(above):.1f} %, at most {100 * max(above):.1f} % above"
        yield claim("CAPS's rule is within 5 % of the least peak of compute", max(above) <= 0.05, evidence)
    for policy in (EVENLY, DEFAULT):
        drawn = _by_query(rows, policy)
        better = [name for name, row in drawn.items() if caps[name].peaks.get("compute", inf) < row.peaks["compute"]]
        evidence = f"{len(better)} of {len(drawn)}"
        yield claim(f"CAPS balances compute better than “{policy}” on average", len(better) == len(drawn), evidence)


def _scaled_statements(rows: Sequence[QueryRow]) -> Iterator[Statement]:
    for row in _by_query(rows, OPTIMUM).values():
        evidence = f"{row.seconds or 0.0:.3f} s of processor time{'' if row.proven else ', not proven'}"
        sentence = f"{row.query} with {row.tasks} tasks is proven in all stages in 0.5 s"
        yield claim(sentence, row.proven and (row.seconds or 0.0) <= LARGE_SECONDS, evidence)


def _plan_statements(rows: Sequence[PlanRow]) -> Iterator[Statement]:
    capsys = capsys_row(rows)
    if capsys is None:
        return
    others = [row for row in rows if not row.ours and row is not capsys]
    if others:
        short = sum(not row.reaches for row in others)
        large = sum(row.reaches and row.slots > capsys.slots for row in others)
        evidence = f"of {len(others)} plans {short} fall short, {large} take more slots"
        yield claim("ODRP's plans miss the target or take more slots than CAPSys's", short + large == len(others), evidence)
        least_rate = min(row.rate for row in others)
        evidence = f"{capsys.rate:.0f} against {least_rate:.0f} records/s, {capsys.rate / least_rate:.1f} times"
        sentence = "CAPSys's plan carries at least 5 times as much as one of ODRP's (the paper: up to 6)"
        yield claim(sentence, capsys.rate >= 5 * least_rate, evidence)
    same = [row for row in rows if row.ours and row.slots <= capsys.slots and row.reaches]
    if same:
        best = min(same, key=lambda row: row.latency)
        evidence = (
            f"{best.slots} slots, {best.rate:.0f} against {capsys.rate:.0f} records/s, {1e3 * best.latency:.0f} against "
            f"{1e3 * capsys.latency:.0f} ms, compute {100 * best.peaks['compute']:.0f} against "
            f"{100 * capsys.peaks['compute']:.0f} %"
        )
        holds = best.rate >= capsys.rate and best.latency < capsys.latency and best.peaks["compute"] < capsys.peaks["compute"]
        yield claim("with no more slots than CAPSys's plan ours is better in throughput, latency and peak load", holds, evidence)


def improvable(rows: Sequence[QueryRow]) -> list[str]:
    """Queries on which some placement is better than CAPS's in one peak and worse in none."""
    within, caps = _by_query(rows, WITHIN), _by_query(rows, CAPS)
    return [
        f"{row.query} with {row.tasks} tasks"
        for name, row in within.items()
        if any(row.peaks[resource] < caps[name].peaks[resource] * (1 - EQUAL_PEAKS) for resource in row.peaks)
    ]


def _by_query(rows: Sequence[QueryRow], placement: str) -> dict[str, QueryRow]:
    return {row.query: row for row in rows if row.placement == placement}
