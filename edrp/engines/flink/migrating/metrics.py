"""Metrics of live operators: what Flink's REST API answers, and what the texts in it say."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import quote

from edrp.engines.errors import EngineError
from edrp.engines.flink.client import FlinkClient

METRIC = re.compile(r"(\d+)\.(.+)\.live\.(\w+)")
"""Identifier of a metric: subtask, operator and what of it."""

MAX_QUERY = 2000
"""Most characters of one query: Flink takes no address above 4096."""

RUNNING_STATES = ("waiting", "running")
"""States of a plan that is not over."""

Metrics = dict[str, dict[str, dict[int, str]]]
"""Texts by operator (as Flink writes its name), metric and subtask."""


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
