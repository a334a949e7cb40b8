"""An explanation as tables and sentences."""

from __future__ import annotations

from rich.console import Console

from edrp.cli.display.placement import placement_table
from edrp.cli.terminal import say, table
from edrp.explain import Explanation, Margin
from edrp.placement.problem import PlacementProblem


def print_explanation(console: Console, name: str, problem: PlacementProblem, explanation: Explanation) -> None:
    """Print an explanation, one table per question."""
    say(console, name, "bold")
    if explanation.deployment is None or explanation.evaluation is None:
        say(console, "No deployment to explain." if not explanation.clashes else "Infeasible. These cannot hold together:", "red")
        for clash in explanation.clashes:
            say(console, f"• {clash}")
        return
    console.print(placement_table(problem, explanation.deployment))
    _print_objective(console, explanation)
    _print_path(console, explanation)
    if explanation.cost_parts:
        _print_cost(console, explanation)
    if explanation.crossings:
        _print_crossings(console, explanation)
    _print_actions(console, problem, explanation)
    _print_margins(console, explanation.margins)
    _print_second_best(console, explanation)


def _print_objective(console: Console, explanation: Explanation) -> None:
    assert explanation.evaluation is not None
    objective = explanation.evaluation.objective
    rows = [
        (share.metric, f"{share.weight:g}", f"{share.amount:.6g}", _percent(share.amount, objective))
        for share in explanation.shares
    ]
    title = f"Objective {objective:.9g}"
    console.print(table(("metric", "weight", "part", "share"), rows, title, right=("weight", "part", "share")))
    for broken in explanation.evaluation.broken:
        say(console, f"Broken: {broken}", "red")


def _print_path(console: Console, explanation: Explanation) -> None:
    total = sum(part.seconds for part in explanation.critical_path)
    rows = [
        (part.name, "stream" if part.is_stream else "operator", f"{part.seconds:.6g}", _percent(part.seconds, total))
        for part in explanation.critical_path
    ]
    title = f"Critical path, {total:.6g} s"
    console.print(table(("part", "what", "seconds", "share"), rows, title, right=("seconds", "share")))


def _print_cost(console: Console, explanation: Explanation) -> None:
    total = sum(part.money for part in explanation.cost_parts)
    rows = [
        (part.name, "stream" if part.is_stream else "operator", f"{part.money:.6g}", _percent(part.money, total))
        for part in explanation.cost_parts
        if part.money
    ]
    title = f"Cost, {total:.6g} money/h"
    console.print(table(("part", "what", "money/h", "share"), rows, title, right=("money/h", "share")))


def _print_crossings(console: Console, explanation: Explanation) -> None:
    rows = [(each.name, f"{each.tuples:.6g}", f"{100 * each.share:.1f} %") for each in explanation.crossings]
    console.print(table(("stream", "tuples/s", "of the stream"), rows, "Between nodes", right=("tuples/s", "of the stream")))


def _print_actions(console: Console, problem: PlacementProblem, explanation: Explanation) -> None:
    if problem.current is None:
        return
    if not explanation.standstills:
        say(console, "Reconfiguration: none, everything stays as it is")
        return
    seconds = {str(each): each.downtime for each in explanation.standstills if each.downtime is not None}
    if not seconds:
        for each in explanation.standstills:
            say(console, f"• {each}")
        return
    longest = max(seconds.values())
    rows = [(what, f"{took:.6g}", "decides the downtime" if took == longest else "") for what, took in seconds.items()]
    console.print(table(("action", "seconds", ""), rows, "Reconfiguration, operators in parallel", right=("seconds",)))


def _print_margins(console: Console, margins: tuple[Margin, ...]) -> None:
    if not margins:
        return
    rows = [
        (
            each.name,
            f"{each.value:.6g}",
            f"{each.limit:.6g}",
            each.unit,
            f"{100 * each.used:.1f} %",
            f"{100 * (1 - each.used):.1f} %",
        )
        for each in margins
    ]
    columns = ("what", "value", "limit", "unit", "used", "left")
    console.print(table(columns, rows, "Distance of every limit", right=("value", "limit", "used", "left")))


def _print_second_best(console: Console, explanation: Explanation) -> None:
    second, evaluation = explanation.second_best, explanation.evaluation
    if second is None or evaluation is None:
        say(console, "Second best: not searched, the problem is too large for the compact program")
        return
    if second.deployment is None or second.distance is None:
        found = "there is no other deployment within all limits" if second.finished else "none found in time"
        say(console, f"Second best: {found}{_proven(second.least_distance)}")
        return
    share = _percent(second.distance, evaluation.objective)
    say(console, f"Second best: objective {second.objective:.9g}, {second.distance:+.3g} ({share})", "bold")
    if not second.finished:
        say(console, f"not proven, the time ran out{_proven(second.least_distance)}")
    for action in second.differences:
        say(console, f"• {action}")


def _proven(least_distance: float | None) -> str:
    return "" if least_distance is None else f"; any other is at least {least_distance:+.3g} away"


def _percent(part: float, whole: float) -> str:
    return f"{100 * part / whole:.1f} %" if whole else ""
