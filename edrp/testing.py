"""The contract of methods, for our own and for those of other packages.

A package that registers a method (entry point `edrp.methods`) tests it with `check_method`.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from functools import cache
from time import perf_counter

from edrp.datasets import layered
from edrp.documents import Deployment
from edrp.methods import Method, Options
from edrp.problems.edrp import EdrpProblem
from edrp.solution import Answer
from edrp.solve import checked
from edrp.validation.brute_force import brute_force
from edrp.validation.random_problems import random_problem

TOLERANCE = 1e-9
FEASIBLE_SEEDS = (0, 1, 2, 4, 6, 9, 11, 13, 18, 20, 22)
INFEASIBLE_SEEDS = (3, 7, 10, 19)
TIME_LIMIT = 0.5
GRACE = 5.0
"""Seconds beyond the limit for starting a solver and for what cannot be interrupted."""


def check_method(method: Method) -> None:
    """Run every check of the contract on a method.

    Raises
    ------
    AssertionError
        Naming the clause that the method breaks.

    Examples
    --------
    >>> import edrp
    >>> check_method(edrp.methods()["greedy"])
    """
    for check in CHECKS.values():
        check(method)


def check_described(method: Method) -> None:
    """It has a name, a summary and kinds, and takes at least some problems."""
    assert method.name, "a method needs a name"
    assert method.summary, f"{method.name} needs a summary"
    assert "edrp" in method.kinds, f"{method.name} must list the kinds that it takes"
    assert any(method.refusal(_drawn(seed)) is None for seed in FEASIBLE_SEEDS), f"{method.name} refuses every ordinary problem"


def check_feasible_problems(method: Method) -> None:
    """Answers hold what they claim, are never better than brute force, and proven ones are optimal."""
    for seed in FEASIBLE_SEEDS:
        _check_against_brute_force(method, _drawn(seed), f"seed {seed}")


def check_infeasible_problems(method: Method) -> None:
    """Infeasibility is proven, or the method says honestly that it holds nothing."""
    for seed in INFEASIBLE_SEEDS:
        problem = _drawn(seed)
        if method.refusal(problem) is None:
            status = _run(method, problem).status
            allowed = ("infeasible",) if method.exact else ("infeasible", "none")
            assert status in allowed, f"{method.name} says {status!r} of the infeasible problem of seed {seed}"


def check_degenerate_problems(method: Method) -> None:
    """One node, one operator, no traffic and equal costs are ordinary problems."""
    for name, problem in degenerate_problems().items():
        _check_against_brute_force(method, problem, name)


def check_time_limit(method: Method) -> None:
    """It stops at its time limit with an honest answer."""
    problem = layered(15, 0)
    if method.refusal(problem) is None:
        _run(method, _drawn(FEASIBLE_SEEDS[0]))  # compiles kernels, imports solvers
        start = perf_counter()
        _run(method, problem, time_limit=TIME_LIMIT)
        seconds = perf_counter() - start
        assert seconds <= TIME_LIMIT + GRACE, f"{method.name} took {seconds:.1f} s with a limit of {TIME_LIMIT} s"


def check_repeatable(method: Method) -> None:
    """The same seed gives the same answer."""
    for seed in FEASIBLE_SEEDS[:3]:
        problem = _drawn(seed)
        if method.refusal(problem) is None:
            first, second = (_run(method, problem, seed=17) for _ in range(2))
            assert first.decision == second.decision, f"{method.name} gives two answers for one seed (seed {seed})"
            assert first.objective == second.objective, f"{method.name} gives two objectives for one seed (seed {seed})"


def check_leaves_input_alone(method: Method) -> None:
    """Problem and starting deployment are the same before and after."""
    problem = _drawn(FEASIBLE_SEEDS[0])
    if method.refusal(problem) is None:
        start = Deployment({name: nodes[:1] for name, nodes in _optimum(problem)[1].root.items()})
        before = pickle.dumps((problem, start))
        _run(method, problem, start=start)
        assert pickle.dumps((problem, start)) == before, f"{method.name} changes its input"


def check_pickles(method: Method) -> None:
    """Method and answer can be sent to another process."""
    problem = _drawn(FEASIBLE_SEEDS[0])
    if method.refusal(problem) is None:
        copy = pickle.loads(pickle.dumps(method))
        answer = _run(copy, problem)
        assert pickle.loads(pickle.dumps(answer)) == answer, f"the answers of {method.name} change when pickled"


CHECKS: dict[str, Callable[[Method], None]] = {
    check.__name__.removeprefix("check_"): check
    for check in (
        check_described,
        check_feasible_problems,
        check_infeasible_problems,
        check_degenerate_problems,
        check_time_limit,
        check_repeatable,
        check_leaves_input_alone,
        check_pickles,
    )
}
"""Every clause of the contract by name."""


def degenerate_problems() -> dict[str, EdrpProblem]:
    """Small problems at the edge of the model, by what is special about them."""
    queue = {"model": "mm1", "service_rate": 10.0}
    work = {"name": "work", "latency": queue, "external_rate": 8.0, "cost": 1.0, "max_replicas": 2}
    sink = {"name": "sink", "latency": queue, "cost": 1.0, "max_replicas": 2}
    link = {"source": "a", "target": "b", "delay": 0.1, "cost": 0.01}
    one, two = {"nodes": [{"name": "a"}]}, {"nodes": [{"name": "a"}, {"name": "b"}], "links": [link]}
    pair = {"operators": [work, sink], "streams": [{"source": "work", "target": "sink"}]}
    silent = {"operators": [{**work, "external_rate": 0.0}, sink], "streams": [{"source": "work", "target": "sink", "rate": 0.0}]}
    limits = {"response_time": 2.0, "cost": 10.0}
    equal = {"nodes": [{"name": name} for name in "abc"], "links": []}
    return {
        "one node": EdrpProblem(application=pair, network=one, limits=limits),
        "one operator": EdrpProblem(application={"operators": [work]}, network=two, limits=limits),
        "no traffic": EdrpProblem(application=silent, network=two, limits=limits),
        "equal costs": EdrpProblem(application={"operators": [work]}, network=equal, weights={"cost": 1.0}, limits=limits),
        "no room to spare": EdrpProblem(
            application=pair, network={"nodes": [{"name": "a", "resources": 2}]}, weights={"cost": 1.0}, limits={"cost": 2.0}
        ),
    }


@cache
def _drawn(seed: int) -> EdrpProblem:
    return random_problem(seed, operators=(3, 4), nodes=(3, 4), combinations_limit=2e4)


def _optimum(problem: EdrpProblem) -> tuple[float, Deployment]:
    objective, deployments = brute_force(problem)
    assert objective is not None
    return objective, deployments[0]


def _check_against_brute_force(method: Method, problem: EdrpProblem, label: str) -> None:
    if method.refusal(problem) is not None:
        return
    answer = _run(method, problem)
    optimum, _ = _optimum(problem)
    slack = TOLERANCE * max(1.0, abs(optimum))
    if method.exact:
        assert answer.status == "optimal", f"{method.name} says {answer.status!r} of the feasible problem of {label}"
    assert answer.status in ("optimal", "feasible", "none"), (
        f"{method.name} calls the feasible problem of {label} {answer.status}"
    )
    if answer.decision is not None and answer.status != "none":
        objective = problem.evaluate(answer.decision).objective
        assert objective >= optimum - slack, f"{method.name} beats brute force on {label}: {objective!r} < {optimum!r}"
        if answer.status == "optimal":
            assert objective <= optimum + slack, f"{method.name} proves {objective!r} on {label}, brute force finds {optimum!r}"
    if answer.bound is not None:
        assert answer.bound <= optimum + slack, f"{method.name} bounds {label} by {answer.bound!r}, but {optimum!r} exists"


def _run(
    method: Method, problem: EdrpProblem, *, time_limit: float | None = None, seed: int = 0, start: Deployment | None = None
) -> Answer:
    answer = method.run(problem, Options(time_limit=time_limit, seed=seed, start=start))
    _, disagreement = checked(problem, answer)
    assert not disagreement, f"{method.name}: {disagreement}"
    if answer.status in ("optimal", "feasible"):
        assert answer.decision is not None, f"{method.name} says {answer.status!r} and holds nothing"
    return answer
