"""Policies of enactment: the paper's algorithms against values computed by hand, and actions that can always be done."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edrp.core.errors import InvalidInstanceError
from edrp.enactment import (
    Action,
    EnactmentState,
    HostState,
    Lease,
    Migrate,
    OperatorState,
    Place,
    Policy,
    Release,
    Remove,
    TentativeState,
)
from edrp.enactment.containers import ContainerOperator, HostType
from edrp.heuristics.enactment import (
    POLICIES,
    BtuParameters,
    BtuPolicy,
    Ds2Policy,
    Ds2PolicyParameters,
    PredictiveParameters,
    StaticPeakParameters,
    StaticPeakPolicy,
    ThresholdParameters,
    ThresholdPolicy,
)
from edrp.heuristics.enactment.btu import OperatorSelection, needs_instance, predicted_duration
from edrp.heuristics.enactment.host_packing import best_host, suitabilities

SMALL = HostType(name="small", resources={"cpu": 4, "memory": 8}, price=1.0, billing_time=600.0)
LATE = (0.4, 0.9)  # seconds, against an objective of 0.5


def operator(name: str, cpu: float = 1, memory: float = 2, **fields: Any) -> ContainerOperator:
    return ContainerOperator(name=name, processing_duration=0.5, resources={"cpu": cpu, "memory": memory}, **fields)


def host(name: str, instances: dict[str, int], **fields: Any) -> HostState:
    """A small host, paid until 6000 s."""
    return HostState(name, fields.pop("type", SMALL), instances=instances, **{"paid_until": 6000.0, **fields})


def make_state(*hosts: HostState, time: float = 60.0, **operators: OperatorState) -> EnactmentState:
    """A state in which operators run as many instances as the hosts show."""
    counted = {
        name: replace(operator, running=sum(host.instances.get(name, 0) for host in hosts))
        for name, operator in operators.items()
    }
    types = {host.type.name: host.type for host in hosts} or {"small": SMALL}
    return EnactmentState(time, 60.0, counted, {host.name: host for host in hosts}, types)


def acts(policy: Policy, state: EnactmentState) -> list[str]:
    return [str(action) for action in policy.observe(state)]


def test_the_trend_of_durations_is_a_least_squares_line() -> None:
    """Alg. 1: mean 1.3 at 2.5, slope 1.1 / 5, and the same by numpy."""
    durations = [1.0, 1.1, 1.5, 1.6]
    assert predicted_duration(durations) == pytest.approx(1.3 + 0.22 * 2.5)
    assert predicted_duration(durations) == pytest.approx(np.polyval(np.polyfit([1, 2, 3, 4], durations, 1), 5))


@pytest.mark.parametrize(
    ("durations", "queue", "expected"),
    [
        ((0.6,), 51, True),  # late now
        ((0.6,), 50, False),  # but no more wait than a disturbance leaves
        ((0.3, 0.4, 0.45), 51, True),  # by the trend 0.533 comes next
        ((0.45, 0.4, 0.3), 51, False),  # the other way round, it gets better
        ((9.0, 0.4, 0.4, 0.4, 0.4, 0.4), 51, False),  # of six, the last five count
        ((), 51, False),  # nothing recorded yet
    ],
)
def test_an_operator_is_scaled_up_when_it_is_or_will_be_late_and_items_wait(
    durations: tuple[float, ...], queue: int, expected: bool
) -> None:
    monitored = OperatorState(operator("a"), queue=queue, durations=durations)
    assert needs_instance(monitored, 5, 50.0) is expected


def test_suitability_by_hand() -> None:
    """Alg. 2: |3/4 - 2/8| / min(4/1, 4/2) = 0.25, a hundredth with the image, negative without room."""
    capacity, free = np.array([[4.0, 8.0]] * 3), np.array([[4.0, 4.0], [4.0, 4.0], [4.0, 1.9]])
    found = suitabilities(free, capacity, np.array([1.0, 2.0]), np.array([False, True, False]))
    assert found == pytest.approx([0.25, 0.0025, -1.0])


def test_an_instance_goes_where_its_image_is_then_where_it_balances_then_to_most_cpu_then_by_name() -> None:
    """`balanced` has 2 of 4 CPU and 4 of 8 memory left, `empty` all of both, `memory` too little memory for its CPU."""
    work = {name: OperatorState(operator(name)) for name in ("a", "b")} | {"fat": OperatorState(operator("fat", 0, 2))}
    balanced, empty = host("balanced", {"b": 2}), host("empty", {})
    memory = host("memory", {"fat": 1}, images=frozenset({"fat"}))
    names = ("balanced", "empty", "memory")
    tentative = TentativeState(make_state(balanced, empty, memory, **work))
    assert best_host(tentative, "a", names) == "empty"  # as balanced as the other, with more CPU
    assert best_host(tentative, "a", ("memory", "balanced")) == "balanced"
    tentative = TentativeState(make_state(balanced, empty, replace(memory, images=frozenset({"a"})), **work))
    assert best_host(tentative, "a", ("balanced", "memory")) == "balanced"  # 0 stays below a hundredth of something
    tentative = TentativeState(make_state(host("z", {}), host("y", {}), **work))
    assert best_host(tentative, "a", ("z", "y")) == "y"
    assert best_host(tentative, "a", ()) is None


def test_utility_by_hand() -> None:
    """Alg. 3 with 2, 3 and 6 instances and 1, 0 and 3 scalings, and its weights one by one."""
    work = {
        "a": OperatorState(operator("a"), queue=5, durations=(0.4,), scalings=1),
        "b": OperatorState(operator("b"), queue=0, durations=(0.5,)),
        "c": OperatorState(operator("c"), queue=5, durations=(3.0,), scalings=3),
    }
    found = OperatorSelection().utilities(work, {"a": 2, "b": 3, "c": 6})
    assert found == pytest.approx({"a": 1 + 0 - 0.8 * 1.0001 - 0.25, "b": 1 + 0.25 + 100 - 1.0001, "c": 1 + 1 - 6.0006 - 0.75})
    weighed = OperatorSelection(2.0, 3.0, 5.0, 7.0, queue_load=10.0, penalty=0.5).utilities(work, {"a": 2, "b": 3, "c": 6})
    assert weighed == pytest.approx({"a": 1 - 5 * 1.2 - 7 / 4, "b": 1 + 0.5 + 30 - 7.5, "c": 1 + 2 - 5 * 9 - 21 / 4})


def test_utility_where_all_have_as_many_nothing_was_scaled_or_an_operator_must_keep_what_it_has() -> None:
    work = {
        "a": OperatorState(operator("a"), queue=1, durations=(0.5,)),
        "b": OperatorState(operator("b", min_instances=2)),
        "c": OperatorState(operator("c")),
    }
    found = OperatorSelection().utilities(work, {"a": 2, "b": 2, "c": 2})
    assert found == pytest.approx({"a": 1 - 1.0001, "b": -1.0, "c": 101.0})
    assert OperatorSelection().utilities(work, {"a": 2, "b": 2, "c": 1})["c"] == -1.0


def test_a_late_operator_gets_an_instance_on_a_host_with_room_and_two_above_the_second_threshold() -> None:
    monitored = OperatorState(operator("a"), queue=100, durations=LATE)
    running = host("h", {"a": 1})
    assert acts(BtuPolicy(BtuParameters()), make_state(running, a=monitored)) == ["place a on h"]
    flooded = make_state(running, a=replace(monitored, queue=251))
    assert acts(BtuPolicy(BtuParameters()), flooded) == ["place a on h"] * 2
    assert acts(BtuPolicy(BtuParameters(second_threshold=None)), flooded) == ["place a on h"]
    assert acts(BtuPolicy(BtuParameters(scaling_threshold=300)), flooded) == []


def test_other_operators_make_room_before_a_host_is_leased() -> None:
    """Fig. 4: `idle` loses an instance on the full host; where it has but one, a host is leased and nothing goes."""
    work = {
        "late": OperatorState(operator("late"), queue=100, durations=LATE),
        "busy": OperatorState(operator("busy"), queue=9, durations=(2.0,)),
        "idle": OperatorState(operator("idle")),
    }
    room = make_state(host("h", {"late": 1, "busy": 1, "idle": 2}), **work)
    assert acts(BtuPolicy(BtuParameters()), room) == ["remove idle from h", "place late on h"]
    full = make_state(host("h", {"late": 1, "busy": 2, "idle": 1}), **work)
    assert acts(BtuPolicy(BtuParameters()), full) == ["lease host-2 of type small", "place late on host-2"]


def test_nothing_is_scaled_down_in_vain() -> None:
    """`big` needs two instances of `idle` to go from one host; on `other` the only one would not do."""
    work = {
        "big": OperatorState(operator("big", 2, 4), queue=100, durations=LATE),
        "busy": OperatorState(operator("busy"), queue=9, durations=(2.0,)),
        "idle": OperatorState(operator("idle")),
    }
    first, other = host("first", {"big": 1, "idle": 2}), host("other", {"idle": 1, "busy": 3})
    found = acts(BtuPolicy(BtuParameters()), make_state(other, first, **work))
    assert found == ["remove idle from first", "remove idle from first", "place big on first"]
    short = make_state(host("first", {"big": 1, "busy": 1, "idle": 1}), other, **work)
    assert acts(BtuPolicy(BtuParameters()), short) == ["lease host-3 of type small", "place big on host-3"]


@pytest.mark.parametrize(
    ("shared", "grown", "full", "soon", "later"),
    [(False, "a", {"a": 3, "b": 1}, 180.0, 240.0), (True, "b", {"a": 2, "b": 2}, 120.0, 300.0)],
    ids=["of what was scaled up", "of every operator"],
)
def test_a_scale_up_delays_scale_downs_for_a_while(shared: bool, grown: str, full: dict, soon: float, later: float) -> None:
    policy = BtuPolicy(BtuParameters(shared_cooldown=shared))
    calm = {name: OperatorState(operator(name)) for name in "ab"}
    late = {name: replace(monitored, queue=100, durations=LATE) for name, monitored in calm.items()}
    first = make_state(host("h", {"a": 2, "b": 1}), time=60.0, **{**calm, grown: late[grown]})
    assert acts(policy, first) == [f"place {grown} on h"]
    now = {"a": calm["a"], "b": late["b"]}
    assert acts(policy, make_state(host("h", full), time=soon, **now))[0] == "lease host-2 of type small"
    assert acts(policy, make_state(host("h", full), time=later, **now)) == ["remove a from h", "place b on h"]


def test_the_host_type_that_serves_the_operator_cheapest_is_leased_within_its_limit() -> None:
    cheap = HostType(name="cheap", resources={"cpu": 1, "memory": 8}, price=0.5, billing_time=600.0)
    bulk = HostType(name="bulk", resources={"cpu": 8, "memory": 16}, price=12.0, billing_time=3600.0, limit=1)
    late = OperatorState(operator("a"), queue=300, durations=LATE)
    before = replace(
        make_state(host("h", {"a": 4}), a=late), host_types={host_type.name: host_type for host_type in (cheap, SMALL, bulk)}
    )
    wide = replace(late, operator=operator("a", 3, 6))
    assert acts(BtuPolicy(BtuParameters()), before)[:1] == ["lease host-2 of type small"]  # 0.25 per instance, as much as bulk
    both = acts(BtuPolicy(BtuParameters()), replace(before, operators={"a": wide}))
    assert both == ["lease host-2 of type small", "place a on host-2", "lease host-3 of type small", "place a on host-3"]
    only = replace(before, operators={"a": replace(wide, operator=operator("a", 3, 6, candidates=("bulk",)))})
    assert acts(BtuPolicy(BtuParameters(place_on_starting=True)), only) == [
        "lease host-2 of type bulk",
        *["place a on host-2"] * 2,
    ]


def test_without_a_place_nothing_is_done() -> None:
    late = OperatorState(operator("a"), queue=300, durations=LATE)
    full = host("h", {"a": 4}, type=SMALL.replace(limit=1))
    assert acts(BtuPolicy(BtuParameters()), make_state(full, a=late)) == []
    capped = replace(late, operator=operator("a", max_instances=2))
    assert acts(BtuPolicy(BtuParameters()), make_state(host("h", {"a": 1}), a=capped)) == ["place a on h"]


def test_hosts_that_start_take_instances_only_where_told_so() -> None:
    late = OperatorState(operator("a"), queue=300, durations=LATE)
    starting = make_state(host("full", {"a": 4}), host("new", {}, ready=False), a=late)
    assert acts(BtuPolicy(BtuParameters(place_on_starting=True)), starting) == ["place a on new"] * 2
    assert acts(ThresholdPolicy(ThresholdParameters()), starting) == ["place a on new"] * 2
    waiting = acts(BtuPolicy(BtuParameters()), starting)
    assert [action for action in waiting if action.startswith("lease")] == [
        "lease host-3 of type small",
        "lease host-4 of type small",
    ]


def ending(time: float, paid_until: float = 600.0, billing_time: float = 600.0, **fields: Any) -> EnactmentState:
    """Host `b` with one idle instance, which ends at `paid_until`; `a` has room for it and is paid for longer."""
    kind = SMALL.replace(billing_time=billing_time)
    hosts = (host("a", {"idle": 2}, type=kind), host("b", {"idle": 1}, type=kind, paid_until=paid_until))
    return make_state(*hosts, time=time, idle=OperatorState(operator("idle"), **fields))


@pytest.mark.parametrize(
    ("time", "billing_time", "within"),
    [(480.0, 600.0, False), (540.0, 600.0, True), (360.0, 3600.0, False), (420.0, 3600.0, True), (539.0, 600.0, False)],
)
def test_hosts_are_released_within_the_last_part_of_what_is_paid_only(time: float, billing_time: float, within: bool) -> None:
    """5 % of an hour are 180 s, of ten minutes 30 s, where one observation of 60 s is longer."""
    found = acts(BtuPolicy(BtuParameters()), ending(time, billing_time=billing_time))
    assert found == (["remove idle from b", "release b"] if within else [])


def test_instances_that_are_needed_migrate_to_hosts_that_are_up() -> None:
    needed = {"queue": 9, "durations": (2.0,)}
    assert acts(BtuPolicy(BtuParameters()), ending(540.0, **needed)) == ["migrate idle from b to a", "release b"]
    state = ending(540.0, **needed)
    starting = replace(state, hosts={**state.hosts, "a": replace(state.hosts["a"], ready=False)})
    assert acts(BtuPolicy(BtuParameters()), starting) == []


def test_at_most_a_fifth_of_an_operator_goes_with_a_host() -> None:
    """Two of 12 idle instances are removed, and one of the 2 of another operator; the others migrate, the larger first."""
    roomy = HostType(name="roomy", resources={"cpu": 40, "memory": 80}, price=1.0, billing_time=600.0)
    work = {"idle": OperatorState(operator("idle")), "fat": OperatorState(operator("fat", 5, 10))}
    away, kept = host("away", {"idle": 4, "fat": 2}, type=roomy, paid_until=600.0), host("kept", {"idle": 8}, type=roomy)
    found = acts(BtuPolicy(BtuParameters()), make_state(away, kept, time=540.0, **work))
    assert sorted(found[:3]) == ["remove fat from away", "remove idle from away", "remove idle from away"]
    assert found[3:] == ["migrate fat from away to kept", *["migrate idle from away to kept"] * 2, "release away"]


def test_a_host_that_cannot_be_emptied_is_kept_and_asked_once_per_unit() -> None:
    needed = {"queue": 9, "durations": (2.0,)}
    state = ending(420.0, billing_time=3600.0, **needed)
    full = replace(state, hosts={**state.hosts, "a": replace(state.hosts["a"], instances={"idle": 4})})
    once, again = BtuPolicy(BtuParameters()), BtuPolicy(BtuParameters(ask_once=False))
    assert acts(once, full) == acts(again, full) == []
    later = ending(480.0, billing_time=3600.0, **needed)
    assert acts(once, later) == []
    assert acts(again, later) == ["migrate idle from b to a", "release b"]
    assert acts(once, ending(4080.0, 4200.0, 3600.0, **needed)) == ["migrate idle from b to a", "release b"]


def test_of_two_hosts_that_end_the_one_that_takes_the_others_instances_stays() -> None:
    needed = OperatorState(operator("a"), queue=9, durations=(2.0,))
    both = make_state(host("x", {"a": 2}, paid_until=600.0), host("y", {"a": 1}, paid_until=600.0), time=540.0, a=needed)
    assert acts(BtuPolicy(BtuParameters()), both) == ["migrate a from y to x", "release y"]


def test_the_last_instance_stays_while_its_successor_is_on_its_way() -> None:
    """Counted with its successor there are two; neither may go, and the old one is not moved again."""
    moving = host("old", {"a": 1}, leaving={"a": 1}, paid_until=600.0, releasing=True)
    successor = host("new", {"a": 1}, paid_until=600.0)
    state = make_state(moving, successor, time=540.0, a=OperatorState(operator("a")))
    for name, (policy, parameters) in POLICIES.items():
        if name in ("btu", "threshold"):
            assert acts(policy(parameters()), state) == []


@pytest.mark.parametrize(
    ("queue", "expected"),
    [(251, ["place a on h"] * 2), (250, ["place a on h"]), (51, ["place a on h"]), (50, []), (1, []), (0, ["remove a from h"])],
)
def test_the_baseline_steps_by_what_waits(queue: int, expected: list[str]) -> None:
    state = make_state(host("h", {"a": 2}), a=OperatorState(operator("a"), queue=queue))
    assert acts(ThresholdPolicy(ThresholdParameters()), state) == expected


def test_the_baseline_leases_when_nothing_fits_and_keeps_last_instances() -> None:
    policy = ThresholdPolicy(ThresholdParameters())
    flooded = make_state(host("h", {"a": 3}), a=OperatorState(operator("a"), queue=999))
    assert acts(policy, flooded) == ["place a on h", "lease host-2 of type small", "place a on host-2"]
    assert acts(policy, make_state(host("h", {"a": 1}), a=OperatorState(operator("a")))) == []
    least = OperatorState(operator("a", min_instances=2))
    assert acts(policy, make_state(host("h", {"a": 2}), a=least)) == []


def test_the_baseline_takes_nothing_away_before_anything_was_monitored_or_while_it_cools_down() -> None:
    idle = OperatorState(operator("a"))
    assert acts(ThresholdPolicy(ThresholdParameters()), make_state(host("h", {"a": 2}), time=0.0, a=idle)) == []
    policy = ThresholdPolicy(ThresholdParameters(cooldown=180.0))
    assert acts(policy, make_state(host("h", {"a": 2}), a=replace(idle, queue=60))) == ["place a on h"]
    assert acts(policy, make_state(host("h", {"a": 3}), time=239.0, a=idle)) == []
    assert acts(policy, make_state(host("h", {"a": 3}), time=240.0, a=idle)) == ["remove a from h"]


def measured(name: str, arrivals: int, begun: int, busy: float, **fields: Any) -> OperatorState:
    return OperatorState(operator(name, **fields), arrivals=arrivals, begun=begun, busy=busy)


@pytest.mark.parametrize(("utilisation", "arrivals", "needed"), [(1.0, 240, 2), (0.5, 240, 4), (1.0, 241, 3), (0.5, 0, 1)])
def test_ds2_needs_rate_over_true_rate_and_utilisation(utilisation: float, arrivals: int, needed: int) -> None:
    """90 items in 45 busy seconds: 2 per second and instance, and 240 in a minute are 4 per second."""
    state = make_state(host("h", {"a": 1}), a=measured("a", arrivals, 90, 45.0))
    assert acts(Ds2Policy(Ds2PolicyParameters(utilisation=utilisation)), state) == ["place a on h"] * (needed - 1)


def test_ds2_follows_the_streams_past_what_holds_items_back() -> None:
    """`a` got through a tenth of what came; `b` is sized for all of it and for the 30 that reach it from outside."""
    a, b = measured("a", 300, 30, 60.0, selectivity=2.0), measured("b", 90, 90, 60.0)
    state = replace(make_state(host("h", {"a": 1, "b": 1}), a=a, b=b), streams=(("a", "b"),))
    roomy = replace(state, host_types={"huge": SMALL.replace(name="huge", resources={"cpu": 99, "memory": 198})})
    found = acts(Ds2Policy(Ds2PolicyParameters(utilisation=1.0)), roomy)
    # a: 5 items/s at 0.5 each; b: 10 + 0.5 items/s at 1.5 each
    assert sum(action.startswith("place a") for action in found) == 9
    assert sum(action.startswith("place b") for action in found) == 6


def test_ds2_remembers_the_speed_of_an_operator_that_is_idle_and_leaves_one_alone_that_it_never_saw() -> None:
    policy = Ds2Policy(Ds2PolicyParameters(utilisation=1.0, leases="threshold"))
    first = make_state(host("h", {"a": 2, "b": 2}), a=measured("a", 240, 90, 45.0), b=measured("b", 0, 0, 0.0))
    assert acts(policy, first) == []
    idle = make_state(host("h", {"a": 2, "b": 2}), a=measured("a", 0, 0, 0.0), b=measured("b", 0, 0, 0.0))
    assert acts(policy, idle) == ["remove a from h"]


def test_ds2_gives_up_what_is_too_much_at_once_or_at_the_end_of_what_is_paid() -> None:
    light = {"a": measured("a", 80, 90, 45.0)}  # needs one instance
    away, kept = host("away", {"a": 1}, paid_until=600.0), host("kept", {"a": 2})
    at_once = Ds2Policy(Ds2PolicyParameters(leases="threshold"))
    assert acts(at_once, make_state(away, kept, time=60.0, **light)) == [
        "remove a from away",
        "remove a from kept",
        "release away",
    ]
    patient = Ds2Policy(Ds2PolicyParameters())
    assert acts(patient, make_state(away, kept, time=480.0, **light)) == []
    assert acts(patient, make_state(away, kept, time=540.0, **light)) == ["remove a from away", "release away"]


def test_ds2_takes_the_room_of_what_is_too_much_before_it_leases() -> None:
    work = {"a": measured("a", 0, 90, 45.0), "b": measured("b", 200, 90, 45.0)}
    found = acts(Ds2Policy(Ds2PolicyParameters(utilisation=1.0)), make_state(host("h", {"a": 3, "b": 1}), **work))
    assert found == ["remove a from h", "place b on h"]


def test_the_static_deployment_serves_the_peak_with_headroom_and_never_changes() -> None:
    """At twice 8 items/s of 0.5 s each and 20 % above: 9.6, so ten instances; two run, a host takes four."""
    work = OperatorState(operator("a", external_rate=8.0))
    policy = StaticPeakPolicy(StaticPeakParameters(forecast=(1.0, 2.0, 0.5)))
    found = acts(policy, make_state(host("h", {"a": 2}), time=0.0, a=work))
    assert [action for action in found if action.startswith("lease")] == [
        "lease host-2 of type small",
        "lease host-3 of type small",
    ]
    assert [action.rsplit(" ", 1)[1] for action in found if action.startswith("place")] == ["h"] * 2 + ["host-2"] * 4 + [
        "host-3"
    ] * 2
    assert acts(policy, make_state(host("h", {"a": 2}), a=replace(work, queue=999))) == []


def test_the_static_deployment_follows_the_streams_and_keeps_to_the_most_instances() -> None:
    a = OperatorState(operator("a", external_rate=4.0, selectivity=0.25))
    b, c = OperatorState(operator("b", min_instances=2)), OperatorState(operator("c", external_rate=40.0, max_instances=3))
    state = replace(make_state(host("h", {}), time=0.0, a=a, b=b, c=c), streams=(("a", "b"),))
    found = acts(StaticPeakPolicy(StaticPeakParameters(peak=1.0, headroom=1.0)), state)
    assert [sum(action.startswith(f"place {name}") for action in found) for name in "abc"] == [2, 2, 3]


def test_the_static_deployment_must_know_its_peak() -> None:
    with pytest.raises(InvalidInstanceError, match="give the largest load"):
        StaticPeakPolicy(StaticPeakParameters())
    assert StaticPeakParameters().knowing([3.0, 5.0]).forecast == (3.0, 5.0)
    assert StaticPeakParameters(peak=2.0).knowing([3.0]) == StaticPeakParameters(peak=2.0)


NAMES = ("a", "b", "c")


@st.composite
def states(draw: st.DrawFn) -> EnactmentState:
    """Three operators on up to four hosts of two types, monitored at any time; some hosts start, end or are given back."""
    types = {
        "small": HostType(
            name="small", resources={"cpu": 4, "memory": 8}, price=1, billing_time=600, limit=draw(st.none() | st.just(3))
        ),
        "wide": HostType(name="wide", resources={"cpu": 9, "memory": 6}, price=2, billing_time=1800),
    }
    need = st.tuples(st.sampled_from([0.0, 1.0, 2.5, 4.0]), st.sampled_from([0.5, 2.0, 3.0]))
    work = {
        name: operator(
            name, *draw(need), max_instances=draw(st.none() | st.just(3)), candidates=draw(st.none() | st.just(("small",)))
        )
        for name in NAMES
    }
    time = 60.0 * draw(st.integers(0, 40))
    tentative = TentativeState(
        EnactmentState(time, 60.0, {name: OperatorState(described, running=0) for name, described in work.items()}, {}, types)
    )
    for kind in ("small", *draw(st.lists(st.sampled_from(["wide", "small"]), max_size=2))):
        leased = tentative.lease(kind)
        for name in draw(st.lists(st.sampled_from(NAMES), max_size=6)):
            if tentative.fits(leased, name) and tentative.instances(name) < (work[name].max_instances or 99):
                tentative.place(name, leased)
    hosts = {}
    for name in tentative.hosts:
        inside, paid = tentative.on(name), time + 30.0 * draw(st.integers(0, 60))
        giving_back = draw(st.integers(0, 4)) == 0
        leaving = inside if giving_back else {}
        hosts[name] = HostState(
            name, tentative.type(name), draw(st.booleans()), paid, inside, leaving, frozenset(inside), giving_back
        )
    monitored = {
        name: OperatorState(
            described,
            running=sum(host.instances.get(name, 0) for host in hosts.values()),
            queue=draw(st.sampled_from([0, 1, 60, 400])),
            durations=tuple(draw(st.lists(st.floats(0.0, 5.0), max_size=6))),
            arrivals=draw(st.integers(0, 1000)),
            begun=draw(st.integers(0, 1000)),
            busy=draw(st.floats(0.0, 200.0)),
            scalings=draw(st.integers(0, 5)),
        )
        for name, described in work.items()
    }
    return EnactmentState(time, 60.0, monitored, hosts, types, (("a", "b"),))


def defaults(name: str) -> Any:
    """A policy's default parameters; one that must know a forecast gets one."""
    if name == "predictive by queues":
        return PredictiveParameters(estimate="queue")
    return StaticPeakParameters(forecast=(1.0, 3.0)) if name == "static-peak" else POLICIES[name][1]()


def left_after(state: EnactmentState, actions: tuple[Action, ...]) -> dict[str, int]:
    """Instances of each operator once all migrations are done; actions that cannot be done are refused."""
    tentative = TentativeState(state)
    for action in actions:
        tentative.apply(action)
    return {name: sum(tentative.on(host).get(name, 0) for host in tentative.hosts) for name in state.operators}


@pytest.mark.parametrize("name", [*sorted(POLICIES), "predictive by queues"])
@settings(max_examples=60, deadline=None)
@given(state=states())
def test_whatever_the_state_what_a_policy_asks_for_can_be_done(name: str, state: EnactmentState) -> None:
    """In the first round and, as if nothing of it had been done, in the second one."""
    policy = POLICIES[name.split()[0]][0](defaults(name))
    for seen in (state, replace(state, time=state.time + 60.0)):
        can_be_done(seen, policy.observe(seen))


def can_be_done(state: EnactmentState, actions: tuple[Action, ...]) -> None:
    """Actions leave no operator without instances or with too many, and leave alone what is given back."""
    before = left_after(state, ())
    after = left_after(state, actions)
    for operator_name, monitored in state.operators.items():
        assert after[operator_name] >= min(1, before[operator_name])
        most = monitored.operator.max_instances
        assert most is None or after[operator_name] <= max(most, before[operator_name])
    fresh = {action.host for action in actions if isinstance(action, Lease)}
    assert fresh.isdisjoint(state.hosts)
    touched = [action.host for action in actions if isinstance(action, Release | Place | Remove)]
    touched += [action.target for action in actions if isinstance(action, Migrate)]
    assert not {touched_host for touched_host in touched if touched_host in state.hosts and state.hosts[touched_host].releasing}
