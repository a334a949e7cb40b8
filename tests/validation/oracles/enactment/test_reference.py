"""The compiled simulator and the reference tell the same story, event by event."""

import random
from collections import Counter

import pytest

from edrp.core.errors import PolicyError
from edrp.enactment import TentativeState
from edrp.enactment.scenario import EnactmentScenario
from edrp.validation.oracles.enactment.reference_simulator import simulate_reference
from edrp.validation.simulation.enactment.run_inputs import EventLog
from edrp.validation.simulation.enactment.simulator import simulate

SERVICES = ("lognormal", "exponential", "constant")


class Whim:
    """Tries whatever comes to its mind and does what is allowed."""

    name = "whim"

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.seen = []
        self.done = Counter()

    def observe(self, state):
        self.seen.append(state)
        tentative = TentativeState(state)
        for _ in range(self.random.randint(0, 7)):
            try:
                self.try_one(tentative)
            except PolicyError:
                continue
        self.done.update(type(action).__name__ for action in tentative.actions)
        return tentative.actions

    def try_one(self, tentative):
        operator = self.random.choice(list(tentative.state.operators))
        one, other = self.random.choice(tentative.hosts), self.random.choice(tentative.hosts)
        what = self.random.random()
        if what < 0.15:
            tentative.lease(self.random.choice(list(tentative.state.host_types)))
        elif what < 0.45:
            tentative.place(operator, one)
        elif what < 0.6:
            tentative.remove(operator, one)
        elif what < 0.75:
            tentative.migrate(operator, one, other)
        else:
            for name, count in tentative.on(one).items():
                for _ in range(count):
                    target = next((host for host in tentative.hosts if host != one and tentative.fits(host, name)), other)
                    tentative.migrate(name, one, target)
            tentative.release(one)


def world(seed):
    """A small application with a split, a join, and operators that barely keep up."""
    operators = [
        {"name": "read", "processing_duration": 0.6, "external_rate": 4.0, "resources": {"cpu": 1}, "code_size": 50e6},
        {"name": "split", "processing_duration": 0.3, "selectivity": 2, "resources": {"cpu": 1}, "occupancy": 0.5},
        {"name": "filter", "processing_duration": 0.9, "external_rate": 1.0, "selectivity": 0.3, "resources": {"cpu": 2}},
        {"name": "store", "processing_duration": 0.4, "resources": {"cpu": 1}, "occupancy": 0.2},
    ]
    pairs = [("read", "split"), ("read", "filter"), ("split", "store"), ("filter", "store")]
    types = [
        {"name": "small", "resources": {"cpu": 5}, "price": 1.0, "billing_time": 60.0, "start_up": (10.0, 30.0)},
        {"name": "large", "resources": {"cpu": 9}, "price": 1.5, "billing_time": 90.0, "start_up": (20.0, 50.0), "limit": 2},
    ]
    return EnactmentScenario(
        application={"operators": operators, "streams": [{"source": source, "target": target} for source, target in pairs]},
        host_types=types,
        load=[0.5, 1.5, 1.0, 0.0, 2.0],
        load_step=75.0,
        service=SERVICES[seed % 3],
        arrivals=("regular", "poisson")[seed % 2],
        provisioning_interval=30.0,
        stall_interval=60.0 if seed % 4 < 2 else 0.0,
        stall_duration=15.0,
        initial_instances=1 + seed % 2,
    )


def observed(policy):
    """The states that it saw, without the instance-seconds, which are summed in another order."""
    return [
        (
            state.time,
            state.hosts,
            state.leases,
            [
                (
                    operator.running,
                    operator.starting,
                    operator.queue,
                    operator.durations,
                    operator.arrivals,
                    operator.begun,
                    operator.scalings,
                )
                for operator in state.operators.values()
            ],
        )
        for state in policy.seen
    ]


@pytest.mark.parametrize("seed", range(12))
def test_both_give_the_same_log_of_events_the_same_observations_and_the_same_run(seed):
    """Under a policy that leases, places, removes, migrates and releases at random; with all services, arrivals, stalls."""
    scenario = world(seed)
    logs, policies = (EventLog(), EventLog()), (Whim(seed), Whim(seed))
    run = simulate(scenario, policies[0], seed, record=logs[0])
    reference = simulate_reference(scenario, policies[1], seed, record=logs[1])
    assert len(logs[0].events) > 3000
    assert logs[0].sorted() == logs[1].sorted()
    assert observed(policies[0]) == observed(policies[1])
    for one, other in zip(policies[0].seen, policies[1].seen, strict=True):
        busy = [[operator.busy for operator in state.operators.values()] for state in (one, other)]
        assert busy[0] == pytest.approx(busy[1])
    assert run.leases == reference.leases
    assert run.operators == reference.operators
    assert not scenario.evaluate(run).broken
