"""A cluster that behaves: counters follow a fluid queue, changes take effect, and time passes only when somebody waits."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from fake_flink import JOB, START, FakeOperator, TimedFlink

ROOT = f"/jobs/{JOB}"

JAR = "1234_words.jar"


@dataclass
class FakeEngine(TimedFlink):
    """The cluster; `offered` gives tuples/s by seconds since the start.

    What one operator cannot take holds all up: the sources wait, and what is offered meanwhile piles up before them.
    """

    offered: Callable[[float], float] = lambda seconds: 100.0
    silence: float = 0.5
    """Seconds without processing of a change."""
    backlog: float = 0.0
    stands_still: float = 0.0
    checkpoints: int = 7
    checkpoint_polls: int = 2
    """How often a checkpoint is asked for before it is complete."""
    polls: int = 0
    bounds: dict[str, tuple[int, int]] = field(default_factory=dict)
    obeys: Callable[[int], int] = lambda replicas: replicas
    """Replicas that come to run, by how many are asked for."""
    before: dict[tuple[str, str], Callable[[], Any]] = field(default_factory=dict)
    """Called once before a request of this method whose path ends like that; what it returns, if anything, is the answer."""
    sent: list[tuple[str, str, Any]] = field(default_factory=list)
    rescaled: list[dict[str, int]] = field(default_factory=list)
    wanted: dict[str, int] | None = None
    """Replicas that were asked for and do not run yet."""
    asked_at: float = 0.0
    slots_after: float = 0.2
    """Seconds until slots are there for what was asked: no checkpoint before that counts for it."""
    max_delay: float = 10.0
    checkpointed_at: float = 0.0
    """When the newest complete checkpoint was triggered: what came since is replayed."""
    triggered_at: float = 0.0
    replayed: list[float] = field(default_factory=list)
    """Seconds of input that each rescale has replayed."""
    failed: int = -1
    """The newest checkpoint that failed."""
    failing: bool = False
    """Whether checkpoints fail."""
    runnable: Callable[[Any], bool] = lambda body: True
    """Whether a job that is run finds its slots."""
    waits: bool = False
    reports: tuple[str, ...] = ()
    """Metrics of the backlog that the source reports."""

    started: int = START
    shown: int = 7
    refreshed: float = 0.0
    savepoint: str = ""
    """Path of the last savepoint's operation."""
    stopped_into: str = ""

    def __post_init__(self) -> None:
        self.bounds = {operator.name: (1, operator.replicas) for operator in self.operators}

    @property
    def root(self) -> str:
        return f"/jobs/{self.job_id}"

    def elapse(self, seconds: float) -> None:
        """Let time pass, in steps of at most half a second."""
        while seconds > 1e-9:
            step = min(0.5, seconds)
            self._step(step)
            seconds -= step

    def _step(self, step: float) -> None:
        self.seconds += step
        if self.wanted is not None and self.seconds >= self.asked_at + self.max_delay:
            self._rescale_now()
        self.backlog += self.offered(self.seconds) * step
        pause = min(step, self.stands_still)
        self.stands_still -= pause
        step -= pause
        if step <= 0:
            return
        rate = min(self.backlog / step, self.capacity())
        held = rate * step < self.backlog - 1e-6
        self.backlog -= rate * step
        self.carry(rate, step, held)

    def capacity(self) -> float:
        """Most tuples/s of the source that all operators take."""
        most = float("inf")
        for operator in self.operators:
            load = self.input_rate(operator, 1.0) if operator.inputs else 0.0
            busiest = max(operator.share(replica) for replica in range(operator.replicas))
            if load:
                most = min(most, operator.service_rate / (load * busiest))
        return most

    def vertex(self, operator: FakeOperator) -> dict[str, Any]:
        answer = super().vertex(operator)
        for subtask in answer["subtasks"]:
            subtask["start-time"] = self.started
            if self.waits:
                subtask["status"] = "SCHEDULED"
            elif self.stands_still > 0:
                subtask["status"] = "INITIALIZING"
        return answer

    def respond(self, method: str, path: str, body: Any) -> Any:
        """The answer to any request."""
        for asked, ending in tuple(self.before):
            if asked == method and path.endswith(ending):
                answer = self.before.pop((asked, ending))()
                if answer is not None:
                    return answer
        if method == "GET":
            return self.answer(path)
        self.sent.append((method, path, body))
        if path == f"{self.root}/checkpoints":
            self.polls, self.triggered_at = self.checkpoint_polls, self.seconds
            return {"request-id": "c1"}
        if (method, path) == ("PATCH", self.root):
            self.state, self.waits = "CANCELED", False
            return {}
        if path == f"{self.root}/stop":
            trigger = body.get("triggerId", "s1")
            self.polls, self.savepoint = self.checkpoint_polls, f"{self.root}/savepoints/{trigger}"
            self.stopped_into = body["targetDirectory"]
            return {"request-id": trigger}
        if path == f"/jars/{JAR}/run":
            return self._run(body)
        if (method, path) == ("PUT", f"{self.root}/resource-requirements"):
            self._require(body)
            return {}
        return 405

    def answer(self, path: str) -> Any:
        if path in self.instead:
            return self.instead[path]
        if path == f"{self.root}/checkpoints" and self.failed >= 0:
            return {**super().answer(path), "latest": {"completed": self.checkpoint(), "failed": {"id": self.failed}}}
        if path == f"{self.root}/checkpoints/c1":
            return self._poll(checkpointId=self.checkpoints + 1)
        if path == self.savepoint:
            return self._poll(location=f"{self.stopped_into}/savepoint-1")
        if self.rescaled and path == f"{self.root}/rescales/details/u1":
            return self._last_rescale()
        if "/metrics" in path and path.startswith(f"{self.root}/vertices/{self.key(self.operators[0].name)}/"):
            return self._metrics(path)
        if path == "/jars":
            return {"files": [{"id": JAR}]}
        if path == f"{self.root}/resource-requirements" and self.scheduler == "Adaptive":
            bounds = {self.key(name): {"lowerBound": low, "upperBound": high} for name, (low, high) in self.bounds.items()}
            return {key: {"parallelism": row} for key, row in bounds.items()}
        return super().answer(path)

    def _metrics(self, path: str) -> list[dict[str, str]]:
        """Names of the source's metrics, or the values of those that are asked for; the lag is that of the backlog."""
        source = self.operators[0]
        values = {"pendingRecords": self.backlog / source.replicas, "currentEmitEventTimeLag": 10 * self.backlog}
        asked = path.partition("?get=")[2]
        if not asked:
            names = [f"{replica}.Source__reader.{name}" for name in self.reports for replica in range(source.replicas)]
            return [{"id": name} for name in ("0.numRecordsIn", *names)]
        return [{"id": name, "value": str(values[name.rpartition(".")[2]])} for name in unquote(asked).split(",")]

    def _last_rescale(self) -> dict[str, Any]:
        """The last change, which stopped the job for `silence` seconds."""
        left, entered = 1000, 1000 + round(1000 * self.silence)
        states = [
            {"state": "Executing", "enterTimestampInMillis": 0, "leaveTimestampInMillis": left},
            {"state": "Executing", "enterTimestampInMillis": entered, "leaveTimestampInMillis": entered},
        ]
        counts = {
            self.key(name): {"preRescaleParallelism": 1, "postRescaleParallelism": count}
            for name, count in self.rescaled[-1].items()
        }
        ends = {"startTimestampInMillis": left, "endTimestampInMillis": entered}
        return {**ends, "schedulerStates": states, "vertices": counts}

    def _poll(self, **result: Any) -> Any:
        self.polls -= 1
        if self.polls > 0:
            return {"status": {"id": "IN_PROGRESS"}}
        if self.failing and "checkpointId" in result:
            return {"status": {"id": "COMPLETED"}, "operation": {"failureCause": {"class": "CheckpointException"}}}
        if self.polls == 0:
            self.checkpoints += 1
            self.state = "FINISHED" if "location" in result else "RUNNING"
            self.checkpointed_at = self.triggered_at
            if self.wanted is not None and self.triggered_at >= self.asked_at + self.slots_after:
                self._rescale_now()
        return {"status": {"id": "COMPLETED"}, "operation": result}

    def _run(self, body: Any) -> Any:
        """Start the job with these numbers of replicas, on the nodes that advertise what its arguments or names demand."""
        if self.state not in ("FINISHED", "CANCELED", "FAILED"):
            return 409
        overrides = body["flinkConfiguration"]["pipeline.jobvertex-parallelism-overrides"]
        counts = dict(part.split(":") for part in overrides.split(","))
        self.rescale({operator.name: self.obeys(int(counts[self.key(operator.name)])) for operator in self.operators})
        places = next((text.partition("=")[2] for text in body["programArgsList"] if text.startswith("--places=")), "")
        demands = dict(part.split("=") for part in places.split(",") if part)
        for operator in self.operators:
            wanted = demands.get(operator.name, operator.name)
            slots = [node for node in self.managers for _ in range(int(self.external.get(node, {}).get(wanted, 0)))]
            operator.nodes = tuple(slots[: operator.replicas]) if len(slots) >= operator.replicas else ()
        self.job_id, self.state = body.get("jobId", f"{self.attempt:032x}"), "RUNNING"
        self.waits = not self.runnable(body)
        return {"jobid": self.job_id}

    def checkpoint(self) -> dict[str, Any]:
        """The newest complete checkpoint, as it was when that was last looked up: for three seconds no other is shown."""
        if self.seconds >= self.refreshed + 3.0:
            self.refreshed, self.shown = self.seconds, self.checkpoints
        return {**super().checkpoint(), "id": self.shown}

    def _require(self, body: Any) -> None:
        names = {self.key(operator.name): operator for operator in self.operators}
        self.bounds = {
            names[key].name: (row["parallelism"]["lowerBound"], row["parallelism"]["upperBound"]) for key, row in body.items()
        }
        wanted = {name: self.obeys(bounds[1]) for name, bounds in self.bounds.items()}
        running = {operator.name: operator.replicas for operator in self.operators}
        self.wanted, self.asked_at = None if wanted == running else wanted, self.seconds

    def _rescale_now(self) -> None:
        """Run what was asked for, from the newest complete checkpoint."""
        assert self.wanted is not None
        wanted, self.wanted = self.wanted, None
        self.replayed.append(self.seconds - self.checkpointed_at)
        self.rescale(wanted)

    def rescale(self, replicas: dict[str, int]) -> None:
        """Run other numbers of replicas from now on: counters begin again."""
        for operator in self.operators:
            operator.replicas = replicas[operator.name]
            operator.shares = ()
        self.rescaled.append(replicas)
        self.totals.clear()
        self.attempt += 1
        self.started = self.now
        self.stands_still = self.silence

    def named(self, name: str) -> FakeOperator:
        return next(operator for operator in self.operators if operator.name == name)
