"""Live operators of a running job, as its REST API tells them, and what the texts of its metrics say."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple
from urllib.parse import quote

from edrp.engines.clock import Clock
from edrp.engines.errors import EngineError, JobGoneError, NoAnswerError, StoppedError
from edrp.engines.flink.capturing import ENDED, check_job, find_job
from edrp.engines.flink.client import FlinkClient

MILLISECONDS = 1e-3

SECONDS_BETWEEN_ROUNDS = 1.0
"""Seconds between two rounds of questions: Flink fetches metrics when asked, and answers with those that it had before."""

STARTING = 503
"""HTTP status of a JobManager that does not lead yet."""

METRICS_PATIENCE = 25.0
"""Most seconds to wait for all metrics; Flink fetches them every `metrics.fetcher.update-interval`, 10 s, at most."""

METRIC = re.compile(r"(\d+)\.(.+)\.live\.(\w+)")
"""Identifier of a metric: subtask, operator and what of it."""

MAX_QUERY = 2000
"""Most characters of one query: Flink takes no address above 4096."""

RUNNING_STATES = ("waiting", "running")
"""States of a plan that is not over."""

Metrics = dict[str, dict[str, dict[int, str]]]
"""Texts by operator (as Flink writes its name), metric and subtask."""


@dataclass(frozen=True, slots=True)
class LiveOperator:
    """A live operator: its tasks, where they are, and what they do.

    Attributes
    ----------
    tasks : number of tasks, m.
    groups : number of key groups, Flink's maximum parallelism.
    nodes : TaskManager of each worker.
    table : key group of each task.
    loads : by task, of those that have been counted.
    """

    name: str
    tasks: int
    groups: int
    nodes: tuple[str, ...]
    table: tuple[int, ...]
    loads: Mapping[int, TaskLoad]

    @property
    def parallelism(self) -> int:
        """Number of workers, with and without tasks."""
        return len(self.nodes)

    def worker(self, group: int) -> int:
        """The worker of a key group, as Flink assigns it."""
        return group * self.parallelism // self.groups

    @property
    def workers(self) -> tuple[int, ...]:
        """Worker of each task."""
        return tuple(self.worker(group) for group in self.table)

    @property
    def places(self) -> tuple[str, ...]:
        """TaskManager of each worker with its number there, such as "tm-a/0", as plans name one of several workers."""
        return tuple(f"{node}/{self.nodes[:worker].count(node)}" for worker, node in enumerate(self.nodes))

    def workers_at(self, end: int | str) -> tuple[int, ...]:
        """The workers that are meant by a number, a TaskManager or a place; none where there is none."""
        if isinstance(end, int):
            return (end,) if end < self.parallelism else ()
        names = zip(self.nodes, self.places, strict=True)
        return tuple(worker for worker, name in enumerate(names) if end in name)


@dataclass(frozen=True, slots=True)
class CheckpointSettings:
    """How a job takes checkpoints.

    Attributes
    ----------
    interval : seconds; None where none are taken.
    complete : whether any is complete.
    """

    interval: float | None
    exactly_once: bool
    unaligned: bool
    complete: bool


@dataclass(frozen=True, slots=True)
class LiveJob:
    """A job with live operators.

    Attributes
    ----------
    key : Flink's identifier.
    control : address of the control log, as the job opens it.
    state : how far the job is in the control log.
    operators : by name.
    uptime : seconds for which the job has run.
    """

    key: str
    name: str
    control: str
    state: ControlState
    operators: Mapping[str, LiveOperator]
    checkpoints: CheckpointSettings
    uptime: float

    def operator(self, name: str | None, place: str) -> LiveOperator:
        """The operator of that name, or the only one.

        Raises
        ------
        EngineError
            There is none of that name, or several and none is named.
        """
        known = ", ".join(self.operators)
        if name is not None and name not in self.operators:
            raise EngineError(place, f"operator {name!r} is not live in job {self.name!r}; live are {known}")
        if name is None and len(self.operators) > 1:
            raise EngineError(place, f"{len(self.operators)} operators are live: {known}; name one with --operator")
        return self.operators[next(iter(self.operators)) if name is None else name]


class _UnknownYetError(EngineError):
    """A metric is not there yet."""


class LiveReader:
    """Reads a job with live operators, by GET requests only.

    Parameters
    ----------
    address
        Address of the REST API.
    wanted
        Name or identifier of the job; None where only one runs.
    """

    def __init__(self, address: str, wanted: str | None, clock: Clock) -> None:
        self.client = FlinkClient(address)
        self.clock = clock
        self._wanted = wanted
        self._name, self._control = "", ""
        self._control_vertex: tuple[str, str] | None = None

    def discover(self) -> LiveJob:
        """Ask until all metrics are there and all routers agree, at least twice: the first answers are those of an earlier time.

        Raises
        ------
        EngineError
            No Flink, no job or several, no live operator, or metrics that do not come.
        """
        began = self.clock.time()
        rounds = 0
        while True:
            try:
                live = self._read_whole(self._find())
                rounds += 1
                if rounds > 1:
                    return live
            except (_UnknownYetError, NoAnswerError) as error:
                if self.clock.time() - began >= METRICS_PATIENCE:
                    raise EngineError(error.place, error.why) from None
            if self.clock.stopping is not None:
                raise StoppedError(self.client.address, f"stopped by {self.clock.stopping} while the job was observed")
            self.clock.sleep(SECONDS_BETWEEN_ROUNDS)

    def control_state(self) -> ControlState:
        """How far the job is in the control log; a job that was started again is found by its name.

        Raises
        ------
        EngineError
            The job does not run, or does not tell.
        """
        self.client.answers.clear()
        if self._control_vertex is None:
            self._control_vertex = self._find_control()
        job, vertex = self._control_vertex
        recorded = self.client.get(f"/jobs/{job}")
        state = recorded.answer.get("state") if isinstance(recorded.answer, dict) else None
        if recorded.status == 404 or state in ENDED:
            self._control_vertex = None  # a JobManager that starts again may give the job another identifier
            raise EngineError(self.client.address, f"job {self._name!r} {'is gone' if state is None else f'is {state}'}")
        if state != "RUNNING":
            raise EngineError(self.client.address, f"job {self._name!r} is {state or 'unknown'}")
        for values in read_metrics(self.client, job, vertex, ("plan", "steps", "offset")).values():
            if len(values) == 3:
                return read_control(values)
        raise EngineError(self.client.address, "the control source tells no state yet")

    def _find(self) -> str:
        recorded = self.client.get("/jobs/overview")
        if recorded.status == STARTING:
            raise _UnknownYetError(self.client.address, "the JobManager is starting; wait until it runs")
        if not isinstance(recorded.answer, dict) or "jobs" not in recorded.answer:
            why = "is not the REST API of Flink: /jobs/overview has no 'jobs'; give the JobManager's address"
            raise EngineError(self.client.address, why)
        return find_job(recorded.answer, self._wanted, self.client.address)

    def _find_control(self) -> tuple[str, str]:
        """The job of the name that was followed, and the vertex of its control source."""
        self._wanted = self._name or self._wanted
        job = self._find()
        for vertex in check_job(self.client.get(f"/jobs/{job}"), self.client.address)["vertices"]:
            for values in read_metrics(self.client, job, vertex["id"], ("control",)).values():
                if self._control in values.get("control", {}).values():
                    return job, vertex["id"]
        raise EngineError(self.client.address, f"job {self._name!r} has no control source of {self._control} yet")

    def _read_whole(self, job: str) -> LiveJob:
        try:
            return self._read(job)
        except (KeyError, TypeError, ValueError, IndexError) as error:
            why = f"answers what no live operator of this version does ({type(error).__name__}: {error}); build the job again"
            raise EngineError(self.client.address, why) from None

    def _read(self, job: str) -> LiveJob:
        """The job by one round of questions."""
        self.client.answers.clear()
        try:
            described = check_job(self.client.get(f"/jobs/{job}"), self.client.address)
        except JobGoneError as error:
            raise JobGoneError(error.place, error.why.replace("captured", "observed")) from None
        self._name = str(described["name"])
        if described.get("state") != "RUNNING":
            raise _UnknownYetError(self.client.address, f"job {self._name!r} is {described.get('state')}; wait until it runs")
        routers: dict[str, dict[int, str]] = {}
        workers: dict[str, tuple[str, dict[str, dict[int, str]]]] = {}
        control: dict[str, dict[int, str]] = {}
        for vertex in described["vertices"]:
            for values in _present(read_metrics(self.client, job, vertex["id"]), int(vertex["parallelism"])).values():
                if "control" in values:
                    control, self._control_vertex = values, (job, vertex["id"])
                if "router" in values:
                    routers[next(iter(values["router"].values()))] = values.get("table", {})
                if "operator" in values:
                    workers[next(iter(values["operator"].values()))] = (vertex["id"], values)
        if not workers or not control:
            why = f"job {self._name!r} has no live operator; its program needs Live.process(…) in place of keyBy(…).process(…)"
            raise _UnknownYetError(self.client.address, why)
        self._control = next(iter(control["control"].values()))
        state = read_control(control)
        moving = state.plan is not None and not state.plan.over
        operators = (self._operator(job, name, *workers[name], routers.get(name, {}), moving) for name in sorted(workers))
        return LiveJob(
            key=job,
            name=self._name,
            control=self._control,
            state=state,
            operators={operator.name: operator for operator in operators},
            checkpoints=self._checkpoints(job),
            uptime=float(described.get("duration", 0)) * MILLISECONDS,
        )

    def _operator(
        self, job: str, name: str, vertex: str, values: dict[str, dict[int, str]], tables: dict[int, str], moving: bool
    ) -> LiveOperator:
        described = self.client.get(f"/jobs/{job}/vertices/{vertex}").answer
        subtasks: list[Any] = described["subtasks"] if isinstance(described, dict) else []
        if not subtasks or any(len(values.get(what, {})) < len(subtasks) for what in ("operator", "loads")):
            raise _UnknownYetError(self.client.address, f"metrics of operator {name!r} are missing; is the job starting?")
        if not tables or (len(set(tables.values())) > 1 and not moving):
            why = "do not agree on its table" if tables else "have not told its table"
            raise _UnknownYetError(self.client.address, f"routers of operator {name!r} {why}; try again")
        loads: dict[int, TaskLoad] = {}
        for text in values["loads"].values():
            loads.update(read_loads(text))
        table = read_table(next(iter(tables.values())))
        tasks, groups = (int(next(iter(values[what].values()))) for what in ("tasks", "groups"))
        nodes = tuple(str(subtask["taskmanager-id"]) for subtask in sorted(subtasks, key=lambda row: int(row["subtask"])))
        return LiveOperator(name, tasks, groups, nodes, table, loads)

    def _checkpoints(self, job: str) -> CheckpointSettings:
        config = self.client.get(f"/jobs/{job}/checkpoints/config").answer
        config = config if isinstance(config, dict) else {}
        interval = config.get("interval")
        statistics = self.client.get(f"/jobs/{job}/checkpoints").answer
        latest = (statistics.get("latest") or {}) if isinstance(statistics, dict) else {}
        return CheckpointSettings(
            interval=None if interval is None or interval >= 1 << 53 else interval * MILLISECONDS,
            exactly_once=str(config.get("mode", "exactly_once")).lower() == "exactly_once",
            unaligned=bool(config.get("unaligned_checkpoints", False)),
            complete=bool(latest.get("completed") or latest.get("restored")),
        )


def _present(metrics: Metrics, parallelism: int) -> Metrics:
    """Without subtasks that there are no longer, which Flink remembers for a while."""
    return {
        operator: {
            what: {subtask: text for subtask, text in texts.items() if subtask < parallelism} for what, texts in values.items()
        }
        for operator, values in metrics.items()
    }


def with_work_between(before: LiveJob, after: LiveJob, seconds: float) -> LiveJob:
    """The later of two observations, with what was counted between them; all that was counted where counters ran back."""

    def counted(operator: LiveOperator) -> LiveOperator:
        earlier = before.operators[operator.name].loads if operator.name in before.operators else {}
        loads = {
            task: load._replace(tuples=load.tuples - earlier[task].tuples, busy=load.busy - earlier[task].busy)
            for task, load in operator.loads.items()
            if task in earlier
        }
        if len(loads) < len(operator.loads) or any(load.busy < 0 or load.tuples < 0 for load in loads.values()):
            return operator
        return replace(operator, loads=loads)

    operators = {name: counted(operator) for name, operator in after.operators.items()}
    whole = any(operators[name] is after.operators[name] for name in operators)
    return after if whole else replace(after, operators=operators, uptime=seconds)


class TaskLoad(NamedTuple):
    """Counters of a task.

    Attributes
    ----------
    tuples, busy : tuples, and microseconds of work, since the task was first counted.
    size : bytes of its state, estimated from samples.
    keys : number of keys.
    """

    tuples: int
    busy: int
    size: int
    keys: int


class InstalledStep(NamedTuple):
    """A step of a plan that is installed.

    Attributes
    ----------
    seconds : from sending its moves until all its tasks were installed.
    size : bytes of state that was moved.
    held : tuples that waited for their task.
    wait : the longest wait, in seconds.
    refused : moves that did not fit the table.
    """

    seconds: float
    size: int
    held: int
    wait: float
    refused: int


@dataclass(frozen=True, slots=True)
class PlanState:
    """How far the job is with the plan that it took last.

    Attributes
    ----------
    plan : identifier of the plan.
    done : number of steps that are installed.
    state : waiting, running, done, aborted or refused.
    """

    plan: str
    done: int
    steps: int
    state: str

    @property
    def over(self) -> bool:
        """Whether nothing of the plan is still to come."""
        return self.state not in RUNNING_STATES


class ControlState(NamedTuple):
    """State of the control source of a job.

    Attributes
    ----------
    offset : bytes of the control log behind which no plan is over: all that end before are.
    plan : the plan that was taken last since the job last started; None without any.
    steps : its steps that were installed since then, by number.
    """

    offset: int
    plan: PlanState | None
    steps: dict[int, InstalledStep]


def read_metrics(client: FlinkClient, job: str, vertex: str, wanted: tuple[str, ...] = ()) -> Metrics:
    """The metrics of the live operators in a vertex, all or those that are wanted; Flink fetches them because they are asked for.

    Raises
    ------
    EngineError
        No answer comes, or another one than Flink's.
    """
    root = f"/jobs/{job}/vertices/{vertex}/metrics"
    matches = (METRIC.fullmatch(str(row.get("id"))) for row in _rows(client, root))
    names = [match[0] for match in matches if match and (not wanted or match[3] in wanted)]
    metrics: Metrics = {}
    for query in _queries(names):
        for row in _rows(client, f"{root}?get={query}"):
            match = METRIC.fullmatch(str(row.get("id")))
            if match:
                metrics.setdefault(match[2], {}).setdefault(match[3], {})[int(match[1])] = str(row.get("value", ""))
    return metrics


def _rows(client: FlinkClient, path: str) -> list[dict[str, object]]:
    recorded = client.get(path)
    if recorded.status != 200 or not isinstance(recorded.answer, list):
        raise EngineError(client.address, f"answers {path.partition('?')[0]} with HTTP {recorded.status}; is the job restarting?")
    return recorded.answer


def _queries(names: list[str]) -> Iterator[str]:
    """Lists of names for queries that are short enough."""
    query = ""
    for name in map(quote, names):
        if query and len(query) + len(name) >= MAX_QUERY:
            yield query
            query = ""
        query += f"{',' if query else ''}{name}"
    if query:
        yield query


def read_table(text: str) -> tuple[int, ...]:
    """Key group of each task.

    >>> read_table("0,0,5")
    (0, 0, 5)
    """
    return tuple(map(int, text.split(",")))


def read_loads(text: str) -> dict[int, TaskLoad]:
    """Loads of the tasks of a worker.

    >>> read_loads("3:100:2500:4096:7;")
    {3: TaskLoad(tuples=100, busy=2500, size=4096, keys=7)}
    """
    rows = [list(map(int, row.split(":"))) for row in text.split(";") if row]
    return {task: TaskLoad(*counts) for task, *counts in rows}


def read_control(values: dict[str, dict[int, str]]) -> ControlState:
    """Read the state of a control source from its metrics.

    >>> read_control({"offset": {0: "120"}, "plan": {0: ""}, "steps": {0: ""}})
    ControlState(offset=120, plan=None, steps={})
    """
    offset, plan, steps = (values[what][0] for what in ("offset", "plan", "steps"))
    return ControlState(int(offset), read_plan_state(plan), read_steps(steps))


def read_plan_state(text: str) -> PlanState | None:
    """State of the newest plan; None where the job has taken none.

    >>> read_plan_state("0123456789ab 2 3 running")
    PlanState(plan='0123456789ab', done=2, steps=3, state='running')
    """
    if not text.strip():
        return None
    plan, done, steps, state = text.split()
    return PlanState(plan, int(done), int(steps), state)


def read_steps(text: str) -> dict[int, InstalledStep]:
    """Steps of the current plan that were installed since the job last started, by number.

    >>> read_steps("0 0.25 4096 12 90 0;")
    {0: InstalledStep(seconds=0.25, size=4096, held=12, wait=0.09, refused=0)}
    """
    steps = {}
    for row in filter(None, text.split(";")):
        number, seconds, size, held, wait, refused = row.split()
        steps[int(number)] = InstalledStep(float(seconds), int(size), int(held), float(wait) / 1000, int(refused))
    return steps
