"""`eliminate` against CP-SAT on drawn layered applications of ten operators: 24, 48 and 96 nodes.

CP-SAT gets the model that a practitioner would write for it: replicas of an operator on a node as integers, times in whole
microseconds, a stream as slow as its slowest pair of nodes in use. Links have no price, so that the model is linear.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from peer_pairs import Call, Outcome, Pair, register, solves

from edrp.datasets.families.placement.layered import layered
from edrp.placement.compilation import compile_problem
from edrp.placement.edrp import EdrpProblem

GOALS = {24: "not slower than before", 48: "0.3 x CP-SAT and 3 s", 96: "nine of ten proven in 30 s, 1 GB"}
"""By the number of nodes."""

MICROSECONDS, OBJECTIVE_UNITS = 10**6, 10**12
MAX_PEER_TIME = 60.0
"""Deterministic seconds that CP-SAT gets."""


def problem_of(nodes: int, seed: int) -> EdrpProblem:
    """A layered application with four units of resources per node and free links."""
    problem = layered(10, seed, nodes=nodes, resources=4.0)
    links = tuple(link.model_copy(update={"cost": 0.0}) for link in problem.network.links)
    return problem.replace(network=problem.network.model_copy(update={"links": links}))


def prepare_peer(nodes: int, seed: int) -> Callable[[], Outcome]:
    """CP-SAT with one worker; the model is built once, as the problem is for `eliminate`."""
    from ortools.sat.python import cp_model

    problem = problem_of(nodes, seed)
    model = cp_sat_model(problem)

    def call() -> Outcome:
        solver = cp_model.CpSolver()
        solver.parameters.num_workers = 1
        solver.parameters.max_deterministic_time = MAX_PEER_TIME
        status = solver.solve(model)
        found = status in (cp_model.OPTIMAL, cp_model.FEASIBLE)
        objective = solver.objective_value / OBJECTIVE_UNITS if found else None
        return Outcome(objective, solver.best_objective_bound / OBJECTIVE_UNITS, solver.status_name(status).lower())

    return call


def cp_sat_model(problem: EdrpProblem):  # type: ignore[no-untyped-def]  # of a package that may be missing
    """The placement as a program over integers."""
    from ortools.sat.python import cp_model

    compiled, model = compile_problem(problem), cp_model.CpModel()
    operators, nodes = compiled.candidate.shape
    horizon = int(problem.limits.response_time * MICROSECONDS)
    finish, used, total = [], [], []
    for i in range(operators):
        most = int(compiled.max_replicas[i])
        degrees = [r for r in range(1, most + 1) if compiled.latency[i, r] < 1e9]
        degree = {r: model.new_bool_var(f"degree {i} {r}") for r in degrees}
        count = [model.new_int_var(0, most if compiled.candidate[i, u] else 0, f"count {i} {u}") for u in range(nodes)]
        runs = [model.new_bool_var(f"runs {i} {u}") for u in range(nodes)]
        model.add_exactly_one(degree.values())
        replicas = sum(r * chosen for r, chosen in degree.items())
        model.add(sum(count) == replicas)
        for u in range(nodes):
            model.add(count[u] <= most * runs[u])
            model.add(count[u] >= runs[u])
        latency = sum(round(compiled.latency[i, r] * MICROSECONDS) * chosen for r, chosen in degree.items())
        done = model.new_int_var(0, horizon, f"finish {i}")
        model.add(done >= latency)
        for e in range(compiled.stream_source.size):
            if compiled.stream_target[e] == i:
                source = int(compiled.stream_source[e])
                slowest = model.new_int_var(0, horizon, f"delay {e}")
                for u in range(nodes):
                    for v in range(nodes):
                        delay = round(compiled.delay[u, v] * MICROSECONDS)
                        if delay and compiled.candidate[source, u] and compiled.candidate[i, v]:
                            model.add(slowest >= delay).only_enforce_if(used[source][u], runs[v])
                model.add(done >= finish[source] + slowest + latency)
        finish.append(done)
        used.append(runs)
        total.append((count, replicas))
    for u in range(nodes):
        for m in range(compiled.capacity.shape[1]):
            model.add(sum(int(compiled.demand[i, m]) * total[i][0][u] for i in range(operators)) <= int(compiled.capacity[u, m]))
    money = sum(int(compiled.replica_cost[i]) * total[i][1] for i in range(operators))
    model.add(money <= int(problem.limits.cost))
    response = model.new_int_var(0, horizon, "response")
    model.add_max_equality(response, finish)
    per_microsecond = round(problem.weights.response_time / problem.limits.response_time / MICROSECONDS * OBJECTIVE_UNITS)
    model.minimize(per_microsecond * response + round(problem.weights.cost / problem.limits.cost * OBJECTIVE_UNITS) * money)
    return model


for nodes, goal in GOALS.items():
    register(
        Pair(
            name=f"layered-10-on-{nodes}",
            goal=goal,
            ours=Call("eliminate", solves(partial(problem_of, nodes), "eliminate", work_limit=30.0)),
            peer=Call("CP-SAT", partial(prepare_peer, nodes)),
            needs=("ortools",),
            drawn=True,
        )
    )
