"""The documents of enactment, their evaluation by hand, and what a policy may not ask for."""

import pickle

import pytest

from edrp.core.errors import InvalidInstanceError, PolicyError
from edrp.enactment import EnactmentState, HostState, Lease, Migrate, OperatorState, Place, Release, Remove, TentativeState
from edrp.enactment.containers import Host
from edrp.enactment.leasing import LeasingProblem, PaidHost, PlannedHost
from edrp.enactment.scenario import (
    LEVELS,
    EnactmentRun,
    EnactmentScenario,
    InstanceRecord,
    LeaseRecord,
    OperatorRecord,
    units_paid,
)
from edrp.enactment.snapshot import EnactmentProblem

FILTER = {
    "name": "filter",
    "processing_duration": 0.5,
    "external_rate": 4.0,
    "selectivity": 0.5,
    "resources": {"cpu": 1, "memory": 2},
}
INFORM = {"name": "inform", "processing_duration": 1.0, "occupancy": 0.5, "resources": {"cpu": 1, "memory": 1}}
APPLICATION = {"operators": [FILTER, INFORM], "streams": [{"source": "filter", "target": "inform"}]}
SMALL = {"name": "small", "resources": {"cpu": 4, "memory": 4}, "price": 1.0, "billing_time": 600.0}
LARGE = {"name": "large", "resources": {"cpu": 8, "memory": 16}, "price": 1.5, "billing_time": 600.0, "limit": 1}


def snapshot(**fields: object) -> EnactmentProblem:
    return EnactmentProblem(**{"application": APPLICATION, "host_types": [SMALL, LARGE], **fields})


def places(error: pytest.ExceptionInfo[InvalidInstanceError]) -> set[str]:
    return {fault.place for fault in error.value.faults}


class TestSnapshot:
    def test_load_asks_for_instances(self) -> None:
        """4 items/s of half a second are 2 instances, 2 items/s of half a second occupied are 1."""
        assert snapshot().minimum_instances == {"filter": 2, "inform": 1}
        assert snapshot(utilisation=0.5).minimum_instances == {"filter": 4, "inform": 2}
        assert snapshot(utilisation=None).minimum_instances == {"filter": 1, "inform": 1}

    def test_objective_by_hand(self) -> None:
        """Eq. 1: a small and a large host, 12 shares of CPU and 20 of memory, 4 and 6 of them in use; 40 of 100 items wait on."""
        problem = snapshot(queues={"filter": 100}, horizon=10.0, penalty=0.01)
        hosts = (Host(name="a", type="small", instances={"filter": 2}), Host(name="b", type="large", instances={"inform": 2}))
        found = problem.evaluate(hosts)
        assert found.feasible
        assert found.metrics["violations"] == pytest.approx(100 + 40 - 40)
        assert found.metrics["free_cpu"] == pytest.approx(1 - 4 / 12)
        assert found.metrics["free_memory"] == pytest.approx(1 - 6 / 20)
        assert found.objective == pytest.approx(2.5 + 8 / 12 + 14 / 20 + 0.01 * 100)

    def test_weights_switch_terms_off(self) -> None:
        hosts = (Host(name="a", type="large", instances={"filter": 2, "inform": 1}),)
        found = snapshot(weights={"free_resources": 0, "violations": 0}).evaluate(hosts)
        assert found.objective == 1.5

    @pytest.mark.parametrize(
        ("hosts", "broken"),
        [
            ([Host(name="a", type="small", instances={"filter": 2, "inform": 1})], "host a: memory: 5 used of 4"),
            (
                [Host(name="a", type="large", instances={"filter": 1, "inform": 1})],
                "instances of filter: 1, but its load needs 2",
            ),
            (
                [Host(name=n, type="large", instances={"filter": 1, "inform": 1}) for n in "ab"],
                "limit of large: 2 hosts against 1",
            ),
        ],
    )
    def test_names_what_is_broken(self, hosts: list[Host], broken: str) -> None:
        assert broken in " ".join(snapshot().evaluate(tuple(hosts)).broken)

    def test_candidates_are_host_types(self) -> None:
        problem = snapshot(application={**APPLICATION, "operators": [{**FILTER, "candidates": ["large"]}, INFORM]})
        broken = problem.evaluate((Host(name="a", type="small", instances={"filter": 2}),)).broken
        assert "host a: filter may not run on hosts of type small" in broken

    def test_says_which_limits_clash(self) -> None:
        few = snapshot(host_types=[{**SMALL, "limit": 1}])
        assert few.clashes() == (
            "memory: 2 instances of filter and 1 instance of inform take 5, all hosts within their limits (1 of small) offer 4",
        )
        most = snapshot(application={**APPLICATION, "operators": [{**FILTER, "max_instances": 1}, INFORM]})
        assert most.clashes() == ("max_instances of filter is 1, but its load needs 2 instances",)

    def test_refuses_what_fits_on_no_host(self) -> None:
        with pytest.raises(InvalidInstanceError, match="not even an empty one") as error:
            snapshot(application={**APPLICATION, "operators": [{**FILTER, "resources": {"cpu": 9, "memory": 1}}, INFORM]})
        assert places(error) == {"application.operators[0].resources"}

    def test_names_every_fault(self) -> None:
        with pytest.raises(InvalidInstanceError) as error:
            snapshot(
                queues={"no": 1}, host_types=[SMALL, SMALL], current=[{"name": "a", "type": "tiny", "instances": {"nobody": 1}}]
            )
        # "tiny" is probably the name that the second type should have.
        assert places(error) == {"queues.no", "host_types[1].name", "current[0].instances.nobody"}

    def test_a_unit_shorter_than_the_start_up_is_refused(self) -> None:
        with pytest.raises(InvalidInstanceError, match="shorter than the start-up time of up to 60 s"):
            snapshot(host_types=[{**SMALL, "billing_time": 59.0}])


class TestLeasing:
    def problem(self, **fields: object) -> LeasingProblem:
        given = {"application": APPLICATION, "host_types": [SMALL, LARGE], "period": 300.0, "forecast": [1, 2, 1]}
        return LeasingProblem(**{**given, **fields})

    def test_units_are_bought_whole_or_by_share(self) -> None:
        rows = ({"filter": 2, "inform": 1}, {"filter": 4, "inform": 2}, {"filter": 2, "inform": 1})
        host = PlannedHost(name="a", type="large", first=0, units=2, instances=rows)
        assert self.problem().evaluate((host,)).objective == pytest.approx(3.0)
        assert self.problem(prorate=True).evaluate((host,)).objective == pytest.approx(1.5 + 0.75)

    def test_backlog_is_carried_on(self) -> None:
        """One instance too few leaves 2 items/s for 300 s, and again; the third period works one of them off."""
        problem = self.problem(utilisation=None, queues={"filter": 10}, penalty=1.0)
        assert problem.unserved("filter", (1, 2, 5)) == pytest.approx((610, 610 + 1200, 610 + 1200 + 1200 - 3000))

    def test_a_paid_host_carries_for_nothing_and_no_longer(self) -> None:
        problem = self.problem(leased=[PaidHost(name="old", type="large", paid_periods=2)])
        rows = ({"filter": 2, "inform": 1}, {"filter": 4, "inform": 2}, {"filter": 2, "inform": 1})
        free = PlannedHost(name="old", type="large", units=0, instances=rows)
        assert "carries instances in period 2, which is not paid" in problem.evaluate((free,)).broken[0]
        prolonged = PlannedHost(name="old", type="large", first=2, units=1, instances=rows)
        assert problem.evaluate((prolonged,)).feasible
        early = PlannedHost(name="old", type="large", first=1, units=1, instances=rows)
        assert "but it is paid until 2" in problem.evaluate((early,)).broken[0]

    def test_limits_count_paid_hosts_that_are_not_mentioned(self) -> None:
        problem = self.problem(leased=[PaidHost(name="old", type="large", paid_periods=1)])
        rows = ({"filter": 2, "inform": 1}, {"filter": 4, "inform": 2}, {"filter": 2, "inform": 1})
        new = PlannedHost(name="new", type="large", first=0, units=2, instances=rows)
        assert problem.evaluate((new,)).broken == ("period 0: limit of large: 2 hosts against 1",)

    def test_periods_must_divide_the_unit(self) -> None:
        with pytest.raises(InvalidInstanceError, match="whole number of periods of 350 s") as error:
            self.problem(period=350.0)
        assert places(error) == {"host_types[0].billing_time", "host_types[1].billing_time"}


class TestScenario:
    SCENARIO = EnactmentScenario(application=APPLICATION, host_types=[SMALL], load=[1] * 10, load_step=60.0)

    def run(self, **changes: object) -> EnactmentRun:
        fields = {
            "leases": (LeaseRecord(host="a", type="small", start=0, ready=0, end=None, units=1),),
            "instances": tuple(self.instance(name) for name in ("filter", "inform")),
            "operators": (self.tally("filter", 2400), self.tally("inform", 1200)),
        }
        return EnactmentRun(**{**fields, **changes})

    def instance(self, operator: str, **changes: object) -> InstanceRecord:
        fields = {"host": "a", "placed": 0, "started": 0, "ended": None, "cause": "initial", "ended_by": None}
        return InstanceRecord(operator=operator, **{**fields, **changes})

    def tally(self, name: str, completed: int) -> OperatorRecord:
        counts = {"arrived": completed, "queued": 0, "in_service": 0}
        levels = {"real_time": completed // 2, "near_real_time": completed - 100, "relaxed": completed}
        return OperatorRecord(name=name, completed=completed, **counts, **levels)

    def test_accounts_by_hand(self) -> None:
        found = self.SCENARIO.evaluate(self.run())
        assert found.feasible
        assert found.metrics["real_time_compliance"] == 0.5
        assert found.metrics["near_real_time_compliance"] == pytest.approx(1 - 200 / 3600)
        assert found.metrics["near_real_time_total"] == pytest.approx(1 + 0.02)
        assert found.objective == found.metrics["near_real_time_total"]
        assert found.metrics["real_time_total"] == pytest.approx(1 + 0.0001 * 1800)
        assert found.metrics["mean_instances"] == 2
        assert found.metrics["time_to_adapt"] == 0.0

    def test_a_run_without_items_keeps_to_every_level(self) -> None:
        levels = dict.fromkeys(("real_time", "near_real_time", "relaxed"), 0)
        counts = dict.fromkeys(("arrived", "completed", "queued", "in_service"), 0)
        idle = tuple(OperatorRecord(name=name, **counts, **levels) for name in ("filter", "inform"))
        found = self.SCENARIO.evaluate(self.run(operators=idle))
        assert [found.metrics[f"{level}_compliance"] for level in levels] == [1.0, 1.0, 1.0]

    def lease(self, **changes: object) -> LeaseRecord:
        fields = {"host": "a", "type": "small", "start": 0, "ready": 0, "end": None, "units": 1}
        return LeaseRecord(**{**fields, **changes})

    @pytest.mark.parametrize("units", [0, 2])
    def test_every_started_unit_is_paid_and_no_other(self, units: int) -> None:
        assert [units_paid(0, end, 600) for end in (1, 600, 600.001, 1800, 1801)] == [1, 1, 2, 3, 4]
        broken = self.SCENARIO.evaluate(self.run(leases=(self.lease(units=units),))).broken
        assert broken == (f"host a: {units} units paid against 1 started",)

    def test_no_instance_starts_before_its_host_is_ready(self) -> None:
        instances = (self.instance("filter"), self.instance("inform", started=30))
        late = self.SCENARIO.evaluate(self.run(leases=(self.lease(ready=30),), instances=instances))
        assert late.broken == ("filter on a: started before the host was ready",)
        later = (self.instance("filter", started=31), instances[1])
        assert self.SCENARIO.evaluate(self.run(leases=(self.lease(ready=30),), instances=later)).feasible
        never = (self.instance("filter", started=None), instances[1])
        assert self.SCENARIO.evaluate(self.run(leases=(self.lease(ready=30),), instances=never)).feasible

    def test_items_neither_appear_nor_vanish(self) -> None:
        """All that arrived are completed, in service or queued."""
        lost = self.tally("inform", 1190).replace(arrived=1200, queued=6, in_service=3)
        broken = self.SCENARIO.evaluate(self.run(operators=(self.tally("filter", 2400), lost))).broken
        assert broken == ("items of inform: 1200 arrived against 1190 completed, 3 in service, 6 queued",)
        kept = lost.replace(queued=7)
        assert self.SCENARIO.evaluate(self.run(operators=(self.tally("filter", 2400), kept))).feasible

    def test_metrics_of_hosts_and_instances_by_hand(self) -> None:
        """A small host for the whole 600 s; a large one of 1.5 per unit for 150 s, with an instance that moves there and goes."""
        scenario = self.SCENARIO.replace(host_types=(SMALL, {**LARGE, "billing_time": 100.0}))
        leases = (self.lease(), self.lease(host="b", type="large", start=200, ready=210, end=350, units=2))
        moved = self.instance("inform", ended=220, ended_by="migrated")
        there = self.instance("inform", host="b", placed=200, started=220, cause="migrated", ended=340, ended_by="removed")
        back = self.instance("inform", placed=320, started=330, cause="placed")
        counts = {"filter": self.tally("filter", 2400), "inform": self.tally("inform", 1200)}
        waits = (counts["filter"].replace(time_to_adapt=40.0), counts["inform"].replace(time_to_adapt=25.0))
        instances = (self.instance("filter"), moved, there, back)
        found = scenario.evaluate(self.run(leases=leases, instances=instances, operators=waits))
        assert found.broken == ()
        assert found.metrics["paid_units"] == 3
        assert found.metrics["resource_cost"] == 1 + 2 * 1.5
        assert found.metrics["mean_hosts"] == pytest.approx(1 + 150 / 600)
        assert found.metrics["mean_instances"] == pytest.approx(1 + (220 + 140 + 280) / 600)
        assert found.metrics["time_to_adapt"] == 32.5
        assert [found.metrics[name] for name in ("upscalings", "downscalings", "migrations")] == [1, 1, 1]

    @pytest.mark.parametrize("times", [{"start": 10}, {"end": 590}])
    def test_no_instance_runs_outside_of_its_lease(self, times: dict[str, float]) -> None:
        broken = self.SCENARIO.evaluate(self.run(leases=(self.lease(**times),))).broken
        assert broken == tuple(f"{name} on a: ran outside of the lease" for name in ("filter", "inform"))

    @pytest.mark.parametrize(
        ("levels", "nested"),
        [((1200, 1200, 1200), True), ((1201, 1200, 1200), False), ((600, 1201, 1200), False), ((600, 1200, 1201), False)],
    )
    def test_what_meets_a_level_meets_every_wider_one(self, levels: tuple[int, int, int], nested: bool) -> None:
        """Real-time, near-real-time, relaxed, of 1200 completed."""
        record = self.tally("inform", 1200).replace(**dict(zip(LEVELS, levels, strict=True)))
        broken = self.SCENARIO.evaluate(self.run(operators=(self.tally("filter", 2400), record))).broken
        assert broken == (() if nested else ("items of inform: levels must be nested",))

    @pytest.mark.parametrize(("start", "broken"), [(300, ("limit of large: more than 1 hosts at a time",)), (360, ())])
    def test_no_more_hosts_of_a_type_than_there_may_be(self, start: float, broken: tuple[str, ...]) -> None:
        """One large host until 360 s, and another one from `start` on."""
        scenario = self.SCENARIO.replace(host_types=(SMALL, LARGE))
        large = [self.lease(host="b", type="large", end=360), self.lease(host="c", type="large", start=start, ready=start)]
        assert scenario.evaluate(self.run(leases=(self.lease(), *large))).broken == broken
        one_more = self.lease(host="d", type="large", start=500, ready=500)
        again = scenario.evaluate(self.run(leases=(self.lease(), *large, one_more)))
        assert again.broken == ("limit of large: more than 1 hosts at a time",)

    @pytest.mark.parametrize(
        ("changes", "why"),
        [
            ({"operators": ("filter", 2400, "inform", 1199)}, "1199 arrived, 1200 were sent"),
            ({"instances": [("filter", {}), ("filter", {}), ("inform", {})]}, "memory: 5 used of 4"),
            ({"instances": [("filter", {}), ("inform", {"ended": 300, "ended_by": "removed"})]}, "no instance is left"),
            ({"instances": [("filter", {}), ("inform", {"host": "b"})]}, "never leased"),
        ],
    )
    def test_notices_what_cannot_have_been(self, changes: dict[str, list[object]], why: str) -> None:
        if "operators" in changes:
            first, items, second, fewer = changes["operators"]
            made = {"operators": (self.tally(first, items), self.tally(second, fewer))}
        else:
            made = {"instances": tuple(self.instance(name, **fields) for name, fields in changes["instances"])}
        assert why in " ".join(self.SCENARIO.evaluate(self.run(**made)).broken)

    def test_intervals_must_divide(self) -> None:
        with pytest.raises(InvalidInstanceError) as error:
            self.SCENARIO.replace(monitoring_interval=25.0, stall_interval=5.0, stall_duration=5.0)
        assert places(error) == {"monitoring_interval", "stall_duration"}


AT_FIRST = "a (small): 2 filter; b (large): 2 inform"


class TestDraft:
    def state(self) -> EnactmentState:
        problem = snapshot()
        operators = {operator.name: OperatorState(operator, running=2) for operator in problem.application.operators}
        hosts = {
            "a": HostState("a", problem.types["small"], instances={"filter": 2}),
            "b": HostState("b", problem.types["large"], instances={"inform": 2}),
        }
        return EnactmentState(60.0, 60.0, operators, hosts, problem.types, leases=5)

    def test_keeps_to_the_fewest_and_the_most_instances(self) -> None:
        operators = [{**FILTER, "max_instances": 2}, {**INFORM, "min_instances": 2}]
        problem = snapshot(application={**APPLICATION, "operators": operators})
        state = self.state()
        limited = {operator.name: OperatorState(operator, running=2) for operator in problem.application.operators}
        tentative = TentativeState(EnactmentState(60.0, 60.0, limited, state.hosts, state.host_types))
        with pytest.raises(PolicyError, match="filter may have 2 instances, and has 2"):
            tentative.place("filter", "b")
        with pytest.raises(PolicyError, match="inform must have 2 instances"):
            tentative.remove("inform", "b")
        assert tentative.actions == ()

    def test_does_what_is_possible(self) -> None:
        tentative = TentativeState(self.state())
        host = tentative.lease("small")
        tentative.place("filter", host)
        tentative.migrate("filter", "a", "b")
        tentative.remove("filter", "a")
        tentative.release("a")
        assert tentative.actions == (
            Lease("host-6", "small"),
            Place("filter", "host-6"),
            Migrate("filter", "a", "b"),
            Remove("filter", "a"),
            Release("a"),
        )
        assert tentative.hosts == ("b", "host-6")
        assert tentative.instances("filter") == 2
        assert tentative.free("b") == {"cpu": 5.0, "memory": 12.0}

    @pytest.mark.parametrize(
        ("actions", "why", "hosts"),
        [
            (
                [Remove("inform", "b"), Remove("inform", "b")],
                "it is the last instance of inform",
                "a (small): 2 filter; b (large): 1 inform",
            ),
            ([Place("inform", "a")], "a has no room: memory 1 needed, 0 left", AT_FIRST),
            ([Release("a")], "2 filter would stay", AT_FIRST),
            (
                [Migrate("filter", "a", "b"), Release("a")],
                "1 filter would stay",
                "a (small): 2 filter; b (large): 2 inform, 1 filter",  # one of the two on its way
            ),
            ([Lease("c", "large")], "no more than 1 hosts of type large", AT_FIRST),
            ([Lease("a", "small")], "there is a host 'a' already", AT_FIRST),
            ([Lease("c", "tiny")], "there is no host type 'tiny'; there are small, large", AT_FIRST),
            ([Place("filter", "z")], "there is no host 'z'", AT_FIRST),
            ([Place("nobody", "b")], "there is no operator 'nobody'", AT_FIRST),
            ([Remove("inform", "a")], "no instance of inform on a is there to stop", AT_FIRST),
            ([Migrate("filter", "a", "a")], "source and target are the same host", AT_FIRST),
        ],
    )
    def test_stops_what_is_not(self, actions: list[object], why: str, hosts: str) -> None:
        tentative = TentativeState(self.state())
        for action in actions[:-1]:
            tentative.apply(action)
        with pytest.raises(PolicyError) as error:
            tentative.apply(actions[-1])
        assert why in str(error.value)
        assert f"at 60 s, {hosts}" in str(error.value)
        assert error.value.action == actions[-1]
        assert str(pickle.loads(pickle.dumps(error.value))) == str(error.value)
