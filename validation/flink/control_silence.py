"""How long a rescale silences a job: the price of a change, measured before the days."""

from __future__ import annotations

import time

from edrp.engines.flink.local import LocalFlink
from edrp.engines.flink.local.jobs import now_ms
from edrp.validation.flink.control import JobKind, control_nodes, lab_settings
from edrp.validation.flink.days import LoadDay
from edrp.validation.flink.lab.job import LabRun

RATE = 80.0
"""Tuples/s."""

PLANS = ({"parser": 2, "counter": 4}, {"parser": 1, "counter": 2}, {"parser": 2, "counter": 4}, {"parser": 2, "counter": 3})
"""Replicas of one rescale after another."""

SECONDS_AFTER = 4.0
"""Seconds after a rescale in which the job catches up."""


def rescale_silences(kind: JobKind) -> dict[str, float]:
    """Longest time without a tuple at the writer around each of some rescales, by their number and replicas.

    Raises
    ------
    EngineError
        There is no Java or no Flink, or a rescale fails.
    """
    day = LoadDay("a steady load", SECONDS_AFTER, (RATE,))
    silences = {}
    with LocalFlink(control_nodes(kind)) as flink:
        run = LabRun(flink, lab_settings(kind, "static peak", day))
        time.sleep(kind.warm_up)
        for number, plan in enumerate(PLANS, 1):
            since = now_ms()
            run.job.rescale(plan)
            time.sleep(SECONDS_AFTER)
            silences[f"{number}. {', '.join(f'{name} {count}' for name, count in plan.items())}"] = run.silence(since)
        run.job.cancel()
    return silences
