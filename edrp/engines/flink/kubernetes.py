"""Patches of a `FlinkDeployment` of the Flink Kubernetes operator that carry out a plan, and undo it."""

from __future__ import annotations

import json

from edrp.core.errors import visible
from edrp.engines.flink.calls import (
    OVERRIDES,
    change_sentence,
    changed_operators,
    needed_slots,
    overridden,
    reactive_slots,
    running_deployment,
    takes_overrides,
)
from edrp.engines.observation import Observation
from edrp.placement.deployment import Deployment

PATCH, UNDO = "flinkdeployment.yaml", "flinkdeployment-undo.yaml"
"""Names of the two files."""

KUBECTL = "kubectl patch flinkdeployment NAME --type merge --patch-file"


def deployment_patches(observation: Observation, plan: Deployment) -> dict[str, list[str]]:
    """Lines of two merge patches in YAML, the second of which undoes the first, by name of file.

    They contain no other setting: with any other the operator would restart the job instead of rescaling it in place. Where
    no patch carries out the plan, the files hold comments only, which `kubectl` refuses.
    """
    why = _no_patch(observation, plan)
    if why is not None:
        return {name: [f"# There is no patch: {why}."] for name in (PATCH, UNDO)}
    sentence = visible(change_sentence(observation, plan))
    head = [f"# Job {visible(observation.job)}, {sentence}: {KUBECTL} {PATCH}", f"# To undo it: {KUBECTL} {UNDO}"]
    head += [f"# {line}" for line in _conditions(observation, plan)]
    undo = [f"# Undoes {PATCH} ({sentence}): {KUBECTL} {UNDO}"]
    return {PATCH: [*head, *_patch(observation, plan)], UNDO: [*undo, *_patch(observation, running_deployment(observation))]}


def _no_patch(observation: Observation, plan: Deployment) -> str | None:
    """Why no patch carries out a plan; None where one does."""
    if not changed_operators(observation, plan):
        return "the advice is to keep what runs"
    if observation.live or observation.follows_slots or takes_overrides(observation):
        return None
    remedy = "give the program the numbers by spec.job.args, or run it with jobmanager.scheduler: adaptive and capture it again"
    return f"from 2.0 on Flink applies no overrides of the parallelism to a job that starts (FLINK-38770); {remedy}"


def _patch(observation: Observation, plan: Deployment) -> list[str]:
    """A merge patch in YAML, in which strings may be written as in JSON.

    It names all vertices: if the number of one were removed, the operator would restart the job.
    """
    if observation.follows_slots:
        slots = min(node.slots for node in observation.nodes)
        return ["spec:", "  taskManager:", f"    replicas: {-(-reactive_slots(observation, plan) // slots)}"]
    return ["spec:", "  flinkConfiguration:", f"    {OVERRIDES}: {json.dumps(overridden(observation, plan)[OVERRIDES])}"]


def _conditions(observation: Observation, plan: Deployment) -> list[str]:
    """Conditions under which a patch has its effect."""
    if observation.follows_slots:
        return ["Reactive mode needs spec.mode: standalone, in which the operator starts and stops TaskManagers."]
    needed, largest = needed_slots(observation, plan), max(node.slots for node in observation.nodes)
    how = "rescales the job in place" if observation.live else "stops the job and starts it again as spec.job.upgradeMode says"
    lines = [
        f"In native mode, the default, the operator {how}, and Flink starts the TaskManagers that are missing.",
        f"Slots: the job needs {needed}; where spec.taskManager.replicas is set, it has to be at least {-(-needed // largest)}.",
        "State: spec.job.upgradeMode must not be stateless, its default, or the state is lost if the operator restarts the job.",
        'Autoscaler: it has to be off (job.autoscaler.enabled: "false"), or it replaces these numbers by its own.',
        "Vertices keep their identifiers as long as the program is the same or its operators have a uid.",
    ]
    if observation.live and not takes_overrides(observation):
        again = "the operator ignores a patch that changes nothing, so apply the patch that undoes it, and this one again"
        lines.append(f"From 2.0 on Flink ignores these numbers where the job starts again (FLINK-38770): {again}.")
    return lines
