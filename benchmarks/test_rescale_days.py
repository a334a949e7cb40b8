"""Days of rescalings: an hour without an answer goes on with what ran, and what is decided runs in the next hour."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

sys.path.append(str(Path(__file__).parent))
from rescale_days import first_deployment, follow_day

import edrp
from edrp.datasets.families.migration.flight_day import flight_day


def test_what_is_decided_runs_in_the_next_hour_and_what_is_not_served_goes_on():
    """A decision becomes the current deployment; an hour without one keeps the deployment before it."""
    hours = list(flight_day())[:4]
    start = first_deployment(hours[0])
    seen, answers = [], []

    def decide(hour, problem):
        seen.append(problem.current)
        refused = len(seen) == 2
        answers.append(None if refused else edrp.solve(problem, "range-annealing", runs=1, steps=20_000).deployment)
        return SimpleNamespace(deployment=answers[-1])

    totals = follow_day(hours, start, decide)
    assert seen == [start, answers[0], answers[0], answers[2]]
    assert (totals.hours, len(totals.objectives)) == (4, 3)
    assert totals.total("moved_state") > 0
    assert totals.mean("cost") > 4
