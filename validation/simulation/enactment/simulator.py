"""Simulates a run under a policy, by discrete events at the grain of data items (cost-efficient enactment, "Evaluation").

Between two observations of the policy, instances come and go at times that are known. So a round is simulated operator by
operator, each after those that send to it, in one pass over its items (`service_kernel.cpp` in `edrp/native`); only
hosts and instances are kept in Python, and only round by round.

Events at one time happen in this order: the policy acts, instances come and go, stalls begin and end, queues are sampled,
then items move. As a method, a scenario is solved by following a policy through it.
"""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np

from edrp import _native
from edrp.core import budget
from edrp.core.arrays import Floats
from edrp.core.budget import spend
from edrp.core.errors import OutOfTimeError, VerificationError
from edrp.core.methods import Method, Options
from edrp.core.solution import Answer
from edrp.enactment import Action, EnactmentState, OperatorState, Policy
from edrp.enactment.containers import ContainerOperator
from edrp.enactment.scenario import LEVELS, EnactmentRun, EnactmentScenario, OperatorRecord, emitted
from edrp.heuristics.enactment import POLICIES
from edrp.validation.simulation.enactment.fleet import (
    HOLD,
    RESUME,
    SAMPLE,
    START,
    WITHIN,
    Change,
    Crew,
    Fleet,
    Happenings,
    Samples,
    Work,
)
from edrp.validation.simulation.enactment.run_inputs import EventLog, RandomStreams, Round, rounds

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
        _native.send_items(departures, before, selectivity, out)
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
        crew = self._crew
        needed = int(crew.counts[0]) + sum(code == START for _, code, _ in changes)
        if needed > crew.free.size:
            larger = _crew(2 * needed)
            for old, new in zip(crew, larger, strict=True):
                new[: old.size] = old
            self._crew = larger
        times, codes, subjects = zip(*happening, strict=True) if happening else ((), (), ())
        happenings = Happenings(np.array(times, np.float64), np.array(codes, np.int64), np.array(subjects, np.int64))
        share, levels, last = self.operator.occupancy, self._levels, self._duration
        return _native.serve_items(work, self._crew, share, levels, last, happenings, current.end, samples)

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
    return Crew(np.empty(room), np.empty(room, np.int64), np.empty(room, np.int64), np.zeros(WITHIN + 3, np.int64), np.zeros(2))


OBSERVED = 1e-4
"""Units of work per operator that a policy observes."""


def simulate(
    scenario: EnactmentScenario, policy: Policy, seed: int, *, until: float = inf, record: EventLog | None = None
) -> EnactmentRun:
    """Simulate one run.

    Parameters
    ----------
    policy
        Policy, called at time 0 and then once per provisioning interval; the object must be new.
    seed
        Seed of all random numbers, not negative. The same seed gives the same run.
    until
        When to give up, on the clock of limits (`edrp.core.budget.now`). It is checked once per round.
    record
        Log for small runs, in which every item, instance and host is noted.

    Raises
    ------
    OutOfTimeError
        When `until` came first.
    PolicyError
        When an action of the policy is impossible; no action of that round is carried out.
    InvalidInstanceError
        When the limits of the host types leave no room for the initial instances.
    VerificationError
        When items appear or vanish, which is checked at every round with actions and at the end.
    """
    run = _RunState(scenario, seed, record)
    for current in rounds(scenario):
        budget.spend(OBSERVED * len(scenario.application.operators))
        run.act(tuple(policy.observe(run.observe())))
        run.advance(current)
        if budget.passed(until):
            raise OutOfTimeError("the limit came before the end of the run")
    return run.document()


class _RunState:
    """A run under way."""

    def __init__(self, scenario: EnactmentScenario, seed: int, record: EventLog | None) -> None:
        self._scenario = scenario
        self._record = record
        random_streams = RandomStreams(scenario, seed)
        application = scenario.application
        self._order = application.topological_order
        self._stations = {name: Station(scenario, operator, random_streams) for name, operator in application.by_name.items()}
        self._sources = {name: [s.source for s in application.streams if s.target == name] for name in application.by_name}
        self._streams = tuple((stream.source, stream.target) for stream in application.streams)
        self._fleet = Fleet(scenario, random_streams, record)
        self._now = 0.0
        self._fleet.start_initial(self.observe())

    def observe(self) -> EnactmentState:
        fleet = self._fleet
        operators = {
            name: station.observe(fleet.running[name], fleet.instances[name] - fleet.running[name], fleet.scalings[name])
            for name, station in self._stations.items()
        }
        self._state = EnactmentState(
            time=self._now,
            interval=self._scenario.provisioning_interval,
            operators=operators,
            hosts=fleet.host_states(self._now),
            host_types=self._scenario.types,
            streams=self._streams,
            leases=fleet.leases,
        )
        return self._state

    def act(self, actions: tuple[Action, ...]) -> None:
        if actions:
            self._check()
            self._fleet.apply(actions, self._state)

    def advance(self, current: Round) -> None:
        self._fleet.advance(current.end)
        sent: dict[str, Floats] = {}
        for name in self._order:
            station = self._stations[name]
            inflows = [sent[source] for source in self._sources[name]]
            departures = station.advance(inflows, self._fleet.take_changes(name), current, self._record)
            sent[name] = station.sent(departures)
        self._now = current.end

    def document(self) -> EnactmentRun:
        self._check()
        return EnactmentRun.model_construct(
            leases=tuple(self._fleet.lease_records(self._scenario.duration)),
            instances=tuple(self._fleet.instance_records()),
            operators=tuple(station.record() for station in self._stations.values()),
        )

    def _check(self) -> None:
        """Check that no item appears or vanishes."""
        for name, station in self._stations.items():
            before = [self._stations[source] for source in self._sources[name]]
            station.check(sum(emitted(source.completed, source.operator.selectivity) for source in before))


SUFFIX = "-policy"
"""Ending of the method's name, after the name of the policy."""


class PolicyMethod(Method):
    """A policy as a method: the simulator follows it through a scenario."""

    kinds = ("enactment-scenario",)

    def __init__(self, policy: str) -> None:
        policy_and_parameters: tuple[Any, type[Any]] = POLICIES[policy]
        self._policy, self.parameters = policy_and_parameters
        self.name = policy + SUFFIX
        first = (self._policy.__doc__ or "").strip().split("\n")[0].rstrip(".")
        self.summary = f"simulates a run: {first[:1].lower()}{first[1:]}"

    def run(self, problem: EnactmentScenario, options: Options) -> Answer:
        """Simulate once, with `options.seed`; if the limit comes before the end of the run, there is no decision."""
        parameters: Any = self.read_parameters(options)
        if hasattr(parameters, "knowing"):  # a policy for a load that is known: here it is
            parameters = parameters.knowing(problem.load)
        run = simulate(problem, self._policy(parameters), options.seed, until=options.started + options.limit)
        late = sum(record.completed - getattr(record, problem.objective_level) for record in run.operators)
        objective = sum(lease.units * problem.types[lease.type].price for lease in run.leases) + problem.penalty * late
        items = sum(record.arrived for record in run.operators)
        return Answer("feasible", "finished", decision=run, objective=objective, size={"items": items})


METHODS = tuple(PolicyMethod(name) for name in POLICIES)
"""Methods that this module adds to the registry."""
