"""Steps that all changes of a Flink job share: requests that must succeed, waiting for what runs in the background."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from edrp.engines.applying import Note
from edrp.engines.clock import Clock
from edrp.engines.errors import EngineError, JobGoneError, StoppedError
from edrp.engines.flink.capturing import check_job
from edrp.engines.flink.client import FlinkClient
from edrp.engines.observation import Observation

SECONDS_BETWEEN_POLLS = 0.5
"""Seconds between questions whether something is done."""

CHECKPOINT_PATIENCE = 60.0
"""Most seconds to wait for a checkpoint."""

STATISTICS_PATIENCE = 20.0
"""Most seconds until a complete checkpoint is among the statistics, which Flink refreshes every `web.refresh-interval`, 3 s."""

BEFORE_RUNNING = ("DEPLOYING", "INITIALIZING")
"""States of a replica from its start time until it runs."""

MILLISECONDS = 1e-3


class FlinkSteps:
    """Requests of a change to one job."""

    def __init__(self, address: str, job: str, clock: Clock, note: Note) -> None:
        self.client = FlinkClient(address)
        self.key, self.root = job, f"/jobs/{job}"
        self.clock, self.note = clock, note
        self.running_for = 0.0
        """Seconds for which all replicas have run, as of the last answer that said so; Flink keeps answers for seconds."""

    def stop_here(self) -> None:
        """Give the change up where a stop is asked for.

        Raises
        ------
        StoppedError
            One is.
        """
        if self.clock.stopping is not None:
            raise StoppedError(self.client.address, f"stopped by {self.clock.stopping}; nothing was changed")

    def job(self) -> Any:
        """The description of the job, which runs."""
        return check_job(self.client.get(self.root), self.client.address)

    def get(self, path: str) -> Any:
        """The answer to a path that must be there."""
        recorded = self.client.get(path)
        if recorded.status != 200:
            raise self.refusal("GET", path, recorded.status, recorded.answer)
        return recorded.answer

    def send(self, method: str, path: str, body: Any) -> Any:
        """Send a request that must succeed, and return its answer."""
        status, answer = self.client.send(method, path, body)
        if not 200 <= status < 300:
            raise self.refusal(method, path, status, answer)
        return answer

    def refusal(self, method: str, path: str, status: int, answer: Any) -> EngineError:
        """The error for a request that the engine refused."""
        errors = answer.get("errors") if isinstance(answer, dict) else None
        why = (
            f": {str(errors[0]).splitlines()[0][:200]}" if isinstance(errors, list) and errors and str(errors[0]).strip() else ""
        )
        text = f"answers {method} {path} with HTTP {status}{why}"
        if status == 404 and self.client.get(self.root).status == 404:
            return JobGoneError(self.client.address, f"{text}; the job has vanished")
        remedy = "; somebody else changes the job, or it is restarting" if status == 409 else ""
        return EngineError(self.client.address, text + remedy)

    def wait(
        self, what: str, seconds: float, done: Callable[[], bool], *, finish: bool = False, began: float | None = None
    ) -> None:
        """Ask until something is done, or `seconds` have passed since `began`, by default now.

        A step that has to be finished waits on where a stop is asked for, and asks again where no good answer comes.

        Raises
        ------
        StoppedError
            A stop is asked for.
        EngineError
            It is not done in time.
        """
        began = self.clock.time() if began is None else began
        trouble = ""
        while True:
            try:
                if done():
                    return
                trouble = ""
            except EngineError as error:
                if not finish or isinstance(error, JobGoneError):
                    raise
                trouble = f" ({error.why})"
            if self.clock.time() - began >= seconds:
                raise EngineError(self.client.address, f"{what} was not done within {seconds:g} s{trouble}")
            if finish:
                self.clock.pause(SECONDS_BETWEEN_POLLS)
            else:
                self.stop_here()
                self.clock.sleep(SECONDS_BETWEEN_POLLS)

    def background(self, path: str, what: str, seconds: float, *, finish: bool = False) -> Any:
        """Wait for an operation in the background, and return its result."""
        answers: list[Any] = []

        def done() -> bool:
            answers[:] = [self.get(path)]
            return bool(answers[0]["status"]["id"] == "COMPLETED")

        self.wait(what, seconds, done, finish=finish)
        result = answers[0].get("operation") or {}
        cause = result.get("failureCause") or result.get("failure-cause")
        if cause:
            text = cause.get("class", "") if isinstance(cause, dict) else str(cause)
            raise EngineError(self.client.address, f"{what} failed ({text}); look at the JobManager's log")
        return result

    def trigger_checkpoint(self, *, finish: bool = False) -> int | None:
        """Trigger a checkpoint and wait until it is complete; its number, where the engine tells it."""
        triggered = self.send("POST", f"{self.root}/checkpoints", {})
        path = f"{self.root}/checkpoints/{triggered['request-id']}"
        number: int | None = self.background(path, "the checkpoint", CHECKPOINT_PATIENCE, finish=finish).get("checkpointId")
        return number

    def checkpoints_succeed(self) -> bool:
        """Whether a checkpoint of this job is complete, and none has failed since."""
        latest = self.get(f"{self.root}/checkpoints").get("latest") or {}
        completed, failed = (int((latest.get(end) or {}).get("id", -1)) for end in ("completed", "failed"))
        return completed > failed

    def take_checkpoint(self) -> None:
        """Trigger a checkpoint and wait until it is complete, before anything is changed.

        Raises
        ------
        EngineError
            It fails, or is not the newest complete one afterwards.
        """
        self.stop_here()
        checkpoint = self.trigger_checkpoint()
        completed: list[int] = []

        def shown() -> bool:
            latest = (self.get(f"{self.root}/checkpoints").get("latest") or {}).get("completed") or {}
            completed[:] = [int(latest.get("id", -1))]
            return checkpoint is not None and completed[0] >= checkpoint

        try:
            self.wait("the checkpoint", STATISTICS_PATIENCE, shown)
        except StoppedError:
            raise
        except EngineError as error:
            if not completed:
                raise
            why = (
                f"the newest complete checkpoint is {completed[0]}, older than {checkpoint}, which was triggered; "
                "nothing was changed"
            )
            raise EngineError(error.place, why) from None
        self.note("checkpoint", id=completed[0])

    def refuse_changed(self, observation: Observation) -> None:
        """Refuse where the job is another than was observed.

        Raises
        ------
        EngineError
            Naming what differs.
        """
        vertices = {vertex["id"]: vertex for vertex in self.job()["vertices"]}
        for operator in observation.operators:
            vertex = vertices.get(operator.key)
            if vertex is None or vertex.get("parallelism", operator.parallelism) != operator.parallelism:
                present = "gone" if vertex is None else f"{vertex['parallelism']} replicas"
                why = f"operator {operator.name} had {operator.parallelism} replicas and is now {present}; nothing was changed"
                raise EngineError(self.client.address, why)

    def running_nodes(self, observation: Observation) -> dict[str, tuple[str, ...]] | None:
        """Node of each replica by operator; None where any replica does not run yet."""
        nodes: dict[str, tuple[str, ...]] = {}
        self.running_for = math.inf
        for operator in observation.operators:
            vertex = self.get(f"{self.root}/vertices/{operator.key}")
            subtasks = vertex["subtasks"]
            self.running_for = min(
                self.running_for, *(_running_seconds(subtask, vertex["now"]) for subtask in subtasks), math.inf
            )
            if not subtasks or any(subtask["status"] not in ("RUNNING", "FINISHED") for subtask in subtasks):
                return None
            nodes[operator.name] = tuple(str(subtask["taskmanager-id"]) for subtask in subtasks)
        return nodes


def _running_seconds(subtask: Any, now: int) -> float:
    """Seconds since a replica began to run, by the clock of the JobManager; 0 where it does not tell."""
    durations = subtask.get("status-duration")
    started = subtask.get("start-time", 0)
    if not durations or started <= 0:
        return 0.0
    before = sum(max(0, int(durations.get(state, 0))) for state in BEFORE_RUNNING)
    return float(max(0, now - int(started) - before)) * MILLISECONDS
