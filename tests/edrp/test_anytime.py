"""Ctrl-C, at any moment, keeps the best decision and the best bound of which a run's progress has told."""

import signal
from concurrent.futures import ThreadPoolExecutor

import pytest

import edrp
from edrp.backends import backends
from edrp.core.budget import OVER, Clock, clock, interruptible, look, now, passed, running
from edrp.core.errors import OutOfTimeError
from edrp.core.kinds import get_kind
from edrp.core.methods import Options, methods
from edrp.core.tolerances import SAME_VALUE
from edrp.datasets.families.mapping.platforms import mapping_problem
from edrp.datasets.families.placement.layered import layered
from edrp.datasets.families.placement.sequence import elastic_sequence

WORK_LIMIT = 0.1
"""Units of work in which most runs end by themselves."""


def check(kind, label):
    """A problem with a known optimum, or a large one."""
    problems = get_kind(kind).check_problems()
    others = {"large": problems.large, "rare 0": lambda: problems.rare()[0], "rare 1": lambda: problems.rare()[1]}
    return others[label]() if label in others else problems.feasible()[label]


CASES = {
    "eliminate": lambda: layered(8, 0),
    "column-generation": lambda: check("latency-aware", "seed 0"),
    "equal-nodes": lambda: check("edrp", "rare 0"),
    "highs": lambda: check("edrp", "seed 20"),
    "scip": lambda: check("edrp", "seed 20"),
    "gurobi": lambda: check("edrp", "seed 20"),
    "priced-course": lambda: elastic_sequence(0, operators=4, nodes=5, periods=6),
    "label-setting": lambda: mapping_problem(20, components=20, seed=3),
    "range-decomposition": lambda: check("rescale", "seed 5"),
    "auto": lambda: check("rescale", "seed 13"),
}
SLOW_CASES = {
    "equal-nodes": lambda: check("edrp", "seed 1"),
    "fixed-tasks": lambda: check("edrp", "rare 1"),
    "oms": lambda: check("migration-sequence", "large"),
    "auto": lambda: layered(8, 0),
}
"""A problem, on which bounds are told, for every method of ours that tells any."""

TABLE = [*CASES.items(), *(pytest.param(*case, marks=pytest.mark.slow) for case in SLOW_CASES.items())]


class Run:
    """A run of a method that ends at some moment, and of what its progress has told by then."""

    def __init__(self, monkeypatch, problem, method, *, read=0, report=0, how=lambda: signal.raise_signal(signal.SIGINT)):
        self.reads, self.bounds, self.incumbents = 0, [], []
        reading, reports = Clock.read, []

        def counted(own):
            self.reads += 1
            if self.reads == read:
                how()
            return reading(own)

        def told(seconds, incumbent, bound):
            self.incumbents += [incumbent] if incumbent is not None else []
            self.bounds += [bound] if bound is not None else []
            reports.append(bound)
            if len(reports) == report:
                how()

        with monkeypatch.context() as patched:
            patched.setattr(Clock, "read", counted)
            self.solution = edrp.solve(problem, method, work_limit=WORK_LIMIT, progress=told)
        self.reports = len(reports)

    def check(self):
        """It holds what it has told."""
        solution = self.solution
        assert solution.status == "optimal" or solution.stopped_because == "interrupted"
        for bound in self.bounds:
            assert solution.bound >= bound - SAME_VALUE * max(1.0, abs(bound))
        for incumbent in self.incumbents:
            assert solution.objective <= incumbent + SAME_VALUE * max(1.0, abs(incumbent))


def interrupt():
    raise KeyboardInterrupt


@pytest.mark.parametrize(("method", "problem"), TABLE)
def test_what_progress_has_told_is_kept_when_ctrl_c_comes(monkeypatch, method, problem):
    problem = problem()
    monkeypatch.setattr("edrp.backends.base.PROGRESS_INTERVAL", 0.0)
    whole = Run(monkeypatch, problem, method)
    assert whole.bounds
    for share in (0.3, 0.9):
        Run(monkeypatch, problem, method, read=max(1, int(share * whole.reads))).check()
    Run(monkeypatch, problem, method, report=whole.reports).check()


def test_progress_may_interrupt_a_run(monkeypatch):
    run = Run(monkeypatch, layered(8, 0), "eliminate", report=2, how=interrupt)
    run.check()
    assert run.solution.stopped_because == "interrupted"
    assert run.solution.bound is not None


def test_no_bound_is_told_that_a_better_answer_refutes(monkeypatch):
    """Of a weighted peak load the range that is being worked on counts, too."""
    use = {"usage": {"cpu": {"per_tuple": 0.02}}, "max_replicas": 2, "latency": {"model": "mm1", "service_rate": 60.0}}
    operators = [edrp.Operator(name=f"o{i}", external_rate=0.0 if i else 50.0, cost=1.0, **use) for i in range(2)]
    nodes = [edrp.Node(name=f"n{u}", resources=8, capacity={"cpu": 4.0}) for u in range(3)]
    problem = edrp.EdrpProblem(
        application=edrp.Application(operators=operators, streams=[edrp.Stream(source="o0", target="o1")]),
        network=edrp.Network(nodes=nodes, between_zones={"delay": 5e-4}),
        limits=edrp.Limits(response_time=1.0, cost=60.0),
        weights=edrp.Weights(cost=0.5, peak_load=0.5),
    )
    run = Run(monkeypatch, problem, "equal-nodes")
    assert (run.solution.status, len(run.incumbents) > 1) == ("optimal", True)
    assert max(run.bounds) <= run.solution.objective


def test_every_method_that_tells_bounds_is_interrupted_here():
    known = {*CASES, *SLOW_CASES}
    silent = {"ssm", "pmc", "fitted", "stored-policy", "process-map", "replica-vectors", "pool-policy"}
    silent |= {name for name, backend in backends().items() if "progress" not in backend.features}
    silent |= {"route-selection", "ordered-flow"}  # a small tree, or `highs`; bounds of sums of goals
    assert {name for name, method in methods().items() if method.exact} - silent <= known


def test_bounds_of_auto_never_fall(monkeypatch):
    run = Run(monkeypatch, layered(8, 0), "auto")
    assert run.bounds == sorted(run.bounds)


def test_a_run_without_limits_is_interrupted_and_answers_what_it_was_given(monkeypatch):
    """No clock is read where there is no limit, yet Ctrl-C is heard."""
    problem = layered(8, 0)
    runs = edrp.solve(problem, "greedy").deployment

    def told(seconds, incumbent, bound):
        signal.raise_signal(signal.SIGINT)

    solution = edrp.solve(problem.replace(current=runs), "eliminate", progress=told)
    assert solution.stopped_because == "interrupted"
    assert solution.objective <= problem.evaluate(runs).objective


def test_ctrl_c_lets_all_limits_pass():
    with running() as run, interruptible(run):
        options = Options()
        assert options.remaining == float("inf")
        signal.raise_signal(signal.SIGINT)
        assert run.interrupted
        assert now() == OVER
        assert passed(float("inf"))
        assert options.remaining == 0.0
        with pytest.raises(OutOfTimeError):
            look("a model")
        with running(work_limit=5.0):
            assert clock().interrupted


def test_the_second_ctrl_c_ends_the_call():
    with running() as run, interruptible(run):
        signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):  # outside of runs all is as before
        signal.raise_signal(signal.SIGINT)


def test_handlers_of_others_are_left_alone():
    heard = []
    before = signal.signal(signal.SIGINT, lambda number, frame: heard.append(number))
    try:
        with running() as run, interruptible(run):
            signal.raise_signal(signal.SIGINT)
        assert heard == [signal.SIGINT]
        assert not run.interrupted
    finally:
        signal.signal(signal.SIGINT, before)


def test_runs_in_other_threads_need_no_signals(word_count):
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(edrp.solve, word_count, "greedy").result().status == "feasible"
