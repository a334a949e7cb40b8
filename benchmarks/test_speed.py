"""Every registered spec: once at its smallest size as a slow test, at every size and timed with `--benchmark-enable`.

    python benchmarks/run.py times                  # everything
    python benchmarks/run.py times -k "literal"     # what has a word in its name

Times are those of the processor, so that what else runs on the machine counts little.
"""

from time import process_time

import pytest
from registry import cases

from edrp.core.kinds import kinds

pytestmark = pytest.mark.slow


def pytest_generate_tests(metafunc):
    """One test per case where they are timed; otherwise nothing is loaded before the one smoke test runs."""
    if "case" in metafunc.fixturenames:
        found = cases(smoke=False) if metafunc.config.getoption("benchmark_enable") else ()
        metafunc.parametrize("case", [pytest.param(case, id=str(case)) for case in found])


@pytest.mark.benchmark(timer=process_time, warmup=False)
def test_speed(benchmark, case):
    """How long the call takes is for pytest-benchmark to say."""
    benchmark.group = f"{case.spec.name} - {case.phase}"
    benchmark(case.prepared())


@pytest.mark.xdist_group("modelling")
def test_every_spec_runs_at_its_smallest_size():
    """Every phase of every program, method and kernel, and none is left out: a program without a benchmark fails by name."""
    smoke = list(cases(smoke=True))
    assert all(case.size == next(iter(case.spec.sweep)) for case in smoke)
    measured = {(case.spec.name, case.phase) for case in smoke}
    for program in (program for kind in kinds().values() for program in kind.formulations):
        assert {(f"{program} program", "formulate"), (f"{program} program", "hand over")} <= measured
    for case in smoke:
        case.prepared()()
