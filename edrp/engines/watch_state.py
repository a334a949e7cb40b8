"""The past of a watched job: a fold over the lines of its journal, live and when it goes on with an old one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from edrp.engines.estimates import Estimate
from edrp.engines.predictions import DOWNTIME, Prediction
from edrp.engines.watch_journal import Entry
from edrp.placement.deployment import Deployment

MAX_MISSES = 2
"""Predictions in a row that miss, after which nothing is applied until one fits."""


@dataclass
class WatchState:
    """The state after all lines so far.

    Attributes
    ----------
    last_at : time of the newest line; None before the first.
    misses : predictions in a row that missed.
    widths : factors of intervals, by quantity.
    acted_at : when the last change was made or tried.
    unfinished : lines of a change that has begun and not ended.
    stopped : the line that said that the job is being stopped or where its savepoint is, until it runs again.
    probation : the change whose throughput is looked at, as the line that said it was done.
    below : observations in a row whose throughput was below the interval of that change.
    rolled_back : numbers of replicas that were rolled back, which are not tried again.
    mode : how the last change was made.
    changed_at : when the last change that was made was done.
    silences : measured seconds without processing of past changes, by how they were made.
    offered : offered rates as (when the observation began, when it ended, tuples/s).
    """

    last_at: float | None = None
    job: str | None = None
    key: str | None = None
    round: int = 0
    misses: int = 0
    widths: dict[str, float] = field(default_factory=dict)
    prediction: Prediction | None = None
    acted_at: float | None = None
    unfinished: list[Entry] = field(default_factory=list)
    stopped: Entry | None = None
    probation: Entry | None = None
    below: int = 0
    rolled_back: list[dict[str, int]] = field(default_factory=list)
    mode: str | None = None
    changed_at: float | None = None
    silences: dict[str, list[float]] = field(default_factory=dict)
    offered: list[tuple[float, float, float]] = field(default_factory=list)

    def take(self, entry: Entry) -> None:
        """Update the state by one line of the journal."""
        self.last_at = max(entry["at"], self.last_at or entry["at"])
        kind = entry["kind"]
        if kind == "start":
            self.job, self.key = entry["job"], entry["key"]
        elif kind == "observation":
            self.round, self.stopped = entry["round"], None
        elif kind == "outcome":
            self._judged(entry)
        elif kind == "prediction":
            self.prediction = read_prediction(entry)
        elif kind == "action":
            self._acted(entry)
        elif kind == "offered" and entry["rate"] is not None:
            self.offered.append((entry["at"] - entry["seconds"], entry["at"], entry["rate"]))

    def _judged(self, entry: Entry) -> None:
        self.prediction = None
        if not entry["comparable"]:
            self.probation, self.below = None, 0
            return
        downtimes = [judged["measured"] for judged in entry["judgements"] if judged["quantity"] == DOWNTIME]
        if self.mode is not None:
            self.silences.setdefault(self.mode, []).extend(downtimes)
        self.misses = 0 if entry["covered"] else self.misses + 1
        self.widths |= entry["widths"]
        self.below = self.below + 1 if entry["below"] else 0
        if not self.below:
            self.probation = None

    def _acted(self, entry: Entry) -> None:
        self.acted_at = entry["at"]
        step = entry["step"]
        if step == "begin":
            self.mode = entry["mode"]
        if step == "begin" and entry["rollback"]:  # once, however that ends
            self.rolled_back.append({name: len(nodes) for name, nodes in entry["before"].items()})
            self.misses = max(self.misses, MAX_MISSES)
            self.probation, self.below = None, 0
        if step in ("stopping", "savepoint", "cancelling"):
            self.stopped = entry
        if step == "started":
            self.key, self.stopped = entry["key"], None
        if step == "done":
            self.key, self.changed_at = entry["key"], entry["at"]
            self.probation, self.below = None if entry["rollback"] else entry, 0
        if step in ("done", "failed"):
            self.unfinished = []
            self.prediction = None
        else:
            self.unfinished = [*self.unfinished, entry]


def read_prediction(entry: Mapping[str, Any]) -> Prediction:
    """A prediction from the fields of a line."""
    return Prediction(
        replicas=entry["replicas"],
        throughput=Estimate(**entry["throughput"]),
        rates=entry["rates"],
        busy={name: Estimate(**values) for name, values in entry["busy"].items()},
        downtime=None if entry["downtime"] is None else Estimate(**entry["downtime"]),
    )


def deployment_fields(deployment: Deployment) -> dict[str, list[str]]:
    """A deployment as a field of a line: the nodes of each operator's replicas."""
    return {name: list(deployment[name]) for name in deployment}
