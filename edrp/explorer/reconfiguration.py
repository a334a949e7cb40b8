"""A reconfiguration over time: what each operator does until it runs again, and what is on its way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from edrp.explorer.quantities import quantity
from edrp.explorer.view import Bar, Row, Rows, Timeline, Token
from edrp.placement.metrics.downtime import Downtime, PairPhases, pair_phases

SYNCHRONISATION = ("synchronisation", 7)
PHASES = (
    ("store", "state into the store, or code out of it", 0),
    ("fetch", "state out of the store", 2),
    ("spawn", "replicas start", 1),
)


@dataclass(frozen=True, slots=True)
class Change:
    """A reconfiguration: rows over time, what moves, the slider, and a sentence where rows would show nothing."""

    rows: Rows
    tokens: Sequence[Token]
    timeline: Timeline
    sentence: str = ""


BEFORE_AND_AFTER = ((0.0, "now"), (1.0, "afterwards"))
"""Stops of the slider where a change takes no time."""


def reconfiguration(scene: Any, problem: Any, deployment: Any) -> Change:
    """The reconfiguration from the current deployment to another one (EDRP, eqs. 24–32; Storm's as a whole)."""
    rows, tokens, end = [], [], 0.0
    timed = getattr(problem, "reconfiguration", None) is not None
    for index, name in enumerate(scene.names):
        before, after = problem.current.replicas(name), deployment.replicas(name)
        if before == after:
            continue
        seconds = Downtime().operator_downtime(problem, deployment, name) if timed else 1.0
        bars = [Bar(0.0, seconds, name, index, detail=f"o{index}")]
        leaving, arriving = before - after, after - before
        if timed and problem.reconfiguration == "pause-and-resume":
            bars = _phase_bars(problem, deployment, name, f"o{index}")
        rows.append(Row(f"{name}: {quantity(seconds, 's')}" if timed else name, bars))
        sources, targets = list(leaving or before), list(arriving)
        tokens += [Token(scene.box[u], scene.box[v], 0.0, seconds, name, index) for u in sources for v in targets if u != v][:24]
        end = max(end, seconds)
    instant = timed and not end
    timed, end = timed and not instant, end or 1.0
    phased = timed and problem.reconfiguration == "pause-and-resume"
    drawn = {bar.colour for row in rows for bar in row.bars}
    legend = [(f"c{n}", words) for words, n in (SYNCHRONISATION, *(p[1:] for p in PHASES)) if phased and n in drawn]
    title = "Reconfiguration" if timed else "Change from the current deployment"
    note = "Operators change in parallel; the slowest decides the downtime." if timed else ""
    unit = "s" if timed else ""
    stops = () if timed else BEFORE_AND_AFTER
    shown = Rows(title, rows if timed else [], end, unit, True, note, legend)
    sentence = "The reconfiguration takes 0 s." if instant else ""
    return Change(shown, tokens, Timeline(title, end, unit, end, stops, 5.0), sentence)


def _phase_bars(problem: Any, deployment: Any, name: str, detail: str) -> list[Bar]:
    """The phases of the slowest pair of nodes, which decides the downtime of an operator."""
    before, after = problem.current.replicas(name), deployment.replicas(name)
    state = problem.application.by_name[name].state_size
    pairs = [(u, v) for u in before for v in after if u != v]
    phases = [pair_phases(problem, name, state, u, v, before, after) for u, v in pairs]
    slowest = max(phases, key=lambda phase: phase.seconds, default=PairPhases(0.0, 0.0, 0.0))
    start = problem.synchronisation_time
    bars = [Bar(0.0, start, *SYNCHRONISATION, detail=detail)] if start else []
    for field, words, colour in PHASES:
        length = getattr(slowest, field)
        if length:
            bars.append(Bar(start, start + length, words, colour, detail=detail))
        start += length
    return bars
