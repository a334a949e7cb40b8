"""A live job of the lab on a local cluster: what is sent to it, how its processes end, and what the judge says in the end."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from edrp.engines.errors import EngineError
from edrp.engines.flink.client import FlinkClient
from edrp.engines.flink.local import LocalFlink
from edrp.engines.flink.local.jobs import now_ms
from edrp.engines.flink.local.rest import wait_until
from edrp.engines.flink.migrating.control_log import ControlLog, Mode
from edrp.engines.flink.migrating.discovery import Metrics, PlanState, read_metrics, read_plan_state, read_table
from edrp.engines.flink.migrating.moves import TaskMove
from edrp.validation.flink.lab.build import LAB
from edrp.validation.flink.lab.job import LEAD_MS, ScheduledJob, key_group, live_files, program_arguments
from edrp.validation.flink.live.validator import Verdict, judge

RETAINED = {"execution.checkpointing.externalized-checkpoint-retention": "RETAIN_ON_CANCELLATION"}
"""Setting of a cluster whose jobs are to go on after their JobManager was killed."""

PATIENCE = 120.0
"""Seconds to wait for what must come, on a machine that does much else."""

Steps = Sequence[Sequence[TaskMove]]


@dataclass(frozen=True, slots=True)
class LiveJobSettings:
    """Settings of the lab's live job.

    Attributes
    ----------
    entry : its class.
    keys, state_bytes : number of keys, and bytes of ballast in the state of each.
    tasks, groups, workers, used : of each live operator; `used` of the workers hold tasks at first.
    routers : subtasks in front.
    operators : live operators, one behind the other.
    rate : records/s; divides 1000 · keys.
    micros : microseconds of service of each record.
    checkpoint_ms : interval of checkpoints; 0 for none.
    more : further options.
    """

    entry: str = "edrp.lab.LiveJob"
    keys: int = 240
    state_bytes: int = 1000
    tasks: int = 24
    groups: int = 120
    workers: int = 2
    used: int = 2
    routers: int = 2
    operators: int = 1
    rate: int = 480
    micros: int = 0
    checkpoint_ms: int = 500
    more: Mapping[str, object] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the live operators."""
        return ("counter", "recounter")[: self.operators]

    def first_table(self) -> list[int]:
        """Key group of each task when the job first starts."""
        holders = min(self.used, self.workers)
        return [key_group(task, task * holders // self.tasks, self.groups, self.workers) for task in range(self.tasks)]

    def arguments(self, folder: Path) -> list[str]:
        """Options of the program, whose files are in a folder."""
        names = ("keys", "state_bytes", "tasks", "groups", "workers", "used", "routers", "operators", "micros", "checkpoint_ms")
        return program_arguments({**live_files(folder), **{name: getattr(self, name) for name in names}, **self.more})


class LiveRun(ScheduledJob):
    """A live job that runs.

    Parameters
    ----------
    flink
        The cluster; to survive its JobManager it needs the setting `RETAINED`.
    settings
        Of the job.
    jar
        With the job and the library.
    """

    def __init__(self, flink: LocalFlink, settings: LiveJobSettings, jar: Path = LAB.jar) -> None:
        super().__init__(flink, "live", settings.entry, jar)
        self.control.touch()
        self.results = self.folder / "results.txt"
        self.tables = {name: settings.first_table() for name in settings.names}
        self._rates: list[tuple[int, int]] = []
        self.start(settings)
        self.set_rate(settings.rate)

    def set_rate(self, rate: int, at: int | None = None) -> None:
        """Change the rate of records/s, a moment from now or at a time in milliseconds."""
        self._rates.append((now_ms() + LEAD_MS if at is None else at, rate))
        self.set_rates(self._rates[-1:])

    # How it starts and ends.

    def kill_manager(self) -> None:
        """Kill the JobManager, start it again, and run the job from its last checkpoint."""
        self.flink.restart_manager()
        checkpoint = self.flink.newest_checkpoint()
        if checkpoint is None:
            raise EngineError("JobManager", "was killed before a checkpoint was complete; there is nothing to go on from")
        self.start(self.settings, checkpoint)

    def fail(self) -> None:
        """Let a subtask of the job throw an error, so that Flink starts it again from its last checkpoint."""
        with (self.folder / "fail").open("a", encoding="ascii") as file:
            file.write("x")

    def holders(self, operator: str = "counter") -> list[str]:
        """The nodes on which an operator runs, each once."""
        return sorted(set(self.job.places().get(operator, [])))

    def restarts(self) -> int:
        """How often Flink has started the job again since it was submitted; 0 while it does not run with all its subtasks."""
        self.job.wait_until_running()
        metrics = self.flink.rest.get(f"/jobs/{self.job.key}/metrics?get=numRestarts")
        return int(metrics[0]["value"]) if metrics else 0

    def completed_checkpoints(self) -> int:
        """Number of checkpoints of this start of the program."""
        return int(self.flink.rest.get(f"/jobs/{self.job.key}/checkpoints")["counts"]["completed"])

    def wait_for_checkpoints(self, count: int = 1) -> None:
        """Wait until `count` more checkpoints are complete."""
        before = self.completed_checkpoints()
        wait_until(lambda: self.completed_checkpoints() >= before + count or None, PATIENCE, "completes no checkpoint", "job")

    # Moves.

    def random_steps(self, choice: random.Random, steps: int, moves: int) -> list[list[TaskMove]]:
        """Steps of moves of random tasks of random operators to random key groups, from where they are."""
        tables = {name: list(table) for name, table in self.tables.items()}
        plan = []
        for _ in range(steps):
            step = []
            for name in tables:
                for task in choice.sample(range(self.settings.tasks), moves):
                    to = choice.randrange(self.settings.groups)
                    if to != tables[name][task]:
                        step.append(TaskMove(name, task, tables[name][task], to))
                        tables[name][task] = to
            plan.append(step)
        return plan

    def send(self, steps: Steps, pace: int = 0, mode: Mode = "live") -> str:
        """Send a plan; its identifier."""
        with ControlLog(self.control) as log:
            return log.append_plan(steps, "-", pace, mode).key

    def move(self, steps: Steps, pace: int = 0, mode: Mode = "live") -> None:
        """Send a plan and wait until it is carried out."""
        self.installed(steps, self.wait_for_plan(self.send(steps, pace, mode)))

    def wait_for_plan(self, key: str, seconds: float = PATIENCE) -> PlanState:
        """Wait until a plan is over, whatever happens to the job meanwhile."""

        def look() -> PlanState | None:
            state = self.plan_state()
            return state if state is not None and state.plan == key and state.over else None

        return wait_until(look, seconds, f"does not carry out plan {key}", f"job {self.job.key}")

    def plan_state(self) -> PlanState | None:
        """How far the job is with its newest plan; None where it cannot say."""
        for states in self.metrics("plan").values():
            for text in states.get("plan", {}).values():
                return read_plan_state(text)
        return None

    def metrics(self, *wanted: str) -> Metrics:
        """Metrics of the library by operator, metric and subtask; few where the job is about to start."""
        client, found = FlinkClient(self.flink.address, PATIENCE), {}
        with suppress(EngineError):
            for vertex in self.flink.rest.get(f"/jobs/{self.job.key}")["vertices"]:
                found.update(read_metrics(client, self.job.key, vertex["id"], wanted))
        return found

    def installed(self, steps: Steps, state: PlanState) -> None:
        """Take over what the job has done of a plan, and wait until all routers say the same."""
        for step in list(steps)[: state.done]:
            for move in step:
                self.tables[move.operator][move.task] = move.target
        self.wait_for_tables()

    def wait_for_tables(self) -> None:
        """Wait until all routers show the tables that follow from the plans."""

        def look() -> bool | None:
            found = self.metrics("table")
            right = all(
                {read_table(text) for text in found.get(f"{name}-router", {}).get("table", {}).values()} == {tuple(table)}
                for name, table in self.tables.items()
            )
            return right or None

        wait_until(look, PATIENCE, "does not show the tables that follow from its plans", f"job {self.job.key}")

    # What came out.

    def stop_stream(self) -> int:
        """Let the stream end after whole rounds of all keys; how many records each key has had then."""
        unit = 1000 * self.settings.keys // math.gcd(1000 * self.settings.keys, self.settings.rate)  # ms of whole rounds
        begun = self._rates[-1][0]
        self.set_rate(0, begun + ((now_ms() + LEAD_MS - begun) // unit + 1) * unit)
        (_, rate), (end, _) = self._rates[-2:]
        return rate * (end - begun) // (1000 * self.settings.keys)

    def finish(self, seconds: float = PATIENCE) -> Verdict:
        """Let the stream end, wait for what was sent, and judge; what has not come then is lost."""
        rounds = self.stop_stream()
        each = dict.fromkeys(range(self.settings.keys), rounds)
        sent = rounds * self.settings.keys
        end = time.monotonic() + seconds
        verdict = self.judge(each)
        while verdict.records < sent and time.monotonic() < end and not verdict.wrong:
            time.sleep(0.3)
            verdict = self.judge(each)
        return verdict

    def judge(self, sent: dict[int, int] | None = None) -> Verdict:
        """Verdict of the judge by now; the end of a line that is being written is passed over."""
        if not self.results.exists():
            return Verdict()
        with self.results.open(encoding="ascii") as file:
            return judge((line for line in file if line.endswith("\n")), sent)

    def wait_for_results(self, more: int) -> None:
        """Wait until `more` further lines of results are there."""

        def lines() -> int:
            return self.results.read_bytes().count(b"\n") if self.results.exists() else 0

        before = lines()
        wait_until(lambda: lines() >= before + more or None, PATIENCE, f"writes no {more} results", f"job {self.job.key}")
