"""Problems of enactment on which methods are checked, with their proven optima."""

from __future__ import annotations

from typing import Any

from edrp.check_problems.base import CheckProblems, EnumeratedCheckProblems
from edrp.check_problems.enactment.leasing_brute_force import brute_force_leasing
from edrp.check_problems.enactment.snapshot_brute_force import brute_force_enactment
from edrp.datasets.enactment.manufacturing import PATTERNS, manufacturing_scenario
from edrp.datasets.families.enactment.enactment_families import random_enactment_problem, random_leasing_problem
from edrp.enactment.containers import Host
from edrp.enactment.leasing import LeasingProblem, PlannedHost
from edrp.enactment.scenario import EnactmentScenario
from edrp.enactment.snapshot import EnactmentProblem

Fields = dict[str, Any]


class EnactmentCheckProblems(EnumeratedCheckProblems):
    """Kind `enactment`."""

    seeds = range(16)
    draw = staticmethod(random_enactment_problem)
    brute_force = staticmethod(lambda problem: brute_force_enactment(problem)[0])

    def infeasible(self) -> dict[str, Any]:
        """Too few instances allowed, too few hosts, hosts whose room is in pieces."""
        return {
            "instances": _snapshot(external_rate=4.0, max_instances=3),
            "hosts": _snapshot(external_rate=5.0, limit=1),
            "pieces": _snapshot(external_rate=4.0, resources={"cpu": 2.1}, limit=3),
        }

    def degenerate(self) -> dict[str, Any]:
        """Return edge cases: no load, no needs, no weights, no prices, no time to queue, a host with no room to spare."""
        weightless = {"host_cost": 0.0, "free_resources": 0.0, "violations": 0.0}
        return {
            "no load": _snapshot(external_rate=0.0),
            "no needs": _snapshot(resources={"cpu": 0.0}),
            "no weights": _snapshot(weights=weightless, limit=2),
            "no prices": _snapshot(price=0.0, limit=2),
            "no room to spare": _snapshot(external_rate=2.0, resources={"cpu": 2.0}, limit=1),
            "no penalty": _snapshot(penalty=0.0, queues={"work": 100.0}),
        }

    def large(self) -> Any:
        """Two hundred instances of nine sizes on three types of hosts."""
        needs = [{"cpu": 46 + 17 * i, "memory": 527 - 11 * i} for i in range(9)]
        operators = [
            {"name": f"o{i}", "processing_duration": 1.0, "external_rate": 22.0, "resources": need}
            for i, need in enumerate(needs)
        ]
        hosts = [
            {"name": f"h{k}", "resources": {"cpu": 4096 * k, "memory": 7000 * k}, "price": 0.9 * k + 0.2, "billing_time": 600.0}
            for k in (1, 2, 4)
        ]
        return EnactmentProblem(application={"operators": operators}, host_types=hosts, queues={"o3": 500.0})

    def start(self, problem: EnactmentProblem) -> Any:
        """Each instance that the load needs on a host of its own."""
        names = [name for name, count in problem.minimum_instances.items() for _ in range(count)]
        operators = problem.application.by_name
        types = [(operators[name].candidates or tuple(problem.types))[0] for name in names]
        pairs = zip(names, types, strict=True)
        return tuple(Host(name=f"start-{i}", type=kind, instances={name: 1}) for i, (name, kind) in enumerate(pairs))


class LeasingCheckProblems(EnumeratedCheckProblems):
    """Kind `leasing`."""

    seeds = range(14)
    draw = staticmethod(random_leasing_problem)
    brute_force = staticmethod(brute_force_leasing)

    def infeasible(self) -> dict[str, Any]:
        """Too few instances allowed, too few hosts in one period, hosts that are leased beyond the limit."""
        mine = [{"name": f"mine-{i}", "type": "small", "paid_periods": 1} for i in range(3)]
        return {
            "instances": _horizon(forecast=[1, 2, 1], max_instances=3),
            "hosts": _horizon(forecast=[1, 5, 1], limit=2),
            "leased": _horizon(leased=mine, limit=2),
        }

    def degenerate(self) -> dict[str, Any]:
        """Return edge cases: one period, no load, no prices, no penalty, hosts paid throughout, units longer than the horizon."""
        mine = [{"name": "mine", "type": "small", "paid_periods": 9}]
        return {
            "one period": _horizon(forecast=[1]),
            "no load": _horizon(forecast=[0, 0, 0]),
            "no prices": _horizon(price=0.0),
            "no penalty": _horizon(penalty=0.0, queues={"work": 1000.0}),
            "paid": _horizon(leased=mine, forecast=[1, 2]),
            "long units": _horizon(billing_time=6000.0, prorate=True),
        }

    def large(self) -> Any:
        """Nine operators on three types of hosts in twenty-four periods, with items that wait."""
        snapshot = EnactmentCheckProblems().large()
        operators = [{**operator.model_dump(), "external_rate": 4.0} for operator in snapshot.application.operators]
        return LeasingProblem(
            application={"operators": operators},
            host_types=snapshot.host_types,
            period=300.0,
            forecast=[1 + 0.1 * (7 * p % 24) for p in range(24)],
            queues={"o3": 5000.0, "o7": 2000.0},
        )

    def start(self, problem: LeasingProblem) -> Any:
        """Each instance that the largest load needs on a host of its own."""
        operators, periods = problem.application.by_name, len(problem.forecast)
        hosts = []
        for name in operators:
            kind = (operators[name].candidates or tuple(problem.types))[0]
            units = -(-periods // problem.unit_periods(kind))
            for number in range(max(needed[name] for needed in problem.minimum_instances)):
                host = PlannedHost(name=f"{name}-{number}", type=kind, units=units, instances=({name: 1},) * periods)
                hosts.append(host)
        return tuple(hosts)


def _snapshot(**changed: Any) -> EnactmentProblem:
    """One operator that needs two instances, three of which fit on a host; fields of each part may be changed by name."""
    return EnactmentProblem(**_fields(4.0, changed))


def _horizon(**changed: Any) -> LeasingProblem:
    """One operator, two or four instances of which are needed; two fit on a host, a unit lasts two periods."""
    return LeasingProblem(**_fields(2.0, {"period": 300.0, "forecast": [1, 2, 1], **changed}))


def _fields(room: float, changed: Fields) -> Fields:
    """One operator and one type of host with so much room; what is to be changed by name belongs to either or to the problem."""
    operator: Fields = {"name": "work", "processing_duration": 1.0, "external_rate": 2.0, "resources": {"cpu": 1.0}}
    host: Fields = {"name": "small", "resources": {"cpu": room}, "price": 1.0, "billing_time": 600.0}
    fields: Fields = {"application": {"operators": [operator]}, "host_types": [host]}
    parts = dict.fromkeys(("external_rate", "max_instances", "resources"), operator)
    parts |= dict.fromkeys(("limit", "price", "billing_time"), host)
    for name, value in changed.items():
        parts.get(name, fields)[name] = value
    return fields


class ScenarioCheckProblems(CheckProblems):
    """Kind `enactment-scenario`: nothing is infeasible, and no run costs less than what every run must lease."""

    provable = False

    def feasible(self) -> dict[str, Any]:
        """Ten minutes of every pattern, paid by units of four."""
        return {pattern: manufacturing_scenario(pattern, duration=600.0, billing_time=240.0) for pattern in PATTERNS}

    def infeasible(self) -> dict[str, Any]:
        """An operator that fits on no host is refused with the document."""
        return {}

    def degenerate(self) -> dict[str, Any]:
        """Return edge cases: one operator, no load, one host with no room to spare, hosts of two types."""
        work = {"name": "work", "processing_duration": 0.5, "external_rate": 4.0, "resources": {"cpu": 1}}
        small = {"name": "small", "resources": {"cpu": 2}, "price": 1.0, "billing_time": 120.0}
        large = {"name": "large", "resources": {"cpu": 8}, "price": 3.0, "billing_time": 120.0}
        alone = {"application": {"operators": [work]}, "host_types": [small], "load": [1, 2, 0, 1], "load_step": 60.0}
        return {
            "one operator": EnactmentScenario(**alone),
            "no load": EnactmentScenario(**{**alone, "load": [0, 0]}),
            "no room to spare": EnactmentScenario(**{**alone, "host_types": [{**small, "limit": 1}]}),
            "two types": EnactmentScenario(**{**alone, "host_types": [small, large]}),
        }

    def large(self) -> Any:
        """A day under the stepwise pattern."""
        return manufacturing_scenario("stepwise", duration=86_400.0)

    def optimum(self, problem: EnactmentScenario) -> float | None:
        """A bound: some host is leased for the whole run."""
        return min(host.price * -(-problem.duration // host.billing_time) for host in problem.host_types)
