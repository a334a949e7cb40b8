"""A day of decisions: what ran where from when on, as one page with a slider."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from edrp.core.errors import Fault, InvalidInstanceError
from edrp.core.files import write_whole
from edrp.explorer.application import application_graph
from edrp.explorer.page import rendered
from edrp.explorer.scene import Scene
from edrp.explorer.view import Line, Panel, Series, Timeline, View, plain
from edrp.placement.deployment import Deployment, DeploymentLike
from edrp.placement.problem import PlacementProblem
from edrp.report.tables import Table

MAX_STATES = 400


def explore_decisions(
    problem: PlacementProblem,
    decisions: Sequence[tuple[float, DeploymentLike]],
    path: str | Path,
    *,
    title: str = "Decisions",
    replace: bool = True,
) -> None:
    """Write a page of deployments that followed one another, such as those that a `Replanner` decided on over a day.

    Parameters
    ----------
    problem
        Application and network; metrics are those of the deployments at its rates, each reached from the one before.
    decisions
        Seconds and the deployment from then on, in order of time; at most 400.
    path, title, replace
        As of `edrp.explorer.page.explore`.

    Raises
    ------
    InvalidInstanceError
        When a deployment does not fit the problem, or times are not in order.
    UnwritableError
        When no file can be written there.
    """
    if not decisions or len(decisions) > MAX_STATES:
        raise InvalidInstanceError([Fault("decisions", str(len(decisions)), f"must be 1 to {MAX_STATES} deployments")])
    for (before, _), (after, _) in pairwise(decisions):
        if not before < after:
            raise InvalidInstanceError([Fault("decisions", f"{after:g} s", f"must be later than the one before, {before:g} s")])
    read = [(float(at), problem.read_decision(given, f"decisions[{index}]")) for index, (at, given) in enumerate(decisions)]
    moves = sum(bool(before.actions_to(after)) for (_, before), (_, after) in pairwise(read))
    verdict = {"text": f"{len(read)} decisions", "tone": "plain", "meaning": f"{moves} of them change something"}
    head: dict[str, Any] = {"kind": problem.kind, "verdict": verdict, "facts": [], "notes": [], "clashes": []}
    write_whole(path, rendered({"title": title, **head, **plain(decisions_view(problem, read))}), replace=replace)


def decisions_view(problem: PlacementProblem, decisions: Sequence[tuple[float, Deployment]]) -> View:
    """The view of deployments and the seconds from which on they ran."""
    start, end = decisions[0][0], decisions[-1][0]
    last = (end - start) / max(1, len(decisions) - 1) or 1.0  # the last one is shown for as long as the mean of the others
    times, length = [at - start for at, _ in decisions], end - start + last
    deployments = [deployment for _, deployment in decisions]
    scene = Scene(problem, deployments)
    earlier = [None, *deployments[:-1]]
    rated = [problem.replace(current=before).evaluate(now) for before, now in zip(earlier, deployments, strict=True)]
    series = [Series("Objective", [Line("objective", _points(times, [e.objective for e in rated]))], length, "1", "s")]
    for index, (name, metric) in enumerate(problem.metrics.items()):
        line = Line(name.replace("_", " "), _points(times, [evaluation.metrics[name] for evaluation in rated]), index + 1)
        series.append(Series(name.replace("_", " ").capitalize(), [line], length, metric.unit, "s"))
    rows = [
        (f"{at:.6g}", "; ".join(map(str, before.actions_to(after))) or "nothing changes")
        for (_, before), (at, after) in pairwise(decisions)
    ]
    panels: list[Panel] = [
        scene.course(times, deployments),
        *series,
        application_graph(problem.application, scene.operator_notes(deployments[-1]), scene.details),
        *([Table("What was decided", ("second", "change"), tuple(rows), ("second",))] if rows else []),
    ]
    stops = [(at, f"{first:.6g} s") for at, (first, _) in zip(times, decisions, strict=True)]
    return View(panels, scene.details, Timeline("Decisions", length, "s", stops=stops, seconds=max(4.0, 0.7 * len(times))))


def _points(times: Sequence[float], values: Sequence[float]) -> list[tuple[float, float]]:
    return list(zip(times, values, strict=True))
