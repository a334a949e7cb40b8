"""`edrp migrate flink` on a real cluster with the lab's live job: moved, killed, gone on with, and taken back."""

import time

import pytest
from fake_flink import DiedError
from real_flink import ON_REAL_FLINK

from edrp.engines.clock import SystemClock
from edrp.engines.flink.local import LocalFlink, submit
from edrp.engines.flink.migrating.discovery import LiveReader
from edrp.validation.flink.lab.build import LAB

pytestmark = ON_REAL_FLINK

TASKS, PACE = 24, 5000


class MortalClock(SystemClock):
    """A clock that kills whoever waits once something is so."""

    def __init__(self, dies):
        super().__init__()
        self.dies = dies

    def sleep(self, seconds):
        if self.dies():
            raise DiedError
        super().sleep(seconds)


def test_tasks_of_a_real_job_move_and_move_back(run, tmp_path, monkeypatch):
    log, rates, journal = (tmp_path / name for name in ("control", "rates.txt", "journal.jsonl"))
    log.touch()
    rates.write_text(f"{round(time.time() * 1000)} 200\n")
    options = {"rates": rates, "folder": tmp_path, "control": log.as_uri(), "keys": 240, "state-bytes": 2000, "tasks": TASKS}
    options |= {"groups": 120, "workers": 3, "used": 2, "micros": 300, "checkpoint-ms": 10_000}
    with LocalFlink({"a": 3, "b": 3}) as flink:
        arguments = [word for name, value in options.items() for word in (f"--{name}", str(value))]
        submit(flink.rest, LAB.jar, arguments, entry_class="edrp.lab.LiveJob").wait_until_running()

        def workers():
            return list(LiveReader(flink.address, None, SystemClock()).discover().operators["counter"].workers)

        def migrate(*options):
            return run("migrate", "flink", "--rest", flink.address, "--pace", PACE, "--journal", journal, "--apply", *options)

        before = workers()
        plan = ("--method", "ssm", "--workers", 3, "--tolerance", 0.5, "--seconds", 5, "--max-move-ins", 1)
        while "no checkpoint" in migrate("--abort").err:
            time.sleep(1)
        for command, expected in ((("--abort",), before), (plan, None)):
            size = log.stat().st_size
            monkeypatch.setattr("edrp.cli.migrate.SystemClock", lambda size=size: MortalClock(lambda: log.stat().st_size > size))
            with pytest.raises(DiedError):
                migrate(*plan)
            monkeypatch.setattr("edrp.cli.migrate.SystemClock", SystemClock)
            migrate(*command).ended(0)
            assert expected is None or workers() == expected
        assert set(workers()) == {0, 1, 2}
