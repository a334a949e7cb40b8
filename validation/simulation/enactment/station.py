"""One operator in a run: its items from round to round, and their monitoring."""

from __future__ import annotations

import numpy as np

from edrp.core.arrays import Floats
from edrp.core.budget import spend
from edrp.core.errors import VerificationError
from edrp.enactment import OperatorState
from edrp.enactment.containers import ContainerOperator
from edrp.enactment.scenario import LEVELS, EnactmentScenario, OperatorRecord, emitted
from edrp.validation.simulation.enactment.event_log import EventLog
from edrp.validation.simulation.enactment.fleet import Change
from edrp.validation.simulation.enactment.rounds import Round
from edrp.validation.simulation.enactment.run_randomness import RandomStreams
from edrp.validation.simulation.enactment.service_kernel import (
    HOLD,
    RESUME,
    SAMPLE,
    START,
    WITHIN,
    Crew,
    Happenings,
    Samples,
    Work,
    send,
    serve,
)

ITEM = 8e-8
"""Units of work per item of a round."""

REMEMBERED = 20
"""Monitoring intervals of which a policy sees the mean recorded duration."""


class Station:
    """The queue of an operator, its running instances and its counts.

    Attributes
    ----------
    arrived, brought, completed : items so far: that arrived, those of them that came from outside, and that left.
    """

    def __init__(self, scenario: EnactmentScenario, operator: ContainerOperator, random_streams: RandomStreams) -> None:
        self.operator = operator
        self._random_streams = random_streams
        self._external = random_streams.arrivals(operator) if operator.external_rate else None
        self._duration = scenario.duration
        self._levels = np.array(scenario.compliance_levels) * operator.processing_duration
        self._stalls = [
            change
            for stall in random_streams.stalls
            if stall.operator == operator.name
            for change in ((stall.start, HOLD, -1), (stall.end, RESUME, -1))
        ]
        self._crew = _crew(16)
        self._now = 0.0
        # Items that wait: when they arrived, how long they will be processed. Items that were begun: when they leave, and
        # until when they occupy their instance.
        self._waiting, self._processing, self._leaving, self._occupied = (np.empty(0) for _ in range(4))
        self.arrived = self.brought = self.completed = 0
        self._seen_arrived = self._begun = self._queue = 0
        self._busy = 0.0
        self._durations: list[float] = []
        self._delays = _Delays(float(self._levels[LEVELS.index(scenario.objective_level)]))

    def advance(self, inflows: list[Floats], changes: list[Change], current: Round, record: EventLog | None = None) -> Floats:
        """Simulate one round and return the departures of its items.

        Parameters
        ----------
        inflows
            Seconds, rising: items that each operator before this one sends in the round.

        Returns
        -------
        numpy.ndarray
            Seconds, rising: items that leave in the round.
        """
        end = current.end
        fresh = self._fresh(inflows, end)
        work = self._work(fresh)
        spend(ITEM * work.arrivals.size)
        count = len(current.samples)
        samples = Samples(np.empty(count, np.int64), np.empty(count, np.int64), np.empty(count))
        begun = self._serve(work, changes, current, samples)
        self._occupy(work, begun, end)
        ends = np.concatenate((self._leaving, work.ends[:begun]))
        gone = ends < end
        departures = np.sort(ends[gone])
        self._leaving = ends[~gone]
        self._waiting, self._processing = work.arrivals[begun:], work.processing[begun:]
        self.completed += departures.size
        self._begun += begun
        self._monitor(current.samples, samples)
        if record is not None:
            record.note_all(fresh.tolist(), "arrive", self.operator.name)
            record.note_all(departures.tolist(), "depart", self.operator.name)
            for time, instance in zip(work.begins[:begun].tolist(), work.instances[:begun].tolist(), strict=True):
                record.note(time, "begin", self.operator.name, instance)
        return departures

    def sent(self, departures: Floats) -> Floats:
        """Times (s) of the items that these departures, the last so far, send on each stream: shape (items sent,)."""
        selectivity = self.operator.selectivity
        if selectivity == 1.0:
            return departures
        before = self.completed - departures.size
        out = np.empty(emitted(self.completed, selectivity) - emitted(before, selectivity))
        send(departures, before, selectivity, out)
        return out

    def observe(self, running: int, starting: int, scalings: int) -> OperatorState:
        """The state that a policy sees; counts since the last observation start again at 0."""
        state = OperatorState(
            operator=self.operator,
            running=running,
            starting=starting,
            queue=self._queue,
            durations=tuple(self._durations),
            arrivals=self.arrived - self._seen_arrived,
            begun=self._begun,
            busy=self._busy,
            scalings=scalings,
        )
        self._seen_arrived, self._begun, self._queue, self._busy = self.arrived, 0, 0, 0.0
        return state

    def check(self, sent: int) -> None:
        """Check that no item appears or vanishes, given the number of items that upstream operators have sent.

        Raises
        ------
        VerificationError
            When the counts do not add up.
        """
        items = self.completed + self._leaving.size + self._waiting.size
        if self.arrived != items or self.arrived != self.brought + sent:
            message = (
                f"items of {self.operator.name} at {self._now:g} s: {self.arrived} arrived; {self.brought} came from outside "
                f"and {sent} were sent; {items} are completed, in service or queued"
            )
            raise VerificationError(message, self.arrived, items)

    def record(self) -> OperatorRecord:
        """The counts at the end of the run."""
        real_time, near_real_time, relaxed = (int(count) for count in self._crew.counts[WITHIN : WITHIN + 3])
        return OperatorRecord.model_construct(
            name=self.operator.name,
            arrived=self.arrived,
            completed=self.completed,
            queued=self._waiting.size,
            in_service=self._leaving.size,
            real_time=real_time,
            near_real_time=near_real_time,
            relaxed=relaxed,
            time_to_adapt=self._delays.mean,
        )

    def _fresh(self, inflows: list[Floats], end: float) -> Floats:
        """Items that arrive in the round, in order."""
        if self._external is None:
            flows = inflows
        else:
            outside = self._external.before(end)
            self.brought += outside.size
            flows = [outside, *inflows]
        fresh = flows[0] if len(flows) == 1 else np.sort(np.concatenate([*flows, np.empty(0)]))
        self.arrived += fresh.size
        return fresh

    def _work(self, fresh: Floats) -> Work:
        processing = self.operator.processing_duration * self._random_streams.factors(self.operator.name, fresh.size)
        arrivals = np.concatenate((self._waiting, fresh))
        size = arrivals.size
        return Work(
            arrivals, np.concatenate((self._processing, processing)), np.empty(size), np.empty(size), np.empty(size, np.int64)
        )

    def _serve(self, work: Work, changes: list[Change], current: Round, samples: Samples) -> int:
        happening = [*changes, *((time, SAMPLE, -1) for time in current.samples)]
        while self._stalls and self._stalls[0][0] < current.end:
            happening.append(self._stalls.pop(0))
        happening.sort(key=lambda change: change[0])
        self._make_room(sum(code == START for _, code, _ in changes))
        times, codes, subjects = zip(*happening, strict=True) if happening else ((), (), ())
        happenings = Happenings(np.array(times, np.float64), np.array(codes, np.int64), np.array(subjects, np.int64))
        return serve(work, self._crew, self.operator.occupancy, self._levels, self._duration, happenings, current.end, samples)

    def _make_room(self, more: int) -> None:
        crew = self._crew
        needed = int(crew.counts[0]) + more
        if needed > crew.free.size:
            larger = _crew(2 * needed)
            for old, new in zip(crew, larger, strict=True):
                new[: old.size] = old
            self._crew = larger

    def _occupy(self, work: Work, begun: int, end: float) -> None:
        """Count the instance-seconds occupied in the round, by items begun earlier too."""
        begins = work.begins[:begun]
        free = begins + self.operator.occupancy * work.processing[:begun]
        self._busy += float((np.minimum(free, end) - begins).sum() + (np.minimum(self._occupied, end) - self._now).sum())
        occupied = np.concatenate((self._occupied, free))
        self._occupied = occupied[occupied > end]
        self._now = end

    def _monitor(self, times: tuple[float, ...], samples: Samples) -> None:
        for time, waiting, begun, recorded in zip(times, *(values.tolist() for values in samples), strict=True):
            self._queue = max(self._queue, waiting)
            if begun:
                self._durations.append(recorded / begun)
                self._delays.note(time, recorded / begun)
        del self._durations[:-REMEMBERED]


class _Delays:
    """Times from the first late monitoring interval to the next one in time; late is above `limit` (s) in the mean."""

    def __init__(self, limit: float) -> None:
        self._limit = limit
        self._since: float | None = None
        self._spans: list[float] = []

    def note(self, time: float, duration: float) -> None:
        """Take in a monitoring interval that ends at `time`."""
        if duration > self._limit:
            self._since = time if self._since is None else self._since
        elif self._since is not None:
            self._spans.append(time - self._since)
            self._since = None

    @property
    def mean(self) -> float | None:
        """Seconds; None where none was late, or none of those ended."""
        return sum(self._spans) / len(self._spans) if self._spans else None


def _crew(room: int) -> Crew:
    """A crew without instances, with room for the given number."""
    return Crew(np.empty(room), np.empty(room, np.int64), np.empty(room, np.int64), np.zeros(WITHIN + 3, np.int64), np.zeros(2))
