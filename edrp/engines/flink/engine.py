"""Apache Flink as an engine."""

from __future__ import annotations

from edrp.engines.flink.autoscaler import autoscaler_replicas
from edrp.engines.flink.calls import SCRIPT, plan_calls
from edrp.engines.flink.kubernetes import deployment_patches
from edrp.engines.flink.metadata import job_key_groups
from edrp.engines.flink.reading import read_observation
from edrp.engines.flink.running import FlinkJob
from edrp.engines.observation import Observation
from edrp.placement.deployment import Deployment


class FlinkEngine:
    """Apache Flink, 1.20 to 2.3."""

    name = "flink"
    rule_name = "Flink's autoscaler"

    observe = staticmethod(read_observation)
    rule_replicas = staticmethod(autoscaler_replicas)
    running_job = staticmethod(FlinkJob)
    key_group_sizes = staticmethod(job_key_groups)

    @staticmethod
    def calls(observation: Observation, plan: Deployment, address: str) -> dict[str, list[str]]:
        """A script for the REST API, and patches for the Kubernetes operator."""
        return {SCRIPT: plan_calls(observation, plan, address), **deployment_patches(observation, plan)}


FLINK = FlinkEngine()
"""The engine, which has no state."""
