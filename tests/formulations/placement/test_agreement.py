"""Every exact way to solve a problem gives what brute force gives, on random instances that use every feature."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
import pytest
from _pytest.mark import ParameterSet
from capacity_curves import with_capacity_curves
from contention import random_contended_cluster, random_contention

import edrp
from edrp.check_problems.placement.enumeration import brute_force, feasible_deployments
from edrp.core.methods import Options
from edrp.core.solve import checked
from edrp.datasets.families.placement.random_clusters import random_cluster
from edrp.datasets.families.placement.random_edrp import random_problem
from edrp.datasets.families.placement.random_latency_aware import random_latency_aware_problem
from edrp.placement.edrp import EdrpProblem
from edrp.placement.latency_aware import LatencyAwareProblem
from edrp.placement.problem import PlacementProblem

BLOCK = 20
"""Seeds of one test."""


def enumerated(problem: Any) -> float | None:
    """Least objective of all deployments; for features that the faster enumerations do not know."""
    return min((listed.evaluation.objective for listed in feasible_deployments(problem)), default=None)


def weighed_peaks(seed: int) -> EdrpProblem:
    """A problem with one or two peak loads in its objective, often also with a limit on one."""
    problem, random = random_contention(seed), np.random.default_rng(seed)
    resource = str(random.choice(["cpu", "disk", "network"]))
    weights = {"cost": 0.2, "response_time": 0.2, "peak_load": 0.3, "peak_loads": {resource: 0.3}}
    limits = problem.limits if random.random() < 0.5 else problem.limits.replace(peak_loads={"cpu": 0.9})
    return problem.replace(weights=weights, limits=limits)


TRAFFIC_WEIGHTINGS: tuple[dict[str, float], ...] = (
    {"network_usage": 1.0},
    {"response_time": 0.4, "network_usage": 0.6},
    {"response_time": 0.5, "cost": 0.5},
    {"cost": 0.5, "availability": 0.5},
    {"response_time": 0.3, "cost": 0.3, "network_usage": 0.3, "availability": 0.1},
    {"cost": 1.0},
)


def with_traffic(seed: int) -> EdrpProblem:
    """A cluster with random prices and availabilities of links and zones, weights and limits on all metrics."""
    problem = random_cluster(seed, max_combinations=5e3, running=seed % 3 == 2)
    random = np.random.default_rng([seed, 19])
    uncertain = float(random.choice([1.0, 1.0, 0.99]))
    links = {
        name: {**getattr(problem.network, name).model_dump(), "cost": float(random.choice(prices)), "availability": uncertain}
        for name, prices in (("within_zone", (0.0, 0.01)), ("between_zones", (0.0, 0.02, 0.02)))
    }
    safe = {zone: float(random.choice([0.95, 0.99, 1.0])) for zone in sorted({node.zone or "" for node in problem.network.nodes})}
    nodes = tuple(node.replace(availability=safe[node.zone or ""]) for node in problem.network.nodes)
    weights = TRAFFIC_WEIGHTINGS[int(random.integers(len(TRAFFIC_WEIGHTINGS)))]
    limits = {"network_usage": float(random.choice([5.0, 1.0, 0.5])), "availability": float(random.choice([0.5, 0.5, 0.9]))}
    return problem.replace(
        network=problem.network.replace(nodes=nodes, **links),
        weights=weights,
        limits=problem.limits.replace(**limits, cost=(problem.limits.cost or 0.0) + 5.0),
    )


def latency_decides(seed: int) -> LatencyAwareProblem:
    """Little room makes operators spread."""
    drawn = random_latency_aware_problem(seed, operators=(2, 5), nodes=(2, 4), room=0.7)
    return drawn.replace(weights={"latency": 1.0, "supervisors": 0.1 * (seed % 2), "colocation": 0.1, "events": 0.0})


def peak_limits(seed: int) -> EdrpProblem:
    """Bounds know neither what streams send away nor how replicas are packed: then a gap is told."""
    return random_contended_cluster(seed + 500)


def peak_weights(seed: int) -> EdrpProblem:
    """A weight of one peak load, and the rest split between response time and cost."""
    problem, weight = random_contended_cluster(seed), {0: 0.3, 1: 0.7, 4: 0.7}.get(seed, 1.0)
    peaks = [metric for metric in problem.metrics if metric.startswith("peak")]
    others = {"response_time": 0.6 * (1.0 - weight), "cost": 0.4 * (1.0 - weight)} if weight < 1 else {}
    return problem.replace(weights=problem.weights.of_metrics({peaks[seed % len(peaks)]: weight, **others}))


def proven_by_highs(problem: EdrpProblem) -> float | None:
    return edrp.solve(problem, "highs").objective


def small(seed: int) -> EdrpProblem:
    """A few hundred deployments."""
    return random_problem(seed, operators=(2, 4), nodes=(3, 4), combinations_limit=600)


def tight(seed: int) -> EdrpProblem:
    """A limit that binds without a weight on it."""
    which, part = divmod(seed, 100)
    limit, weight = (("response_time", "cost"), ("cost", "response_time"), ("network_usage", "cost"))[which]
    problem = small(part).replace(weights={weight: 1.0}, limits={"response_time": 10.0, "cost": 1e3, "downtime": 1e3})
    needed = problem.evaluate(brute_force(problem)[1][0]).metrics[limit]
    return problem.replace(limits=problem.limits.replace(**{limit: 0.9 * needed + 1e-6}))


def moving(seed: int) -> EdrpProblem:
    """What a move costs in downtime counts."""
    weights = {"response_time": 0.1, "cost": 0.3, "network_usage": 0.3, "downtime": 0.3}
    limits = {"response_time": 10.0, "cost": 100.0, "network_usage": 100.0, "downtime": 20.0}
    problem = small(seed).replace(weights=weights, limits=limits)
    assert problem.current is not None
    return problem


def rooms(seed: int) -> EdrpProblem:
    """Two sources, a join and a sink on three nodes, of which one has room for two; what runs where decides how long it takes."""
    random = np.random.default_rng(seed)
    nodes = [{"name": name, "resources": 1.0, "speedup": float(random.uniform(1, 4))} for name in "abc"]
    nodes[int(random.integers(3))]["resources"] = 2.0
    links = [{"source": u, "target": v, "delay": float(random.uniform(0.01, 0.1))} for u, v in ("ab", "ac", "bc")]
    latency = {"model": "mm1", "service_rate": 40.0}
    operators = [{"name": name, "latency": latency, "resources": 1.0} for name in ("left", "right", "join", "sink")]
    operators[0]["external_rate"], operators[1]["external_rate"] = 5.0, 20.0
    streams = [("left", "join"), ("right", "join"), ("join", "sink")]
    return EdrpProblem(
        application={"operators": operators, "streams": [{"source": s, "target": t} for s, t in streams]},
        network={"nodes": nodes, "links": links},
        weights={"response_time": 1.0},
        limits={"response_time": 10.0},
    )


@dataclass(frozen=True)
class Way:
    """A family of problems, and methods that are compared with brute force on it.

    Attributes
    ----------
    draw, optimum : a problem by its seed, and its least objective; None if it is infeasible.
    methods : method and options of each.
    seeds, slow : every second one of the first is for the default tests; all others are for `pytest -m slow`.
    proves : whether all must be proven; otherwise objectives and bounds must be right.
    """

    draw: Callable[[int], Any]
    optimum: Callable[[Any], float | None]
    methods: tuple[tuple[str, dict[str, Any]], ...]
    seeds: Iterable[int]
    slow: Iterable[int] = field(default=())
    proves: bool = True


def _brute_force(problem: PlacementProblem) -> float | None:
    return brute_force(problem)[0]


COMPACT, ELIMINATE, EQUAL_NODES = ("highs", {"program": "compact"}), ("eliminate", {}), ("equal-nodes", {})
BOTH = (COMPACT, ("highs", {"program": "literal"}))
WEAK = ("eliminate", {"annealing": False})
PRICED, SEARCHED = ("column-generation", {"search": False}), ("column-generation", {"search": True})


def narrow(states: int, beam: int) -> tuple[str, dict[str, Any]]:
    """`eliminate` with a beam that gives up states, which are branched on until the optimum is proven."""
    efforts = ((beam, states), (1_000_000, 1000))
    return "eliminate", {"efforts": efforts, "ascent_states": states, "annealing": False}


SUPPORTED = (1, 3, 4, 5, 6, 7, 10, 11, 28, 32, 33, 34, 36, 37)
"""Seeds of random problems that `eliminate` takes."""

LITTLE = {"annealing": False, "iterations": 3, "efforts": ((3, 200), (100_000, 1000)), "ascent_states": 100}
"""Few steps of the ascent leave much to the label search, a narrow beam leaves much to branching; no start is known."""

BRANCHING = {"first_beam": 1, "beam": 1, "branch_beam": 1, "far_beam": 1, "rounds": 2, "branch_rounds": 2}


def ways() -> dict[str, Way]:
    latency = random_latency_aware_problem
    found = {
        "every feature": Way(
            lambda seed: random_problem(seed, combinations_limit=5e4),
            _brute_force,
            (*BOTH, ELIMINATE),
            range(20),
            range(20, 300),
        ),
        "weak incumbents": Way(random_problem, _brute_force, (ELIMINATE, WEAK), SUPPORTED[:8]),
        "narrow beams": Way(random_problem, _brute_force, (narrow(50, 3), narrow(1000, 20)), SUPPORTED[8:]),
        "clusters": Way(random_cluster, _brute_force, (EQUAL_NODES,), range(20), range(20, 40)),
        "branches": Way(random_cluster, _brute_force, (("equal-nodes", BRANCHING),), range(60, 70), range(70, 80)),
        # The current deployment need not fit, so that some moves are forced, of which the bound does not always know.
        "running": Way(
            lambda seed: random_cluster(seed, running=True), _brute_force, (EQUAL_NODES,), range(13), range(13, 25), proves=False
        ),
        "traffic": Way(
            with_traffic, _brute_force, (("equal-nodes", {"branch_rounds": 4}),), range(12), range(12, 24), proves=False
        ),
        "peak limits": Way(peak_limits, proven_by_highs, (EQUAL_NODES,), range(16), range(16, 32), proves=False),
        "peak weights": Way(peak_weights, proven_by_highs, (EQUAL_NODES,), (0, 1, 5), (2, 4, 23)),
        "peak loads": Way(weighed_peaks, enumerated, BOTH, range(100, 115), range(115, 130)),
        "latency": Way(latency, _brute_force, (PRICED, SEARCHED), range(20), range(20, 40)),
        "latency decides": Way(latency_decides, _brute_force, (SEARCHED, COMPACT, ELIMINATE), range(15), range(15, 30)),
    }
    little = (("eliminate", LITTLE),)
    for name, draw, seeds in (
        ("small", small, (0, 1, 2, 3, 5, 6, 7, 8, 9, 15, 17, 18, 19, 20)),
        ("tight", tight, [100 * limit + seed for limit in range(3) for seed in (0, 1, 7, 9, 19)]),
        ("moving", moving, (1, 10, 22, 31, 42)),
        ("rooms", rooms, range(8)),
    ):
        found[name] = Way(draw, _brute_force, little, seeds)
    instances = lambda seed: latency(seed, operators=(2, 4), nodes=(3, 4), max_instances=2)  # noqa: E731 - used once
    found["small instances"] = Way(instances, _brute_force, little, (12, 22, 26, 32, 37, 49))
    for name, draw in (
        ("curves", lambda seed: random_problem(seed, combinations_limit=5e3)),
        ("curves on clusters", lambda seed: random_cluster(seed, max_combinations=5e3)),
    ):
        curved = lambda seed, draw=draw: with_capacity_curves(draw(seed), seed)  # noqa: E731 - one for each
        found[name] = Way(curved, _brute_force, (COMPACT, ELIMINATE, EQUAL_NODES), range(1, 11), [0, *range(11, 30)])
    # Up to where the path counts for more than everything else; there a proof without a first search takes minutes.
    for weight in (0.0, 1e-6, 1e-3, 0.1, 10.0):
        weighed = lambda seed, weight=weight: latency(seed).replace(weights={"latency": weight})  # noqa: E731 - one for each
        compared = (PRICED, SEARCHED) if weight < 1 else (SEARCHED,)
        found[f"latency weighs {weight}"] = Way(weighed, _brute_force, compared, (2, 7, 11))
    return found


WAYS = ways()


@cache
def instance(name: str, seed: int) -> tuple[Any, float | None]:
    problem = WAYS[name].draw(seed)
    return problem, WAYS[name].optimum(problem)


def blocks() -> list[ParameterSet]:
    """Blocks of seeds; all methods of a block share a worker, and with it what brute force found."""
    listed = []
    for name, way in WAYS.items():
        quick = list(way.seeds)
        for seeds, slow in ((quick[::2], False), ([*quick[1::2], *way.slow], True)):
            for k in range(0, len(seeds), BLOCK):
                marks = [pytest.mark.xdist_group(f"{name} {seeds[k]}"), *([pytest.mark.slow] if slow else [])]
                for number, (method, _) in enumerate(way.methods):
                    listed.append(pytest.param(name, seeds[k : k + BLOCK], number, marks=marks, id=f"{name}-{seeds[k]}-{method}"))
    return listed


@pytest.mark.parametrize(("name", "seeds", "number"), blocks())
def test_equals_brute_force(name: str, seeds: list[int], number: int) -> None:
    way, (method, options) = WAYS[name], WAYS[name].methods[number]
    program, parameters = options.get("program", ""), {key: value for key, value in options.items() if key != "program"}
    answered = 0
    for seed in seeds:
        problem, best = instance(name, seed)
        if edrp.methods()[method].refusal(problem) is not None:
            continue
        answered += 1
        answer = edrp.methods()[method].run(problem, Options(program=program, parameters=parameters))
        evaluation, disagreement = checked(problem, answer)
        assert disagreement == "", seed
        near = None if best is None else pytest.approx(best, rel=1e-9, abs=1e-9)
        if way.proves or answer.status == "optimal":
            assert answer.status == ("infeasible" if best is None else "optimal"), seed
            assert (None if evaluation is None else evaluation.objective) == near, seed
            assert best is None or answer.bound >= answer.objective - 1e-9 * max(1.0, abs(best)), seed
        elif best is None:
            assert answer.objective is None, seed
        else:
            assert answer.status != "infeasible", seed
            assert answer.objective is None or answer.objective >= best - 1e-9, seed
        assert best is None or answer.bound is None or answer.bound <= best + 1e-9 * max(1.0, abs(best)), seed
    assert sum(instance(name, seed)[1] is None for seed in seeds) <= 0.6 * len(seeds)
    assert answered >= (len(seeds) // 4 if method in ("eliminate", "equal-nodes") else len(seeds))
