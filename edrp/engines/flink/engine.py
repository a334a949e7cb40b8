"""Apache Flink as an engine."""

from __future__ import annotations

from edrp.engines.flink.autoscaler import autoscaler_replicas
from edrp.engines.flink.calls import plan_calls
from edrp.engines.flink.metadata import job_key_groups
from edrp.engines.flink.reading import read_observation
from edrp.engines.flink.running import FlinkJob


class FlinkEngine:
    """Apache Flink, 1.20 to 2.3."""

    name = "flink"
    rule_name = "Flink's autoscaler"

    observe = staticmethod(read_observation)
    rule_replicas = staticmethod(autoscaler_replicas)
    calls = staticmethod(plan_calls)
    running_job = staticmethod(FlinkJob)
    key_group_sizes = staticmethod(job_key_groups)


FLINK = FlinkEngine()
"""The engine, which has no state."""
