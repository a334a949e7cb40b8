"""A cluster whose job has live operators: it follows the control log when it is asked, takes checkpoints, and can be killed."""

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from fake_flink import HANG_UP, FakeOperator, TimedFlink

GROUPS = 128

SERVICE_RATE = 200.0
"""Tuples/s of a worker that is never idle."""


@dataclass
class FakeLiveOperator:
    """A live operator; tasks begin in equal ranges on the first `used` workers."""

    name: str
    tasks: int
    nodes: tuple[str, ...] = ("tm-a", "tm-b", "tm-c")
    used: int = 2
    table: list[int] = field(default_factory=list)
    size: int = 1000
    """Bytes of each task's state."""
    rates: dict[int, float] = field(default_factory=dict)
    """Microseconds of work per second of a task; 100 without."""

    def __post_init__(self) -> None:
        self.table = self.table or [self.group(task * self.used // self.tasks) for task in range(self.tasks)]

    def group(self, worker: int) -> int:
        return -(-worker * GROUPS // len(self.nodes))

    def worker(self, group: int) -> int:
        return group * len(self.nodes) // GROUPS

    @property
    def workers(self) -> list[int]:
        return [self.worker(group) for group in self.table]


@dataclass
class Position:
    """How far the control source is; this is what a checkpoint holds, next to the tables."""

    plan: int = -1
    done: int = 0
    state: str = "done"
    offset: int = 0
    """Bytes of the log up to the end of the last plan that is over."""


@dataclass
class FakeLive(TimedFlink):
    """The cluster; questions for the job let its control source go on by one step."""

    log: Path = Path()
    live: list[FakeLiveOperator] = field(default_factory=lambda: [FakeLiveOperator("count", 12)])
    config: dict[str, Any] = field(default_factory=lambda: {"mode": "exactly_once", "interval": 5000})
    position: Position = field(default_factory=Position)
    installed: list[str] = field(default_factory=list)
    """Steps as `live.steps` tells them, since the job last started."""
    questions_per_step: int = 1
    forgotten: bool = False
    """Whether the job has started again since the last plan was over, whose state it no longer tells."""
    checkpoint_every: int = 3
    """Steps between two checkpoints."""
    kills: list[int] = field(default_factory=list)
    """Steps, counted over all restarts, before which the job is killed."""
    silent: int = 0
    """Requests that nobody answers."""
    restarting: int = 0
    """Questions for the job to which the answer is that it restarts."""
    job_after_kill: str | None = None
    """Identifier of the job after a kill; as before without."""
    stuck: bool = False
    uri: str = ""
    questions: int = 0
    ticks: int = 0
    address: str = "http://127.0.0.1:8081"
    saved: Any = None
    shown: dict[str, dict[str, str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.operators = [FakeOperator("live-control")]
        for live in self.live:
            self.operators.append(FakeOperator(f"Source: reader -> {live.name}-router", replicas=2))
            self.operators.append(FakeOperator(live.name, replicas=len(live.nodes), nodes=live.nodes))
        self.save()

    def job(self) -> dict[str, Any]:
        self.follow()
        state = "RESTARTING" if self.restarting else "RUNNING"
        self.restarting = max(0, self.restarting - 1)
        return super().job() | {"state": state, "duration": round(self.seconds * 1000)}

    # The job: an own reader of the log, which shares nothing with the package.

    def plans(self) -> Iterator[tuple[str, list[list[tuple[str, int, int, int]]], bool, int]]:
        """Identifier, steps, whether it is aborted, and where the log goes on behind it, of each plan whose end is there."""
        text = self.log.read_text() if self.log.exists() else ""
        lines = text[: text.rfind("\n") + 1].splitlines()
        for number, line in enumerate(lines):
            key = line.removeprefix("end ")
            starts = [i for i in range(number) if lines[i].startswith(f"plan {key} ")]
            if line.startswith("end ") and starts:
                first = max(starts)
                steps: list[list[tuple[str, int, int, int]]] = []
                for row in lines[first + 1 : number]:
                    if row.startswith("step "):
                        steps.append([])
                    else:
                        _, _, name, task, source, target = row.split()
                        steps[-1].append((unquote(name), int(task), int(source), int(target)))
                yield key, steps, f"abort {key}" in lines[number:], sum(len(row) + 1 for row in lines[: number + 1])

    def follow(self) -> None:
        """Install one step, or begin with the next plan."""
        if self.stuck or self.restarting:
            return
        plans = list(self.plans())
        at = self.position
        if at.state in ("done", "aborted"):
            if at.plan + 1 < len(plans):
                self.position = Position(at.plan + 1, 0, "running", at.offset)
                self.installed, self.forgotten = [], False
            return
        self.questions += 1
        if self.questions % self.questions_per_step:
            return
        self.ticks += 1
        if self.ticks in self.kills:
            self.kill()
            return
        _, steps, aborted, end = plans[at.plan]
        if aborted:
            at.state, at.offset = "aborted", end
            return
        refused = [self.refuses(*move) for move in steps[at.done]]
        size = sum(self.named_live(move[0]).size for move in steps[at.done])
        self.installed.append(f"{at.done} 0.25 {size} 3 40 {sum(refused)}")
        at.done += 1
        if at.done == len(steps):
            at.state, at.offset = "done", end
        if self.ticks % self.checkpoint_every == 0:
            self.save()

    def refuses(self, name: str, task: int, source: int, target: int) -> bool:
        """Move a task, unless it is elsewhere."""
        table = self.named_live(name).table
        if table[task] != source:
            return True
        table[task] = target
        return False

    def named_live(self, name: str) -> FakeLiveOperator:
        return next(live for live in self.live if live.name == name)

    def save(self) -> None:
        self.saved = deepcopy((self.position, [live.table for live in self.live]))

    def kill(self) -> None:
        """Lose all since the last checkpoint; nobody answers for a while."""
        self.position, tables = deepcopy(self.saved)
        for live, table in zip(self.live, tables, strict=True):
            live.table = table
        self.installed, self.forgotten = [], True
        self.silent, self.restarting = 3, 3
        self.job_id = self.job_after_kill or self.job_id

    # Metrics: what is answered was fetched when somebody asked before.

    def metrics(self) -> dict[str, dict[str, str]]:
        plans, at = list(self.plans()), self.position
        unknown = at.plan < 0 or (self.forgotten and at.state != "running")
        state = "" if unknown else f"{plans[at.plan][0]} {at.done} {len(plans[at.plan][1])} {at.state}"
        steps = ";".join(self.installed)
        uri = self.uri or self.log.as_uri()
        found = {self.key("live-control"): {f"0.live-control.live.{k}": v for k, v in _control(uri, state, steps, at.offset)}}
        for live in self.live:
            table = ",".join(map(str, live.table))
            routers = {f"{r}.{live.name}-router.live.table": table for r in range(2)}
            routers |= {f"{r}.{live.name}-router.live.router": live.name for r in range(2)}
            routers |= {"0.Source__reader.numRecordsOut": "7"}
            found[self.key(f"Source: reader -> {live.name}-router")] = routers
            found[self.key(live.name)] = {
                f"{worker}.{live.name.replace(' ', '_')}.live.{what}": value
                for worker in range(len(live.nodes))
                for what, value in self.worker_metrics(live, worker)
            }
        return found

    def worker_metrics(self, live: FakeLiveOperator, worker: int) -> Iterator[tuple[str, str]]:
        counted = (
            f"{task}:{round(self.seconds * 10)}:{round(self.seconds * live.rates.get(task, 100.0))}:{live.size}:9"
            for task, here in enumerate(live.workers)
            if here == worker
        )
        yield from (("operator", live.name), ("tasks", str(live.tasks)), ("groups", str(GROUPS)), ("loads", ";".join(counted)))

    def answer(self, path: str) -> Any:
        if self.silent:
            self.silent -= 1
            return HANG_UP
        path, _, query = path.partition("?get=")
        root = f"/jobs/{self.job_id}"
        if path == f"{root}/checkpoints/config":
            return self.instead.get(path, self.config)
        if path.endswith("/metrics") and path.startswith(root):
            vertex = path.split("/")[-2]
            texts = self.shown.get(vertex, {})
            self.shown[vertex] = self.metrics()[vertex]
            names = query.split(",") if query else []
            ids = [{"id": name} for name in texts]
            return [{"id": n, "value": texts[n]} for n in map(unquote, names) if n in texts] if names else ids
        return super().answer(path)


def _control(uri: str, state: str, steps: str, offset: int) -> tuple[tuple[str, str], ...]:
    return ("control", uri), ("plan", state), ("steps", steps), ("offset", str(offset))


@dataclass
class FakeBalance(FakeLive):
    """A cluster whose live operator is as busy as the tasks that each of its workers holds.

    `weights` are shares of the tuples by task, and `rate` tuples/s.
    """

    weights: tuple[float, ...] = ()
    rate: float = 200.0
    managers: tuple[str, ...] = ("tm-a", "tm-b", "tm-c")
    slowed: float = 1.0
    """Share of the tuples that still get through."""

    def __post_init__(self) -> None:
        super().__post_init__()
        _, router, self.counter, *_ = self.operators
        router.service_rate = 10_000.0
        self.counter.inputs, self.counter.service_rate = ((router.name, "HASH"),), SERVICE_RATE
        self.share()

    @property
    def count(self) -> FakeLiveOperator:
        return self.live[0]

    def share(self) -> None:
        """Give each worker the tuples of its tasks."""
        total = sum(self.weights)
        by_worker = [0.0] * len(self.count.nodes)
        for task, worker in enumerate(self.count.workers):
            by_worker[worker] += self.weights[task] / total
        self.counter.shares = tuple(by_worker)
        self.count.rates = {task: weight / total * self.rate / SERVICE_RATE * 1e6 for task, weight in enumerate(self.weights)}

    def elapse(self, seconds: float) -> None:
        super().elapse(seconds)
        self.share()
        fullest = max(self.counter.shares) * self.rate / SERVICE_RATE
        through = self.slowed / max(1.0, fullest)
        self.carry(self.rate * through, seconds, held=through < 1.0)

    def metrics(self) -> dict[str, dict[str, str]]:
        return {self.key(operator.name): {} for operator in self.operators} | super().metrics()
