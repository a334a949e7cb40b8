"""Runs under a policy: the physics that the scenario promises, the accounts, and policies that ask for the impossible."""

from itertools import pairwise

import pytest

from edrp.core.budget import now
from edrp.core.errors import InvalidInstanceError, OutOfTimeError, PolicyError, VerificationError
from edrp.datasets.enactment.manufacturing import manufacturing_scenario
from edrp.enactment import Lease, Migrate, Place, Release, Remove
from edrp.enactment.scenario import EnactmentScenario
from edrp.validation.oracles.enactment.queueing_theory import queueing_check
from edrp.validation.simulation.enactment.run_inputs import EventLog
from edrp.validation.simulation.enactment.simulator import Station, simulate


class Script:
    """Does what it is told at the times it is told, and keeps what it saw."""

    name = "script"

    def __init__(self, **actions):
        self.actions = {float(time.removeprefix("at_")): what for time, what in actions.items()}
        self.seen = {}

    def observe(self, state):
        self.seen[state.time] = state
        return self.actions.get(state.time, ())


def scenario(**fields):
    """One operator that takes exactly a second per item, one instance of it at first, four to a host, one item a second."""
    operator = {"name": "ocr", "processing_duration": 1.0, "external_rate": 1.0, "resources": 1, "code_size": 100e6}
    described = {
        "application": {"operators": [operator | fields.pop("operator", {})]},
        "host_types": [{"name": "small", "resources": 4, "price": 2.0, "billing_time": 100.0} | fields.pop("host", {})],
        "load": [1.0] * 4,
        "load_step": 60.0,
        "emission_interval": 1.0,
        "bursts": 1,
        "service": "constant",
        "initial_instances": 1,
    }
    return EnactmentScenario(**{**described, **fields})


def logged(world, policy, seed=0):
    log = EventLog()
    run = simulate(world, policy, seed, record=log)
    kinds = {}
    for event in log.sorted():
        kinds.setdefault(event.what, []).append(event)
    return run, kinds


def test_the_same_seed_gives_the_same_bytes_and_another_seed_another_run():
    world = manufacturing_scenario("random-walk-1", duration=300.0, stall_interval=60.0, stall_duration=5.0)
    first, again, other = (simulate(world, Script(), seed).model_dump_json() for seed in (1, 1, 2))
    assert first == again != other


def test_items_arrive_as_load_and_rates_say_with_fractions_carried_over():
    world = scenario(load=[1.0, 0.0, 2.0], operator={"external_rate": 0.3}, bursts=2)
    run, events = logged(world, Script())
    assert run.operators[0].arrived == 18 + 36
    times = [event.time for event in events["arrive"]]
    assert not [time for time in times if 60 <= time < 120]
    assert all(2 * time == round(2 * time) for time in times)
    assert sum(time < 60 for time in times) == 18


def test_poisson_arrivals_follow_the_load():
    world = scenario(load=[1.0, 0.0, 3.0], load_step=1000.0, arrivals="poisson", operator={"external_rate": 5.0})
    _, events = logged(world, Script())
    counts = [sum(low <= event.time < low + 1000 for event in events["arrive"]) for low in (0, 1000, 2000)]
    assert counts[1] == 0
    assert counts[0] == pytest.approx(5000, abs=4 * 5000**0.5)
    assert counts[2] == pytest.approx(15000, abs=4 * 15000**0.5)


def test_what_is_monitored_of_an_instance_that_just_keeps_up():
    """A second of work each second: always busy, nothing waits."""
    policy = Script()
    simulate(scenario(), policy, 0)
    seen = policy.seen[120.0].operators["ocr"]
    assert (seen.arrivals, seen.begun, seen.queue, seen.durations) == (60, 60, 0, (1.0,) * 8)
    assert seen.busy == pytest.approx(60.0)
    assert policy.seen[0.0].operators["ocr"].durations == ()


def test_what_is_monitored_when_items_pile_up():
    """Two items a second for one that is served: item i, begun at second i, came at second i // 2."""
    policy = Script()
    simulate(scenario(operator={"external_rate": 2.0}), policy, 0)
    seen = policy.seen[60.0].operators["ocr"]
    assert (seen.arrivals, seen.begun, seen.queue) == (120, 60, 60)
    means = [sum(1 + i - i // 2 for i in range(start, start + 15)) / 15 for start in (0, 15, 30, 45)]
    assert seen.durations == pytest.approx(means)
    assert policy.seen[180.0].operators["ocr"].queue == 180


def test_items_go_on_by_selectivity_and_only_whole_ones():
    operators = [
        {"name": "split", "processing_duration": 0.5, "external_rate": 1.0, "selectivity": 3, "resources": 1},
        {"name": "join", "processing_duration": 0.1, "selectivity": 0.4, "resources": 1},
        {"name": "last", "processing_duration": 0.1, "resources": 1},
    ]
    streams = [{"source": "split", "target": "join"}, {"source": "join", "target": "last"}]
    run, events = logged(scenario(application={"operators": operators, "streams": streams}, load=[1.0], load_step=10.0), Script())
    assert [record.arrived for record in run.operators] == [10, 30, 12]
    departures = [event.time for event in events["depart"] if event.subject == "join"]
    arrivals = [event.time for event in events["arrive"] if event.subject == "last"]
    assert arrivals[:4] == [departures[index] for index in (2, 4, 7, 9)]


def test_an_instance_is_occupied_for_a_share_of_the_processing():
    """At a fifth, one instance keeps up with five items a second, and each still takes its second."""
    policy = Script()
    run = simulate(scenario(operator={"external_rate": 5.0, "occupancy": 0.2}, bursts=5), policy, 0)
    assert run.operators[0].queued == 0
    assert policy.seen[60.0].operators["ocr"].busy == pytest.approx(60.0)
    assert policy.seen[60.0].operators["ocr"].duration == pytest.approx(1.0)


def test_a_placed_instance_starts_after_host_image_and_itself_and_the_image_comes_once():
    world = scenario(instance_start_up=(5.0, 5.0), host={"start_up": (40.0, 40.0)})
    run, _ = logged(
        world, Script(at_60=(Lease("b", "small"), Place("ocr", "b")), at_120=(Place("ocr", "b"), Place("ocr", "host-1")))
    )
    assert [(lease.host, lease.start, lease.ready) for lease in run.leases] == [("host-1", 0.0, 0.0), ("b", 60.0, 100.0)]
    assert [instance.started for instance in run.instances] == [0.0, 60.0 + 40.0 + 10.0 + 5.0, 125.0, 125.0]


def test_a_removed_instance_finishes_its_item_and_takes_no_other():
    world = scenario(operator={"processing_duration": 7.0}, initial_instances=2)
    run, events = logged(world, Script(at_60=(Remove("ocr", "host-1"),)))
    assert run.instances[1].ended == 60.0
    assert run.instances[1].ended_by == "removed"
    mine = [event.time for event in events["begin"] if event.instance == 1]
    assert mine
    assert max(mine) < 60.0 < max(mine) + 7.0
    assert max(mine) + 7.0 in [event.time for event in events["depart"]]


def test_a_migration_makes_before_it_breaks_and_the_host_given_back_ends_with_it():
    world = scenario(load=[1.0] * 6, host={"start_up": (50.0, 60.0)})
    policy = Script(at_60=(Lease("b", "small"), Migrate("ocr", "host-1", "b"), Release("host-1")))
    run, events = logged(world, policy)
    (down,), (_, up) = events["down"], events["up"]
    assert (down.time, down.instance, down.host) == (up.time, 0, "host-1")
    assert (up.instance, up.host) == (1, "b")
    assert 60 + 50 + 10 + 5 <= up.time <= 60 + 60 + 10 + 10
    assert run.leases[0].end == pytest.approx(up.time, abs=1e-9)
    assert run.leases[0].units == 2
    assert [instance.cause for instance in run.instances] == ["initial", "migrated"]
    waiting = policy.seen[120.0].hosts
    assert waiting["host-1"].releasing
    assert waiting["host-1"].leaving == {"ocr": 1}
    assert (policy.seen[120.0].operators["ocr"].running, policy.seen[120.0].operators["ocr"].starting) == (1, 0)
    assert list(policy.seen[180.0].hosts) == ["b"]


def test_every_started_unit_is_paid_and_one_that_begins_at_the_end_is_not():
    world = scenario(load=[1.0] * 5, host={"billing_time": 60.0})
    policy = Script(at_0=(Lease("b", "small"), Lease("c", "small")), at_60=(Release("b"),), at_120=(Release("c"),))
    run = simulate(world, policy, 0)
    assert [(lease.host, lease.end, lease.units) for lease in run.leases] == [
        ("host-1", None, 5),
        ("b", 60.0, 1),
        ("c", 120.0, 2),
    ]
    assert [policy.seen[time].hosts["host-1"].paid_until for time in (0.0, 60.0, 120.0)] == [60.0, 60.0, 120.0]
    assert world.evaluate(run).metrics["resource_cost"] == 16.0


def test_a_stalled_operator_begins_nothing_meanwhile_and_goes_on_afterwards():
    world = scenario(load=[1.0] * 20, stall_interval=100.0, stall_duration=20.0, operator={"processing_duration": 0.4})
    run, events = logged(world, Script(), seed=3)
    begins = sorted(event.time for event in events["begin"])
    pauses = [(early, late) for early, late in pairwise(begins) if late - early > 2.0]
    assert len(pauses) > 3
    assert all(late - early >= 18.0 for early, late in pauses)
    assert run.operators[0].completed > 0.95 * run.operators[0].arrived
    assert run.operators[0].time_to_adapt >= 15.0


def test_compliance_counts_items_within_each_level():
    """One server, five items at once: 1 to 5 times the duration."""
    world = scenario(load=[1.0], load_step=10.0, emission_interval=10.0, operator={"external_rate": 0.6})
    (record,) = simulate(world, Script(), 0).operators
    assert (record.arrived, record.completed) == (6, 6)
    assert (record.real_time, record.near_real_time, record.relaxed) == (1, 2, 5)


def test_an_item_that_is_served_when_the_run_ends_is_within_no_level():
    """Items come at 0 s and 5 s; the second is begun at once, but ends after the run."""
    operator = {"external_rate": 0.2, "processing_duration": 7.0}
    world = scenario(load=[1.0], load_step=10.0, emission_interval=5.0, operator=operator, initial_instances=2)
    (record,) = simulate(world, Script(), 0).operators
    assert (record.arrived, record.completed) == (2, 1)
    assert (record.real_time, record.near_real_time, record.relaxed) == (1, 1, 1)


@pytest.mark.parametrize(
    ("actions", "why"),
    [
        ((Place("ocr", "nowhere"),), "no host 'nowhere'"),
        ((Place("nothing", "host-1"),), "no operator 'nothing'"),
        ((Place("ocr", "host-1"),) * 4, "host-1 has no room: resources 1 needed, 0 left"),
        ((Lease("b", "small"), Release("b"), Place("ocr", "b")), "b has been given back"),
        ((Remove("ocr", "host-1"),), "it is the last instance of ocr"),
        ((Release("host-1"),), "1 ocr would stay"),
        ((Lease("b", "small"), Lease("c", "small")), "no more than 2 hosts"),
        ((Lease("host-1", "small"),), "there is a host 'host-1' already"),
        ((Lease("b", "large"),), "no host type 'large'"),
        (("place ocr",), "place ocr: is no action"),
    ],
)
def test_a_policy_that_asks_for_the_impossible_is_stopped_with_the_state_that_shows_it(actions, why):
    policy = Script(at_60=actions)
    with pytest.raises(PolicyError, match=why) as stopped:
        simulate(scenario(host={"limit": 2}), policy, 0)
    assert stopped.value.state is policy.seen[60.0]
    assert stopped.value.action == actions[-1]
    assert "at 60 s, host-1 (small)" in str(stopped.value)


def test_an_operator_is_not_placed_where_it_may_not_run():
    types = [{"name": name, "resources": 4, "price": 1.0, "billing_time": 600.0} for name in ("other", "small")]
    world = scenario(operator={"candidates": ["small"]}, host_types=types)
    with pytest.raises(PolicyError, match="ocr may not run on hosts of type other"):
        simulate(world, Script(at_0=(Lease("b", "other"), Place("ocr", "b"))), 0)
    assert simulate(world, Script(), 0).leases[0].type == "small"


def test_a_name_serves_one_host_only():
    policy = Script(at_0=(Lease("b", "small"),), at_60=(Release("b"),), at_120=(Lease("b", "small"),))
    with pytest.raises(PolicyError, match="there was a host 'b' before"):
        simulate(scenario(), policy, 0)


def test_initial_instances_need_room():
    with pytest.raises(InvalidInstanceError, match=r"initial_instances.*ocr finds none"):
        simulate(scenario(host={"limit": 1}, initial_instances=5), Script(), 0)


def test_items_that_vanish_are_found_when_the_policy_acts(monkeypatch):
    sent = Station.sent
    monkeypatch.setattr(Station, "sent", lambda self, departures: sent(self, departures)[:-1])
    world = manufacturing_scenario("stepwise", duration=240.0)
    policy = Script(at_60=(Lease("b", "docker-host"),))
    with pytest.raises(VerificationError, match=r"at 60 s: \d+ arrived; \d+ came from outside and \d+ were sent"):
        simulate(world, policy, 0)
    assert max(policy.seen) == 60.0


def test_a_run_whose_time_is_up_is_given_up():
    with pytest.raises(OutOfTimeError, match="before the end of the run"):
        simulate(scenario(), Script(), 0, until=now())
    assert simulate(scenario(), Script(), 0, until=now() + 60) is not None


@pytest.mark.slow
def test_mean_waits_are_those_of_the_formulas():
    for check in queueing_check():
        assert abs(check.difference) < 0.02, check
