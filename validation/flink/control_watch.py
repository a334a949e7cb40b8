"""Policies that run `edrp watch flink --apply rescale`: decisions for the day, and for the minute."""

from __future__ import annotations

import signal
import subprocess
import sys
from functools import partial
from pathlib import Path
from tempfile import mkdtemp

from edrp.engines.goals import Goals
from edrp.replanning.replanner import ReplanningPolicy
from edrp.validation.flink.control_measures import LATE
from edrp.validation.flink.control_policies import WINDOW, ControlledJob, Policy, follow_autoscaler, hold

MIN_WINDOW = 5.0
"""Shortest observation of `edrp watch flink` in seconds."""

HORIZON = 3600.0
"""Seconds of the original day for which a gain is expected to last: the default of replanning."""

LOOK_AHEAD = 18 * 3600.0
"""Seconds of the original day that are planned: from the morning on to the evening's peak."""

MAX_DOWNTIME = 30.0
"""Limit of `edrp watch flink` in seconds."""

COOLDOWN = 1080.0
"""Seconds of the original day between two changes."""

SECONDS_TO_STOP = 90.0


def follow_watch(job: ControlledJob, *, by_day: bool) -> None:
    """Run `edrp watch flink --apply rescale` until the day is over, with the job's price of late tuples if it is by the day.

    The first day of the year has no day before it, and is decided by the minute.
    """
    folder = Path(mkdtemp(prefix="watch-", dir=job.flink.folder))
    goals = Goals(busy_limit=job.aims.busy_limit, policy=ReplanningPolicy(downtime_worth=3.0, horizon=HORIZON / job.day.speed))
    (folder / "goals.json").write_text(goals.model_dump_json(), encoding="utf-8")
    every = max(MIN_WINDOW, WINDOW / job.day.speed)
    command = [sys.executable, "-m", "edrp", "watch", "flink", "--rest", job.flink.address, "--apply", "rescale"]
    command += ["--journal", str(folder / "watch.jsonl"), "--goals", str(folder / "goals.json"), "--every", str(every)]
    command += ["--max-downtime", str(MAX_DOWNTIME), "--cooldown", str(COOLDOWN / job.day.speed)]
    command += ["--replicas", f"1:{job.max_replicas}"]
    if by_day and job.day.past:
        (folder / "history.csv").write_text(job.day.history(job.begin / 1000), encoding="ascii")
        command += ["--decide", "day", "--history", str(folder / "history.csv"), "--season", str(job.day.seconds)]
        command += ["--late-after", str(LATE), "--late-price", str(job.aims.late_price)]
        command += ["--silence", str(job.aims.silence), "--horizon", str(LOOK_AHEAD / job.day.speed)]
    output = folder / "watch.txt"
    with output.open("ab") as target:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=target, stderr=subprocess.STDOUT)
        try:
            while process.poll() is None and not job.over.wait(1.0):
                pass
            process.send_signal(signal.SIGINT)
            process.wait(SECONDS_TO_STOP)
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
    job.notes.extend(output.read_text(encoding="utf-8", errors="replace").splitlines())


POLICIES: dict[str, Policy] = {
    "static peak": hold,
    "autoscaler": follow_autoscaler,
    "watch": partial(follow_watch, by_day=True),
    "watch, by the minute": partial(follow_watch, by_day=False),
}
"""Policies by the name that rows give them."""
