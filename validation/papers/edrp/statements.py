"""Statements of the paper about its hour and its day under Storm, checked against this package's runs."""

from __future__ import annotations

from collections.abc import Mapping

from edrp.report.formatting import Unit
from edrp.report.statements import Statement, claim
from edrp.validation.papers.edrp.experiments import TABLE_III, TABLE_V, ReplayOutcome, outcome, storm_outcome
from edrp.validation.simulation.placement.replay import Replay

PAPER_MINUTES = (8, 27, 46)
"""Minutes in which the balanced objective reconfigures (section 7.2)."""

MINUTES_TOLERANCE = 2
"""Minutes."""

SHARE, DIFFERENCE = Unit(100, ".0f", " %"), Unit(100, "+.0f", " %")
AGREEMENT = 0.25
"""Relative difference up to which a value counts as the one that Table III prints."""

MIN_BASELINE_RATIO = 2.4
"""Least ratio between the baseline's downtime and any other (section 7.2)."""


def hour_statements(hours: Mapping[str, Replay], interval: int = 1) -> tuple[Statement, ...]:
    """Check the hour of section 7.2 in its four objectives, by their names in `WEIGHTINGS`.

    With more minutes between two decisions, a reconfiguration may come that much later than the paper's.
    """
    balanced = hours["Balanced"]
    tolerance = max(MINUTES_TOLERANCE, interval)
    minutes = tuple(interval * step.number for step in balanced.reconfigurations)
    outcomes = {name: outcome(hour) for name, hour in hours.items()}
    near = len(minutes) == len(PAPER_MINUTES) and all(
        abs(measured - printed) <= tolerance for measured, printed in zip(minutes, PAPER_MINUTES, strict=True)
    )
    cheapest = min(outcomes, key=lambda name: outcomes[name].cost)
    slowest = max(outcomes, key=lambda name: outcomes[name].response_time)
    first = balanced.reconfigurations[0].words if minutes else "nothing"
    return (
        claim("balanced weights make exactly 3 reconfigurations", len(minutes) == 3, str(len(minutes))),
        claim("the first scales partialRank out on the node where it runs", scales_in_place(balanced, "partialRank"), first),
        claim(f"their reconfigurations come within {tolerance} min of the paper's {_list(PAPER_MINUTES)}", near, _list(minutes)),
        claim("the cost objective is the cheapest", cheapest == "Cost", cheapest),
        claim("the cost objective is the slowest", slowest == "Cost", slowest),
        *(_table_statements(outcomes) if interval == 1 else ()),  # who seldom decides has few occasions to move
    )


def _table_statements(outcomes: Mapping[str, ReplayOutcome]) -> tuple[Statement, ...]:
    """Compare outcomes with the values of Table III, and their downtimes with one another."""
    differences = {
        quantity: {
            name: getattr(measured, quantity) / getattr(TABLE_III[name], quantity) - 1 for name, measured in outcomes.items()
        }
        for quantity in ReplayOutcome._fields
    }
    ratios = {
        name: outcomes["Baseline"].downtime / max(measured.downtime, 1e-12)
        for name, measured in outcomes.items()
        if name != "Baseline"
    }
    times = {name: f"{ratio:.1f} times" for name, ratio in ratios.items()}
    words = {"response_time": "mean response times", "cost": "mean costs", "downtime": "downtimes"}
    return (
        *(
            claim(
                f"{words[quantity]} are within {SHARE.text(AGREEMENT)} of Table III's",
                max(map(abs, difference_by_method.values())) <= AGREEMENT,
                ", ".join(f"{name} {DIFFERENCE.text(difference)}" for name, difference in difference_by_method.items()),
            )
            for quantity, difference_by_method in differences.items()
        ),
        claim("the baseline's downtime is at least 3 times the balanced one", ratios["Balanced"] >= 3, times["Balanced"]),
        claim(
            f"the baseline's downtime is at least {MIN_BASELINE_RATIO:g} times every other one",
            min(ratios.values()) >= MIN_BASELINE_RATIO,
            ", ".join(f"{text} that of {name}" for name, text in times.items()),
        ),
    )


def count_forced(hour: Replay) -> int:
    """Number of reconfigurations at which the deployment before would have broken a limit."""
    changes = ((step.problem, step.problem.current) for step in hour.reconfigurations)
    return sum(not problem.evaluate(current).feasible for problem, current in changes if current is not None)


def storm_statements(days: Mapping[str, Replay]) -> tuple[Statement, ...]:
    """Check days of section 7.3 in their four objectives, by their names in `WEIGHTINGS`."""
    share = {name: storm_outcome(day).downtime for name, day in days.items()}
    printed_order = sorted(TABLE_V, key=lambda name: -TABLE_V[name].downtime)
    measured_order = sorted(share, key=lambda name: -share[name])
    ratio = share["Baseline"] / max(share["Balanced"], 1e-12)
    cheapest = min(days, key=lambda name: days[name].mean("cost"))
    return (
        claim(
            f"downtime falls in the order {', '.join(printed_order)}", measured_order == printed_order, ", ".join(measured_order)
        ),
        claim("balanced weights save three quarters of the baseline's downtime", ratio >= 4, f"1/{ratio:.1f} remains"),
        claim("the cost objective is the cheapest", cheapest == "Cost", cheapest),
    )


def scales_in_place(hour: Replay, operator: str) -> bool:
    """Whether the first reconfiguration scales the operator out onto nodes that run it already."""
    if not hour.reconfigurations:
        return False
    step = hour.reconfigurations[0]
    assert step.problem.current is not None
    current_nodes = set(step.problem.current[operator])
    return any(
        action.operator == operator and action.kind == "scale-out" and not action.removed and set(action.added) <= current_nodes
        for action in step.actions
    )


def _list(minutes: tuple[int, ...]) -> str:
    return ", ".join(str(minute) for minute in minutes) + " min" if minutes else "never"
