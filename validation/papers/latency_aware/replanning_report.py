"""A day under four strategies to plan again: printed and judged."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from rich.console import Console

from edrp.replanning.replanner import ReplanningPolicy
from edrp.report.progress import working
from edrp.report.statements import Statement, claim, print_statements
from edrp.report.tables import Table, print_tables
from edrp.validation.simulation.placement import replanning_day


def run(
    console: Console,
    *,
    data: Path | None = None,
    method: str = "iterated-local-search",
    seed: int = 1,
    policy: ReplanningPolicy | None = None,
) -> dict[str, replanning_day.DayOutcome]:
    """Run a day of changing latencies and loads in four ways, planned by a method; print what each came to.

    The loads are those of the taxi stream in the folder of data, by default of a generated day. The policy says when a plan
    pays; its method is not used.
    """
    policy = (ReplanningPolicy() if policy is None else policy).replace(method=method)
    curve, origin = replanning_day.loads(data, seed)
    console.print(
        f"[bold]Planning again through a day[/bold]: {replanning_day.TOPOLOGY}, "
        f"up to {replanning_day.PEAK_CORE_SHARE:.0%} of the cluster, every {replanning_day.MINUTES} minutes"
    )
    console.print(
        f"{origin}; every delay and need fluctuates; delays are estimated from a few measurements; "
        f"{replanning_day.AWAY} is away from {replanning_day.AWAY_FROM:g} to {replanning_day.AWAY_UNTIL:g} h"
    )
    day = list(replanning_day.moments(curve, seed))
    outcomes = {}
    for name, strategy in replanning_day.strategies(policy, seed).items():
        with working(console, f"{name}: {len(day)} steps"):
            outcomes[name] = replanning_day.run_day(day, strategy, policy)
    print_tables(console, outcome_table(outcomes, policy))
    print_statements(console, replanning_statements(outcomes))
    return outcomes


def outcome_table(outcomes: Mapping[str, replanning_day.DayOutcome], policy: ReplanningPolicy) -> Table:
    """One row per strategy: total, score, downtime, moves, and how long what ran did not work."""
    rows = tuple(
        (
            name,
            f"{outcome.total:.3f}",
            f"{outcome.score:.3f}",
            f"{outcome.downtime:.0f}",
            str(outcome.reconfigurations),
            str(outcome.moved),
            f"{outcome.broken * replanning_day.MINUTES / 60:.1f}",
        )
        for name, outcome in outcomes.items()
    )
    columns = ("Planned again", "Total", "Score", "Downtime\ns", "Changes", "Instances\nmoved", "Broken\nh")
    note = (
        f"Total: mean score, and {policy.downtime_worth:g} on top for time without processing; "
        f"a gain is expected to last {policy.horizon:g} s"
    )
    return Table("A day, by when it is planned again", columns, rows, columns[1:], note=note)


def replanning_statements(outcomes: Mapping[str, replanning_day.DayOutcome]) -> tuple[Statement, ...]:
    """Sentences on the worth of moves under the four strategies, judged."""
    paying, every, broken, never = (
        outcomes[name] for name in (replanning_day.PAYING, replanning_day.EVERY, replanning_day.BROKEN, replanning_day.NEVER)
    )
    return (
        claim(
            "planning when it pays costs less in total than at every step, than only when broken, and than never",
            paying.total < min(every.total, broken.total, never.total),
            f"{paying.total:.3f} against {every.total:.3f}, {broken.total:.3f} and {never.total:.3f}",
        ),
        claim(
            "with at most half of the downtime of planning at every step, and fewer moves",
            2 * paying.downtime <= every.downtime and paying.moved < every.moved,
            f"{paying.downtime:.0f} s and {paying.moved} instances against {every.downtime:.0f} s and {every.moved}",
        ),
        claim(
            "and what runs always has its nodes and resources",
            paying.broken == 0,
            f"without it, {never.broken * replanning_day.MINUTES / 60:.1f} h of the day it has not",
        ),
    )
