"""Random plans on a live job whose processes are killed while states are on their way; what is lost, doubled or overtaken."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from collections import Counter
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from edrp.engines.flink.local import LocalFlink
from edrp.engines.flink.migrating.control_log import ControlLog, Mode, read_log_file
from edrp.validation.flink.live.run import PATIENCE, RETAINED, LiveJobSettings, LiveRun, Steps

NODES = {"a": 1, "b": 1, "c": 1, "d": 1}
"""One slot each: every worker has a node of its own, and one is left to go on at once."""

SETTINGS = LiveJobSettings(keys=240, state_bytes=2000, tasks=48, workers=3, used=2, rate=480)

WHAT = ("TaskManager", "JobManager", "TaskManager", "command")
"""Processes that are killed, in turn."""

APPEND_AND_DIE = """
import os, sys
os.write(os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND), sys.argv[2].encode())
os.kill(os.getpid(), 9)
"""


@dataclass(frozen=True, slots=True)
class KillSettings:
    """Settings of a run.

    Attributes
    ----------
    kills, plans : how many of each.
    operators : live operators; where there are two, the tasks of the second move.
    """

    backend: str = "hashmap"
    kills: int = 10
    plans: int = 100
    seed: int = 1
    operators: int = 1


@dataclass
class KillRun:
    """One run: a cluster, a job, and what is done to both."""

    run: LiveRun
    settings: KillSettings
    counts: Counter[str] = field(default_factory=Counter)
    kills: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.choice = random.Random(self.settings.seed)

    def carry_out(self) -> None:
        """Send all plans, with kills in between."""
        for number in range(self.settings.plans):
            due = (number + 1) * self.settings.kills // self.settings.plans > self.kills.total()
            what = WHAT[self.kills.total() % len(WHAT)] if due else ""
            if self.choice.random() < 0.1:
                # A writer that dies in the middle of a plan.
                text = f"plan {self.choice.getrandbits(48):012x} 2 1 0 live\nstep 0\nmove 999999 counter 1 2 3\nend"
                torn = text[: self.choice.randint(1, len(text))]
                subprocess.run([sys.executable, "-I", "-S", "-c", APPEND_AND_DIE, str(self.run.control), torn], check=False)
                self.counts["torn"] += 1
            if what == "command":
                self._command()
            else:
                self._plan(what)
            self.counts["plans"] += 1

    def _plan(self, what: str) -> None:
        steps = self.run.random_steps(self.choice, self.choice.randint(1, 4), self.choice.randint(1, 8))
        if self.settings.operators > 1:  # what the first sends of a key must come from one worker, to keep its order
            steps = [[move for move in step if move.operator == "recounter"] for step in steps]
        mode: Mode = self.choice.choice(("live", "live", "pause"))
        key = self.run.send(steps, self.choice.choice((0, 20_000, 60_000)) if not what else 20_000, mode)
        time.sleep(self.choice.uniform(0.1, 0.6))  # until states are on their way
        if what == "TaskManager":
            victim = self.choice.choice(self.run.holders(self.run.settings.names[-1]))
            self.run.flink.kill_node(victim)
            self.run.flink.start_node(victim, NODES[victim])
        elif what == "JobManager":
            self.run.kill_manager()
        elif self.choice.random() < 0.1:
            with ControlLog(self.run.control) as log:
                log.append_abort(log.log.plans[-1])
            self.counts["aborts"] += 1
        if what:
            self.kills[what] += 1
        self._installed(steps, key)

    def _installed(self, steps: Steps, key: str) -> None:
        state = self.run.wait_for_plan(key)
        self.counts[state.state] += 1
        self.counts["moves"] += sum(map(len, list(steps)[: state.done]))
        self.run.installed(steps, state)

    def _command(self) -> None:
        """The command is killed in the middle of its plan; the same command goes on with it."""
        path = self.run.folder / "plan.json"
        path.write_text(json.dumps(self._plan_file()), encoding="utf-8")
        options = ["--rest", self.run.flink.address, "--plan", str(path), "--operator", self.run.settings.names[-1], "--apply"]
        command = [sys.executable, "-m", "edrp", "migrate", "flink", *options, "--pace", "40000"]
        plans = len(read_log_file(self.run.control).plans)
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=self.run.folder) as process:
            end = time.monotonic() + PATIENCE
            while len(read_log_file(self.run.control).plans) == plans and process.poll() is None and time.monotonic() < end:
                time.sleep(0.05)
            time.sleep(self.choice.uniform(0, 0.3))
            process.kill()
        self.kills["command"] += 1
        done = subprocess.run(command, capture_output=True, text=True, cwd=self.run.folder, timeout=4 * PATIENCE)
        if done.returncode:
            self.counts["commands that failed"] += 1
            sys.stderr.write(f"the command failed: {done.stderr.strip()[-300:]}\n")
        sent = read_log_file(self.run.control).plans[plans:]
        self.counts["plans sent twice"] += max(0, len(sent) - 1)
        for plan in sent:
            self._installed(plan.steps, plan.key)

    def _plan_file(self) -> dict[str, Any]:
        """A plan as `edrp plan` writes it: two steps, each of some tasks to other workers."""
        settings = self.run.settings
        table = self.run.tables[settings.names[-1]]
        workers = [group * settings.workers // settings.groups for group in table]
        moved = self.choice.sample(range(settings.tasks), 8)
        moves = [
            {"first": task, "end": task + 1, "source": workers[task], "target": (workers[task] + 1) % settings.workers}
            for task in moved
        ]
        roles = [
            {
                "to_stay": [task for task in range(settings.tasks) if workers[task] == worker and task not in moved],
                "to_move_out": [task for task in moved if workers[task] == worker],
            }
            for worker in range(settings.workers)
        ]
        return {"kind": "migration-plan", "roles": roles, "steps": [{"moves": moves[:4]}, {"moves": moves[4:]}]}


def kill_run(settings: KillSettings) -> dict[str, Any]:
    """Carry out a run: what was done, and what the judge says."""
    options = {**RETAINED, "state.backend.type": settings.backend}
    with LocalFlink(NODES, settings=options) as flink:
        this = KillRun(LiveRun(flink, replace(SETTINGS, operators=settings.operators)), settings)
        this.run.wait_for_checkpoints()
        this.carry_out()
        verdict = this.run.finish()
    return {"kills": dict(this.kills), **this.counts, **asdict(verdict), "exactly_once": verdict.exactly_once}
