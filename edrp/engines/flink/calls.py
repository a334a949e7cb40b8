"""The calls of Flink's REST API that carry out a plan. They are only written down; nothing here sends them."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator

from edrp.engines.observation import Observation
from edrp.placement.deployment import Deployment


def plan_calls(observation: Observation, plan: Deployment, address: str) -> list[str]:
    """Lines for a shell: a rescale where the adaptive scheduler runs the job, else a savepoint and a new start."""
    root = f"{address}/jobs/{observation.key}"
    return list(_rescale(observation, plan, root) if observation.live else _redeploy(observation, plan, address, root))


def _rescale(observation: Observation, plan: Deployment, root: str) -> Iterator[str]:
    """A fresh checkpoint, which must be complete before the requirements change: otherwise input is replayed."""
    yield "# 1. trigger a checkpoint; the answer holds its request-id"
    yield curl("POST", f"{root}/checkpoints", {})
    yield "# 2. wait until it is COMPLETED"
    yield curl("GET", f"{root}/checkpoints/REQUEST_ID")
    requirements = {key: _requirement(*bounds) for key, bounds in observation.finished.items()}  # all are asked for, or none
    for operator in observation.operators:
        replicas = plan.degree(operator.name)
        lowest = min(operator.bounds[0], replicas) if operator.bounds else replicas
        requirements[operator.key] = _requirement(lowest, replicas)
    yield "# 3. ask for the new numbers of replicas; the adaptive scheduler chooses where they run"
    yield curl("PUT", f"{root}/resource-requirements", requirements)


def _requirement(lowest: int, most: int) -> dict[str, dict[str, int]]:
    return {"parallelism": {"lowerBound": lowest, "upperBound": most}}


def _redeploy(observation: Observation, plan: Deployment, address: str, root: str) -> Iterator[str]:
    yield "# 1. stop with a savepoint; the answer holds its request-id"
    yield curl("POST", f"{root}/stop", {"drain": False, "targetDirectory": "SAVEPOINT_FOLDER"})
    yield "# 2. wait until it is COMPLETED, and note its location"
    yield curl("GET", f"{root}/savepoints/REQUEST_ID")
    body = {"savepointPath": "SAVEPOINT", "flinkConfiguration": overridden(observation, plan)}
    yield "# 3. run it again with the new numbers of replicas; from Flink 2.0 on its own programArgsList has to give them"
    yield curl("POST", f"{address}/jars/JAR_ID/run", body)
    yield "# where: the slot-sharing group of each operator demands a resource that only its TaskManagers advertise"
    for operator in observation.operators:
        nodes = ", ".join(f"{count} on {node}" for node, count in sorted(plan.replicas(operator.name).items()))
        yield f"#   {operator.name}: {nodes}"


def overridden(observation: Observation, plan: Deployment) -> dict[str, str]:
    """The setting that gives a job the replicas of a plan when it starts."""
    replicas = ",".join(f"{operator.key}:{plan.degree(operator.name)}" for operator in observation.operators)
    return {"pipeline.jobvertex-parallelism-overrides": replicas}


def curl(method: str, url: str, body: object = None) -> str:
    """A request as a line for a shell."""
    if body is None:
        return f"curl -s {shlex.quote(url)}"
    text = shlex.quote(json.dumps(body, separators=(",", ":")))
    return f"curl -s -X {method} -H 'Content-Type: application/json' -d {text} {shlex.quote(url)}"
