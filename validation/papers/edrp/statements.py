"""Sentences of the paper on its hour and its day under Storm, judged on ours."""

from __future__ import annotations

from collections.abc import Mapping

from edrp.report.statements import Statement, claim
from edrp.validation.papers.edrp.experiments import TABLE_V, outcome, storm_outcome
from edrp.validation.simulation.placement.replay import Replay

PAPER_MINUTES = (8, 27, 46)
"""Minutes in which the balanced objective reconfigures (section 7.2)."""

TOLERANCE = 2
"""Minutes."""


def hour_statements(hours: Mapping[str, Replay], interval: int = 1) -> tuple[Statement, ...]:
    """Check the hour of section 7.2 in its four objectives, by their names in `WEIGHTINGS`.

    With more minutes between two decisions, a reconfiguration may come that much later than the paper's.
    """
    balanced = hours["Balanced"]
    tolerance = max(TOLERANCE, interval)
    minutes = tuple(interval * step.number for step in balanced.reconfigurations)
    outcomes = {name: outcome(hour) for name, hour in hours.items()}
    near = len(minutes) == len(PAPER_MINUTES) and all(
        abs(ours - theirs) <= tolerance for ours, theirs in zip(minutes, PAPER_MINUTES, strict=True)
    )
    ratio = outcomes["Baseline"].downtime / max(outcomes["Balanced"].downtime, 1e-12)
    cheapest = min(outcomes, key=lambda name: outcomes[name].cost)
    slowest = max(outcomes, key=lambda name: outcomes[name].response_time)
    first = balanced.reconfigurations[0].words if minutes else "nothing"
    downtimes = claim("the baseline's downtime is at least 3 times the balanced one", ratio >= 3, f"{ratio:.1f} times")
    return (
        claim("balanced weights make exactly 3 reconfigurations", len(minutes) == 3, str(len(minutes))),
        claim("the first scales partialRank out on the node where it runs", scales_in_place(balanced, "partialRank"), first),
        claim(f"they come within {tolerance} min of the paper's {_list(PAPER_MINUTES)}", near, _list(minutes)),
        *((downtimes,) if interval == 1 else ()),  # a baseline that seldom decides has few occasions to move
        claim("the cost objective is the cheapest", cheapest == "Cost", cheapest),
        claim("the cost objective is the slowest", slowest == "Cost", slowest),
    )


def storm_statements(days: Mapping[str, Replay]) -> tuple[Statement, ...]:
    """Check days of section 7.3 in their four objectives, by their names in `WEIGHTINGS`."""
    share = {name: storm_outcome(day).downtime for name, day in days.items()}
    theirs = sorted(TABLE_V, key=lambda name: -TABLE_V[name].downtime)
    ours = sorted(share, key=lambda name: -share[name])
    ratio = share["Baseline"] / max(share["Balanced"], 1e-12)
    cheapest = min(days, key=lambda name: days[name].mean("cost"))
    return (
        claim(f"downtime falls in the order {', '.join(theirs)}", ours == theirs, ", ".join(ours)),
        claim("balanced weights save three quarters of the baseline's downtime", ratio >= 4, f"1/{ratio:.1f} remains"),
        claim("the cost objective is the cheapest", cheapest == "Cost", cheapest),
    )


def scales_in_place(hour: Replay, operator: str) -> bool:
    """Whether the first reconfiguration scales the operator out onto nodes that run it already."""
    if not hour.reconfigurations:
        return False
    step = hour.reconfigurations[0]
    assert step.problem.current is not None
    held = set(step.problem.current[operator])
    return any(
        action.operator == operator and action.kind == "scale-out" and not action.removed and set(action.added) <= held
        for action in step.actions
    )


def _list(minutes: tuple[int, ...]) -> str:
    return ", ".join(str(minute) for minute in minutes) + " min" if minutes else "never"
