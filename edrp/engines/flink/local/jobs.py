"""Jobs on a local cluster, through its REST API only: upload, run, rescale, stop with a savepoint."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from edrp.engines.downtime import SLOT_SECONDS
from edrp.engines.errors import EngineError
from edrp.engines.flink.local.rest import LocalRest, wait_until

SECONDS_TO_DEPLOY = 60.0
"""Seconds that a job may take until all its replicas run, and a savepoint until it is there."""


def submit(
    rest: LocalRest, jar: Path, arguments: Sequence[str] = (), *, entry_class: str | None = None, savepoint: str | None = None
) -> RunningJob:
    """Upload a jar, run it, from a savepoint if there is one, and wait until all its replicas run.

    Raises
    ------
    EngineError
        Flink refuses the jar or the job, with its reason, or replicas do not run in time, for instance for lack of slots.
    """
    body: dict[str, Any] = {"programArgsList": list(arguments)}
    body |= {} if entry_class is None else {"entryClass": entry_class}
    body |= {} if savepoint is None else {"savepointPath": savepoint}
    answer = rest.post(f"/jars/{rest.upload(jar)}/run", body)
    job = RunningJob(rest, answer["jobid"])
    job.wait_until_running()
    return job


class RunningJob:
    """A job that was submitted.

    Parameters
    ----------
    rest
        The cluster.
    key
        Flink's identifier of the job.
    """

    def __init__(self, rest: LocalRest, key: str) -> None:
        self._rest = rest
        self.key = key
        self._root = f"/jobs/{key}"

    def state(self) -> str:
        """Flink's word for how the job is, such as "RUNNING"."""
        return str(self._rest.get(self._root)["state"])

    def replicas(self) -> dict[str, int]:
        """Number of replicas of each operator that run."""
        return {name: len(nodes) for name, nodes in self.places().items()}

    def places(self) -> dict[str, list[str]]:
        """Node of each replica that runs, by operator."""
        return {
            vertex["name"]: [
                subtask["taskmanager-id"]
                for subtask in self._rest.get(f"{self._root}/vertices/{vertex['id']}")["subtasks"]
                if subtask["status"] == "RUNNING"
            ]
            for vertex in self._rest.get(self._root)["vertices"]
        }

    def wait_until_running(self, replicas: Mapping[str, int] | None = None, seconds: float = SECONDS_TO_DEPLOY) -> None:
        """Wait until all replicas run, and there are as many of each operator as is said.

        Raises
        ------
        EngineError
            The job has ended, or replicas do not run in time.
        """

        def look() -> bool | None:
            job = self._rest.get(self._root)
            if job["state"] in ("FAILED", "FINISHED", "CANCELED"):
                raise EngineError(f"job {job['name']!r}", f"is {job['state']}: {self._root_cause()}")
            planned = {vertex["name"]: vertex["parallelism"] for vertex in job["vertices"]}
            all_run = all(vertex["tasks"]["RUNNING"] == vertex["parallelism"] for vertex in job["vertices"])
            return True if job["state"] == "RUNNING" and all_run and (replicas or {}).items() <= planned.items() else None

        wait_until(look, seconds, "does not run with all replicas", f"job {self.key}")

    def rescale(self, replicas: Mapping[str, int], seconds: float = SECONDS_TO_DEPLOY) -> None:
        """Change numbers of replicas while the job runs, with a checkpoint as soon as that counts, and wait until they are there.

        Raises
        ------
        EngineError
            The default scheduler runs the job, an operator is unknown, or slots are too few.
        """
        names = {vertex["name"]: vertex["id"] for vertex in self._rest.get(self._root)["vertices"]}
        unknown = [name for name in replicas if name not in names]
        if unknown:
            raise EngineError(f"operator {unknown[0]!r}", f"is none of the job's; they are {', '.join(names)}")
        requirements = self._rest.get(f"{self._root}/resource-requirements")
        for name, count in replicas.items():
            requirements[names[name]]["parallelism"] = {"lowerBound": count, "upperBound": count}
        self._rest.put(f"{self._root}/resource-requirements", requirements)
        total = sum(row["parallelism"]["upperBound"] for row in requirements.values())
        time.sleep(SLOT_SECONDS)

        def look() -> bool | None:
            with suppress(EngineError):  # the rescale ends those under way
                self.checkpoint()
            time.sleep(SLOT_SECONDS)
            tasks = {row["jid"]: row["tasks"]["total"] for row in self._rest.get("/jobs/overview")["jobs"]}
            return True if tasks.get(self.key) == total else None

        wait_until(look, seconds, "is not rescaled", f"job {self.key}")
        self.wait_until_running(replicas, seconds)

    def checkpoint(self) -> None:
        """Trigger a checkpoint and wait until it is complete."""
        self._await_operation("checkpoints", {"checkpointType": "FULL"})

    def stop_with_savepoint(self) -> str:
        """Stop the job and return where its savepoint is."""
        operation = self._await_operation("stop", {"drain": False}, "savepoints")
        wait_until(lambda: True if self.state() == "FINISHED" else None, SECONDS_TO_DEPLOY, "does not stop", f"job {self.key}")
        return str(operation["location"])

    def cancel(self) -> None:
        """Cancel the job without keeping its state."""
        self._rest.patch(self._root)
        wait_until(lambda: True if self.state() == "CANCELED" else None, SECONDS_TO_DEPLOY, "does not end", f"job {self.key}")

    def _await_operation(self, path: str, body: Any, results: str | None = None) -> Any:
        """Start what Flink does in the background, and wait for its result."""
        key = self._rest.post(f"{self._root}/{path}", body)["request-id"]

        def look() -> Any:
            answer = self._rest.get(f"{self._root}/{results or path}/{key}")
            return answer["operation"] or {} if answer["status"]["id"] == "COMPLETED" else None

        operation = wait_until(look, SECONDS_TO_DEPLOY, f"does not complete {path}", f"job {self.key}")
        if "failure-cause" in operation:
            cause = str(operation["failure-cause"].get("stack-trace", operation["failure-cause"]))
            raise EngineError(f"job {self.key}", f"{path} failed: {_last_cause(cause)}")
        return operation

    def _root_cause(self) -> str:
        entries = self._rest.get(f"{self._root}/exceptions").get("exceptionHistory", {}).get("entries", [])
        return _last_cause(entries[0]["stacktrace"]) if entries else "no reason is given"


def _last_cause(stack: str) -> str:
    lines = [line.strip() for line in stack.splitlines()]
    return ([line for line in lines if line.startswith("Caused by: ")] or lines)[-1 if "Caused by: " in stack else 0][:300]


def now_ms() -> int:
    """Milliseconds since 1970, by the clock of this machine, which the jobs use, too."""
    return time.time_ns() // 1_000_000
