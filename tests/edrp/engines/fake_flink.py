"""A cluster that answers as Flink does: a job of known rates and service rates, on loopback, in a time of its own."""

import json
import threading
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

START = 1_700_000_000_000
"""When the job started, in milliseconds."""

ROUND = 10_000
"""Milliseconds that pass whenever somebody asks for the job."""

JOB = "ab" * 16

HANG_UP = object()
"""In place of an answer: the connection is closed."""


@dataclass
class FakeOperator:
    """An operator: replicas, tuples/s that a replica serves, tuples out per tuple in, bytes of state, what it reads."""

    name: str
    replicas: int = 1
    service_rate: float = 1000.0
    selectivity: float = 1.0
    state: int = 0
    inputs: tuple[tuple[str, str], ...] = ()
    shares: tuple[float, ...] = ()
    waiting: float = 0.0
    """Share of time that counts as busy whatever the load."""
    node: str = "tm-a"
    nodes: tuple[str, ...] = ()
    """Node of each replica; all on `node` without."""
    group: str = "default"
    starts: tuple[tuple[int, int], ...] = ()
    """Milliseconds of deploying and initialising, by replica; 300 and, with state, 200 without."""

    def start_of(self, replica: int) -> tuple[int, int]:
        return self.starts[replica] if self.starts else (300, 200 if self.state else 20)

    def node_of(self, replica: int) -> str:
        return self.nodes[replica] if self.nodes else self.node

    def share(self, replica: int) -> float:
        return self.shares[replica] if self.shares else 1 / self.replicas


def word_count(**changes: Any) -> list[FakeOperator]:
    """A source, a parser, a keyed counter that is too slow for a rate above 200/s, and a sink."""
    operators = [
        FakeOperator("Source: reader"),
        FakeOperator("parser", service_rate=400.0, inputs=(("Source: reader", "REBALANCE"),)),
        FakeOperator("counter", service_rate=200.0, state=10_000_000, inputs=(("parser", "HASH"),)),
        FakeOperator("Sink: writer", service_rate=10_000.0, inputs=(("counter", "REBALANCE"),)),
    ]
    for operator in operators:
        for name, value in changes.get(operator.name, {}).items():
            setattr(operator, name, value)
    return operators


@dataclass
class FakeFlink:
    """The answers; `rates` are tuples/s of every source, one per round, the last one for ever."""

    operators: list[FakeOperator] = field(default_factory=word_count)
    rates: tuple[float, ...] = (100.0,)
    state: str = "RUNNING"
    kind: str = "STREAMING"
    scheduler: str = "Adaptive"
    version: str = "2.3.0"
    jobs: list[dict[str, Any]] | None = None
    slots: int = 8
    taken: dict[str, int] = field(default_factory=dict)
    """Slots of each node that other jobs hold."""
    managers: tuple[str, ...] = ("tm-a", "tm-b")
    external: dict[str, dict[str, float]] = field(default_factory=dict)
    instead: dict[str, Any] = field(default_factory=dict)
    """Answers by path that are given in place of its own: a status, or JSON."""
    rounds: int = 0
    job_id: str = JOB
    attempt: int = 0
    """How often the job has been started again."""
    asked: list[tuple[str, str]] = field(default_factory=list)
    totals: dict[tuple[str, int], list[float]] = field(default_factory=dict)

    @property
    def now(self) -> int:
        return START + self.rounds * ROUND

    def input_rate(self, operator: FakeOperator, rate: float) -> float:
        by_name = {other.name: other for other in self.operators}
        total = 0.0
        for name, _ in operator.inputs:
            origin = by_name[name]
            total += (self.input_rate(origin, rate) if origin.inputs else rate) * origin.selectivity
        return total

    def advance(self) -> None:
        rate = self.rates[min(self.rounds, len(self.rates) - 1)]
        self.rounds += 1
        self.carry(rate, ROUND / 1000)

    def carry(self, rate: float, seconds: float, held: bool = False) -> None:
        """Count what all replicas do in `seconds` at a rate of the sources, which may be held up by others."""
        for operator in self.operators:
            for replica in range(operator.replicas):
                load = (self.input_rate(operator, rate) if operator.inputs else rate) * operator.share(replica) * seconds
                busy = min(seconds, load / operator.service_rate + operator.waiting * seconds)
                waits = 0.5 * (seconds - busy) if held and not operator.inputs else 0.0
                total = self.totals.setdefault((operator.name, replica), [0.0] * 5)
                added = (load if operator.inputs else 0, load * operator.selectivity, busy, seconds - busy - waits, waits)
                self.totals[operator.name, replica] = [a + b for a, b in zip(total, added, strict=True)]

    def key(self, name: str) -> str:
        return f"{[operator.name for operator in self.operators].index(name) + 1:032x}"

    def vertex(self, operator: FakeOperator) -> dict[str, Any]:
        subtasks = []
        for replica in range(operator.replicas):
            reads, writes, busy, idle, *waits = self.totals.get((operator.name, replica), [0.0] * 5)
            metrics = {"read-records": int(reads), "write-records": int(writes), "read-bytes": int(37 * reads)}
            metrics["write-bytes"] = int(36 * writes)
            metrics.update({f"{name}-complete": True for name in tuple(metrics)})
            metrics["accumulated-busy-time"] = busy * 1000
            metrics["accumulated-idle-time"] = int(idle * 1000)
            metrics["accumulated-backpressured-time"] = int(1000 * sum(waits))
            deploying, initialising = operator.start_of(replica)
            subtasks.append(
                {
                    "subtask": replica,
                    "status": "RUNNING",
                    "attempt": self.attempt,
                    "endpoint": f"{operator.node_of(replica)}.example.org:4711",
                    "start-time": START,
                    "metrics": metrics,
                    "taskmanager-id": operator.node_of(replica),
                    "status-duration": {"SCHEDULED": 10, "DEPLOYING": deploying, "INITIALIZING": initialising},
                }
            )
        described = {"id": self.key(operator.name), "name": operator.name, "parallelism": operator.replicas}
        return {**described, "maxParallelism": 128, "now": self.now, "subtasks": subtasks}

    def job(self) -> dict[str, Any]:
        vertices, nodes = [], []
        for operator in self.operators:
            key = self.key(operator.name)
            vertex = {"id": key, "name": operator.name, "parallelism": operator.replicas, "maxParallelism": 128}
            vertices.append({**vertex, "slotSharingGroupId": operator.group})
            inputs = [{"id": self.key(name), "ship_strategy": how} for name, how in operator.inputs]
            nodes.append({"id": key, **({"inputs": inputs} if inputs else {})})
        described = {
            "jid": self.job_id,
            "name": "words",
            "state": self.state,
            "job-type": self.kind,
            "schedulerType": self.scheduler,
        }
        return {**described, "now": self.now, "vertices": vertices, "plan": {"type": self.kind, "nodes": nodes}}

    def manager(self, name: str) -> dict[str, Any]:
        used = max((o.replicas for o in self.operators if o.node == name), default=0) + self.taken.get(name, 0)
        resources = {"extendedResources": self.external.get(name, {})}
        path = f"pekko.tcp://flink@{name}.example.org:6122/user/rpc/taskmanager_0"
        return {"id": name, "path": path, "slotsNumber": self.slots, "freeSlots": self.slots - used, "totalResource": resources}

    def checkpoint(self) -> dict[str, Any]:
        size = sum(operator.state for operator in self.operators)
        done = {"id": 7, "status": "COMPLETED", "is_savepoint": False, "end_to_end_duration": 150, "state_size": size}
        return {**done, "latest_ack_timestamp": self.now - 1000, "external_path": "hdfs://namenode.example.org/chk-7"}

    def answer(self, path: str) -> Any:
        """The JSON of a path, or a status."""
        if path in self.instead:
            return self.instead[path]
        root = f"/jobs/{self.job_id}"
        if path == root:
            self.advance()
            return self.job()
        tasks = {"total": sum(operator.replicas for operator in self.operators)}
        listed = [{"jid": self.job_id, "name": "words", "state": self.state, "tasks": tasks}] if self.jobs is None else self.jobs
        fixed: dict[str, Any] = {
            "/config": {"flink-version": self.version},
            "/jobs/overview": {"jobs": listed},
            "/taskmanagers": {"taskmanagers": [self.manager(name) for name in self.managers]},
            f"{root}/status": {"status": self.state},
            f"{root}/checkpoints/config": {"interval": 5000},
            f"{root}/checkpoints": {"latest": {"completed": self.checkpoint()}, "history": [self.checkpoint()]},
        }
        for operator in self.operators:
            key = self.key(operator.name)
            fixed[f"{root}/vertices/{key}"] = self.vertex(operator)
            sizes = [{"index": r, "state_size": int(operator.state * operator.share(r))} for r in range(operator.replicas)]
            fixed[f"{root}/checkpoints/details/7/subtasks/{key}"] = {"subtasks": sizes}
        if self.scheduler == "Adaptive":
            fixed.update(self._adaptive(root))
        return fixed.get(path, 404)

    def respond(self, method: str, path: str, body: Any) -> Any:
        """The answer to any request: this cluster takes all for questions."""
        return self.answer(path)

    def _adaptive(self, root: str) -> dict[str, Any]:
        """Answers of the adaptive scheduler only: requirements, and one rescale that stopped the job for 0.2 s."""
        bounds = {self.key(o.name): {"parallelism": {"lowerBound": 1, "upperBound": o.replicas}} for o in self.operators}
        row = {"rescaleUuid": "u1", "terminalState": "COMPLETED", "triggerCause": "UPDATE_REQUIREMENT"}
        row |= {"startTimestampInMillis": START - 4000, "endTimestampInMillis": START - 1000}
        states = [
            {"state": "Executing", "enterTimestampInMillis": START - 9000, "leaveTimestampInMillis": START - 1200},
            {"state": "Restarting", "enterTimestampInMillis": START - 1200, "leaveTimestampInMillis": START - 1100},
            {"state": "Executing", "enterTimestampInMillis": START - 1000, "leaveTimestampInMillis": START - 1000},
        ]
        counter = {"preRescaleParallelism": 2, "postRescaleParallelism": 1}
        return {
            f"{root}/resource-requirements": bounds,
            f"{root}/rescales/config": {"maximumDelayForTriggeringRescaleInMillis": 10_000},
            f"{root}/rescales/history": [row],
            f"{root}/rescales/details/u1": {**row, "schedulerStates": states, "vertices": {"k": counter}},
        }


@dataclass
class TimedFlink(FakeFlink):
    """A cluster whose time passes only when somebody waits."""

    seconds: float = 0.0

    @property
    def now(self) -> int:
        return START + round(self.seconds * 1000)

    def advance(self) -> None:
        """Time passes in `elapse` only."""

    def elapse(self, seconds: float) -> None:
        self.seconds += seconds


class DiedError(BaseException):
    """The command is killed."""


class FakeClock:
    """A clock whose waiting lets the time of a cluster pass; it may stop or kill whoever waits, and call `during`."""

    def __init__(
        self, flink: TimedFlink, start: float = 1.7e9, waits_until_death: int | None = None, waits_until_stop: int | None = None
    ) -> None:
        self.flink, self.start, self.waits = flink, start, 0
        self.death, self.stop_at = waits_until_death, waits_until_stop
        self.stopping: str | None = None
        self.during: Callable[[], Any] = lambda: None

    def time(self) -> float:
        return self.start + self.flink.seconds

    def sleep(self, seconds: float) -> None:
        self.waits += 1
        if self.waits == self.death:
            raise DiedError
        if self.waits == self.stop_at:
            self.stopping = "SIGTERM"
        if self.stopping is None:
            self.flink.elapse(seconds)
        self.during()

    def pause(self, seconds: float) -> None:
        self.flink.elapse(seconds)
        self.during()

    def stop(self, why: str) -> None:
        self.stopping = why


@contextmanager
def serving(flink: FakeFlink) -> Any:
    """The address at which the cluster answers, until the block ends."""

    class Handler(BaseHTTPRequestHandler):
        def _reply(self) -> None:
            flink.asked.append((self.command, self.path))
            sent = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            answer = flink.respond(self.command, self.path, json.loads(sent) if sent else None)
            if answer is HANG_UP:
                self.close_connection = True
                return
            status = answer if isinstance(answer, int) else 200
            body = answer if isinstance(answer, bytes) else json.dumps(answer, separators=(",", ":")).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_PUT = do_POST = do_PATCH = do_DELETE = _reply  # noqa: N815 -- names of the standard library

        def log_message(self, *words: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
