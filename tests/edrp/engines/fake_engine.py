"""A cluster that behaves: counters follow a fluid queue, changes take effect, and time passes only when somebody waits."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parent))
from fake_flink import JOB, START, FakeFlink, FakeOperator

ROOT = f"/jobs/{JOB}"


@dataclass
class FakeEngine(FakeFlink):
    """The cluster; `offered` gives tuples/s by seconds since the start.

    What one operator cannot take holds all up: the sources wait, and what is offered meanwhile piles up before them.
    """

    offered: Callable[[float], float] = lambda seconds: 100.0
    silence: float = 0.5
    """Seconds without processing of a change."""
    seconds: float = 0.0
    backlog: float = 0.0
    stands_still: float = 0.0
    checkpoints: int = 7
    checkpoint_polls: int = 2
    """How often a checkpoint is asked for before it is complete."""
    polls: int = 0
    bounds: dict[str, tuple[int, int]] = field(default_factory=dict)
    obeys: Callable[[int], int] = lambda replicas: replicas
    """Replicas that come to run where so many are asked for."""
    before: dict[tuple[str, str], Callable[[], Any]] = field(default_factory=dict)
    """Called once before a request of this method whose path ends like that; what it returns, if anything, is the answer."""
    sent: list[tuple[str, str, Any]] = field(default_factory=list)
    rescaled: list[dict[str, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.bounds = {operator.name: (1, operator.replicas) for operator in self.operators}

    @property
    def now(self) -> int:
        return START + round(self.seconds * 1000)

    def advance(self) -> None:
        """Time passes in `elapse` only."""

    def elapse(self, seconds: float) -> None:
        """Let time pass, in steps of at most half a second."""
        while seconds > 1e-9:
            step = min(0.5, seconds)
            self._step(step)
            seconds -= step

    def _step(self, step: float) -> None:
        self.seconds += step
        self.backlog += self.offered(self.seconds) * step
        pause = min(step, self.stands_still)
        self.stands_still -= pause
        step -= pause
        if step <= 0:
            return
        rate = min(self.backlog / step, self.capacity())
        held = rate * step < self.backlog - 1e-6
        self.backlog -= rate * step
        for operator in self.operators:
            for replica in range(operator.replicas):
                load = (self.input_rate(operator, rate) if operator.inputs else rate) * operator.share(replica) * step
                busy = min(step, load / operator.service_rate + operator.waiting * step)
                waits = 0.5 * (step - busy) if held and not operator.inputs else 0.0
                total = self.totals.setdefault((operator.name, replica), [0.0] * 5)
                added = (load if operator.inputs else 0, load * operator.selectivity, busy, step - busy - waits, waits)
                self.totals[operator.name, replica] = [a + b for a, b in zip(total, added, strict=True)]

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
        if self.stands_still > 0:
            for subtask in answer["subtasks"]:
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
        if path == f"{ROOT}/checkpoints":
            self.polls = self.checkpoint_polls
            return {"request-id": "c1"}
        if (method, path) == ("PUT", f"{ROOT}/resource-requirements"):
            self._require(body)
            return {}
        return 405

    def answer(self, path: str) -> Any:
        if path == f"{ROOT}/checkpoints/c1":
            return self._poll("checkpointId")
        if path == f"{ROOT}/resource-requirements" and path not in self.instead and self.scheduler == "Adaptive":
            bounds = {self.key(name): {"lowerBound": low, "upperBound": high} for name, (low, high) in self.bounds.items()}
            return {key: {"parallelism": row} for key, row in bounds.items()}
        return super().answer(path)

    def _poll(self, name: str) -> Any:
        self.polls -= 1
        if self.polls > 0:
            return {"status": {"id": "IN_PROGRESS"}}
        self.checkpoints += 1
        return {"status": {"id": "COMPLETED"}, "operation": {name: self.checkpoints}}

    def checkpoint(self) -> dict[str, Any]:
        return {**super().checkpoint(), "id": self.checkpoints}

    def _require(self, body: Any) -> None:
        names = {self.key(operator.name): operator for operator in self.operators}
        self.bounds = {
            names[key].name: (row["parallelism"]["lowerBound"], row["parallelism"]["upperBound"]) for key, row in body.items()
        }
        self.rescale({name: self.obeys(bounds[1]) for name, bounds in self.bounds.items()})

    def rescale(self, replicas: dict[str, int]) -> None:
        """Run other numbers of replicas from now on: counters begin again."""
        for operator in self.operators:
            operator.replicas = replicas[operator.name]
            operator.shares = ()
        self.rescaled.append(replicas)
        self.totals.clear()
        self.attempt += 1
        self.stands_still = self.silence

    def named(self, name: str) -> FakeOperator:
        return next(operator for operator in self.operators if operator.name == name)


class FakeClock:
    """A clock whose waiting lets the time of an engine pass; `stop_when` asks for a stop once it is true."""

    def __init__(self, flink: FakeEngine, start: float = 1_700_000_000.0) -> None:
        self.flink, self.start = flink, start
        self.stopping: str | None = None
        self.during: Callable[[], Any] = lambda: None
        """Called whenever somebody waits."""

    def time(self) -> float:
        return self.start + self.flink.seconds

    def sleep(self, seconds: float) -> None:
        if self.stopping is None:
            self.flink.elapse(seconds)
        self.during()

    def pause(self, seconds: float) -> None:
        self.flink.elapse(seconds)
        self.during()

    def stop(self, why: str) -> None:
        self.stopping = why
