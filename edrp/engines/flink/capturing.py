"""Capturing a running job: its counters in rounds, and once what is known of checkpoints, rescales and nodes.

Hosts can be masked, so that a capture can be given away: each name is replaced by the same word wherever it stands.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlsplit

from edrp.engines.capture import Capture, RecordedAnswer
from edrp.engines.errors import EngineError, JobGoneError
from edrp.engines.flink.client import FlinkClient
from edrp.engines.flink.source_metrics import SourceMetrics

MAX_RESCALES = 20
"""Newest rescales whose details are asked for."""

ENDED = ("FINISHED", "CANCELED", "FAILED", "SUSPENDED")
"""States that a job does not leave."""

MASKED_ADDRESS = "http://jobmanager.invalid:8081"
"""Stands for the address of the cluster."""

LOCATIONS = ("external_path",)
"""Fields that say where files are, whose values are dropped."""


@dataclass(frozen=True, slots=True)
class CaptureSettings:
    """The job and the time to be captured.

    Attributes
    ----------
    job : name or identifier of the job; None where only one runs.
    seconds : from the first to the last round of counters.
    every : seconds between rounds; Flink gathers counters only when asked, so that each round shows those of the one before.
    mask : whether names of hosts are replaced.
    """

    job: str | None = None
    seconds: float = 60.0
    every: float = 5.0
    mask: bool = False


def capture_job(address: str, settings: CaptureSettings, *, sleep: Callable[[float], object] = time.sleep) -> Capture:
    """Capture a job: GET requests only.

    Raises
    ------
    EngineError
        In one line with the remedy: no Flink, no job or several, a batch job, one that has ended or vanishes.
    """
    client = FlinkClient(address)
    _require(client, "/config", "flink-version")
    job = find_job(_require(client, "/jobs/overview", "jobs"), settings.job, client.address)
    root = f"/jobs/{job}"
    described = check_job(client.get(root), client.address)
    vertices = [vertex["id"] for vertex in described["vertices"]]
    sources = SourceMetrics(client, root, described)
    client.get("/taskmanagers")
    rounds = max(2, 1 + round(settings.seconds / settings.every))
    for number in range(rounds):
        if number:
            sleep(settings.seconds / (rounds - 1))
            check_job(client.get(root), client.address)
        for vertex in vertices:
            client.get(f"{root}/vertices/{vertex}")
        sources.ask()
    _capture_once(client, root, vertices)
    capture = Capture("flink", client.address, job, tuple(client.answers), client.address)
    return mask_hosts(capture) if settings.mask else capture


def _capture_once(client: FlinkClient, root: str, vertices: list[str]) -> None:
    """Ask for what does not change from round to round; what a version or a scheduler lacks is recorded with its status."""
    client.get("/taskmanagers")
    if client.get(f"{root}/resource-requirements").status == 200:
        # Ask for the mode of the scheduler where the cluster says that its web interface changes no replicas: it may be
        # reactive.
        config = next(recorded.answer for recorded in client.answers if recorded.path == "/config")
        if config.get("features", {}).get("web-rescale") is False:
            with suppress(EngineError):  # a proxy may guard the configuration
                client.get("/jobmanager/config", "scheduler-mode")
    client.get(f"{root}/checkpoints/config")
    checkpoints = client.get(f"{root}/checkpoints").answer or {}
    completed = (checkpoints.get("latest") or {}).get("completed")
    if completed:
        for vertex in vertices:
            client.get(f"{root}/checkpoints/details/{completed['id']}/subtasks/{vertex}")
    client.get(f"{root}/rescales/config")
    history = client.get(f"{root}/rescales/history").answer
    for rescale in history[:MAX_RESCALES] if isinstance(history, list) else ():
        client.get(f"{root}/rescales/details/{rescale['rescaleUuid']}")


def _require(client: FlinkClient, path: str, field: str) -> Any:
    """The answer to a path that every Flink cluster has."""
    answer = client.get(path).answer
    if not isinstance(answer, dict) or field not in answer:
        raise EngineError(client.address, f"is not the REST API of Flink: {path} has no {field!r}; give the JobManager's address")
    return answer


def find_job(overview: Any, wanted: str | None, address: str) -> str:
    """The identifier of the job that is meant.

    Raises
    ------
    JobGoneError
        None runs, or the one that is named has ended or does not exist.
    EngineError
        Several run and none is named.
    """
    jobs = [(str(job["jid"]), str(job["name"]), str(job["state"])) for job in overview["jobs"]]
    running = [job for job in jobs if job[2] not in ENDED]
    matching = [job for job in running if wanted in (None, job[0], job[1])]
    if len(matching) == 1:
        return matching[0][0]
    if matching:
        names = ", ".join(f"{name} ({jid})" for jid, name, _ in matching)
        raise EngineError(address, f"{len(matching)} jobs run: {names}; name one with --job, by identifier where names are equal")
    ended = next((state for jid, name, state in jobs if wanted in (jid, name)), None)
    if wanted is not None and ended is not None:
        raise JobGoneError(address, f"job {wanted!r} is {ended}; only a running job can be captured")
    running_text = f"; these run: {', '.join(name for _, name, _ in running)}" if running else "; start one"
    raise JobGoneError(address, f"no job {'' if wanted is None else repr(wanted) + ' '}runs{running_text}")


def check_job(recorded: RecordedAnswer, address: str) -> Any:
    """The description of a job that runs and streams.

    Raises
    ------
    JobGoneError
        It is gone or has ended.
    EngineError
        It is a batch job.
    """
    job = recorded.answer
    if recorded.status == 404:
        raise JobGoneError(address, "the job has vanished while it was captured; capture it again once it runs")
    if not isinstance(job, dict) or "vertices" not in job:
        raise EngineError(address, f"{recorded.path} describes no job (HTTP {recorded.status}); is the JobManager starting?")
    name = job.get("name")
    if job.get("job-type", job.get("plan", {}).get("type")) == "BATCH":
        raise EngineError(address, f"job {name!r} is a batch job; only streaming jobs are advised on")
    if job.get("state") in ENDED:
        raise JobGoneError(address, f"job {name!r} is {job['state']}; only a running job can be captured")
    return job


def mask_hosts(capture: Capture) -> Capture:
    """Replace identifiers of TaskManagers and names of hosts in all answers and paths, and drop where checkpoints are stored."""
    words: dict[str, str] = {}
    for answer in capture.answers:
        for name in _names(answer.answer):
            words.setdefault(name, f"node-{len(words) + 1}.invalid")
    host = urlsplit(capture.address).hostname
    if host:
        words.setdefault(host, "jobmanager.invalid")
    longest_first = sorted(words, key=len, reverse=True)
    alternatives = "|".join(map(re.escape, longest_first)) or "(?!)"
    pattern = re.compile(rf"(?<![\w-])(?:{alternatives})(?![\w-])")  # whole words: a host may be called "a"

    def masked(value: Any) -> Any:
        if isinstance(value, str):
            return pattern.sub(lambda found: words[found[0]], value)
        if isinstance(value, list):
            return [masked(item) for item in value]
        if isinstance(value, dict):
            return {masked(key): "masked" if key in LOCATIONS else masked(item) for key, item in value.items()}
        return value

    answers = tuple(replace(answer, path=masked(answer.path), answer=masked(answer.answer)) for answer in capture.answers)
    return replace(capture, address=MASKED_ADDRESS, answers=answers, source=MASKED_ADDRESS)


def _names(value: Any) -> Iterator[str]:
    """Identifiers of TaskManagers and names of hosts anywhere in an answer."""
    if isinstance(value, list):
        for item in value:
            yield from _names(item)
    if not isinstance(value, dict):
        return
    for key, item in value.items():
        if key == "taskmanagers" and isinstance(item, list):
            yield from (str(manager["id"]) for manager in item if isinstance(manager, dict) and "id" in manager)
        if key == "taskmanager-id" and isinstance(item, str) and item != "(unassigned)":
            yield item
        if key in ("endpoint", "host") and isinstance(item, str) and item != "(unassigned)":
            yield item.rpartition(":")[0] or item
        if key == "path" and isinstance(item, str) and "@" in item:
            yield item.rpartition("@")[2].partition("/")[0].rpartition(":")[0]
        yield from _names(item)
