"""The clairvoyant bound: by hand, in order, and below the costs of policies in simulation."""

import math

import pytest

from edrp.core.methods import Options
from edrp.datasets.enactment.manufacturing import manufacturing_scenario
from edrp.enactment.scenario import EnactmentScenario
from edrp.validation.oracles.enactment.bounds import clairvoyant_bound
from edrp.validation.simulation.enactment.simulator import PolicyMethod


def two_stages(**fields) -> EnactmentScenario:
    """Eight instances of `first` are busy at load 1, and one of `second`; four fit on a host, and a unit lasts five minutes."""
    operators = [
        {"name": "first", "processing_duration": 0.5, "external_rate": 16.0, "selectivity": 0.1, "resources": 1},
        {"name": "second", "processing_duration": 0.5, "resources": 1},
    ]
    given = {
        "application": {"operators": operators, "streams": [{"source": "first", "target": "second"}]},
        "host_types": [{"name": "small", "resources": 4, "price": 1.0, "billing_time": 300.0}],
        "load": [1.0] * 10,
        "load_step": 60.0,
        "service": "constant",
        "penalty": 1.0,
    }
    return EnactmentScenario(**{**given, **fields})


def test_dear_items_are_served_in_time() -> None:
    """Nine instances on three hosts for two units; where nothing arrives for a while, two of them go and come back."""
    assert clairvoyant_bound(two_stages()).total == pytest.approx(6.0)
    pause = clairvoyant_bound(two_stages(load=[1.0] + [0.0] * 13 + [1.0]))
    assert pause.total == pytest.approx(3 + 1 + 3)
    assert [pause.hosts[period] for period in (0, 6, 14)] == [3, 1, 3]


def test_cheap_items_are_left_to_wait() -> None:
    """One host carries three instances of `first`; of 10 × (960 − a second's 16) items 10 × 360 are begun."""
    found = clairvoyant_bound(two_stages(penalty=1e-5))
    assert found.total == pytest.approx(2 + 1e-5 * 10 * (944 - 360))
    assert clairvoyant_bound(two_stages(penalty=1e-5), all_in_time=True).total == pytest.approx(6.0)


def test_slow_processing_is_counted() -> None:
    """Exponential durations exceed twice their mean for e^-2 of the items, whatever is leased; stages after lose these items."""
    sure = clairvoyant_bound(two_stages(service="exponential")).total - 6.0
    share = math.exp(-2.0)
    assert sure == pytest.approx(9600 * share * (1 + 0.1 * (1 - share)))
    assert clairvoyant_bound(two_stages(service="exponential"), "relaxed").total < sure


def test_initial_instances_must_be_hosted() -> None:
    """Eight of each on four hosts at time 0, whether they are of use or not."""
    assert clairvoyant_bound(two_stages(load=[0.0] * 10, initial_instances=8)).total == pytest.approx(4 + 1)


def test_limits_and_host_types() -> None:
    """Larger hosts that are cheaper take over; a limit on them brings back the smaller ones."""
    small, large = (
        {"name": name, "resources": size, "price": price, "billing_time": 300.0}
        for name, size, price in (("small", 4, 1.0), ("large", 9, 1.5))
    )
    assert clairvoyant_bound(two_stages(host_types=[small, large])).total == pytest.approx(3.0)
    assert clairvoyant_bound(two_stages(host_types=[small, {**large, "limit": 0}])).total == pytest.approx(6.0)


@pytest.mark.parametrize("policy", ["static-peak", "threshold", "btu"])
def test_no_policy_pays_less(policy: str) -> None:
    """Twenty minutes of the factory; what is left in the queues counts as late."""
    scenario = manufacturing_scenario("two-level", duration=1200.0, billing_time=300.0)
    bound = clairvoyant_bound(scenario)
    run = PolicyMethod(policy).run(scenario, Options(seed=3)).decision
    waiting = scenario.penalty * sum(record.queued for record in run.operators)
    assert bound.proven
    assert 1.0 < bound.total <= scenario.evaluate(run).metrics["near_real_time_total"] + waiting
