"""The predictive policy: what it learns, what it decides, and that both hold where nothing is as in the paper."""

from typing import Any

import numpy as np
import pytest

from edrp.core.errors import InvalidInstanceError
from edrp.core.methods import read_parameters
from edrp.datasets.enactment.manufacturing import manufacturing_application, manufacturing_scenario
from edrp.enactment import Action, EnactmentState, HostState, Lease, OperatorState, Place
from edrp.enactment.containers import ContainerOperator, HostType
from edrp.enactment.scenario import EnactmentScenario
from edrp.heuristics.enactment import BtuParameters, BtuPolicy
from edrp.heuristics.enactment.predictive import (
    BusyEstimate,
    CapacityEstimate,
    PredictiveParameters,
    PredictivePolicy,
    QueueEstimate,
)
from edrp.heuristics.enactment.predictive_filling import DemandHistory, HostCosts, PathSettings, expected_costs, paths
from edrp.heuristics.enactment.predictive_targets import OperatorFlow, targets
from edrp.validation.simulation.enactment.simulator import simulate

SMALL = HostType(name="small", resources={"slots": 4}, price=1.0, billing_time=600.0)


def operator(name: str, **fields: Any) -> ContainerOperator:
    """An operator whose instances take a slot each."""
    return ContainerOperator(**{"name": name, "processing_duration": 0.5, "resources": {"slots": 1}, **fields})


def alone(each: OperatorState, *, time: float = 0.0, hosts: int = 1, paid_until: float = 600.0) -> EnactmentState:
    """One operator, evenly on hosts of four slots."""
    inside = {each.operator.name: each.instances // hosts}
    there = {f"host-{n}": HostState(f"host-{n}", SMALL, True, paid_until, inside) for n in range(1, hosts + 1)}
    return EnactmentState(time, 60.0, {each.operator.name: each}, there, {"small": SMALL}, leases=hosts)


class Watched:
    """A policy whose states and actions are kept."""

    name = "watched"

    def __init__(self, policy: Any) -> None:
        self.policy = policy
        self.rounds: list[tuple[EnactmentState, tuple[Action, ...]]] = []

    def observe(self, state: EnactmentState) -> tuple[Action, ...]:
        actions: tuple[Action, ...] = self.policy.observe(state)
        self.rounds.append((state, actions))
        return actions


@pytest.fixture(scope="module")
def followed() -> tuple[EnactmentScenario, Any, list[tuple[EnactmentState, tuple[Action, ...]]]]:
    """Forty minutes of the factory under the predictive policy."""
    scenario = manufacturing_scenario("stepwise", duration=2400.0)
    watched = Watched(PredictivePolicy(PredictiveParameters()))
    return scenario, simulate(scenario, watched, 1), watched.rounds


@pytest.mark.parametrize(("kind", "tolerance"), [("busy", 0.06), ("queue", 0.4)])
def test_capacity_is_learned_from_a_monitored_run(followed: Any, kind: str, tolerance: float) -> None:
    """Nobody tells the estimates which share of its duration an item occupies an instance: a fifth."""
    scenario, _, rounds = followed
    for name, described in scenario.application.by_name.items():
        objective = described.processing_duration
        estimate: CapacityEstimate = BusyEstimate(objective, 20.0, 0.95) if kind == "busy" else QueueEstimate(objective, 0.01)
        for state, _ in rounds[1:]:
            estimate.learn(state.operators[name], state.interval)
        busy = scenario.application.load(name) * described.occupied
        if kind == "busy" or busy > 0.4:  # one instance that is hardly busy says little of what it could do
            assert estimate.occupied > described.occupied * (1 - tolerance)
        if kind == "busy":
            assert estimate.occupied < described.occupied * (1 + tolerance)


def test_an_estimate_follows_a_capacity_that_changes() -> None:
    work = operator("work")
    estimate = BusyEstimate(0.5, 20.0, 0.95)
    for busy in [10.0] * 60 + [30.0] * 60:
        estimate.learn(OperatorState(work, begun=100, busy=busy), 60.0)
    assert estimate.occupied == pytest.approx(0.3, rel=0.05)


def test_without_a_queue_the_bound_is_eased_until_items_wait_again() -> None:
    work = operator("work")
    estimate = QueueEstimate(0.5, 0.1)
    for _ in range(30):
        estimate.learn(OperatorState(work, running=4, begun=600), 60.0)  # at most 0.4 s each
    assert estimate.occupied < 0.05
    for _ in range(12):
        estimate.learn(OperatorState(work, running=4, queue=500, begun=800), 60.0)
    assert estimate.occupied == pytest.approx(0.3, rel=0.01)


def test_the_declared_occupancy_is_not_looked_at() -> None:
    """Two runs that differ in nothing but the declared share are followed alike, however wrong it is."""
    outcomes = []
    for occupancy in (0.1, 1.0):
        policy = PredictivePolicy(PredictiveParameters())
        work = operator("work", external_rate=2.0, occupancy=occupancy)
        policy.observe(alone(OperatorState(work, 2)))
        actions = policy.observe(alone(OperatorState(work, 4, 0, 900, (), 2000, 1200, 230.0), time=60.0))
        outcomes.append([str(action) for action in actions])
    assert outcomes[0] == outcomes[1]
    assert any(action.startswith("lease") for action in outcomes[0])


def test_a_surge_reaches_all_operators_behind_it_in_the_same_round() -> None:
    """The reader lets through what two instances serve; what the writer will get is known at once."""
    read = operator("read", external_rate=4.0, selectivity=0.5)
    monitored = {
        "read": OperatorState(read, 2, arrivals=6000, begun=240),
        "write": OperatorState(operator("write"), arrivals=120),
    }
    history = DemandHistory(EnactmentState(60.0, 60.0, monitored, {}, {}, (("read", "write"),)), 10)
    history.learn(EnactmentState(60.0, 60.0, monitored, {}, {}, (("read", "write"),)))
    assert history.rows[-1] == pytest.approx([100.0, 50.0])


def test_demand_that_is_not_declared_counts_where_no_stream_brings_it() -> None:
    monitored = {"a": OperatorState(operator("a"), arrivals=600)}
    state = EnactmentState(60.0, 60.0, monitored, {}, {})
    history = DemandHistory(state, 3)
    assert history.declared.tolist() == [0.0]
    for _ in range(5):
        history.learn(state)
    assert history.rows.tolist() == [[10.0]] * 3


def test_a_beat_is_recognised_and_noise_is_not() -> None:
    """Eight rounds low and eight high: before the change most weight is on it, elsewhere it is not."""
    beat = np.array(([2.0] * 8 + [8.0] * 8) * 5)

    def chance(loads: np.ndarray) -> float:
        found = paths(loads, 3, 60.0, PathSettings())
        return float(found.weights[found.levels[:, 1] > 6].sum() / found.weights.sum())

    assert chance(beat[:72]) > 0.3  # the low phase ends now
    assert chance(beat[:68]) < 0.1  # four rounds before
    assert chance(np.full(72, 2.0)) == 0.0


def test_more_hosts_are_worth_it_the_sooner_and_the_surer_the_surge() -> None:
    support, prices = np.array([0.0, 1.0, 2.0, 3.0]), np.full(3, 0.1)
    costs = HostCosts(rounds=10, lag=2, late=1.0, overload_share=1.0, surprise_share=1.0, utilisation=0.95)

    def best(surge: float, chance: float) -> int:
        ahead = np.arange(11)
        found = paths(np.full(2, 0.9), 10, 60.0, PathSettings())
        levels = np.array([np.full(11, 0.9), np.where(ahead >= surge, 1.9, 0.9)])
        found = found._replace(levels=levels, weights=np.array([1 - chance, chance]), known_rounds=np.array([10, 10]))
        return int(expected_costs(found, support, prices, 1, 0.0, costs).argmin())

    assert best(surge=3, chance=0.9) == 2
    assert best(surge=3, chance=0.02) == 1
    assert best(surge=99, chance=1.0) == 1


def test_a_host_that_is_leased_on_the_way_is_paid_from_then_on() -> None:
    """The load rises to 1.5 hosts in the second of three rounds. Then a host is leased; what waits in the end costs another."""
    levels = np.array([[0.5, 0.5, 1.5, 1.5]])
    ahead = paths(np.full(2, 0.5), 3, 60.0, PathSettings())._replace(
        levels=levels, weights=np.ones(1), known_rounds=np.array([3])
    )
    costs = HostCosts(rounds=3, lag=1, late=0.0, overload_share=1.0, surprise_share=1.0, utilisation=1.0)
    money = expected_costs(ahead, np.array([0.0, 1.0, 2.0]), np.ones(2), 1, 0.0, costs)
    assert money.tolist() == [2 + 1 + 0.5, 3 + 1, 6]


def test_in_an_overload_few_items_are_late_not_all() -> None:
    """Room for four fifths of the load: shared evenly every operator is late, so the one that needs most per item waits."""
    application = manufacturing_application(8)
    names = [operator.name for operator in application.operators]
    step = np.zeros((9, 9))
    for stream in application.streams:
        step[names.index(stream.source), names.index(stream.target)] = application.by_name[stream.source].selectivity
    occupied = np.array([operator.occupied for operator in application.operators])
    flow = OperatorFlow(
        outside=np.array([operator.external_rate for operator in application.operators]),
        step=step,
        draining=np.zeros(9),
        occupied=occupied,
        order=np.array([names.index(name) for name in application.topological_order]),
        need=np.full((9, 1), 1 / 14),
        min_instances=np.ones(9),
        max_instances=np.full(9, np.inf),
        utilisation=1.0,
    )
    loads = np.array([application.load(name) for name in names])
    found = targets(flow, np.array([0.8 * (loads @ occupied) / 14]), np.ones(1), np.ones(1))
    sent = np.minimum(loads, found / occupied)
    late = sent < loads - 1e-9
    first = names.index("parse-and-distribute-data")
    assert late[first]
    assert loads[late & ~step[first].astype(bool)].sum() < 0.25 * loads.sum()
    assert found.sum() / 14 <= 0.8 * (loads @ occupied) / 14 + 1e-9


def test_hosts_are_given_back_at_the_end_of_what_is_paid() -> None:
    scenario = manufacturing_scenario("random-walk-1", seed=2, duration=3600.0)
    run = simulate(scenario, PredictivePolicy(PredictiveParameters()), 2)
    ended = [lease for lease in run.leases if lease.end is not None]
    assert ended
    for lease in ended:
        assert 0 <= lease.start + lease.units * 600.0 - lease.end <= 80.0


def test_where_nobody_measures_busy_instances_it_still_serves() -> None:
    scenario = manufacturing_scenario("stepwise", duration=2400.0)
    run = simulate(scenario, PredictivePolicy(PredictiveParameters(estimate="queue")), 1)
    theirs = simulate(scenario, BtuPolicy(BtuParameters()), 1)
    assert scenario.evaluate(run).objective < scenario.evaluate(theirs).objective


def test_an_operator_that_cannot_run_on_the_usual_host_gets_one_of_its_own() -> None:
    large = HostType(name="large", resources={"slots": 16}, price=6.0, billing_time=600.0)
    light, light_too = (operator(name, candidates=("small",)) for name in ("light", "light-too"))
    heavy = operator("heavy", resources={"slots": 9}, external_rate=4.0)
    monitored = {"light": OperatorState(light, 1), "light-too": OperatorState(light_too, 1), "heavy": OperatorState(heavy, 0)}
    host = HostState("host-1", SMALL, paid_until=600.0, instances={"light": 1, "light-too": 1})
    state = EnactmentState(0.0, 60.0, monitored, {"host-1": host}, {"small": SMALL, "large": large}, leases=1)
    actions = PredictivePolicy(PredictiveParameters()).observe(state)
    leased = {action.host for action in actions if isinstance(action, Lease) and action.type == "large"}
    assert leased
    assert any(isinstance(action, Place) and action.operator == "heavy" and action.host in leased for action in actions)


def test_no_load_at_all_holds_one_host() -> None:
    """Two idle hosts near the end of their leases: one goes, and nothing is leased, round by round."""
    policy = PredictivePolicy(PredictiveParameters())
    idle = OperatorState(operator("work"), 2)
    policy.observe(alone(idle, hosts=2, paid_until=120.0))
    asked = [str(action) for action in policy.observe(alone(idle, time=60.0, hosts=2, paid_until=120.0))]
    assert sum(action.startswith("release") for action in asked) == 1
    assert not any(action.startswith("lease") for action in asked)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"utilisation": 0}, "utilisation must be above 0 and at most 1, got 0"),
        ({"penalty": -1}, "penalty must not be negative, got -1"),
        ({"memory": 0}, "memory must be above 0, got 0"),
        ({"estimate": "guess"}, "estimate"),
    ],
)
def test_parameters_that_cannot_be_are_refused(given: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidInstanceError, match=says):
        read_parameters(PredictiveParameters, given, "predictive-policy")
