"""A real cluster of Apache Flink on this machine, to try things on and to measure; needs Java 17 and the extra `flink`."""

from __future__ import annotations

from edrp.engines.flink.local.cluster import LocalFlink
from edrp.engines.flink.local.configuration import LocalNode
from edrp.engines.flink.local.jobs import RunningJob, submit

__all__ = ["LocalFlink", "LocalNode", "RunningJob", "submit"]
