"""Timelines of runs agree with the metrics of the runs."""

from __future__ import annotations

import numpy as np
import pytest

import edrp
from edrp.datasets.enactment.manufacturing import manufacturing_scenario
from edrp.datasets.families.mapping.platforms import bimodal_scenario
from edrp.validation.simulation.enactment.timeline import timeline
from edrp.validation.simulation.mapping.bimodal_timeline import timeline as bimodal_timeline


def test_a_timeline_counts_what_there_was():
    scenario = manufacturing_scenario("two-level", duration=1200.0)
    solution = edrp.solve(scenario, "threshold-policy", seed=3)
    line = timeline(scenario, solution.run)
    lease_seconds = sum((scenario.duration if lease.end is None else lease.end) - lease.start for lease in solution.run.leases)
    # Samples every 15 s against exact times: each lease and instance is at most one sample off.
    assert line.hosts[:-1].sum() * 15 == pytest.approx(lease_seconds, abs=15 * len(solution.run.leases))
    mean = solution.metrics["mean_instances"]
    assert line.instances[:-1].mean() == pytest.approx(mean, abs=len(solution.run.instances) / 80)
    assert set(line.machines.tolist()) == {2.0, 8.0}
    assert line.instances.min() >= 9, "one of each type at least"


def test_a_timeline_of_tasks_agrees_with_the_metrics():
    small = {"rate": 60.0, "servers": 20, "links": 12, "services": 6, "tasks": 30, "flow": "expected"}
    scenario = bimodal_scenario(seed=3, **small)
    solution = edrp.solve(scenario, "public-hops-links-mapping", seed=3)
    line = bimodal_timeline(scenario, solution.run)
    before = line.time <= scenario.tasks[-1].arrival
    # Samples every 10 s against exact times of tasks that last about 800 s.
    for name in ("server_utilisation", "link_utilisation"):
        assert getattr(line, name)[before].mean() == pytest.approx(solution.metrics[name], rel=0.02)
    durations = sum(task.finish - task.start for task in solution.run.tasks if task.accepted)
    assert line.running.sum() * np.diff(line.time)[0] == pytest.approx(durations, rel=0.02)
    assert line.public_hops.max() > 0
