"""The contracts of methods, rules in Python, metrics and backends, for our own and for those of other packages.

A package that registers a method (entry point `edrp.methods`) tests it with `check_method`, one that registers a rule
(`edrp.rules`) with `check_rule`, a metric (`edrp.metrics`) with `check_metric`, a backend (`edrp.backends`) with `check_backend`.
"""

import math
import pickle
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import product
from typing import Any

import cloudpickle
import numpy as np

from edrp.backends import Backend
from edrp.backends.base import FEATURES
from edrp.backends.solving import solve_program
from edrp.check_problems import CheckProblems
from edrp.core.budget import LOOK, running
from edrp.core.errors import ProblemTooLargeError, UnsupportedProblemError, VerificationError
from edrp.core.kinds import get_kind, kinds
from edrp.core.methods import Method, Options, run_method
from edrp.core.problem import RULES
from edrp.core.program import Linear, Program
from edrp.core.solution import Answer
from edrp.core.solve import Seconds, checked, checked_solution, solve
from edrp.core.tolerances import LIMIT_SLACK, SAME_VALUE
from edrp.placement.deployment import Deployment
from edrp.placement.metrics import EDRP_METRICS
from edrp.placement.metrics.own import registered_metrics
from edrp.placement.problem import StreamPlacement
from edrp.placement.rules.arrays import record_whole, row_violation
from edrp.placement.rules.own import registered_rules

SEARCHED = 0.1
"""Units of work of a method that proves nothing, on problems with a known optimum."""

PART = slice(None)
"""Which of these problems are solved."""

WORK_LIMITS = (2 * LOOK, 0.1)
"""Units of work of which the first is gone while something is still being prepared; with the last, all is done twice."""

OVERTIME = 4.0
"""Units of work beyond the limit for what cannot be interrupted."""

CHECK_WORK = 10.0
"""Units of work of a proof that a metric is checked by."""

CHANGING = 2
"""Problems of each kind on which the checks that need no optimum are made."""


def check_method(method: Method) -> None:
    """Run every check of the contract on a method, for every kind of problem that it takes.

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
    """It has a name, a summary and kinds, and takes at least some problems of each kind."""
    assert method.name, "a method needs a name"
    assert method.summary, f"{method.name} needs a summary"
    assert method.kinds, f"{method.name} must list the kinds that it takes"
    for kind in method.kinds:
        assert kind in kinds(), f"{method.name} takes problems of an unknown kind {kind!r}"
    parts = {RULES}.union(*(kind.problem.possible_parts for kind in kinds().values()))
    unknown = sorted(set(method.takes) - parts) if isinstance(method.takes, Iterable) else []
    assert not unknown, f"{method.name}: `takes` names {unknown[0]!r}, which is no part of problems; there are {sorted(parts)}"
    for problems in _check_problems(method):
        refusals = [method.refusal(problem) for problem in problems.feasible().values()]
        assert None in refusals, f"{method.name} refuses every ordinary problem of {type(problems).__name__}: {refusals[0]}"


def check_takes(method: Method) -> None:
    """It refuses problems with parts that it does not take."""
    for problems in _check_problems(method):
        for label, problem in problems.feasible().items():
            others = [words for part, words in problem.parts.items() if part not in method.takes]
            refused = not others or method.refusal(problem) is not None
            assert refused, f"{method.name} does not refuse {label!r} for {others[0]}, which is not among what it takes"


def check_feasible_problems(method: Method) -> None:
    """Answers hold what they claim, are never better than brute force, and proven ones are optimal."""
    for problems in _check_problems(method):
        for label, problem in list(problems.feasible().items())[PART]:
            _check_against_brute_force(method, problems, problem, label)


def check_infeasible_problems(method: Method) -> None:
    """Infeasibility is proven, or the method says honestly that it holds nothing."""
    for problems in _check_problems(method):
        for label, problem in list(problems.infeasible().items())[PART]:
            if method.refusal(problem) is None:
                status = _run(method, problem).status
                allowed = ("infeasible",) if method.exact else ("infeasible", "none")
                assert status in allowed, f"{method.name} says {status!r} of the infeasible problem {label!r}"


def check_degenerate_problems(method: Method) -> None:
    """Problems at the edge of the model are ordinary problems."""
    for problems in _check_problems(method):
        for label, problem in list(problems.degenerate().items())[PART]:
            _check_against_brute_force(method, problems, problem, label)


def check_work_limit(method: Method) -> None:
    """It stops soon after its work limit, building included, and gives the same answer when asked again.

    A method that does not count what it does is left alone, and one that finds the problem too large once it has built it.
    """
    for problems in _check_problems(method):
        problem = problems.large()
        if method.refusal(problem) is None:
            with suppress(UnsupportedProblemError, ProblemTooLargeError):
                for limit in WORK_LIMITS:
                    with running(work_limit=limit) as run:
                        first = _run(method, problem, work_limit=limit)
                    assert run.work <= limit + OVERTIME, f"{method.name} did {run.work:.2f} units of work with a limit of {limit}"
                second = _run(method, problem, work_limit=limit) if run.work else first
                assert _claims(first) == _claims(second), f"{method.name} gives two answers for one work limit"


def _claims(answer: Answer) -> bytes:
    """Parts of an answer that must be the same in another."""
    parts = (answer.status, answer.stopped_because, answer.decision, answer.objective, answer.bound, answer.notes)
    return pickle.dumps([pickle.dumps(part) for part in parts])


def check_repeatable(method: Method) -> None:
    """The same seed gives the same answer."""
    for _, problem in _some(method):
        first, second = (_run(method, problem, seed=17) for _ in range(2))
        assert pickle.dumps(first.decision) == pickle.dumps(second.decision), f"{method.name} gives two answers for one seed"
        assert first.objective == second.objective, f"{method.name} gives two objectives for one seed"


def check_leaves_input_alone(method: Method) -> None:
    """Problem and starting decision are the same before and after."""
    for problems, problem in _some(method):
        start = problems.start(problem)
        before = pickle.dumps((problem, start))
        _run(method, problem, start=start)
        assert pickle.dumps((problem, start)) == before, f"{method.name} changes its input"


def check_pickles(method: Method) -> None:
    """Method and answer can be sent to another process."""
    for _, problem in _some(method):
        copy = pickle.loads(pickle.dumps(method))
        answer = _run(copy, problem)
        again = pickle.loads(pickle.dumps(answer))
        assert again.objective == answer.objective, f"the answers of {method.name} change when pickled"
        assert not checked(problem, again)[1], f"the answers of {method.name} change when pickled"


CHECKS: dict[str, Callable[[Method], None]] = {
    check.__name__.removeprefix("check_"): check
    for check in (
        check_described,
        check_takes,
        check_feasible_problems,
        check_infeasible_problems,
        check_degenerate_problems,
        check_work_limit,
        check_repeatable,
        check_leaves_input_alone,
        check_pickles,
    )
}
"""Every clause of the contract by name."""


def _check_problems(method: Method) -> Iterator[CheckProblems]:
    for name in method.kinds:
        problems = get_kind(name).check_problems
        if problems is not None:
            yield problems()


def _some(method: Method) -> Iterator[tuple[CheckProblems, Any]]:
    """A few ordinary problems of each kind that the method takes."""
    for problems in _check_problems(method):
        taken = [problem for problem in problems.feasible().values() if method.refusal(problem) is None]
        yield from ((problems, problem) for problem in taken[:CHANGING])


def _check_against_brute_force(method: Method, problems: CheckProblems, problem: Any, label: str) -> None:
    if method.refusal(problem) is not None:
        return
    answer = _run(method, problem)
    optimum = problems.optimum(problem)
    assert optimum is not None
    slack = SAME_VALUE * max(1.0, abs(optimum))
    if method.exact and problems.provable:
        assert answer.status == "optimal", f"{method.name} says {answer.status!r} of the feasible problem {label!r}"
    assert answer.status in ("optimal", "feasible", "none"), f"{method.name} calls the feasible problem {label!r} {answer.status}"
    if answer.decision is not None:
        value = problems.value(problem, answer.decision)
        assert value >= optimum - slack, f"{method.name} beats brute force on {label!r}: {value!r} < {optimum!r}"
        if answer.status == "optimal":
            assert value <= optimum + slack, f"{method.name} proves {value!r} on {label!r}, brute force finds {optimum!r}"
    if answer.bound is not None:
        assert answer.bound <= optimum + slack, f"{method.name} bounds {label!r} by {answer.bound!r}, but {optimum!r} exists"


def _run(method: Method, problem: Any, *, work_limit: float | None = None, **options: Any) -> Answer:
    limit = SEARCHED if work_limit is None and not method.exact else work_limit
    with running(work_limit=limit):
        answer = run_method(method, problem, Options(work_limit=limit, **options))
    try:
        checked_solution(problem, method.name, replace(answer, method=method.name), Seconds(0.0))
    except VerificationError as error:
        raise AssertionError(str(error)) from None
    return answer


RULE_DRAWS = 60
"""Deployments of each problem on which a rule is checked."""


def check_rule(rule: Any, problem: Any = None, **parameters: Any) -> None:
    """Check a rule about placement on random deployments: `evaluate` and the rows of `linearise` agree.

    The violation is also finite, at least 0, 0 for some deployments and positive for others, and the same when asked again, of
    an unchanged problem; the rule can be sent to another process.

    Parameters
    ----------
    rule
        A class that is registered (`edrp.register_rule`), or a rule as the document of a problem has it.
    problem
        Whose deployments are drawn; None for the check problems of every kind that has rules, which will do where the rule names
        no operators and nodes.
    **parameters
        Parameters of the class.

    Raises
    ------
    AssertionError
        Naming the deployment and both values.
    InvalidInstanceError
        The rule does not fit the problem.

    Examples
    --------
    >>> from edrp.datasets.placement.debs2015 import debs2015
    >>> check_rule({"rule": "spread", "name": "one on a node", "operators": ["parser"], "most": 1}, debs2015())
    """
    if callable(rule):
        type = next((name for name, maker in registered_rules().items() if maker is rule), None)
        assert type, f"{rule!r} is not registered; call edrp.register_rule(name, {getattr(rule, '__name__', 'it')}) first"
        assert cloudpickle.loads(cloudpickle.dumps(rule)) is not None
        rule = {"rule": "python", "name": "checked", "type": type, "parameters": parameters}
    met, count = 0, 0
    for given in _ruled_problems() if problem is None else [problem]:
        ruled = given.replace(rules=(rule,))
        before = pickle.dumps(ruled)
        for first, second in zip(_violations(ruled), _violations(ruled), strict=True):
            assert first == second, f"violations are {first}, and {second} when asked again"
            met, count = met + (first[1] <= LIMIT_SLACK * ruled.rules[0].scale), count + 1
        assert pickle.dumps(ruled) == before, "the rule changes the problem"
    which = f"all {count} deployments that were drawn; check it on a `problem` where this depends on the deployment"
    assert met, f"the rule is broken by {which}"
    assert met < count, f"the rule is met by {which}"


def check_metric(metric: Any, problem: Any = None) -> None:
    """Check a metric of your own: `evaluate` and `linearise` agree on random deployments, and optima of programs are bounds.

    Values are at least 0, and the same when asked again, of an unchanged problem; no deployment that is drawn is better than the
    proven optimum, which a limit scales; the metric can be sent to another process.

    Parameters
    ----------
    metric
        A class that is registered (`edrp.register_metric`).
    problem
        Of kind `edrp`; None for the check problems of the kind.

    Raises
    ------
    AssertionError
        Naming the deployment and both values.

    Examples
    --------
    >>> from edrp.placement.metrics.own import register_metric
    >>> class Replicas:
    ...     name, unit = "replicas_in_all", "1"
    ...     def evaluate(self, problem, deployment):
    ...         return sum(len(nodes) for nodes in deployment.values())
    ...     def linearise(self, model):
    ...         return model.replicas.sum()
    >>> register_metric(Replicas)
    >>> check_metric(Replicas)
    """
    name = metric.name
    known: dict[str, Any] = {**EDRP_METRICS, **registered_metrics()}
    assert name in known, f"{name!r} is not registered; call edrp.register_metric({metric.__name__}) first"
    assert cloudpickle.loads(cloudpickle.dumps(metric)) is not None
    own, values = known[name], set[float]()
    check_problems = get_kind("edrp").check_problems
    assert check_problems is not None
    for given in list(check_problems().feasible().values())[:CHANGING] if problem is None else [problem]:
        limited = given.limits.with_limit(name, None)
        weighted = given.replace(weights={name: 1.0}, limits=limited, priorities=(), rules=())
        before, drawn = pickle.dumps(weighted), list(_drawn_deployments(weighted))
        for deployment in drawn:
            value, where = own.evaluate(weighted, deployment), f"of {dict(deployment)}"
            assert value == own.evaluate(weighted, deployment), f"`evaluate` gives other values when asked again {where}"
            assert not (why := own.contradiction(weighted, deployment)), f"{why} {where}"
            values.add(value)
        assert pickle.dumps(weighted) == before, "the metric changes the problem"
        optimum = solve(weighted, "highs", work_limit=CHECK_WORK)
        best = min((e.objective for e in map(weighted.evaluate, drawn) if e.feasible), default=math.inf)
        if optimum.bound is not None and best < math.inf:
            assert optimum.bound <= best * (1 + SAME_VALUE), f"the bound {optimum.bound!r} is above a deployment of {best!r}"
            limit = 2 * max(best, 1.0)
            twice = solve(weighted.replace(limits=limited.with_limit(name, limit)), "highs", work_limit=CHECK_WORK)
            assert abs(twice.bound - optimum.bound / limit) <= SAME_VALUE, f"a limit scales the bound to {twice.bound!r}"
    assert len(values) > 1, "all deployments that were drawn have the same value; check it on a `problem` where they differ"


def _ruled_problems() -> Iterator[Any]:
    for kind in kinds().values():
        if issubclass(kind.problem, StreamPlacement) and kind.check_problems is not None:
            yield from list(kind.check_problems().feasible().values())[:CHANGING]


def _drawn_deployments(problem: Any) -> Iterator[Deployment]:
    """Random deployments on all, some, or a single one of the nodes, within the candidates."""
    generator, names = np.random.default_rng(0), list(problem.network.by_name)
    for draw in range(RULE_DRAWS):
        pool = set(generator.permutation(names)[: generator.integers(1, len(names) + 1)].tolist())
        drawn = {}
        for operator in problem.application.operators:
            nodes = list(operator.candidates or names)
            few = min(operator.max_replicas, operator.min_replicas + draw % 5)
            replicas = generator.integers(operator.min_replicas, few + 1)
            drawn[operator.name] = tuple(generator.choice([n for n in nodes if n in pool] or nodes, replicas).tolist())
        yield Deployment(drawn)


def _violations(problem: StreamPlacement) -> Iterator[tuple[Deployment, float]]:
    """Random deployments, and by how much they violate the problem's only rule, on which both of its faces agree."""
    (rule,) = problem.rules
    rows = record_whole(rule, problem)
    for deployment in _drawn_deployments(problem):
        value, same = rule.evaluate(problem, deployment), row_violation(rows, problem, deployment)
        where = f"of {dict(deployment)}"
        assert math.isfinite(value), f"`evaluate` gives {value!r} {where}, which must be finite"
        assert value >= 0, f"`evaluate` gives {value!r} {where}; a violation is at least 0"
        apart = f"`evaluate` gives {value!r} {where}, the rows of `linearise` give {same!r}"
        assert abs(value - same) <= SAME_VALUE * max(rule.scale, value), apart
        yield deployment, value


PROGRAMS = 40
"""Random programs on which a backend is checked."""


def check_backend(backend: Backend) -> None:
    """Run every check of the contract on a backend: small random programs against enumeration, limits, seeds and starts.

    A backend is judged as `edrp.backends.solve_program` calls it, which settles what its claims are worth.

    Raises
    ------
    AssertionError
        Naming the clause that the backend breaks.
    BackendUnavailableError
        A package that it needs is not installed.

    Examples
    --------
    >>> from edrp.backends import get_backend
    >>> check_backend(get_backend("highs"))
    """
    assert getattr(backend, "name", ""), "a backend needs a name"
    assert getattr(backend, "summary", ""), f"{backend.name} needs a summary"
    unknown = sorted(backend.features - FEATURES)
    assert not unknown, f"{backend.name} has an unknown feature {unknown[0]!r}; there are {', '.join(sorted(FEATURES))}"
    cloudpickle.loads(cloudpickle.dumps(backend))
    for seed in range(PROGRAMS):
        _check_against_enumeration(backend, _random_program(np.random.default_rng(seed)), f"random program {seed}")
    _check_unbounded(backend)
    _check_program_limits(backend)


def _random_program(random: np.random.Generator) -> Program:
    """Up to three whole columns and a continuous one from 0 to 2 under rows with one side, two, or the same twice."""
    whole, program = int(random.integers(1, 4)), Program()
    low = random.integers(-2, 2, whole)
    columns = program.add_columns("x", whole, lower=low, upper=low + random.integers(0, 4, whole), integer=True)
    columns = np.append(columns, program.add_columns("y", 1, upper=2.0))
    for row in range(random.integers(0, 4)):
        side, room = float(random.integers(-6, 7)), random.choice([0.0, 1.5, np.inf])
        ends = (side, side + room) if random.random() < 0.5 else (-np.inf, side)
        coefficients = random.integers(-4, 5, whole + 1) * (random.random(whole + 1) < 0.7)
        program.add_row(f"row {row}", Linear.of(columns, coefficients), lower=ends[0], upper=ends[1])
    program.minimise(Linear.of(columns, random.integers(-4, 5, whole + 1)) + float(random.integers(-4, 5)))
    return program


def _least(program: Program) -> float | None:
    """Least objective by enumeration of the whole columns, and the interval that is left to the last one; None for none."""
    arrays, values = program.arrays(), list[float]()
    matrix = arrays.matrix.toarray()
    ranges = [np.arange(low, high + 1) for low, high in zip(arrays.lower[:-1], arrays.upper[:-1], strict=True)]
    for point in product(*ranges):
        low, high = arrays.lower[-1], arrays.upper[-1]
        used = matrix[:, :-1] @ np.array(point)
        for value, factor, row_min, row_max in zip(used, matrix[:, -1], arrays.row_lower, arrays.row_upper, strict=True):
            if factor:
                ends = sorted([(row_min - value) / factor, (row_max - value) / factor])
                low, high = max(low, ends[0]), min(high, ends[1])
            elif not row_min <= value <= row_max:
                high = -math.inf
        if low <= high:
            values += [arrays.objective @ np.array([*point, end]) + arrays.constant for end in (low, high)]
    return min(values, default=None)


def _check_against_enumeration(backend: Backend, program: Program, label: str) -> None:
    best = _least(program)
    options: dict[str, Any] = {"seed": 3} if "seed" in backend.features else {}
    result, again = (solve_program(program, backend, **options) for _ in range(2))
    name, status = backend.name, "infeasible" if best is None else "optimal"
    assert result.status == status, f"{name} says {result.status!r} of the {status} {label}; notes: {result.notes}"
    first, second = (pickle.dumps((found.status, found.objective, found.values)) for found in (result, again))
    assert first == second, f"{name} gives two answers for one seed on {label}"
    if best is None:
        return
    assert result.values is not None
    assert result.objective is not None
    slack = SAME_VALUE * max(1.0, abs(best))
    assert abs(result.objective - best) <= slack, f"{name} gives {result.objective!r} on {label}, enumeration {best!r}"
    assert result.bound is None or result.bound <= best + slack, f"{name} bounds {label} by {result.bound!r}, but {best!r} exists"
    integers = result.values[program.arrays().integer]
    assert (integers == np.round(integers)).all(), f"{name} gives {integers} for whole columns of {label}"
    if "start" in backend.features:
        restarted = solve_program(program, backend, start=result.values, **options).objective
        assert restarted is not None, f"{name} finds nothing on {label} from an optimum"
        assert abs(restarted - best) <= slack, f"{name} gives {restarted!r} on {label} from an optimum of {best!r}"


def _check_unbounded(backend: Backend) -> None:
    """A column without an end that pays, beside whole columns of which twice the sum is 4, or 3, which leaves no point."""
    for total, status in ((4, "unbounded"), (3, "infeasible")):
        program = Program()
        x = program.add_columns("x", 2, upper=5, integer=True)
        program.add_row("twice", Linear.of(x, 2.0), lower=total, upper=total)
        program.minimise(Linear.of(program.add_columns("y", 1), -1.0) + Linear.of(x))
        said = solve_program(program, backend).status
        assert said in (status, "none"), f"{backend.name} says {said!r} of a program that is {status}"


def _check_program_limits(backend: Backend) -> None:
    """A program that takes hours, under a limit: no false claim."""
    limits: dict[str, Any] = {"work_limit": 0.1} if "work_limit" in backend.features else {"time_limit": 1.0}
    result = solve_program(market_split(), backend, **limits)
    assert result.status in ("feasible", "none", "optimal"), f"{backend.name} says {result.status!r} of a feasible program"
    if result.bound is not None and result.objective is not None:
        assert result.bound <= result.objective + SAME_VALUE, f"{backend.name} bounds {result.objective!r} by {result.bound!r}"
    if result.status != "optimal":
        stopped = result.stopped_because
        assert stopped in ("time_limit", "work_limit"), f"{backend.name} stops at its limit and says {stopped!r}"


def market_split(rows: int = 4, seed: int = 0) -> Program:
    """A small program that takes branch and bound hours: Σ a_ij x_j = ⌊Σ a_ij / 2⌋ + slack, minimise the slack."""
    random = np.random.default_rng(seed)
    count = 10 * (rows - 1) + 20
    coefficients = random.integers(0, 100, (rows, count))
    program = Program()
    x = program.add_columns("x", count, upper=1, integer=True)
    over, under = program.add_columns("over", rows), program.add_columns("under", rows)
    row = np.arange(rows)
    entries = [(row[:, None], x, coefficients), (row, over, -1.0), (row, under, 1.0)]
    middle = coefficients.sum(axis=1) // 2
    program.add_rows("split", rows, entries, lower=middle, upper=middle)
    program.minimise(Linear.of(np.concatenate([over, under])))
    return program
