"""A running job of Flink, as a watch sees it, and its rescaling live: replicas only, by its resource requirements."""

from __future__ import annotations

from contextlib import suppress
from itertools import count
from typing import Any

from edrp.engines.advice import Advice, advise
from edrp.engines.applying import Applied, Note, PlannedChange, WatchSettings
from edrp.engines.clock import Clock
from edrp.engines.downtime import SLOT_SECONDS
from edrp.engines.errors import EngineError, JobGoneError
from edrp.engines.fit import JobFit
from edrp.engines.flink.capturing import CaptureSettings, capture_job
from edrp.engines.flink.reading import read_observation
from edrp.engines.flink.redeploying import demanded_resources, ignored_replicas, redeploy
from edrp.engines.flink.steps import FlinkSteps
from edrp.engines.goals import Goals
from edrp.engines.observation import Observation
from edrp.placement.deployment import Deployment
from edrp.placement.network import Network

MAX_ROUND_SECONDS = 5.0
"""Seconds between rounds of counters, at most: half as many as are observed, where these are few."""


class FlinkJob:
    """The job at an address."""

    def __init__(self, address: str, settings: WatchSettings, clock: Clock) -> None:
        self.address = address.rstrip("/")
        self.wanted = settings.job
        self._settings, self._clock = settings, clock

    def observe(self, job: str | None) -> Observation:
        """Observe a job by GET requests only."""
        every = self._settings.every
        captured = capture_job(
            self.address, CaptureSettings(job, every, min(MAX_ROUND_SECONDS, every / 2)), sleep=self._clock.sleep
        )
        return read_observation(captured)

    def advise(self, fit: JobFit, goals: Goals, network: Network | None) -> Advice:
        """Advise on numbers of replicas and their places."""
        return advise(fit, goals, network)

    def objections(self, change: PlannedChange) -> list[str]:
        """Reasons against applying a change: reactive mode, or places that no resource leads to."""
        if change.observation.follows_slots:
            return ["in reactive mode the job has as many replicas as it finds slots, and Flink refuses to be asked for others"]
        program = self._settings.program
        if change.observation.live or program is None:
            return []
        try:
            resources = demanded_resources(change, program)
        except EngineError as error:
            return [str(error)]
        ignored = ignored_replicas(change, program)
        if ignored is not None:
            return [
                f"from Flink 2.0 on the program itself has to be told replicas: give --program-arg with {{replicas:{ignored}}}"
            ]
        replicas_change = any(change.plan.degree(name) != change.observation.deployment.degree(name) for name in change.plan)
        if resources is None and not replicas_change:
            return ["only places would change, and no TaskManager advertises a named resource by which they could be chosen"]
        return []

    def apply(self, change: PlannedChange, note: Note) -> Applied:
        """Carry out a change: live where the scheduler can, else by a savepoint."""
        steps = FlinkSteps(self.address, change.observation.key, self._clock, note)
        if change.observation.live:
            return rescale(change, steps)
        if self._settings.program is None:
            raise EngineError(self.address, "no program is named that could be started again; give --program")
        return redeploy(change, steps, self._settings.program)


MAX_DOUBLINGS = 3
"""Doublings of the pause between two checkpoints, up to seconds: after a rescale Flink waits before the next, by default
for 30 s, in which no checkpoint counts."""


def rescale(change: PlannedChange, steps: FlinkSteps) -> Applied:
    """Rescale a job.

    The requirements are compared with those observed, set, and read back. Flink then waits for a complete checkpoint, and
    without one rescales after a while from the last, so that all since then is replayed: one is triggered as soon as slots are
    there, and again until the job is rescaled. One before that would not count; it is taken only where no checkpoint has
    succeeded so far, or the last one failed. Replicas and places are read back. Where the job does not come to run as asked,
    the requirements are set back.

    Raises
    ------
    EngineError
        What went wrong, and what the requirements are now.
    """
    observation = change.observation
    steps.stop_here()
    steps.refuse_changed(observation)
    if not steps.checkpoints_succeed():
        steps.take_checkpoint()
    old = _compared(observation, steps)
    new = _requirements(change, old)
    steps.stop_here()
    began = steps.clock.time()
    path = f"{steps.root}/resource-requirements"
    steps.note("requirements", path=path, old=old, new=new)
    try:
        steps.send("PUT", path, new)
        if _bounds(steps.get(path)) != _bounds(new):
            raise EngineError(steps.client.address, "the requirements read back are not those that were set")
        patience = change.patience + (observation.max_delay or 0.0)
        _trigger_checkpoints(change, steps, began + patience)
        nodes = _wait_until_running(change, steps, began, patience)
    except JobGoneError:
        raise
    except EngineError as error:
        raise _undone(error, old, new, steps) from None
    steps.note("read back", nodes={name: list(places) for name, places in nodes.items()})
    return Applied(observation.key, Deployment(nodes), steps.clock.time() - began, None)


def _compared(observation: Observation, steps: FlinkSteps) -> dict[str, Any]:
    """The requirements now, which must be those that were observed."""
    requirements: dict[str, Any] = steps.get(f"{steps.root}/resource-requirements")
    observed = {operator.key: operator.bounds for operator in observation.operators if operator.bounds is not None}
    observed |= observation.finished if observed else {}
    if observed and _bounds(requirements) != observed:
        why = "the resource requirements are not those observed: somebody else changes the job; nothing was changed"
        raise EngineError(steps.client.address, why)
    return requirements


def _bounds(requirements: dict[str, Any]) -> dict[str, tuple[int, int]]:
    return {key: (row["parallelism"]["lowerBound"], row["parallelism"]["upperBound"]) for key, row in requirements.items()}


def _requirements(change: PlannedChange, old: dict[str, Any]) -> dict[str, Any]:
    """The requirements of the plan; lower bounds stay where they can."""
    lowest = {key: bounds[0] for key, bounds in _bounds(old).items()}
    new = {key: old[key] for key in change.observation.finished if key in old}
    for operator in change.observation.operators:
        replicas = change.plan.degree(operator.name)
        bound = min(lowest.get(operator.key, replicas), replicas)
        new[operator.key] = {"parallelism": {"lowerBound": bound, "upperBound": replicas}}
    return new


def _trigger_checkpoints(change: PlannedChange, steps: FlinkSteps, end: float) -> None:
    """Trigger checkpoints until the job is rescaled, or the time is over; a stop is no reason to leave before."""
    before = {operator.key: operator.parallelism for operator in change.observation.operators}
    for attempt in count():
        steps.clock.pause(SLOT_SECONDS * 2 ** min(max(attempt - 1, 0), MAX_DOUBLINGS))
        try:
            if steps.clock.time() >= end or _is_rescaled(before, steps):
                return
            steps.note("checkpoint", id=steps.trigger_checkpoint(finish=True))
        except JobGoneError:
            raise
        except EngineError as error:  # such as one that the rescale itself has ended
            steps.note("checkpoint failed", why=error.why)


def _is_rescaled(before: dict[str, int], steps: FlinkSteps) -> bool:
    """Whether other numbers of replicas run: by their sum, which is told at once, or by each, which is kept for seconds."""
    tasks = next((row.get("tasks") for row in steps.get("/jobs/overview")["jobs"] if row["jid"] == steps.key), None) or {}
    if not tasks.get("finished") and tasks.get("total") not in (None, 0, sum(before.values())):
        return True
    parallelism = {vertex["id"]: vertex["parallelism"] for vertex in steps.job()["vertices"]}
    return any(parallelism.get(key) != count for key, count in before.items())  # those that have finished are not among them


def _wait_until_running(change: PlannedChange, steps: FlinkSteps, began: float, patience: float) -> dict[str, tuple[str, ...]]:
    """Nodes of all replicas once as many run as were asked for; a stop is no reason to leave before."""
    observation = change.observation
    last: dict[str, tuple[str, ...]] = {}

    def done() -> bool:
        steps.job()
        nodes = steps.running_nodes(observation)
        last.update(nodes or {})
        return nodes is not None and all(len(nodes[name]) == change.plan.degree(name) for name in nodes)

    try:
        steps.wait("the rescale", patience, done, finish=True, began=began)
    except JobGoneError:
        raise
    except EngineError as error:
        running_text = ", ".join(f"{name} {len(nodes)}" for name, nodes in last.items()) or "nothing"
        requested = ", ".join(f"{name} {change.plan.degree(name)}" for name in change.plan)
        raise EngineError(error.place, f"{error.why}: {requested} replicas were asked for, {running_text} run") from None
    return last


def _undone(error: EngineError, old: dict[str, Any], new: dict[str, Any], steps: FlinkSteps) -> EngineError:
    """Set the requirements back if nobody else has changed them since, and add to the error how that went."""
    path = f"{steps.root}/resource-requirements"
    try:
        current = _bounds(steps.get(path))
        if current == _bounds(old):
            return EngineError(error.place, f"{error.why}; the requirements are as before")
        if current != _bounds(new):
            return EngineError(error.place, f"{error.why}; the requirements are neither the old nor the new: look at the job")
        steps.note("requirements", path=path, old=new, new=old)
        steps.send("PUT", path, old)
        steps.clock.pause(SLOT_SECONDS)
        with suppress(EngineError):  # so that little is replayed where the job has to be rescaled for it
            steps.trigger_checkpoint(finish=True)
    except EngineError as second:
        why = f"{error.why}; whether the requirements were set is not known ({second.why}): look at the job"
        return EngineError(error.place, why)
    return EngineError(error.place, f"{error.why}; the requirements were set back")
