"""Apache Flink as an engine."""

from edrp.engines.applying import WatchSettings
from edrp.engines.capture import Capture
from edrp.engines.clock import Clock
from edrp.engines.fit import JobFit
from edrp.engines.flink.autoscaler import autoscaler_replicas
from edrp.engines.flink.calls import plan_calls
from edrp.engines.flink.metadata import job_key_groups
from edrp.engines.flink.reading import read_observation
from edrp.engines.flink.running import FlinkJob
from edrp.engines.observation import Observation
from edrp.placement.deployment import Deployment


class FlinkEngine:
    """Apache Flink, 1.20 to 2.3."""

    name = "flink"
    rule_name = "Flink's autoscaler"

    def observe(self, capture: Capture) -> Observation:
        """Read a capture."""
        return read_observation(capture)

    def rule_replicas(self, fit: JobFit, rate_factor: float) -> dict[str, int]:
        """Number of replicas of each operator by the autoscaler's rule."""
        return autoscaler_replicas(fit, rate_factor)

    def calls(self, observation: Observation, plan: Deployment, address: str) -> list[str]:
        """Calls of the REST API that carry out a plan."""
        return plan_calls(observation, plan, address)

    def running_job(self, address: str, settings: WatchSettings, clock: Clock) -> FlinkJob:
        """The job at an address; nothing is sent yet."""
        return FlinkJob(address, settings, clock)

    def key_group_sizes(self, path: str, observation: Observation) -> dict[str, tuple[int, ...]]:
        """Bytes of each key group by the `_metadata` of a checkpoint."""
        return job_key_groups(path, observation)


FLINK = FlinkEngine()
"""The engine, which has no state."""
