"""Simulates a run under a policy, by discrete events at the grain of data items (cost-efficient enactment, "Evaluation").

Between two observations of the policy, instances come and go at times that are known. So a round is simulated operator by
operator, each after those that send to it, in one compiled pass over its items (`service_kernel.py`); only
hosts and instances are kept in Python, and only round by round.

Events at one time happen in this order: the policy acts, instances come and go, stalls begin and end, queues are sampled,
then items move.
"""

from __future__ import annotations

from math import inf

from edrp.core import budget
from edrp.core.arrays import Floats
from edrp.core.errors import OutOfTimeError
from edrp.enactment import Action, EnactmentState, Policy
from edrp.enactment.scenario import EnactmentRun, EnactmentScenario, emitted
from edrp.validation.simulation.enactment.event_log import EventLog
from edrp.validation.simulation.enactment.fleet import Fleet
from edrp.validation.simulation.enactment.rounds import Round, rounds
from edrp.validation.simulation.enactment.run_randomness import RandomStreams
from edrp.validation.simulation.enactment.station import Station

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
        self._state: EnactmentState

    def observe(self) -> EnactmentState:
        """The state that the policy sees now."""
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
        """Carry out the actions of the policy."""
        if actions:
            self._check()
            self._fleet.apply(actions, self._state)

    def advance(self, current: Round) -> None:
        """Simulate one round."""
        self._fleet.advance(current.end)
        sent: dict[str, Floats] = {}
        for name in self._order:
            station = self._stations[name]
            inflows = [sent[source] for source in self._sources[name]]
            departures = station.advance(inflows, self._fleet.take_changes(name), current, self._record)
            sent[name] = station.sent(departures)
        self._now = current.end

    def document(self) -> EnactmentRun:
        """Return the document of the finished run."""
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
