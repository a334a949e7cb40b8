"""Problems of placement on which methods are checked, with their proven optima."""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from typing import Any

from edrp.check_problems.base import EnumeratedCheckProblems
from edrp.check_problems.placement.enumeration import brute_force
from edrp.datasets.families.placement.layered import layered
from edrp.datasets.families.placement.random_clusters import random_cluster
from edrp.datasets.families.placement.random_edrp import random_problem
from edrp.datasets.families.placement.random_latency_aware import random_latency_aware_problem
from edrp.datasets.families.placement.rules import with_rules
from edrp.datasets.placement.latency_aware_test_bed import random_problem as random_paper_problem
from edrp.placement.deployment import Deployment
from edrp.placement.edrp import EdrpProblem
from edrp.placement.latency_aware import LatencyAwareProblem, ScoreWeights

RULED_DEPLOYMENTS, CONTRADICTION = (4, 6, 9, 17), 6
"""Seeds of problems of kind `edrp` with rules that can be met, and with rules that cannot."""

UNRULED = 16
"""First seed of problems of other kinds with rules."""


@cache
def _deployment(seed: int) -> EdrpProblem:
    return random_problem(seed, operators=(3, 4), nodes=(3, 4), combinations_limit=2e4)


class EdrpCheckProblems(EnumeratedCheckProblems):
    """Kind `edrp`."""

    draw = staticmethod(_deployment)
    brute_force = staticmethod(brute_force)

    def feasible(self) -> dict[str, Any]:
        """Random problems, on networks of unequal nodes and on clusters, some with rules."""
        drawn = {f"seed {seed}": _deployment(seed) for seed in (0, 1, 2, 4, 6, 9, 11, 13, 20, 22, 44)}
        drawn |= {f"cluster {seed}": random_cluster(seed, max_combinations=2e4) for seed in (0, 11, 25)}
        drawn |= {f"rules {seed}": with_rules(_deployment(seed), seed) for seed in RULED_DEPLOYMENTS}
        return drawn | {"fixed tasks": _fixed_tasks(), "moves": _moves()}

    def infeasible(self) -> dict[str, Any]:
        """Return random infeasible problems, the last one because of its rules."""
        infeasible = {f"seed {seed}": _deployment(seed) for seed in (3, 7, 10, 19)}
        return infeasible | {"rules": with_rules(_deployment(CONTRADICTION), CONTRADICTION, hard=True)}

    def degenerate(self) -> dict[str, Any]:
        """Return edge cases: one node, one operator, no traffic, equal costs, no room."""
        queue = {"model": "mm1", "service_rate": 10.0}
        work = {"name": "work", "latency": queue, "external_rate": 8.0, "cost": 1.0, "max_replicas": 2}
        sink = {"name": "sink", "latency": queue, "cost": 1.0, "max_replicas": 2}
        link = {"source": "a", "target": "b", "delay": 0.1, "cost": 0.01}
        one, two = {"nodes": [{"name": "a"}]}, {"nodes": [{"name": "a"}, {"name": "b"}], "links": [link]}
        pair = {"operators": [work, sink], "streams": [{"source": "work", "target": "sink"}]}
        idle_stream = {"source": "work", "target": "sink", "rate": 0.0}
        silent = {"operators": [{**work, "external_rate": 0.0}, sink], "streams": [idle_stream]}
        limits, cheap = {"response_time": 2.0, "cost": 10.0}, {"cost": 1.0}
        equal, full = {"nodes": [{"name": name} for name in "abc"]}, {"nodes": [{"name": "a", "resources": 2}]}
        alone = {"operators": [work]}
        curve = {"model": "capacity-curve", "replicas": [1, 2], "capacities": [10.0, 11.0]}
        curved = {"operators": [{**work, "latency": curve}, sink], "streams": [{"source": "work", "target": "sink"}]}
        return {
            "one node": EdrpProblem(application=pair, network=one, limits=limits),
            "one operator": EdrpProblem(application=alone, network=two, limits=limits),
            "no traffic": EdrpProblem(application=silent, network=two, limits=limits),
            "capacity curve": EdrpProblem(application=curved, network=two, limits=limits),
            "equal costs": EdrpProblem(application=alone, network=equal, weights=cheap, limits=limits),
            "no room to spare": EdrpProblem(application=pair, network=full, weights=cheap, limits={"cost": 2.0}),
        }

    def large(self) -> Any:
        """Return a random layered problem of fifteen operators."""
        return layered(15, 0)

    def rare(self) -> list[Any]:
        """Many replicas on equal nodes, for annealing over their classes; fixed tasks that no first pattern fits."""
        chain = _chain(operators=2, replicas=20, nodes=8)
        return [
            chain.replace(weights={"response_time": 1.0}, limits={"response_time": 10.0}),
            _chain(operators=8, replicas=5, nodes=8, fixed=True),
        ]

    def start(self, problem: EdrpProblem) -> Any:
        """One replica of each operator of an optimum."""
        return Deployment({name: nodes[:1] for optimum in self.optima(problem)[:1] for name, nodes in optimum.items()})


def _moves() -> EdrpProblem:
    """Three operators without streams that have to leave a full node, and move as little state as possible."""
    operators = [{"name": name, "resources": 2, "state_size": size} for name, size in (("a", 6.0), ("b", 4.0), ("c", 9.0))]
    operators[2] |= {"min_replicas": 2, "max_replicas": 2}
    return EdrpProblem.model_validate(
        {
            "application": {"operators": operators},
            "network": {"nodes": [{"name": "x", "resources": 3}, {"name": "y", "resources": 7}]},
            "current": {"a": ["x"], "b": ["x"], "c": ["x", "y"]},
            "weights": {"moved_state": 1.0},
        }
    )


def _fixed_tasks() -> EdrpProblem:
    """Two operators whose tasks share the cores of equal nodes."""
    queue = {"model": "mm1", "service_rate": 10.0}
    common: dict[str, Any] = {"latency": queue, "min_replicas": 3, "max_replicas": 3}
    operators = [
        {"name": "work", "external_rate": 12.0, "usage": {"cpu": {"per_tuple": 0.2}}, **common},
        {"name": "sink", "usage": {"cpu": {"per_replica": 0.3}}, **common},
    ]
    nodes = [{"name": name, "resources": 4, "capacity": {"cpu": 4.0, "network": 100.0}} for name in ("tm0", "tm1")]
    stream = {"source": "work", "target": "sink", "partitioning": "hash", "usage": {"network": 1.0}}
    return EdrpProblem(
        application={"operators": operators, "streams": [stream]},
        network={"nodes": nodes, "between_zones": {"delay": 0.01}},
        weights={"peak_load": 1.0},
    )


def _chain(operators: int, replicas: int, nodes: int, *, fixed: bool = False) -> EdrpProblem:
    """A chain with half of the cluster's slots and cores in use; operator i needs i + 1 parts of the cores."""
    names = [f"o{i}" for i in range(operators)]
    total_capacity = 0.5 * nodes / (replicas * sum(range(1, operators + 1)))
    min_replicas = replicas if fixed else 1
    listed: list[dict[str, Any]] = [
        {
            "name": name,
            "latency": {"model": "mm1", "service_rate": 10.0},
            "min_replicas": min_replicas,
            "max_replicas": replicas,
            "usage": {"cpu": {"per_replica": (i + 1) * total_capacity}},
        }
        for i, name in enumerate(names)
    ]
    listed[0]["external_rate"] = 2.5 * replicas
    streams = [{"source": a, "target": b, "usage": {"network": 1.0}} for a, b in pairwise(names)]
    capacity = {"cpu": 1.0, "network": 1000.0}
    slots = 2 * operators * replicas // nodes
    return EdrpProblem(
        application={"operators": listed, "streams": streams},
        network={
            "nodes": [{"name": f"tm{u}", "resources": slots, "capacity": capacity} for u in range(nodes)],
            "between_zones": {"delay": 0.001},
        },
        weights={"peak_load": 1.0},
    )


class LatencyAwareCheckProblems(EnumeratedCheckProblems):
    """Kind `latency-aware`, some with cycles, candidates, several instances of an operator."""

    seeds = range(20)
    brute_force = staticmethod(brute_force)

    @staticmethod
    def draw(seed: int) -> LatencyAwareProblem:
        """Every third one with a placement that is there already, whether it fits or not, the last with rules."""
        problem = random_latency_aware_problem(seed, operators=(2, 5), nodes=(2, 4))
        if seed >= UNRULED:
            return with_rules(random_latency_aware_problem(seed, operators=(2, 4), nodes=(2, 4), combinations_limit=5e2), seed)
        if seed % 3:
            return problem
        nodes = tuple(problem.network.by_name)
        first = {o.name: (o.candidates or nodes)[-1:] * o.instances for o in problem.application.operators}
        return problem.replace(current=Deployment(first))

    def infeasible(self) -> dict[str, Any]:
        """An instance that is too large, instances that are too many, a packing that does not work out."""
        return {
            "large": _scores([{"cpu": 2.0}], [1.0, 1.0]),
            "many": _scores([{"cpu": 0.5}] * 5, [1.0, 1.0]),
            "packing": _scores([{"cpu": 0.6}] * 3, [1.0, 1.0]),
        }

    def degenerate(self) -> dict[str, Any]:
        """Return edge cases: one node, one operator, no streams, no needs, no weights, an operator that sends to itself."""
        need = {"cpu": 0.3}
        itself = [{"source": "o0", "target": "o0", "rate": 2.0}]
        return {
            "one node": _scores([need, need], [1.0], [{"source": "o0", "target": "o1", "rate": 1.0}]),
            "one operator": _scores([need], [1.0, 2.0]),
            "no streams": _scores([need, need], [0.4, 0.4]),
            "no needs": _scores([{}, {}], [1.0, 1.0], [{"source": "o0", "target": "o1", "rate": 0.0}]),
            "no weights": _scores([need, need], [1.0, 1.0], weights=dict.fromkeys(ScoreWeights.model_fields, 0.0)),
            "to itself": _scores([need], [0.7, 0.7], itself, instances=3),
        }

    def large(self) -> Any:
        """Eighty instances on the test bed of the paper."""
        return random_paper_problem(3, operations=41, load=0.7)

    def rare(self) -> list[Any]:
        """A cluster of 80 equal nodes, whose instances searches count instead of telling them apart."""
        nodes = [{"name": f"host{u}", "zone": f"rack{u % 4}", "resources": {"cpu": 4.0}} for u in range(80)]
        network = {"nodes": nodes, "within_zone": {"delay": 5e-5}, "between_zones": {"delay": 2.5e-4}}
        operators = [{"name": name, "instances": 4, "resources": {"cpu": 1.0}} for name in ("read", "write")]
        application = {"operators": operators, "streams": [{"source": "read", "target": "write", "rate": 2.0}]}
        return [LatencyAwareProblem(application=application, network=network)]

    def start(self, problem: LatencyAwareProblem) -> Any:
        """Everything on the first node that is allowed."""
        nodes = tuple(problem.network.by_name)
        return Deployment({o.name: (o.candidates or nodes)[:1] * o.instances for o in problem.application.operators})


def _scores(
    needs: list[dict[str, float]],
    capacities: list[float],
    streams: list[dict[str, Any]] | None = None,
    *,
    weights: dict[str, float] | None = None,
    instances: int = 1,
) -> LatencyAwareProblem:
    nodes = [{"name": f"n{u}", "resources": {"cpu": capacity}} for u, capacity in enumerate(capacities)]
    return LatencyAwareProblem(
        application={
            "operators": [{"name": f"o{i}", "resources": need, "instances": instances} for i, need in enumerate(needs)],
            "streams": streams or [],
        },
        network={"nodes": nodes, "between_zones": {"delay": 0.002}},
        weights=weights or {},
    )
