"""The calls of Flink's REST API that carry out a plan. They are only written down; nothing here sends them."""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Iterator

from edrp.core.errors import visible
from edrp.engines.downtime import SLOT_SECONDS
from edrp.engines.observation import Observation
from edrp.placement.deployment import Deployment

ATTEMPTS = 30
"""Most checkpoints that the lines for a shell trigger: enough for the 30 s in which Flink, by default, rescales no job again."""


def plan_calls(observation: Observation, plan: Deployment, address: str) -> list[str]:
    """Lines for a shell: a rescale where the adaptive scheduler runs the job, else a savepoint and a new start.

    Whatever names hold, a line is one command with its arguments, or a comment.
    """
    root = f"{address}/jobs/{observation.key}"
    if observation.follows_slots:
        return list(map(_comment, _change_slots(observation, plan)))
    return list(_rescale(observation, plan, root) if observation.live else _redeploy(observation, plan, address, root))


def _rescale(observation: Observation, plan: Deployment, root: str) -> Iterator[str]:
    """The requirements first, then checkpoints: Flink rescales right after the next complete one."""
    if observation.checkpoints.completed_at is None:
        yield "# no complete checkpoint is known, without which the job would begin with nothing: wait for one before this"
    requirements = {key: _requirement(*bounds) for key, bounds in observation.finished.items()}  # all are asked for, or none
    for operator in observation.operators:
        replicas = plan.degree(operator.name)
        lowest = min(operator.bounds[0], replicas) if operator.bounds else replicas
        requirements[operator.key] = _requirement(lowest, replicas)
    yield "# 1. ask for the new numbers of replicas; the adaptive scheduler chooses where they run"
    yield curl("PUT", f"{root}/resource-requirements", requirements)
    yield "# 2. trigger a checkpoint, right after which Flink rescales, and again until the job runs with these numbers,"
    yield "#    which Flink shows seconds later; without one it rescales after max-delay, and replays all since the last"
    seconds = 1 + math.ceil(max(observation.checkpoints.durations, default=0.0))
    yield f"for attempt in $(seq {ATTEMPTS}); do"
    yield f"  sleep {SLOT_SECONDS:g}"
    yield f"  {curl('POST', f'{root}/checkpoints', {})}"
    yield f"  sleep {seconds}"
    changed = [operator for operator in observation.operators if plan.degree(operator.name) != operator.parallelism]
    shown = [
        f"{curl('GET', f'{root}/vertices/{operator.key}')} | grep -q '\"parallelism\":{plan.degree(operator.name)},'"
        for operator in changed
    ]
    yield f"  {' && '.join([*shown, 'break'])}"
    yield "done"


def _change_slots(observation: Observation, plan: Deployment) -> Iterator[str]:
    """What to do in reactive mode, in which slots are shared out evenly among the slot-sharing groups."""
    groups = {operator.slot_group for operator in observation.operators}
    needed = len(groups) * max((plan.degree(name) for name in plan), default=1)
    yield "reactive mode: every operator has as many replicas as there are slots for its slot-sharing group; Flink refuses"
    yield "(HTTP 500) to be asked for other numbers. To have as many as the busiest operator needs, start or stop TaskManagers"
    yield f"until the job has {needed} slots; it has {sum(observation.own_slots.values())}"


def _requirement(lowest: int, most: int) -> dict[str, dict[str, int]]:
    return {"parallelism": {"lowerBound": lowest, "upperBound": most}}


def _redeploy(observation: Observation, plan: Deployment, address: str, root: str) -> Iterator[str]:
    yield "# Replace the words in capitals first, with the answers to the calls before."
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
        yield _comment(f"  {operator.name}: {nodes}")


def overridden(observation: Observation, plan: Deployment) -> dict[str, str]:
    """The setting that gives a job the replicas of a plan when it starts."""
    replicas = ",".join(f"{operator.key}:{plan.degree(operator.name)}" for operator in observation.operators)
    return {"pipeline.jobvertex-parallelism-overrides": replicas}


def curl(method: str, url: str, body: object = None) -> str:
    """A request as a line for a shell; brackets and braces in the address stand for themselves."""
    if body is None:
        return f"curl -s -g {shlex.quote(url)}"
    text = shlex.quote(json.dumps(body, separators=(",", ":")))
    return f"curl -s -X {method} -g -H 'Content-Type: application/json' -d {text} {shlex.quote(url)}"


def _comment(text: str) -> str:
    """A comment of one line: a line that a name breaks would be a command."""
    return f"# {visible(text)}"
