"""Apache Flink as an engine."""

from __future__ import annotations

from edrp.engines.applying import WatchSettings
from edrp.engines.clock import Clock
from edrp.engines.flink.autoscaler import autoscaler_replicas
from edrp.engines.flink.calls import SCRIPT, deployment_patches, plan_calls
from edrp.engines.flink.metadata import job_key_groups
from edrp.engines.flink.reading import read_observation
from edrp.engines.flink.running import FlinkJob
from edrp.engines.observation import Observation
from edrp.engines.protocol import WatchedJob
from edrp.placement.deployment import Deployment


class FlinkEngine:
    """Apache Flink, 1.20 to 2.3."""

    name = "flink"
    rule_name = "autoscaler"

    observe = staticmethod(read_observation)
    rule_replicas = staticmethod(autoscaler_replicas)
    key_group_sizes = staticmethod(job_key_groups)

    @staticmethod
    def running_job(address: str, settings: WatchSettings, clock: Clock) -> WatchedJob:
        """The job, whose tasks move while it runs where the settings say how."""
        if settings.migration is None:
            return FlinkJob(address, settings, clock)
        from edrp.engines.flink.migrating.balancing import LiveFlinkJob  # with solvers, which nobody else needs

        return LiveFlinkJob(address, settings, clock)

    @staticmethod
    def calls(observation: Observation, plan: Deployment, address: str) -> dict[str, list[str]]:
        """A script for the REST API, and patches for the Kubernetes operator."""
        return {SCRIPT: plan_calls(observation, plan, address), **deployment_patches(observation, plan)}


FLINK = FlinkEngine()
"""The engine, which has no state."""
