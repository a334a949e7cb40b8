"""Timelines of runs agree with the metrics of the runs."""

import pytest

import edrp
from edrp.datasets.enactment.manufacturing import manufacturing_scenario
from edrp.validation.papers.enactment.runs import timeline


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
